// Everything an agent can call, from all its sources, gathered once and again only when a source has changed.
import { PocketError } from './errors.ts';
import { type FunctionTool, functionTools, isFunctionTool } from './function-tool.ts';
import { collectTools, type RenamedTool, type ToolEntry, ToolNames, type ToolSource, type ToolTable } from './tools.ts';

export interface ToolboxWatcher {
  renamed(change: RenamedTool): void;
  collected(table: ToolTable): void;
}

export class Toolbox {
  readonly #sources: ToolSource[];
  readonly #names = new ToolNames();
  readonly #watcher: ToolboxWatcher;
  #known: { table: ToolTable; revisions: (number | undefined)[] } | undefined;

  constructor(tools: readonly (FunctionTool | ToolSource)[], watcher: ToolboxWatcher) {
    for (const entry of tools) checkEntry(entry);
    const functions = tools.filter(isFunctionTool);
    const sources = tools.filter((entry): entry is ToolSource => !isFunctionTool(entry));
    this.#sources = functions.length > 0 ? [...sources, functionTools(functions)] : sources;
    this.#watcher = watcher;
  }

  async table(signal: AbortSignal): Promise<ToolTable> {
    for (const source of this.#sources) source.refresh?.();
    const known = this.#known;
    if (known && this.#sources.every((source, index) => source.revision === known.revisions[index])) return known.table;
    // read before the lists are: what changes meanwhile is noticed at the next step
    const revisions = this.#sources.map((source) => source.revision);
    const table = await collectTools(this.#sources, this.#names, this.#watcher.renamed, signal);
    this.#known = { table, revisions };
    this.#watcher.collected(table);
    return table;
  }

  /** A tool as it is now, not as it was when the step began. */
  async entry(name: string, signal: AbortSignal): Promise<ToolEntry | undefined> {
    return (await this.table(signal)).byName.get(name);
  }

  async close(): Promise<void> {
    await Promise.all(this.#sources.map(async (source) => source.close?.()));
  }
}

function checkEntry(entry: FunctionTool | ToolSource): void {
  const isTool = typeof entry === 'object' && entry !== null;
  if (
    isTool &&
    (isFunctionTool(entry) || (typeof entry.listTools === 'function' && typeof entry.callTool === 'function'))
  )
    return;
  throw new PocketError(
    'CONFIG_INVALID',
    `tools may hold what tool({ … }) returns, and sources with listTools and callTool; one entry is ${typeof entry}.`,
  );
}
