// Large and left-out results of one agent: kept whole, so that the model can read them again with `read_result`.
import { randomBytes } from 'node:crypto';
import { errorText, type Logger, PocketError } from '@pocket-agent/kit';
import type { JudgedTool } from '../access/capabilities.ts';
import { type Message, outputText } from '../base/messages.ts';
import type { ToolCall } from '../base/tool-call.ts';
import type { KeptResult } from '../tools/step-calls.ts';
import type { ToolSource } from '../tools/tool-source.ts';
import type { ToolEntry } from '../tools/tool-table.ts';
import { leftOut, plainReference, type Reference, resultsIn, type ToolResultPart } from './history-view.ts';
import type { KeepResultsOptions } from './keep-results-options.ts';
import { READ_RESULT, type ReadableResults, ReadResultSource } from './read-result.ts';
import { type ResultLimits, type ResultSource, type ResultStore, sourceOf } from './result-pages.ts';

const DAY_MS = 86_400_000;
const DEFAULT_FOLDER_BYTES = 256 * 1024 * 1024;
const DEFAULT_MEMORY_BYTES = 64 * 1024 * 1024;
/** Below this size of a result there is no room for the note about it. */
const MIN_RESULT_BYTES = 1_000;
const PARTLY_KEPT =
  '[The whole result is no longer kept. This is what the conversation has of it; call the tool again for the rest.]';

/** A saved conversation, which may keep the results of its tool calls. */
interface SavedConversation {
  results(limits: ResultLimits): ResultStore | undefined;
}

interface KeptResultsOptions {
  options: KeepResultsOptions;
  maxToolResultBytes: number;
  messages(): readonly Message[];
  /** The conversation that the agent continues. */
  saved(): SavedConversation | undefined;
  logger: Logger;
  /** Called before the model needs `read_result` for the first time. */
  offer(source: ToolSource & { readonly revision: number }): void;
  /** The tool that now has this name. */
  toolNamed(name: string): ToolEntry | undefined;
}

export class KeptResults implements ReadableResults {
  readonly #options: KeptResultsOptions;
  /** Tools by the id of a result, for those of this process. */
  readonly #tools = new Map<string, string>();
  /** Ids of results that a hook has changed. */
  readonly #discarded = new Set<string>();
  /** Made when there is a result to read. */
  #source: ReadResultSource | undefined;
  #opened: { saved: SavedConversation | undefined; store: Promise<ResultStore> } | undefined;
  #hasFailed = false;

  constructor(options: KeptResultsOptions) {
    this.#options = options;
  }

  /** Offers `read_result` if the history refers to results. */
  resume(): void {
    if (this.#options.messages().some(mentionsId)) this.#offer();
  }

  /** Undefined if the result cannot be kept; the model then has only its beginning and end. */
  async keep({ id: toolCallId, name }: ToolCall, text: string): Promise<KeptResult | undefined> {
    const { maxToolResultBytes, logger } = this.#options;
    if (maxToolResultBytes < MIN_RESULT_BYTES || !this.#canRead(name)) return undefined;
    try {
      const store = await this.#store();
      const id = `result-${randomBytes(10).toString('hex')}`;
      if (!(await store.keep(id, { tool: name, toolCallId, text }))) return undefined;
      this.#tools.set(id, name);
      this.#offer(name);
      const note = `[The whole result of ${Buffer.byteLength(text)} bytes is kept for a while: read parts of it, or search it, with ${READ_RESULT} and the id "${id}".]`;
      return { note, discard: () => this.#discard(store, id) };
    } catch (error) {
      if (!this.#hasFailed) logger.warn(`Large tool results cannot be kept, and are cut: ${errorText(error)}`);
      this.#hasFailed = true;
      return undefined;
    }
  }

  /** The line that replaces a result that was left out of the prompt. */
  readonly reference: Reference = (part, what) => {
    if (!this.#canRead(part.toolName)) return plainReference(part, what);
    this.#offer(part.toolName);
    const id = keptIdIn(part) ?? part.toolCallId;
    return `[${leftOut(part, what)}; ${READ_RESULT} with the id "${id}" shows it.]`;
  };

  /** The tool that a result came from. */
  toolOf(id: string): string | undefined {
    return this.#tools.get(id) ?? this.#partOf(id)?.toolName;
  }

  /** The conversation was reset, or the agent closed. */
  forget(): void {
    this.#tools.clear();
    void this.#opened?.store.then((store) => store.clear?.()).catch(() => {}); // it was reported when it failed
  }

  /** All tools whose results can be read. */
  tools(): string[] {
    const left = this.#options.messages().flatMap((message) => resultsIn(message).map(({ toolName }) => toolName));
    return [...new Set([...this.#tools.values(), ...left])].filter((name) => name !== READ_RESULT);
  }

  /** The tool that a result came from, as rules judge it. Deny lists may also name `read_result`. */
  judged(name: string): JudgedTool {
    const { tool: definition, ...judged } = this.#options.toolNamed(name) ?? unknownTool(name);
    return { ...judged, tool: { ...definition, name: READ_RESULT } };
  }

  /** The most that one call returns. */
  get maxPageBytes(): number {
    return Math.max(1, this.#options.maxToolResultBytes - 500);
  }

  /** Calls `work` with the whole result, or with what the history has of it. */
  async read(id: string, work: (source: ResultSource) => Promise<string>): Promise<string> {
    const part = this.#partOf(id);
    if (!isKeptId(id) && part) return work(sourceOf(outputText(part.output)));
    const kept = isKeptId(id) && !this.#discarded.has(id) ? await (await this.#store()).open(id) : undefined;
    try {
      if (kept && kept.tool === this.toolOf(id) && (this.#tools.has(id) || kept.toolCallId === part?.toolCallId))
        return await work(kept);
    } finally {
      await kept?.close();
    }
    if (!part) throw new PocketError('TOOL_FAILED', `The result "${id}" is not available: call the tool again.`);
    return `${PARTLY_KEPT}\n${await work(sourceOf(outputText(part.output)))}`;
  }

  #store(): Promise<ResultStore> {
    const { options, saved: current } = this.#options;
    const saved = options.folder === undefined ? current() : undefined;
    const before = this.#opened;
    if (before?.saved === saved && before) return before.store;
    const opening = this.#openStore(saved);
    const store = before ? this.#moved(before.store, opening) : opening;
    this.#opened = { saved, store };
    return store;
  }

  /** The conversation is saved from now on, and its results with it. */
  async #moved(before: Promise<ResultStore>, opening: Promise<ResultStore>): Promise<ResultStore> {
    const [from, to] = await Promise.all([before, opening]);
    for (const [id, tool] of this.#tools) {
      const result = this.#partOf(id) && (await from.open(id));
      if (!result) continue;
      const text = (await result.read(0, result.bytes)).toString();
      await result.close();
      await to.keep(id, { tool, toolCallId: result.toolCallId, text }).catch((error) => {
        this.#options.logger.warn(`A large result cannot be saved with its conversation: ${errorText(error)}`);
      });
    }
    from.clear?.();
    return to;
  }

  async #openStore(saved: SavedConversation | undefined): Promise<ResultStore> {
    const { folder, ...limits } = this.#options.options;
    const { expiresAfterMs = DAY_MS, maxTotalBytes } = limits;
    if (folder !== undefined) {
      const { ResultFiles } = await import('./result-files.ts');
      return new ResultFiles({ folder, expiresAfterMs, maxTotalBytes: maxTotalBytes ?? DEFAULT_FOLDER_BYTES });
    }
    const conversationStore = saved?.results(limits);
    if (conversationStore) return conversationStore;
    const { ResultMemory } = await import('./result-memory.ts');
    return new ResultMemory({ expiresAfterMs, maxTotalBytes: maxTotalBytes ?? DEFAULT_MEMORY_BYTES });
  }

  /** False for pages of a result, which are not kept again; false for all results if another tool has the name. */
  #canRead(tool: string): boolean {
    const holder = this.#options.toolNamed(READ_RESULT)?.source;
    return tool !== READ_RESULT && (holder === undefined || holder === this.#source);
  }

  /** `tool`: the tool that a result came from. */
  #offer(tool?: string): void {
    if (tool !== undefined) this.#source?.noteOrigin(tool);
    if (this.#source) return;
    this.#source = new ReadResultSource(this);
    this.#options.offer(this.#source);
  }

  async #discard(store: ResultStore, id: string): Promise<void> {
    this.#tools.delete(id);
    this.#discarded.add(id);
    await store.remove(id).catch((error) => {
      this.#options.logger.warn(`A result was not deleted: ${errorText(error)}`);
    });
  }

  /** The result in the history that has this id, or mentions it. */
  #partOf(id: string): ToolResultPart | undefined {
    const isWanted = isKeptId(id)
      ? (part: ToolResultPart) => outputText(part.output).includes(id)
      : (part: ToolResultPart) => part.toolCallId === id;
    const messages = this.#options.messages();
    for (let index = messages.length - 1; index >= 0; index--) {
      const message = messages[index];
      const found = message && resultsIn(message).find((part) => part.toolName !== READ_RESULT && isWanted(part));
      if (found) return found;
    }
    return undefined;
  }
}

/** A tool that is gone is judged by its name, and like a tool whose capability is unknown. */
function unknownTool(name: string): JudgedTool {
  return { name, tool: { name, inputSchema: { type: 'object' } }, capability: 'delete', from: 'nothing' };
}

function isKeptId(id: string): boolean {
  return /^result-[0-9a-f]{20}$/.test(id);
}

function mentionsId(message: Message): boolean {
  return resultsIn(message).some((part) => keptIdIn(part) !== undefined);
}

function keptIdIn(part: ToolResultPart): string | undefined {
  return outputText(part.output)
    .match(/\bresult-[0-9a-f]{20}\b/g)
    ?.at(-1);
}
