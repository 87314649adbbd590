// A source of tools under the names of the gateway.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { dropOldest, snapshot } from '@pocket-agent/kit';
import {
  type Judgement,
  judge,
  type ListWait,
  type ToolCallContext,
  type ToolChoices,
  type ToolSource,
} from 'pocket-agent';
import { publicName } from './names.ts';

/** More than the tools of any server, in versions for many callers. */
const MAX_NAMES = 50_000;

export class NamedSource implements ToolSource {
  /** The name of the server. */
  readonly name: string;
  readonly hasOwnSchemas: boolean | undefined;
  readonly #source: ToolSource;
  readonly #prefix: string | undefined;
  /** By public name: the name in the source. */
  readonly #ownNames = new Map<string, string>();
  readonly #renamed = new WeakMap<Tool, Tool>();
  readonly #originals = new WeakMap<Tool, Tool>();

  /** Without a prefix tools keep their names. */
  constructor(name: string, source: ToolSource, { hasPrefix }: { hasPrefix: boolean }) {
    this.name = name;
    this.#source = source;
    this.#prefix = hasPrefix ? name : undefined;
    this.hasOwnSchemas = source.hasOwnSchemas;
  }

  get revision(): number | undefined {
    return this.#source.revision;
  }

  refresh(isRunStart?: boolean): void {
    this.#source.refresh?.(isRunStart);
  }

  async listTools(signal?: AbortSignal, wait?: ListWait): Promise<Tool[]> {
    const tools = new Map<string, Tool>();
    for (const tool of await this.#source.listTools(signal, wait)) {
      const renamed = this.#withPublicName(tool);
      if (!tools.has(renamed.name)) tools.set(renamed.name, renamed); // listed twice: the first counts
    }
    return [...tools.values()];
  }

  async callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    return this.#source.callTool(this.#ownNames.get(name) ?? name, args, context);
  }

  judge(tool: Tool): Judgement {
    const original = this.#original(tool);
    const judgement = this.#source.judge?.(original) ?? judge(original);
    return { ...judgement, ownName: judgement.ownName ?? original.name };
  }

  choices(tool: Tool): ToolChoices | undefined {
    return this.#source.choices?.(this.#original(tool));
  }

  #withPublicName(tool: Tool): Tool {
    const ownName = this.#source.judge?.(tool).ownName ?? tool.name;
    const name = publicName(this.#prefix, ownName);
    this.#ownNames.delete(name); // the newest are kept
    this.#ownNames.set(name, tool.name);
    dropOldest(this.#ownNames, MAX_NAMES);
    const known = this.#renamed.get(tool);
    if (known) return known;
    // the same object at every listing, because caches have the tool as their key
    const renamed = name === tool.name ? tool : snapshot({ ...tool, name });
    this.#renamed.set(tool, renamed);
    this.#originals.set(renamed, tool);
    return renamed;
  }

  #original(tool: Tool): Tool {
    return this.#originals.get(tool) ?? tool;
  }
}
