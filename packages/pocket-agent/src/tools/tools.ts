// Tools as the agent sees them: sources that list and call MCP tools, gathered into one table with safe names.
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { sha256 } from '@pocket-agent/kit';
import { ownArguments, repairSchema } from '@pocket-agent/schema';
import { type JudgedTool, type Judgement, judge, type Profile } from '../access/access.ts';
import type { Policy } from '../access/policy.ts';
import { dropAbsent } from '../base/absent-names.ts';
import type { ToolCall, ToolProgress } from '../base/tool-call.ts';
import { shortToolName, validToolName } from '../base/tool-names.ts';

export type { ToolCall, ToolContentPart, ToolProgress, ToolResult } from '../base/tool-call.ts';

/** Passed to a source with each call. */
export interface ToolCallContext {
  toolCallId: string;
  /** Aborted when the run is, and when it is out of time. */
  signal: AbortSignal;
  progress(update: ToolProgress): void;
  /** Travels to MCP servers as `_meta`: ids and names of call and agent, trace context, own metadata. */
  meta: Record<string, unknown>;
}

/** all: wait for every tool. ready: the tools available soon; the rest follows with a new `revision`. */
export type ListWait = 'all' | 'ready';

/** Default of `waitMs`: how long `ready` waits for a server or remote agent. */
export const DEFAULT_WAIT_MS = 10_000;

/** The one interface behind MCP servers, sub-agents, plain functions and tool folders. */
export interface ToolSource {
  readonly name: string;
  /** True where the program itself wrote the schemas of the tools; others are not run on the main thread. */
  readonly hasOwnSchemas?: boolean | undefined;
  /** Changes whenever `listTools()` would answer differently; without it the list is read once. */
  readonly revision?: number | undefined;
  /**
   * Called at every step, before `revision` is read: a chance to notice that something came back. Must be quick. The
   * first step of a run tries at once what was away.
   */
  refresh?(isRunStart?: boolean): void;
  /** A changed tool must be a new object: tools are remembered by identity. */
  listTools(signal?: AbortSignal, wait?: ListWait): readonly Tool[] | Promise<readonly Tool[]>;
  /** Resolves with the tool's result, also one with `isError`; rejects if there is no result. */
  callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult>;
  /** The capability of a tool by the source's own configuration. */
  judge?(tool: Tool): Judgement;
  close?(): void | Promise<void>;
}

export interface ToolEntry extends JudgedTool {
  source: ToolSource;
}

/** Up to this count a linear search is fast enough. */
export const FEW_TOOLS = 16;

export class ToolTable {
  readonly entries: readonly ToolEntry[];
  /** Of the same tools in the same order: converted once, handed to the model at every step. */
  readonly definitions: LanguageModelV4FunctionTool[];
  #byName: Map<string, ToolEntry> | undefined;
  #visible: { profiles: readonly Profile[]; table: ToolTable } | undefined;

  constructor(entries: readonly ToolEntry[], definitions: LanguageModelV4FunctionTool[]) {
    this.entries = entries;
    this.definitions = definitions;
  }

  find(name: string): ToolEntry | undefined {
    if (this.entries.length <= FEW_TOOLS) return this.entries.find((entry) => entry.name === name);
    this.#byName ??= new Map(this.entries.map((entry) => [entry.name, entry]));
    return this.#byName.get(name);
  }

  /** The arguments of a call by the names that its tool gives them. */
  ownArguments({ name, arguments: args }: ToolCall): Record<string, unknown> {
    const tool = this.find(name)?.tool;
    return tool ? ownArguments(args, argumentNames.get(tool)) : args;
  }

  /** The tools that a run may see. Worked out once for the same profiles, unless there is a filter. */
  visibleTo(policy: Policy): ToolTable {
    if (policy.isOpen) return this;
    const profiles = policy.decidingProfiles;
    if (profiles && this.#visible && isSame(this.#visible.profiles, profiles)) return this.#visible.table;
    const table = this.filter((entry) => policy.refusal(entry) === undefined);
    if (profiles) this.#visible = { profiles, table };
    return table;
  }

  filter(keeps: (entry: ToolEntry) => boolean): ToolTable {
    const kept = this.entries.map(keeps);
    const isKept = (_: unknown, index: number) => kept[index] === true;
    return new ToolTable(this.entries.filter(isKept), this.definitions.filter(isKept));
  }
}

function isSame(one: readonly Profile[], other: readonly Profile[]): boolean {
  return one.length === other.length && one.every((profile, index) => profile === other[index]);
}

export interface RenamedTool {
  source: string;
  tool: string;
  name: string;
  reason: string;
}

/** A tool whose owner has a different name for it; a class, to tell it from an owner. */
class Renamed<Owner> {
  readonly owner: Owner;
  readonly tool: string;

  constructor(owner: Owner, tool: string) {
    this.owner = owner;
    this.tool = tool;
  }
}

/** Keeps the name a tool was once given, so that a server that comes and goes does not rename others. */
export class ToolNames<Owner extends { readonly name: string }> {
  /** The owner of each name, also of names that are no longer listed. */
  readonly #owners = new Map<string, Owner | Renamed<Owner>>();
  /** Names that differ from the wanted ones, by owner and tool. */
  #changed: Map<Owner, Map<string, string>> | undefined;

  ownerOf(name: string): Owner | undefined {
    const owner = this.#owners.get(name);
    return owner instanceof Renamed ? owner.owner : owner;
  }

  /** The owner's name for a tool. */
  ownName(name: string): string {
    const owner = this.#owners.get(name);
    return owner instanceof Renamed ? owner.tool : name;
  }

  nameFor(
    { owner, tool, wanted }: { owner: Owner; tool: string; wanted: string },
    renamed: (change: RenamedTool) => void,
  ): string {
    if (this.ownerOf(wanted) === owner && this.ownName(wanted) === tool) return wanted;
    const known = this.#changed?.get(owner)?.get(tool);
    if (known !== undefined) return known;
    const source = owner.name;
    const valid = validToolName(wanted);
    const name = this.#free(valid, `${source}\0${wanted}`);
    this.#owners.set(name, name === tool ? owner : new Renamed(owner, tool));
    if (name !== wanted) {
      this.#changed ??= new Map();
      this.#changed.set(owner, (this.#changed.get(owner) ?? new Map()).set(tool, name));
      const reason =
        name === valid ? 'not every model accepts this name' : `another source already has a tool "${valid}"`;
      renamed({ source, tool: wanted, name, reason });
    }
    return name;
  }

  /** Names of tools that are not listed are kept in case they come back, up to a limit. */
  listed(names: ReadonlyMap<string, unknown>): void {
    const before = this.#owners.size;
    dropAbsent(this.#owners, names);
    if (this.#owners.size === before) return;
    for (const changed of this.#changed?.values() ?? [])
      for (const [tool, name] of changed) if (!this.#owners.has(name)) changed.delete(tool);
  }

  #free(wanted: string, seed: string): string {
    let name = wanted;
    for (let count = 0; this.#owners.has(name); count++)
      name = shortToolName(wanted, sha256(count === 0 ? seed : `${seed}\0${count}`).slice(0, 6));
    return name;
  }
}

/** A copy of a tool's input schema that becomes JSON where a string is wanted, as in a message to a model. */
export function inputFormatOf({ inputSchema }: Tool): Tool['inputSchema'] {
  return Object.defineProperty({ ...inputSchema }, 'toString', { value: () => JSON.stringify(inputSchema) });
}

/** The same source for a user that must not close it. */
export function borrow(source: ToolSource): ToolSource {
  return {
    name: source.name,
    hasOwnSchemas: source.hasOwnSchemas,
    get revision() {
      return source.revision;
    },
    refresh: (isRunStart) => source.refresh?.(isRunStart),
    listTools: (signal, wait) => source.listTools(signal, wait),
    callTool: (name, args, context) => source.callTool(name, args, context),
    judge: (tool) => source.judge?.(tool) ?? judge(tool),
  };
}

interface Collecting {
  names: ToolNames<ToolSource>;
  renamed: (change: RenamedTool) => void;
  signal: AbortSignal;
  wait: ListWait;
}

export async function collectTools(
  sources: readonly ToolSource[],
  { names, renamed, signal, wait }: Collecting,
): Promise<ToolTable> {
  const lists = await Promise.all(sources.map((source) => source.listTools(signal, wait)));
  const entries = new Map<string, ToolEntry>();
  for (const [index, source] of sources.entries()) {
    for (const tool of lists[index] ?? []) {
      const name = names.nameFor({ owner: source, tool: tool.name, wanted: tool.name }, renamed);
      if (entries.has(name)) continue; // listed twice: no model takes two tools of one name
      entries.set(name, Object.freeze({ name, tool, source, ...(source.judge?.(tool) ?? judge(tool)) }));
    }
  }
  names.listed(entries);
  const all = [...entries.values()];
  return new ToolTable(all, all.map(functionTool));
}

/** A tool that several agents have, or that is listed again, is converted once. */
const converted = new WeakMap<Tool, LanguageModelV4FunctionTool>();
/** Names of arguments that had to be changed for providers, and what the tool calls them. */
const argumentNames = new WeakMap<Tool, ReadonlyMap<string, string>>();

function functionTool({ name, tool }: ToolEntry): LanguageModelV4FunctionTool {
  const known = converted.get(tool);
  if (known?.name === name) return known;
  const description = tool.description ?? tool.title ?? tool.annotations?.title;
  const { schema, ownNames } = repairSchema(tool.inputSchema);
  if (ownNames) argumentNames.set(tool, ownNames);
  const inputSchema: LanguageModelV4FunctionTool['inputSchema'] = schema;
  // a model or its middleware that changed it would do so for all agents
  const definition = Object.freeze({
    type: 'function' as const,
    name,
    ...(description ? { description } : {}),
    inputSchema,
  });
  converted.set(tool, definition);
  return definition;
}
