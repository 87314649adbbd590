// Fingerprints of tools as they were first seen: a tool that changes later needs a new approval.
import { dirname } from 'node:path';
import type { Tool } from '@modelcontextprotocol/client';
import { fileSystem, PocketError, sha256 } from '@pocket-agent/kit';
import { dropAbsent, MOST_ABSENT_NAMES } from '../base/absent-names.ts';

export interface SeenTools {
  readonly entries: readonly { name: string; tool: Tool }[];
  find(name: string): { tool: Tool } | undefined;
}

export class Fingerprints {
  readonly #path: string | undefined;
  /** The first list of tools. Fingerprints are computed only when a second list comes, which most agents never get. */
  #firstTools: SeenTools | undefined;
  #first: Map<string, string> | undefined;

  /** With a path they are kept across restarts. */
  constructor(path: string | undefined) {
    this.#path = path;
    if (path !== undefined) this.#first = new Map(Object.entries(read(path)));
  }

  /** Remembers new tools and returns the names of changed ones. The tools must not be modified afterwards. */
  look(tools: SeenTools): string[] {
    this.#firstTools ??= this.#first ? undefined : tools;
    if (this.#firstTools === tools) return [];
    const first = this.#fingerprints();
    const changed: string[] = [];
    let added = false;
    for (const { name, tool } of tools.entries) {
      if (!first.has(name)) {
        first.set(name, fingerprint(tool));
        added = true;
      } else if (this.hasChanged(name, tool)) changed.push(name);
    }
    if (added) {
      dropAbsent(first, { size: tools.entries.length, has: (name) => tools.find(name) !== undefined });
      this.#write(first);
    }
    return changed;
  }

  hasChanged(name: string, tool: Tool): boolean {
    if (this.#firstTools?.find(name)?.tool === tool) return false;
    const first = this.#fingerprints().get(name);
    return first !== undefined && first !== fingerprint(tool);
  }

  /** The tool as it is now was approved. */
  accept(name: string, tool: Tool): void {
    this.#write(this.#fingerprints().set(name, fingerprint(tool)));
  }

  #fingerprints(): Map<string, string> {
    this.#first ??= new Map(this.#firstTools?.entries.map(({ name, tool }) => [name, fingerprint(tool)]));
    this.#firstTools = undefined;
    return this.#first;
  }

  #write(first: ReadonlyMap<string, string>): void {
    if (this.#path === undefined) return;
    // other agents may use the same file
    const others = Object.entries(read(this.#path)).filter(([name]) => !first.has(name));
    const all = Object.fromEntries([...others.slice(-MOST_ABSENT_NAMES), ...first]);
    const { mkdirSync, renameSync, writeFileSync } = fileSystem();
    mkdirSync(dirname(this.#path), { recursive: true });
    const draft = `${this.#path}.${process.pid}.draft`;
    writeFileSync(draft, JSON.stringify(all, null, 2));
    renameSync(draft, this.#path);
  }
}

export function fingerprint({ name, title, description, inputSchema, outputSchema, annotations, _meta }: Tool): string {
  const parts = [name, title, description, inputSchema, outputSchema, annotations, _meta?.capability];
  return sha256(JSON.stringify(parts));
}

/** Empty if there is no file yet. */
function read(path: string): Record<string, string> {
  const { existsSync, readFileSync } = fileSystem();
  if (!existsSync(path)) return {};
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch (error) {
    throw new PocketError(
      'CONFIG_INVALID',
      `The file of tool fingerprints ${path} cannot be read; repair or delete it.`,
      { cause: error },
    );
  }
  throw new PocketError(
    'CONFIG_INVALID',
    `The file of tool fingerprints ${path} does not hold an object; repair or delete it.`,
  );
}
