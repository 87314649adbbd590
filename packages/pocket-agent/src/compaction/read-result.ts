// Large and left-out results of one agent: kept whole, and read again by the model with the tool `read_result`.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import {
  errorText,
  isRecord,
  type Logger,
  type OptionRule,
  OptionSet,
  PocketError,
  positiveNumber,
  stringRule,
} from '@pocket-agent/kit';
import type { JudgedTool, Judgement } from '../access/capabilities.ts';
import { type Message, outputText } from '../base/messages.ts';
import type { ToolCall } from '../base/tool-call.ts';
import { type FunctionTool, functionTools, tool } from '../tools/function-tool.ts';
import type { KeptResult } from '../tools/tool-runner.ts';
import type { ToolCallContext, ToolChoices, ToolSource } from '../tools/tool-source.ts';
import type { ToolEntry } from '../tools/tool-table.ts';
import { plainReference, type Reference, resultBytes, resultsIn, type ToolResultPart } from './history-view.ts';
import { type ResultSource, type ResultStore, readPage, searchIn, sourceOf } from './result-pages.ts';

export interface KeepResultsOptions {
  /** For results in private files, which outlive the process. Default: in memory. */
  folder?: string;
  /** Default: one day. */
  expiresAfterMs?: number;
  /** Of all results in the folder, or of this agent in memory; the oldest make room. Default: 256 MiB, in memory 64 MiB. */
  maxTotalBytes?: number;
}

const keepResultsOptions = new OptionSet<KeepResultsOptions>('keepResults', {
  folder: stringRule,
  expiresAfterMs: positiveNumber,
  maxTotalBytes: positiveNumber,
});

export const keepResultsRule: OptionRule = {
  expected: 'true, false or { folder, expiresAfterMs, maxTotalBytes }',
  accepts: (value) => value === null || typeof value === 'boolean' || isRecord(value),
};

/** Undefined if results are not kept. */
export function readKeepResults(given: KeepResultsOptions | boolean | null = true): KeepResultsOptions | undefined {
  if (!given) return undefined;
  const options = given === true ? {} : given;
  keepResultsOptions.check(options);
  return options;
}

const NAME = 'read_result';
const DAY_MS = 86_400_000;
const DEFAULT_FOLDER_BYTES = 256 * 1024 * 1024;
const DEFAULT_MEMORY_BYTES = 64 * 1024 * 1024;
/** Below this size of a result there is no room for the note about it. */
const MIN_RESULT_BYTES = 1_000;
const DEFAULT_PAGE_BYTES = 16_000;
const MAX_MATCHES = 20;
const MAX_SEARCH_CHARACTERS = 200;

interface KeptResultsOptions {
  options: KeepResultsOptions;
  maxToolResultBytes: number;
  messages(): readonly Message[];
  logger: Logger;
  /** Called before the model needs `read_result` for the first time. */
  offer(source: ToolSource & { readonly revision: number }): void;
  /** The tool that now has this name. */
  toolNamed(name: string): ToolEntry | undefined;
}

export class KeptResults {
  readonly #options: KeptResultsOptions;
  /** Tools by the id of a result, for those of this process. */
  readonly #tools = new Map<string, string>();
  /** Ids of results that a hook has changed. */
  readonly #discarded = new Set<string>();
  /** Made when there is a result to read. */
  #source: ReadResultSource | undefined;
  #store: Promise<ResultStore> | undefined;
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
      const store = await this.store();
      const id = await store.keep({ tool: name, toolCallId, text });
      if (id === undefined) return undefined;
      this.#tools.set(id, name);
      this.#offer(name);
      const note = `[The whole result of ${Buffer.byteLength(text)} bytes is kept for a while: read parts of it, or search it, with ${NAME} and the id "${id}".]`;
      return { note, discard: () => this.#discard(store, id) };
    } catch (error) {
      if (!this.#hasFailed) logger.warn(`Large tool results cannot be kept, and are cut: ${errorText(error)}`);
      this.#hasFailed = true;
      return undefined;
    }
  }

  /** The line in place of a result that was left out of the prompt. */
  readonly reference: Reference = (part) => {
    if (!this.#canRead(part.toolName)) return plainReference(part);
    this.#offer(part.toolName);
    const id = keptIdIn(part) ?? part.toolCallId;
    return `[Result of ${resultBytes(part)} bytes left out to save space; ${NAME} with the id "${id}" shows it.]`;
  };

  /** The tool that a result came from. */
  toolOf(id: string): string | undefined {
    return this.#tools.get(id) ?? this.#partOf(id)?.toolName;
  }

  /** The conversation was reset, or the agent closed. */
  forget(): void {
    this.#tools.clear();
    void this.#store?.then((store) => store.clear?.());
  }

  /** All tools whose results can be read. */
  tools(): string[] {
    const left = this.#options.messages().flatMap((message) => resultsIn(message).map(({ toolName }) => toolName));
    return [...new Set([...this.#tools.values(), ...left])].filter((name) => name !== NAME);
  }

  /** The tool that a result came from, as rules judge it. Deny lists may also name `read_result`. */
  judged(name: string): JudgedTool {
    const { tool: definition, ...judged } = this.#options.toolNamed(name) ?? unknownTool(name);
    return { ...judged, tool: { ...definition, name: NAME } };
  }

  /** The most that one call returns. */
  get maxPageBytes(): number {
    return Math.max(1, this.#options.maxToolResultBytes - 500);
  }

  /** Calls `work` with the whole result, or with what the history has of it. */
  async read<Value>(id: string, work: (source: ResultSource) => Promise<Value>): Promise<Value> {
    const part = this.#partOf(id);
    const file = isKeptId(id) && !this.#discarded.has(id) ? await (await this.store()).open(id) : undefined;
    try {
      if (file && file.tool === this.toolOf(id) && (this.#tools.has(id) || file.toolCallId === part?.toolCallId))
        return await work(file);
    } finally {
      await file?.close();
    }
    if (part && !isKeptId(id)) return work(sourceOf(outputText(part.output)));
    throw new PocketError('TOOL_FAILED', `The result "${id}" is not available: call the tool again.`);
  }

  store(): Promise<ResultStore> {
    this.#store ??= this.#openStore();
    return this.#store;
  }

  async #openStore(): Promise<ResultStore> {
    const { folder, expiresAfterMs = DAY_MS, maxTotalBytes } = this.#options.options;
    if (folder === undefined) {
      const { ResultMemory } = await import('./result-memory.ts');
      return new ResultMemory({ expiresAfterMs, maxTotalBytes: maxTotalBytes ?? DEFAULT_MEMORY_BYTES });
    }
    const { ResultFiles } = await import('./result-files.ts');
    return new ResultFiles({ folder, expiresAfterMs, maxTotalBytes: maxTotalBytes ?? DEFAULT_FOLDER_BYTES });
  }

  /** Pages of a result are not kept again, and nothing is if another tool has the name. */
  #canRead(tool: string): boolean {
    const holder = this.#options.toolNamed(NAME)?.source;
    return tool !== NAME && (holder === undefined || holder === this.#source);
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
      const found = message && resultsIn(message).find((part) => part.toolName !== NAME && isWanted(part));
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

/** Lists `read_result` once there is a result to read. */
class ReadResultSource implements ToolSource {
  readonly name = 'results';
  readonly hasOwnSchemas = true;
  /** Changes with the tools whose access rules apply. */
  revision = 0;
  readonly #origins = new Set<string>();
  readonly #results: KeptResults;
  readonly #tools: ToolSource;

  constructor(results: KeptResults) {
    this.#results = results;
    this.#tools = functionTools([readResult(results)], this.name);
  }

  noteOrigin(tool: string): void {
    if (this.#origins.has(tool)) return;
    this.#origins.add(tool);
    this.revision++;
  }

  listTools(): readonly Tool[] | Promise<readonly Tool[]> {
    return this.#tools.listTools();
  }

  callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    return this.#tools.callTool(name, args, context);
  }

  judge(): Judgement {
    return { capability: 'read', from: 'config' };
  }

  /** A call is judged as the tool whose result it reads. */
  choices(tool: Tool): ToolChoices {
    const results = this.#results;
    return {
      all: results.tools().map((name) => results.judged(name)),
      chosenBy: ({ id }) => {
        const origin = typeof id === 'string' ? results.toolOf(id) : undefined;
        return origin === undefined ? undefined : results.judged(origin);
      },
      limitedTo: () => tool,
    };
  }
}

function readResult(results: KeptResults): FunctionTool {
  return tool({
    name: NAME,
    description:
      'Reads a result of an earlier tool call that was cut or left out. Returns a part of its text by position, or with "search" the positions where a text occurs.',
    annotations: { readOnlyHint: true },
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'The id in the note that stands in place of the result' },
        from: { type: 'integer', minimum: 0, description: 'Position of the first byte. Default 0' },
        bytes: { type: 'integer', minimum: 1, description: `How much to read. Default ${DEFAULT_PAGE_BYTES}` },
        search: { type: 'string', minLength: 1, maxLength: MAX_SEARCH_CHARACTERS, description: 'Text to search for' },
      },
      required: ['id'],
      additionalProperties: false,
    },
    run: ({ id, from = 0, bytes = DEFAULT_PAGE_BYTES, search }) =>
      results.read(String(id), async (source) => {
        if (typeof search === 'string') return matchesText(source, search);
        return pageText(source, Number(from), Math.min(Number(bytes), results.maxPageBytes));
      }),
  });
}

async function pageText(source: ResultSource, from: number, bytes: number): Promise<string> {
  if (from >= source.bytes) return `[The result has ${source.bytes} bytes; there is nothing at ${from}.]`;
  // at least one whole character
  const page = await readPage(source, from, Math.max(bytes, 4));
  const end = page.to >= source.bytes ? 'the end' : `continue at ${page.to}`;
  return `[Bytes ${page.from} to ${page.to} of ${source.bytes}; ${end}]\n${page.text}`;
}

async function matchesText(source: ResultSource, search: string): Promise<string> {
  const matches = await searchIn(source, search, MAX_MATCHES);
  if (matches.length === 0) return `[Not found in ${source.bytes} bytes.]`;
  const more = matches.length === MAX_MATCHES ? `\n[The first ${MAX_MATCHES} places; there may be more.]` : '';
  return `${matches.map(({ at, text }) => `at ${at}: ${text}`).join('\n')}${more}`;
}
