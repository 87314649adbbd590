// Fingerprints of tools as they were first seen: a tool that changes later needs a new approval.
import { dirname } from 'node:path';
import type { Tool } from '@modelcontextprotocol/client';
import { configError, fileSystem, inSlices, isRecord, makeFolderSync, sha256 } from '@pocket-agent/kit';
import { dropAbsent, MAX_ABSENT_NAMES } from '../base/tool-names.ts';

interface ListedTools {
  readonly entries: readonly { name: string; tool: Tool }[];
  find(name: string): { tool: Tool } | undefined;
}

export class Fingerprints {
  readonly #path: string | undefined;
  /** By name, as first seen or last approved: the tool itself while it is listed unchanged, else its fingerprint. */
  readonly #known: Map<string, Tool | string>;

  /** With a path, fingerprints are kept across restarts. */
  constructor(path: string | undefined) {
    this.#path = path;
    this.#known = new Map(path === undefined ? [] : Object.entries(read(path)));
  }

  /** Computes what `remember` compares, in slices: a server may list thousands of tools, and new ones every time. */
  async prepare(listed: ListedTools): Promise<void> {
    const isKept = this.#path !== undefined;
    const added = listed.entries.filter(({ name, tool }) => isKept || (this.#known.get(name) ?? tool) !== tool);
    const gone = [...this.#known].filter(([name, tool]) => listed.find(name)?.tool !== tool);
    await inSlices([...added.map(({ tool }) => tool), ...gone.map(([, tool]) => tool)], fingerprint);
  }

  /** Remembers new tools and returns the names of changed ones. The tools must not be modified afterwards. */
  remember(listed: ListedTools): string[] {
    const isNew = ({ name }: { name: string }) => !this.#known.has(name);
    const [added, known] = [listed.entries.filter(isNew), listed.entries.filter((entry) => !isNew(entry))];
    const changed = known.filter(({ name, tool }) => this.hasChanged(name, tool));
    for (const [name, tool] of this.#known)
      if (listed.find(name)?.tool !== tool) this.#known.set(name, fingerprint(tool));
    for (const { name, tool } of added) this.#known.set(name, tool);
    if (added.length > 0) {
      dropAbsent(this.#known, { size: listed.entries.length, has: (name) => listed.find(name) !== undefined });
      this.#write();
    }
    return changed.map(({ name }) => name);
  }

  hasChanged(name: string, tool: Tool): boolean {
    const known = this.#known.get(name);
    return known !== undefined && known !== tool && fingerprint(known) !== fingerprint(tool);
  }

  /** The tool as it is now was approved. */
  accept(name: string, tool: Tool): void {
    this.#known.set(name, tool);
    this.#write();
  }

  #write(): void {
    if (this.#path === undefined) return;
    // other agents may use the same file: without a pause between reading and replacing it, their entries are kept
    const others = Object.entries(read(this.#path)).filter(([name]) => !this.#known.has(name));
    const own = [...this.#known].map(([name, tool]) => [name, fingerprint(tool)] as const);
    const { renameSync, writeFileSync } = fileSystem();
    makeFolderSync(dirname(this.#path));
    const draft = `${this.#path}.${process.pid}.draft`;
    writeFileSync(draft, JSON.stringify(Object.fromEntries([...others.slice(0, MAX_ABSENT_NAMES), ...own]), null, 2));
    renameSync(draft, this.#path);
  }
}

const computed = new WeakMap<Tool, string>();

/** A string is a fingerprint already. */
export function fingerprint(tool: Tool | string): string {
  if (typeof tool === 'string') return tool;
  const known = computed.get(tool) ?? newFingerprint(tool);
  computed.set(tool, known);
  return known;
}

function newFingerprint(tool: Tool): string {
  const { name, title, description, inputSchema, outputSchema, annotations, _meta } = tool;
  return sha256(JSON.stringify([name, title, description, inputSchema, outputSchema, annotations, _meta?.capability]));
}

/** Empty if there is no file yet. */
function read(path: string): Record<string, string> {
  const { existsSync, readFileSync } = fileSystem();
  if (!existsSync(path)) return {};
  const unreadable = (problem: string, cause?: unknown) =>
    configError(`The file of tool fingerprints ${path} ${problem}; repair or delete it.`, cause);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw unreadable('cannot be read', error);
  }
  if (!isRecord(value)) throw unreadable('does not contain an object');
  return value as Record<string, string>;
}
