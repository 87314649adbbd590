// One MCP server: connected at first use, in whichever protocol era it speaks, and connected again when it is lost.
import {
  type CallToolResult,
  Client,
  type ClientOptions,
  type JSONRPCMessage,
  type Tool,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { abortable, startDeadline } from './abort.ts';
import { authorizationNeeded, type Connected, connectTo, finishLogin, loginOf } from './connect.ts';
import { errorText, PocketError } from './errors.ts';
import type { ServerStatus } from './events.ts';
import type { Logger } from './logger.ts';
import type { McpServerEntry } from './mcp-config.ts';
import { retrySafety } from './retry-safety.ts';
import { capabilitiesOf, registerServerRequests, type ServerHandlers } from './server-requests.ts';
import type { ToolCallContext, ToolProgress } from './tools.ts';
import { HttpTransport } from './transports.ts';

export interface ConnectionOptions {
  name: string;
  entry: McpServerEntry;
  handlers: ServerHandlers;
  logger: Logger;
  clientInfo: { name: string; version: string };
  queryParams: Record<string, string>;
  onStatus(status: ServerStatus, reason?: string): void;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_TIMEOUT_MS = 600_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
const MOST_LOGINS = 3;

export class McpConnection {
  readonly name: string;
  /** Grows whenever the list of tools may have changed. */
  revision = 0;
  readonly #options: ConnectionOptions;
  /** Shared by everybody who waits for the connection. */
  #connecting: Promise<Connected> | undefined;
  #live: Connected | undefined;
  #listing: Promise<readonly Tool[]> | undefined;
  /** The last list, kept over a loss: it says which calls are harmless to repeat. */
  #tools: readonly Tool[] = [];
  #failures = 0;
  #retryAt = 0;
  #closed = false;
  #callCount = 0;
  readonly #calls = new Map<string | number, (update: ToolProgress) => void>();

  constructor(options: ConnectionOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Called at every step: a server that failed is tried again in the background when its time has come. */
  retryIfDue(): void {
    if (this.#failures > 0 && !this.#live && !this.#closed && Date.now() >= this.#retryAt) {
      this.#connect().catch(() => {}); // reported as a status by #open
    }
  }

  /** Never rejects for a server that is away: its tools are missing until it is back. */
  async listTools(signal?: AbortSignal): Promise<readonly Tool[]> {
    // a step must not wait again for a server that did not answer before
    if (!this.#live && this.#failures > 0) return [];
    try {
      const live = await withSignal(this.#connect(), signal);
      this.#listing ??= live.client.listTools(undefined, { cacheMode: 'refresh' }).then(({ tools }) => tools);
      this.#tools = await withSignal(this.#listing, signal);
      return this.#tools;
    } catch (error) {
      signal?.throwIfAborted();
      this.#listing = undefined;
      this.#options.logger.warn(`MCP server "${this.name}" is not available: ${errorText(error)}`);
      return [];
    }
  }

  async callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    const tool = this.#tools.find((known) => known.name === name);
    return this.#sendSafely(context.signal, tool, (live) => this.#call(live, name, args, context));
  }

  /** Any other request: reading changes nothing, so it may be repeated. */
  request<Result>(send: (client: Client) => Promise<Result>): Promise<Result> {
    return this.#sendSafely(new AbortController().signal, undefined, (live) => send(live.client));
  }

  /** Sends, and where the session was lost sends once more over a new one, if that cannot do a thing twice. */
  async #sendSafely<Result>(
    signal: AbortSignal,
    tool: Tool | undefined,
    send: (live: Connected) => Promise<Result>,
  ): Promise<Result> {
    const live = await abortable(this.#connect(), signal);
    try {
      return await this.#sendAuthorized(live, signal, send);
    } catch (error) {
      signal.throwIfAborted();
      const safety = retrySafety(error, tool);
      if (safety === 'no-loss') throw error;
      this.#lose(live, errorText(error));
      if (safety === 'unsafe') {
        throw new PocketError(
          'TOOL_OUTCOME_UNKNOWN',
          `The connection to MCP server "${this.name}" was lost while "${tool?.name}" ran. It may or may not have taken effect; check before you try again.`,
          { cause: error },
        );
      }
      return await send(await abortable(this.#connect(), signal));
    }
  }

  /** A server may ask for more rights in the middle of a session; it has not run what it refused. */
  async #sendAuthorized<Result>(
    live: Connected,
    signal: AbortSignal,
    send: (live: Connected) => Promise<Result>,
  ): Promise<Result> {
    for (let logins = 0; ; logins++) {
      try {
        return await send(live);
      } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error;
        const login = loginOf(this.#options.entry);
        if (!login || logins >= MOST_LOGINS || !(live.transport instanceof HttpTransport)) {
          throw authorizationNeeded(this.name, error);
        }
        await finishLogin(login, live.transport, signal);
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const live = this.#live ?? (await this.#connecting?.catch(() => undefined));
    this.#live = undefined;
    if (!live) return;
    this.#options.onStatus('closed');
    await endSession(live);
  }

  #connect(): Promise<Connected> {
    if (this.#live) return Promise.resolve(this.#live);
    if (this.#closed) {
      return Promise.reject(new PocketError('AGENT_CLOSED', `The connection to "${this.name}" was closed.`));
    }
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #open(): Promise<Connected> {
    const timeoutMs = this.#options.entry.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
    const deadline = startDeadline(`Connecting to MCP server "${this.name}"`, [], timeoutMs);
    try {
      const live = await connectTo({
        ...this.#options,
        signal: deadline.signal,
        timeoutMs,
        makeClient: (negotiation) => this.#makeClient(negotiation),
        observe: (message) => this.#observe(message),
      });
      if (this.#closed) {
        await endSession(live);
        throw new PocketError('AGENT_CLOSED', `The connection to "${this.name}" was closed.`);
      }
      live.client.onclose = () => this.#lose(live, 'the server closed the connection');
      this.#live = live;
      this.#failures = 0;
      this.#toolsChanged();
      this.#options.onStatus('connected');
      return live;
    } catch (error) {
      this.#failures++;
      this.revision++;
      this.#retryAt = Date.now() + Math.min(FIRST_RETRY_MS * 2 ** (this.#failures - 1), LONGEST_RETRY_MS);
      this.#options.onStatus('failed', errorText(error));
      throw error;
    } finally {
      deadline.release();
    }
  }

  #makeClient(versionNegotiation: NonNullable<ClientOptions['versionNegotiation']>): Client {
    const { handlers, logger, clientInfo } = this.#options;
    const client = new Client(clientInfo, {
      capabilities: capabilitiesOf(handlers),
      versionNegotiation,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#toolsChanged() } },
    });
    registerServerRequests(client, this.name, handlers);
    // seen by #observe already; without a handler of ours the SDK reports the token as unknown
    client.setNotificationHandler('notifications/progress', () => {});
    client.onerror = (error) => logger.debug(`MCP server "${this.name}": ${errorText(error)}`);
    return client;
  }

  /** Every message as it arrives: the SDK's own progress callbacks miss those that come together with the result. */
  #observe(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    const { handlers, logger } = this.#options;
    try {
      handlers.messageHandler?.(message, { server: this.name });
    } catch (error) {
      logger.error(`messageHandler failed: ${errorText(error)}`);
    }
    if (message.method === 'notifications/progress') {
      const { progressToken, progress, total, message: text } = message.params as unknown as ProgressParams;
      this.#calls.get(progressToken)?.({
        progress,
        ...(total === undefined ? {} : { total }),
        ...(text === undefined ? {} : { message: text }),
      });
    } else if (message.method === 'notifications/message') {
      const log = message.params as unknown as Parameters<NonNullable<ServerHandlers['logHandler']>>[0];
      handlers.logHandler?.({ ...log, server: this.name });
    }
  }

  async #call(
    live: Connected,
    name: string,
    args: Record<string, unknown>,
    context: ToolCallContext,
  ): Promise<CallToolResult> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxTimeoutMs = DEFAULT_MAX_TIMEOUT_MS } = this.#options.entry;
    const progressToken = `${context.toolCallId}:${++this.#callCount}`;
    const controller = new AbortController();
    const giveUp = (ms: number, why: string) => () =>
      controller.abort(
        new PocketError('TOOL_TIMEOUT', `Tool "${name}" of "${this.name}" ${why} ${ms} ms and was cancelled.`),
      );
    const abort = () => controller.abort(context.signal.reason);
    const idle = setTimeout(giveUp(timeoutMs, 'gave no sign of life for'), timeoutMs);
    const cap = setTimeout(giveUp(maxTimeoutMs, 'ran longer than'), maxTimeoutMs);
    context.signal.addEventListener('abort', abort, { once: true });
    this.#calls.set(progressToken, (update) => {
      idle.refresh();
      context.progress(update);
      this.#options.handlers.progressHandler?.({ ...update, server: this.name, toolCallId: context.toolCallId });
    });
    try {
      const params = { name, arguments: args, _meta: { ...this.#logLevel(live), ...context.meta, progressToken } };
      // the SDK's own timer only has to be out of the way of the two above
      return await live.client.callTool(params, { signal: controller.signal, timeout: maxTimeoutMs + 1_000 });
    } catch (error) {
      if (controller.signal.aborted) throw controller.signal.reason;
      throw error;
    } finally {
      clearTimeout(idle);
      clearTimeout(cap);
      context.signal.removeEventListener('abort', abort);
      this.#calls.delete(progressToken);
    }
  }

  // the 2026 era has no setLevel: each request says which log lines it wants
  #logLevel(live: Connected): Record<string, unknown> {
    if (live.client.getProtocolEra() !== 'modern') return {};
    return { 'io.modelcontextprotocol/logLevel': 'info' };
  }

  #toolsChanged(): void {
    this.#listing = undefined;
    this.revision++;
  }

  #lose(live: Connected, reason: string): void {
    if (this.#live !== live) return; // another call has seen it first, and may have a new connection already
    this.#live = undefined;
    this.#toolsChanged();
    if (this.#closed) return;
    this.#options.onStatus('lost', reason);
    this.#options.logger.warn(`MCP server "${this.name}" was lost: ${reason}`);
    live.client.onclose = undefined;
    live.client.close().catch((error) => this.#options.logger.debug(`closing "${this.name}": ${errorText(error)}`));
  }
}

type ProgressParams = ToolProgress & { progressToken: string | number };

function withSignal<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  return signal ? abortable(promise, signal) : promise;
}

async function endSession({ client, transport }: Connected): Promise<void> {
  client.onclose = undefined;
  try {
    if (transport instanceof HttpTransport) {
      await transport.terminateSession();
    }
  } catch {
    // the server is gone or knows no DELETE; its session ends with the connection
  } finally {
    await client.close();
  }
}
