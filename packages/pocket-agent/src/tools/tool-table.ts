// All tools that an agent may call, by the names that the model uses.
import type { LanguageModelV4FunctionTool, LanguageModelV4ProviderTool } from '@ai-sdk/provider';
import type { Tool } from '@modelcontextprotocol/client';
import { inSlices } from '@pocket-agent/kit';
import { ownArguments, type RepairedSchema, repairSchema } from '@pocket-agent/schema';
import { type JudgedTool, judge, type Profile } from '../access/capabilities.ts';
import type { Policy } from '../access/policy.ts';
import { sameItems } from '../base/same-items.ts';
import type { ToolCall } from '../base/tool-call.ts';
import type { NameRegistry, RenamedTool } from './name-registry.ts';
import { allowedTool, type ListWait, type ToolSource } from './tool-source.ts';

export interface ToolEntry extends JudgedTool {
  source: ToolSource;
}

export class ToolTable {
  readonly entries: readonly ToolEntry[];
  /** The same tools in the same order: converted once, handed to the model at every step. */
  readonly definitions: (LanguageModelV4FunctionTool | LanguageModelV4ProviderTool)[];
  /** Whether the provider of the model runs some of them. */
  readonly hasProviderTools: boolean;
  readonly #byName: ReadonlyMap<string, ToolEntry>;
  #visible: { profiles: readonly Profile[]; table: ToolTable } | undefined;

  constructor(byName: ReadonlyMap<string, ToolEntry>) {
    this.#byName = byName;
    this.entries = [...byName.values()];
    this.definitions = this.entries.map(definitionOf);
    this.hasProviderTools = this.definitions.some(({ type }) => type === 'provider');
  }

  find(name: string): ToolEntry | undefined {
    return this.#byName.get(name);
  }

  /** The arguments of a call under the names that its tool has for them. */
  ownArguments({ name, arguments: args }: ToolCall): Record<string, unknown> {
    const tool = this.find(name)?.tool;
    return tool ? ownArguments(args, conversions.get(tool)?.ownNames) : args;
  }

  /** The tools that a run may see. */
  visibleTo(policy: Policy): ToolTable {
    const table = this.#allowedBy(policy);
    if (!table.hasProviderTools) return table;
    // people cannot approve a call that the provider makes, so tools whose calls need approval are not offered
    const isOffered = ([, entry]: [string, ToolEntry]) => !isRunByProvider(entry) || !policy.asksAbout(entry);
    return new ToolTable(new Map([...table.#byName].filter(isOffered)));
  }

  /** Computed once for the same profiles, unless there is a filter. */
  #allowedBy(policy: Policy): ToolTable {
    if (policy.hidesNothing) return this;
    const profiles = policy.cacheableProfiles;
    if (profiles && this.#visible && sameItems(this.#visible.profiles, profiles)) return this.#visible.table;
    const table = this.allowed((tool) => policy.refusal(tool));
    if (profiles) this.#visible = { profiles, table };
    return table;
  }

  /** Without the tools that rules refuse; a tool that offers choices keeps the allowed ones. */
  allowed(refusal: (tool: JudgedTool) => string | undefined): ToolTable {
    const isAllowed = (judged: JudgedTool) => refusal(judged) === undefined;
    const entries = [...this.#byName].flatMap(([name, entry]): [string, ToolEntry][] => {
      const tool = allowedTool(entry.source, entry, isAllowed);
      if (tool === undefined) return [];
      return [[name, tool === entry.tool ? entry : Object.freeze({ ...entry, tool })]];
    });
    return new ToolTable(new Map(entries));
  }
}

function isRunByProvider({ source, tool }: ToolEntry): boolean {
  return source.providerTool?.(tool) !== undefined;
}

export function definitionOf(entry: ToolEntry): LanguageModelV4FunctionTool | LanguageModelV4ProviderTool {
  const own = entry.source.providerTool?.(entry.tool);
  if (!own) return converted(entry).definition;
  return own.name === entry.name ? own : Object.freeze({ ...own, name: entry.name });
}

export interface Collecting {
  names: NameRegistry<ToolSource>;
  renamed: (change: RenamedTool) => void;
  signal: AbortSignal;
  wait: ListWait;
}

export async function collectTools(
  sources: readonly ToolSource[],
  { names, renamed, signal, wait }: Collecting,
): Promise<ToolTable> {
  const lists = await Promise.all(sources.map((source) => source.listTools(signal, wait)));
  await repairAll(lists.flat());
  const entries = new Map<string, ToolEntry>();
  for (const [index, source] of sources.entries()) {
    await inSlices(lists[index] ?? [], (tool) => {
      const name = names.nameFor({ owner: source, tool: tool.name, wanted: tool.name }, renamed);
      if (entries.has(name)) return; // listed twice: no model takes two tools of one name
      const entry = Object.freeze({ name, tool, source, ...(source.judge?.(tool) ?? judge(tool)) });
      definitionOf(entry); // converted and cached here, in slices
      entries.set(name, entry);
    });
  }
  names.listed(entries);
  return new ToolTable(entries);
}

interface ConvertedTool {
  definition: LanguageModelV4FunctionTool;
  /** Names of arguments that were changed for providers, with their names in the tool. */
  ownNames: ReadonlyMap<string, string> | undefined;
}

/** Caches: a tool is repaired and converted once, also if several agents have it or it is listed again. */
const repairs = new WeakMap<Tool, RepairedSchema>();
const conversions = new WeakMap<Tool, ConvertedTool>();

/** In slices, because repairing the tools of a hostile server takes long. */
async function repairAll(tools: readonly Tool[]): Promise<void> {
  const unrepaired = tools.filter((tool) => !repairs.has(tool));
  await inSlices(unrepaired, (tool) => void repairs.set(tool, repairSchema(tool.inputSchema)));
}

function converted({ name, tool }: ToolEntry): ConvertedTool {
  const known = conversions.get(tool);
  if (known?.definition.name === name) return known;
  const description = tool.description ?? tool.title ?? tool.annotations?.title;
  const { schema, ownNames } = repairs.get(tool) ?? repairSchema(tool.inputSchema);
  const inputSchema: LanguageModelV4FunctionTool['inputSchema'] = schema;
  const about = description ? { description } : {};
  // frozen, because all agents share it with models and their middleware
  const definition = Object.freeze({ type: 'function' as const, name, ...about, inputSchema });
  const conversion = { definition, ownNames };
  conversions.set(tool, conversion);
  return conversion;
}
