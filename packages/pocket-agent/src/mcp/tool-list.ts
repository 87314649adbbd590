// The list of tools of one MCP server, cached until the server announces a change.
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
  inSlices,
  type Logger,
  MAX_TIMER_MS,
  neverAborted,
  PocketError,
  schemaIssuesText,
  withDeadline,
} from '@pocket-agent/kit';
import { retrySafety } from './retry-safety.ts';
import { withProperties } from './transports/hidden-properties.ts';
import { HttpTransport } from './transports/http-transport.ts';

/** Many servers send a TTL of 0, with which an agent would list the tools at every step. */
const MIN_TTL_MS = 10_000;
/** How long a list is valid if the server supports announcements of changes, but accepts no subscription. */
const UNWATCHED_TTL_MS = 60_000;
/** The limit of the SDK. */
const MAX_PAGES = 64;
/** The most tools on all pages. */
const MAX_TOOLS = 20_000;
const MAX_CHARACTERS = 20_000_000;

interface ToolListOptions {
  /** Name of the server. */
  name: string;
  logger: Logger;
  /** The time limit for all pages of a list. */
  timeoutMs: number;
}

export class ToolList {
  /** Grows whenever agents must ask for the list again. */
  revision = 0;
  /** The last list. It is kept when the connection is lost, to know which calls are harmless to repeat. */
  #known: readonly Tool[] = [];
  /** Number of lists requested, and the number of the one that is known: answers may arrive in another order. */
  #asked = 0;
  #answered = 0;
  /** When the list expires, for a server that does not announce changes. */
  #freshUntil = Number.POSITIVE_INFINITY;
  /** Set if the list is read again only because it expired: if that fails, the old list is used. */
  #isRefreshed = false;
  /** Shared by all callers that wait for the list. */
  #reading: Promise<readonly Tool[]> | undefined;
  /** A client whose subscription to changes has ended and must be renewed. */
  #unwatched: Client | undefined;
  /** The size so far of the list that is being read. */
  #listed = { tools: 0, characters: 0 };
  /** Aborts the reading of a list that is too long. */
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

  /** The list is still valid, but agents ask for it again: they were told that there are no tools. */
  relist(): void {
    this.revision++;
  }

  /** Called at every step. */
  changeIfStale(): void {
    if (this.#freshUntil === Number.POSITIVE_INFINITY || Date.now() < this.#freshUntil) return;
    this.changed();
    this.#isRefreshed = true;
  }

  /** Counts each page as it arrives, and aborts a list that is too long. */
  countListSize(message: JSONRPCMessage): void {
    const tools = 'result' in message ? message.result.tools : undefined;
    if (!this.#tooLong || !Array.isArray(tools)) return;
    this.#listed.tools += tools.length;
    this.#listed.characters += JSON.stringify(tools).length;
    if (this.#listed.tools <= MAX_TOOLS && this.#listed.characters <= MAX_CHARACTERS) return;
    const limits = `${MAX_TOOLS} tools or ${MAX_CHARACTERS} characters`;
    const text = `The list of tools of MCP server "${this.#options.name}" exceeds the limit of ${limits}.`;
    this.#tooLong.abort(new PocketError('MCP_REQUEST_FAILED', text));
  }

  async read(client: Client, signal: AbortSignal = neverAborted()): Promise<readonly Tool[]> {
    this.#reading ??= this.#begin(client);
    return abortable(this.#reading, signal);
  }

  /** The server no longer announces changes, unless the subscription is renewed. */
  changesUnavailable(client: Client): void {
    this.#unwatched = client;
    this.changed();
  }

  /** In the 2026 era changes arrive on a subscription, which may end before the connection does. */
  watch(client: Client, subscription: McpSubscription | undefined = client.autoOpenedSubscription): void {
    subscription?.closed.then((cause) => {
      if (cause !== 'local') this.changesUnavailable(client);
    });
  }

  #begin(client: Client): Promise<readonly Tool[]> {
    const reading = this.#askInTime(client);
    // also without a waiting caller: the next one must not get an old error
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return reading;
  }

  #askInTime(client: Client): Promise<readonly Tool[]> {
    if (this.#unwatched === client) this.#watchAgain(client);
    this.#listed = { tools: 0, characters: 0 };
    const tooLong = new AbortController();
    this.#tooLong = tooLong;
    return this.#inTime('Listing', (signal) => this.#ask(client, signal), [tooLong.signal]).finally(() => {
      if (this.#tooLong === tooLong) this.#tooLong = undefined;
    });
  }

  /** Runs in the background. The list is read again when the subscription is there. */
  #watchAgain(client: Client): void {
    this.#unwatched = undefined;
    this.#inTime('Watching', (signal) => listenAgain(client, signal)).then(
      (subscription) => {
        this.watch(client, subscription);
        this.changed();
      },
      (error) => {
        this.#options.logger.debug(
          `The tools are listed again every minute, because changes cannot be announced: ${errorText(error)}`,
        );
        this.#unwatched = client;
        this.#freshUntil = Date.now() + UNWATCHED_TTL_MS;
      },
    );
  }

  #inTime<Value>(
    what: string,
    work: (signal: AbortSignal) => Promise<Value>,
    signals: AbortSignal[] = [],
  ): Promise<Value> {
    const { name, timeoutMs } = this.#options;
    return withDeadline({ what: `${what} the tools of MCP server "${name}"`, signals, timeoutMs }, work);
  }

  async #ask(client: Client, signal: AbortSignal): Promise<readonly Tool[]> {
    const number = ++this.#asked;
    const { tools: capability } = client.getServerCapabilities() ?? {};
    // without the capability, the SDK would print to stdout
    const { tools, ttlMs } = capability ? await this.#list(client, signal) : { tools: [] };
    if (number < this.#answered) return tools;
    this.#answered = number;
    this.#known = tools;
    if (!capability?.listChanged && typeof ttlMs === 'number')
      this.#freshUntil = Date.now() + Math.max(ttlMs, MIN_TTL_MS);
    return tools;
  }

  async #list(client: Client, signal: AbortSignal): Promise<{ tools: readonly Tool[]; ttlMs?: unknown }> {
    const isRefreshed = this.#isRefreshed;
    try {
      // calls pass the tool on, so the SDK need not cache the list; its own timeout is for each page
      const options = { cacheMode: 'bypass', signal, timeout: MAX_TIMER_MS } as const;
      const { tools, ttlMs } = await client.listTools(undefined, options);
      return { tools: await completed(tools), ttlMs };
    } catch (cause) {
      const error = signal.aborted ? signal.reason : this.#explained(cause);
      if (!isRefreshed || retrySafety(error) !== 'no-loss') throw error;
      this.#options.logger.debug(`The list of tools was not read again: ${errorText(error)}`);
      return { tools: this.#known, ttlMs: MIN_TTL_MS };
    }
  }

  #explained(error: unknown): unknown {
    const fault = error instanceof Error ? firstFault(error.message) : undefined;
    if (fault) {
      const text = `MCP server "${this.#options.name}" did not list its tools: the list is invalid (${fault})`;
      return new PocketError('MCP_REQUEST_FAILED', text, { cause: error });
    }
    if (!(error instanceof SdkError) || error.code !== SdkErrorCode.ListPaginationExceeded) return error;
    const text = `The list of tools of MCP server "${this.#options.name}" exceeds the limit of ${MAX_PAGES} pages.`;
    return new PocketError('MCP_REQUEST_FAILED', text, { cause: error });
  }
}

/** In slices, because the list may be long. */
async function completed(listed: readonly Tool[]): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  await inSlices(listed, (tool) => tools.push(deepFreeze(withProperties(tool))));
  return deepFreeze(tools);
}

/** The first of the problems that the SDK found in a list. It reports them as JSON on many lines. */
function firstFault(message: string): string | undefined {
  const [, found = ''] = /^Invalid result for tools\/list: (\[.*\])$/s.exec(message) ?? [];
  if (!found) return undefined;
  const [first, ...others] = JSON.parse(found);
  const more = others.length > 0 ? `, and ${others.length} more faults` : '';
  return `${schemaIssuesText([first])}${more}`;
}

/** In the 2025 era, HTTP servers announce changes on a stream, without a subscription. */
async function listenAgain(client: Client, signal: AbortSignal): Promise<McpSubscription | undefined> {
  if (client.getProtocolEra() === 'modern') return client.listen({ toolsListChanged: true }, { signal });
  const { transport } = client;
  if (transport instanceof HttpTransport) await abortable(transport.listenAgain(), signal);
  return undefined;
}
