// The tools of one MCP server as they were last listed, kept until the server says that they changed.
import {
  type Client,
  type JSONRPCMessage,
  type McpSubscription,
  SdkError,
  SdkErrorCode,
  type Tool,
} from '@modelcontextprotocol/client';
import {
  abortable,
  deepFreeze,
  errorText,
  LONGEST_TIMER_MS,
  type Logger,
  PocketError,
  schemaIssuesText,
  startDeadline,
} from '@pocket-agent/kit';
import { retrySafety } from './retry-safety.ts';
import { HttpTransport } from './transports/http-transport.ts';

/** Servers say 0 where they know of no better; an agent in a hurry would ask at every step. */
const SHORTEST_TTL_MS = 10_000;
/** For a server that should tell of changes and does not answer whoever wants to hear of them. */
const UNTOLD_TTL_MS = 60_000;
/** Where the SDK stops. */
const MOST_PAGES = 64;
/** Of all pages together. */
const MOST_TOOLS = 20_000;
const MOST_CHARACTERS = 20_000_000;

interface ToolListOptions {
  /** Of the server. */
  name: string;
  logger: Logger;
  /** For all pages of a list together. */
  timeoutMs: number;
}

export class ToolList {
  /** Grows whenever the list may have changed. */
  revision = 0;
  /** The last list, kept over a loss: it says which calls are harmless to repeat. */
  #known: readonly Tool[] = [];
  /** Lists that were asked for, and the number of the one that is known: they may arrive in another order. */
  #asked = 0;
  #answered = 0;
  /** Until when the list of a server that tells of no changes may be used. */
  #freshUntil = Number.POSITIVE_INFINITY;
  /** Read again only to see whether it changed: what is known will do. */
  #isRefreshed = false;
  /** Shared by everybody who waits for the list. */
  #reading: Promise<readonly Tool[]> | undefined;
  /** A client whose server stopped telling of changes, and must be asked to do so again. */
  #unwatched: Client | undefined;
  /** What the list that is being read has come to so far. */
  #listed = { tools: 0, characters: 0 };
  #tooLong: AbortController | undefined;
  readonly #options: ToolListOptions;

  constructor(options: ToolListOptions) {
    this.#options = options;
  }

  find(name: string): Tool | undefined {
    return this.#known.find((tool) => tool.name === name);
  }

  changed(): void {
    this.#reading = undefined;
    this.#freshUntil = Number.POSITIVE_INFINITY;
    this.#isRefreshed = false;
    this.revision++;
  }

  /** Called at every step. */
  changeIfStale(): void {
    if (this.#freshUntil === Number.POSITIVE_INFINITY || Date.now() < this.#freshUntil) return;
    this.changed();
    this.#isRefreshed = true;
  }

  /** Ends the reading of a list that is too long, page by page as it arrives. */
  weigh(message: JSONRPCMessage): void {
    const tools = 'result' in message ? message.result.tools : undefined;
    if (!this.#tooLong || !Array.isArray(tools)) return;
    this.#listed.tools += tools.length;
    this.#listed.characters += JSON.stringify(tools).length;
    if (this.#listed.tools <= MOST_TOOLS && this.#listed.characters <= MOST_CHARACTERS) return;
    const limits = `${MOST_TOOLS} tools or ${MOST_CHARACTERS} characters`;
    const text = `MCP server "${this.#options.name}" lists more than ${limits}, the most that are read.`;
    this.#tooLong.abort(new PocketError('MCP_REQUEST_FAILED', text));
  }

  async read(client: Client, signal: AbortSignal | undefined): Promise<readonly Tool[]> {
    this.#reading ??= this.#begin(client);
    return signal ? abortable(this.#reading, signal) : this.#reading;
  }

  /** The server tells of changes no longer, unless it is asked to do so again. */
  unheard(client: Client): void {
    this.#unwatched = client;
    this.changed();
  }

  /** In the 2026 era changes come over a subscription, which may end while the server lives on. */
  watch(client: Client, subscription: McpSubscription | undefined = client.autoOpenedSubscription): void {
    subscription?.closed.then((cause) => {
      if (cause !== 'local') this.unheard(client);
    });
  }

  #begin(client: Client): Promise<readonly Tool[]> {
    const reading = this.#askInTime(client);
    // who waited for it may have gone: whoever comes next must not read of an old failure
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return reading;
  }

  #askInTime(client: Client): Promise<readonly Tool[]> {
    if (this.#unwatched === client) this.#watchAgain(client);
    this.#listed = { tools: 0, characters: 0 };
    this.#tooLong = new AbortController();
    return this.#inTime('Listing', (signal) => this.#ask(client, signal), [this.#tooLong.signal]);
  }

  /** Nobody waits for it: what changes until then is read as soon as it is there. */
  #watchAgain(client: Client): void {
    this.#unwatched = undefined;
    this.#inTime('Watching', (signal) => listenAgain(client, signal)).then(
      (subscription) => {
        this.watch(client, subscription);
        this.changed();
      },
      (error) => {
        this.#options.logger.debug(`Changes of tools are looked for, since none will be told: ${errorText(error)}`);
        this.#unwatched = client;
        this.#freshUntil = Date.now() + UNTOLD_TTL_MS;
      },
    );
  }

  async #inTime<Value>(
    what: string,
    work: (signal: AbortSignal) => Promise<Value>,
    stops: AbortSignal[] = [],
  ): Promise<Value> {
    const { name, timeoutMs } = this.#options;
    const deadline = startDeadline(`${what} the tools of MCP server "${name}"`, stops, timeoutMs);
    try {
      return await work(deadline.signal);
    } finally {
      deadline.release();
    }
  }

  async #ask(client: Client, signal: AbortSignal): Promise<readonly Tool[]> {
    const number = ++this.#asked;
    const { tools: capability } = client.getServerCapabilities() ?? {};
    // asked all the same, the SDK would print to stdout
    const { tools, ttlMs } = capability ? await this.#list(client, signal) : { tools: [] };
    if (number < this.#answered) return tools;
    this.#answered = number;
    this.#known = tools;
    if (!capability?.listChanged && typeof ttlMs === 'number')
      this.#freshUntil = Date.now() + Math.max(ttlMs, SHORTEST_TTL_MS);
    return tools;
  }

  async #list(client: Client, signal: AbortSignal): Promise<{ tools: readonly Tool[]; ttlMs?: unknown }> {
    const isRefreshed = this.#isRefreshed;
    try {
      // the SDK's own timer would be for each page
      const options = { cacheMode: 'refresh', signal, timeout: LONGEST_TIMER_MS } as const;
      const { tools, ttlMs } = await client.listTools(undefined, options);
      return { tools: deepFreeze(tools), ttlMs };
    } catch (cause) {
      const error = signal.aborted ? signal.reason : this.#explained(cause);
      if (!isRefreshed || retrySafety(error) !== 'no-loss') throw error;
      this.#options.logger.debug(`The list of tools was not read again: ${errorText(error)}`);
      return { tools: this.#known, ttlMs: SHORTEST_TTL_MS };
    }
  }

  #explained(error: unknown): unknown {
    const fault = error instanceof Error ? firstFault(error.message) : undefined;
    if (fault) {
      const text = `MCP server "${this.#options.name}" did not list its tools: the list is invalid (${fault})`;
      return new PocketError('MCP_REQUEST_FAILED', text, { cause: error });
    }
    if (!(error instanceof SdkError) || error.code !== SdkErrorCode.ListPaginationExceeded) return error;
    const text = `MCP server "${this.#options.name}" lists its tools on more than ${MOST_PAGES} pages, the most that are read.`;
    return new PocketError('MCP_REQUEST_FAILED', text, { cause: error });
  }
}

/** The first of the faults that the SDK found in a list, which it tells as JSON on many lines. */
function firstFault(message: string): string | undefined {
  const [, found = ''] = /^Invalid result for tools\/list: (\[.*\])$/s.exec(message) ?? [];
  if (!found) return undefined;
  const [first, ...others] = JSON.parse(found);
  const more = others.length > 0 ? `, and ${others.length} more faults` : '';
  return `${schemaIssuesText([first])}${more}`;
}

/** In the 2025 era there is a stream for it over HTTP, in place of a subscription. */
async function listenAgain(client: Client, signal: AbortSignal): Promise<McpSubscription | undefined> {
  if (client.getProtocolEra() === 'modern') return client.listen({ toolsListChanged: true }, { signal });
  const { transport } = client;
  if (transport instanceof HttpTransport) await abortable(transport.listenAgain(), signal);
  return undefined;
}
