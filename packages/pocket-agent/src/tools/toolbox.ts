// All tools of an agent, collected from its sources once, and again when a source has changed.
import { configError } from '@pocket-agent/kit';
import { type FunctionTool, functionTools, isFunctionTool } from './function-tool.ts';
import { NameRegistry } from './name-registry.ts';
import { joinSkills, type ToolSource } from './tool-source.ts';
import { type Collecting, collectTools, type ToolTable } from './tool-table.ts';

interface ToolboxCollecting extends Omit<Collecting, 'names'> {
  /** Called with a new table before callers can use it. */
  beforeUse(table: ToolTable): Promise<void>;
}

export class Toolbox {
  /** The given sources, which `close` closes. */
  readonly #given: readonly ToolSource[];
  /** With one source for all skills. */
  readonly #sources: ToolSource[];
  readonly #borrowed: ToolSource | undefined;
  #names: NameRegistry<ToolSource> | undefined;
  #known: { table: ToolTable; revisions: (number | undefined)[] } | undefined;

  /** `borrowed` is not closed. */
  constructor(tools: readonly (FunctionTool | ToolSource)[], borrowed?: ToolSource) {
    for (const entry of tools) checkEntry(entry);
    const functions = tools.filter(isFunctionTool);
    const sources = tools.filter((entry): entry is ToolSource => !isFunctionTool(entry));
    // first, so that functions keep their names: with a name, a source would take over its access rules
    this.#given = functions.length > 0 ? [functionTools(functions), ...sources] : sources;
    this.#sources = [...joinSkills(this.#given)];
    this.#borrowed = borrowed;
  }

  /** Adds a source, whose tools are in the next table. */
  add(source: ToolSource & { readonly revision: number }): void {
    this.#sources.push(source);
  }

  /** The table collected last, even if a source has changed since. */
  get lastTable(): ToolTable | undefined {
    return this.#known?.table;
  }

  /** The table collected last; undefined if a source has changed since. */
  table(isRunStart = false): ToolTable | undefined {
    for (const source of this.#sources) source.refresh?.(isRunStart);
    const known = this.#known;
    const isSame = known && this.#sources.every((source, index) => source.revision === known.revisions[index]);
    return isSame ? known.table : undefined;
  }

  async collect({ beforeUse, ...collecting }: ToolboxCollecting): Promise<ToolTable> {
    // read before the lists, so that the next step notices a change in between
    const revisions = this.#sources.map((source) => source.revision);
    this.#names ??= new NameRegistry();
    const table = await collectTools(this.#sources, { ...collecting, names: this.#names });
    await beforeUse(table);
    this.#known = { table, revisions };
    return table;
  }

  async close(): Promise<void> {
    const own = this.#given.filter((source) => source !== this.#borrowed);
    await Promise.all(own.map(async (source) => source.close?.()));
  }
}

function checkEntry(entry: FunctionTool | ToolSource): void {
  const isTool = typeof entry === 'object' && entry !== null;
  if (
    isTool &&
    (isFunctionTool(entry) || (typeof entry.listTools === 'function' && typeof entry.callTool === 'function'))
  )
    return;
  throw configError(
    `An entry of tools must be made by tool({ … }), or have listTools and callTool; ${nameOf(entry)} is neither. Wrap a function: tool({ name, description, inputSchema, run }).`,
  );
}

function nameOf(entry: unknown): string {
  const mayHaveName = (typeof entry === 'object' && entry !== null) || typeof entry === 'function';
  return mayHaveName && 'name' in entry && entry.name ? `"${entry.name}"` : `one entry (${typeof entry})`;
}
