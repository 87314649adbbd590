// The connection to one MCP server: opened at first use, and opened again when it is lost.
import type { CallToolResult, Client, Tool } from '@modelcontextprotocol/client';
import {
  abortable,
  delay,
  errorText,
  isPocketError,
  LONGEST_TIMER_MS,
  type Logger,
  PocketError,
  startDeadline,
} from '@pocket-agent/kit';
import type { ToolProgress } from '../base/tool-call.ts';
import type { ServerStatus } from '../run/events.ts';
import { DEFAULT_WAIT_MS, type ListWait, type ToolCallContext } from '../tools/tool-source.ts';
import { authorizationNeeded, connectTo, finishLogin, isUnauthorized, loginOf, MOST_LOGINS } from './connect.ts';
import { brokenOff, type Connected } from './connect-attempt.ts';
import { childHint } from './connect-child.ts';
import type { McpServerEntry } from './mcp-config.ts';
import { checkOutput, checkSchema } from './output-check.ts';
import { PendingCalls } from './pending-calls.ts';
import { isHarmlessTwice, isHeaderMismatch, isUnreachable, retrySafety, safetyAfterAnswer } from './retry-safety.ts';
import type { Listener } from './sdk-client.ts';
import { type ServerHandlers, type ServerLog, tell } from './server-requests.ts';
import { ToolList } from './tool-list.ts';
import { ChildTransport } from './transports/child-transport.ts';
import { HttpTransport } from './transports/http-transport.ts';

interface ConnectionOptions {
  name: string;
  entry: McpServerEntry;
  handlers: ServerHandlers;
  logger: Logger;
  clientInfo: { name: string; version: string };
  queryParams: Record<string, string> | undefined;
  onLog(log: ServerLog): void;
  onStatus(status: ServerStatus, reason?: string): void;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_TIMEOUT_MS = 600_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
/** A server that has not answered by then is logged; runs may still wait for it. */
const NAMED_AFTER_MS = 5_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
// how long calls wait for a server that was just lost to restart
const RESTART_MS = 3_000;
const LOGS = { 'io.modelcontextprotocol/logLevel': 'info' };
// how long closing waits for the server to end its session
const END_SESSION_MS = 2_000;

export class McpConnection {
  readonly name: string;
  readonly #options: ConnectionOptions;
  readonly #pending = new PendingCalls();
  readonly #tools: ToolList;
  readonly #listener: Listener;
  readonly #closing = new AbortController();
  /** Shared by all callers that wait for the connection. */
  #connecting: Promise<Live> | undefined;
  #live: Live | undefined;
  /** Lost connections on which calls are still under way. */
  #left: Set<Live> | undefined;
  #wasLost = false;
  #failures = 0;
  /** Why the last attempt to list its tools failed; undefined if it succeeded. */
  #unlisted: unknown;
  #retryAt = 0;
  /** Its tools, for the runs that wait for them; no tools if that takes longer than `waitMs`. */
  #arrival: Promise<readonly Tool[]> | undefined;
  #stopWaiting: (() => void) | undefined;
  #slowTimers: NodeJS.Timeout[] = [];
  /** Number of callers that wait for the list of tools. They share the timers. */
  #waiting = 0;
  /** It took longer than `waitMs` and has not listed its tools since. No run waits for it. */
  #isSlow = false;
  /** The server process that was started last. */
  #child: ChildTransport | undefined;
  /** The reason of the last warning that it is not available. */
  #warnedOf: string | undefined;
  #status: { status: ServerStatus; reason?: string } | undefined;

  constructor(options: ConnectionOptions) {
    this.name = options.name;
    this.#options = options;
    const { name, logger } = options;
    this.#tools = new ToolList({ name, logger, timeoutMs: this.#connectTimeoutMs });
    this.#listener = { ...options, pending: this.#pending, tools: this.#tools };
  }

  /** Undefined before the first use. */
  get status(): { status: ServerStatus; reason?: string } | undefined {
    return this.#status;
  }

  /** The last attempt to connect, or to list its tools, failed. */
  get isAway(): boolean {
    return this.#unlisted !== undefined || (!this.#live && this.#failures > 0);
  }

  /** Grows whenever the list of tools may have changed. */
  get revision(): number {
    return this.#tools.revision;
  }

  /** Called at every step: marks an old list as stale, and retries a server that is away when it is due or a run starts. */
  refresh(isRunStart: boolean): void {
    this.#tools.changeIfStale();
    if (!this.isAway || this.#closing.signal.aborted) return;
    if (!isRunStart && Date.now() < this.#retryAt) return;
    this.#arrival ??= this.#arrive();
    if (isRunStart) this.#tools.revision++; // so that the run lists the tools again, and waits for them
  }

  /** Retries a server that is away now. Never rejects: the outcome is in `status`. */
  async retry(): Promise<void> {
    if (!this.isAway || this.#closing.signal.aborted) return;
    await (this.#unlisted === undefined ? this.#connect() : this.#list(undefined)).catch(() => {});
  }

  /** Returns no tools for a server that is away. */
  async listTools(signal: AbortSignal | undefined, wait: ListWait): Promise<readonly Tool[]> {
    this.refresh(false);
    if (wait === 'all') return this.isAway ? [] : this.#listOrWarn(signal);
    if (this.isAway && !this.#arrival) return [];
    this.#arrival ??= this.#arrive();
    return signal ? abortable(this.#arrival, signal) : this.#arrival;
  }

  /** From the last list. */
  toolNamed(name: string): Tool | undefined {
    return this.#tools.find(name);
  }

  /** Sends a call; after a loss once more over a new connection, if the call cannot take effect twice. */
  async callTool(tool: Tool, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    const attempts: Attempts = { tool, signal: context.signal, isSecond: false, logins: 0, hasStarted: false };
    for (;;) {
      const live = await this.#liveFor(attempts);
      try {
        return await this.#call(live, { tool, args, context, attempts });
      } catch (error) {
        await this.#recover(live, error, attempts);
      } finally {
        this.#release(live);
      }
    }
  }

  get isCalledForOthers(): boolean {
    return this.#pending.areForOthers;
  }

  /** Sends any other request. They only read, so they may be repeated. */
  async request<Result>(send: (client: Client) => Promise<Result>): Promise<Result> {
    const attempts: Attempts = { signal: this.#closing.signal, isSecond: false, logins: 0, hasStarted: false };
    for (;;) {
      const live = await this.#liveFor(attempts);
      try {
        return await send(live.client);
      } catch (error) {
        await this.#recover(live, error, attempts);
      } finally {
        this.#release(live);
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new PocketError('AGENT_CLOSED', `The connection to "${this.name}" was closed.`));
    const live = this.#live ?? (await this.#connecting?.catch(() => undefined));
    this.#live = undefined;
    if (live) this.#setStatus('closed');
    await Promise.all([...(this.#left ?? []), ...(live ? [live] : [])].map(endSession));
    this.#stopClock();
  }

  /** Lists the tools for runs; goes on in the background when they stop waiting. */
  #arrive(): Promise<readonly Tool[]> {
    const { promise, resolve } = Promise.withResolvers<readonly Tool[]>();
    let isLate = false;
    this.#stopWaiting = () => {
      isLate = true;
      resolve([]);
    };
    if (this.#isSlow) this.#stopWaiting();
    void this.#listOrWarn(undefined).then((tools) => {
      this.#arrival = undefined;
      this.#stopWaiting = undefined;
      if (isLate) this.#tools.revision++;
      resolve(tools);
    });
    return promise;
  }

  async #listOrWarn(signal: AbortSignal | undefined): Promise<readonly Tool[]> {
    try {
      return (await this.#list(signal)).tools;
    } catch (error) {
      signal?.throwIfAborted();
      const reason = errorText(error);
      if (!this.#closing.signal.aborted && reason !== this.#warnedOf)
        this.#options.logger.warn(`MCP server "${this.name}" is not available: ${reason}`);
      this.#warnedOf = reason;
      return [];
    }
  }

  get #waitMs(): number {
    return Math.min(this.#options.entry.waitMs ?? DEFAULT_WAIT_MS, LONGEST_TIMER_MS);
  }

  /** Logs a server that takes long, and later lets runs go on without it. */
  #startClock(): void {
    if (this.#isSlow || this.#slowTimers.length > 0) return;
    const namedAfterMs = Math.min(NAMED_AFTER_MS, this.#waitMs);
    const late = () => {
      this.#isSlow = true;
      this.#stopWaiting?.();
    };
    this.#slowTimers = [setTimeout(() => this.#nameSlow(namedAfterMs), namedAfterMs), setTimeout(late, this.#waitMs)];
  }

  #stopClock(): void {
    for (const timer of this.#slowTimers) clearTimeout(timer);
    this.#slowTimers = [];
  }

  #nameSlow(afterMs: number): void {
    const what = this.#live ? 'listed its tools' : 'answered';
    const hint = this.#child ? childHint(this.#child) : '';
    const reason = `has not ${what} within ${afterMs} ms.${hint}`;
    const wayOut = `Runs wait ${this.#waitMs} ms for it ("waitMs" of its entry); after that its tools join when they are there.`;
    this.#options.logger.warn(`MCP server "${this.name}" ${reason} ${wayOut}`);
    this.#setStatus('connecting', `it ${reason}`);
  }

  async #list(signal: AbortSignal | undefined): Promise<{ live: Live; tools: readonly Tool[] }> {
    this.#waiting++;
    this.#startClock();
    try {
      for (let isSecond = false; ; isSecond = true) {
        const live = await (signal ? abortable(this.#connect(), signal) : this.#connect());
        try {
          const tools = await this.#tools.read(live.client, signal);
          this.#hasListed();
          return { live, tools };
        } catch (error) {
          signal?.throwIfAborted();
          const isBroken = brokenOff(live.transport) !== undefined;
          const isCut = isBroken || retrySafety(error) !== 'no-loss';
          if (isCut && !isSecond) this.#lose(live, reasonOf(live, error));
          if (isCut && !isSecond && !isBroken) continue;
          // a server that hangs is reconnected by the next attempt; one that answers with an error stays connected
          if (isCut || isPocketError(error, 'TIMEOUT')) this.#drop(live);
          throw this.#failToList(live, error);
        }
      }
    } finally {
      if (--this.#waiting === 0) this.#stopClock();
    }
  }

  /** A connection for the next attempt. It is not closed before `#release`. */
  async #liveFor({ tool, signal, isSecond }: Attempts): Promise<Live> {
    signal.throwIfAborted();
    const live = (isSecond ? undefined : this.#live) ?? (await this.#connectAgain(tool, signal));
    live.calls++;
    return live;
  }

  #release(live: Live): void {
    live.calls--;
    this.#dropIfUnused(live);
  }

  /** After a failed attempt: returns if the request may be sent again, and throws if not. */
  async #recover(live: Live, error: unknown, attempts: Attempts): Promise<void> {
    const { tool, signal, hasStarted } = attempts;
    signal.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    if (isUnauthorized(error)) {
      if (hasStarted && !isHarmlessTwice(tool))
        throw outcomeUnknown(`MCP server "${this.name}" wanted a login while "${tool?.name}" ran`, error);
      // a server may want more scopes in the middle of a session; it has not run the call that it refused
      if (++attempts.logins > MOST_LOGINS) throw authorizationNeeded(this.name, this.#options.entry, error);
      await this.#logIn(live, signal, error);
      return;
    }
    if (tool && !hasStarted && !attempts.relisted && isHeaderMismatch(error)) {
      attempts.relisted = await this.#listAgain(live, tool, signal);
      return;
    }
    const broken = brokenOff(live.transport);
    const safety = broken ? safetyAfterAnswer(tool) : retrySafety(error, tool, hasStarted);
    if (safety === 'no-loss') throw error;
    const cause = broken ?? error;
    this.#lose(live, reasonOf(live, error));
    if (safety === 'unsafe')
      throw outcomeUnknown(`The connection to MCP server "${this.name}" was lost while "${tool?.name}" ran`, cause);
    if (attempts.isSecond) throw this.#lost(cause);
    attempts.isSecond = true;
  }

  /** After a restart the server may have a different tool of that name, which no policy has judged. */
  async #connectAgain(tool: Tool | undefined, signal: AbortSignal): Promise<Live> {
    if (!tool) return abortable(this.#connect(), signal);
    const { live, tools } = await this.#list(signal);
    const now = tools.find(({ name }) => name === tool.name);
    if (now === tool || JSON.stringify(now) === JSON.stringify(tool)) return live;
    const change = now ? 'has changed since. It can be called again as it is now' : 'is gone since';
    const text = `The connection to MCP server "${this.name}" was lost, and "${tool.name}" was not called over the new one: it ${change}.`;
    throw new PocketError('MCP_REQUEST_FAILED', text);
  }

  async #listAgain({ client }: Live, { name }: Tool, signal: AbortSignal): Promise<Tool> {
    this.#tools.changed();
    const found = (await this.#tools.read(client, signal)).find((tool) => tool.name === name);
    if (found) return found;
    throw new PocketError('MCP_REQUEST_FAILED', `MCP server "${this.name}" has no tool "${name}" any more.`);
  }

  async #logIn({ transport }: Live, signal: AbortSignal, refusal: unknown): Promise<void> {
    const login = loginOf(this.#options.entry);
    if (!login || !(transport instanceof HttpTransport))
      throw authorizationNeeded(this.name, this.#options.entry, refusal);
    await finishLogin(login, transport, signal);
  }

  #connect(): Promise<Live> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason);
    if (this.#live) return Promise.resolve(this.#live);
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #open(): Promise<Live> {
    const { signal } = this.#closing;
    if (this.#failures === 0) this.#setStatus('connecting');
    try {
      const connected = await this.#connectPatiently(signal);
      const live = { ...connected, logs: asksForLogs(connected), calls: 0 };
      if (signal.aborted) {
        await endSession(live);
        throw signal.reason;
      }
      live.client.onclose = () => this.#lose(live, reasonOf(live, 'the server closed the connection'));
      this.#live = live;
      if (this.#unlisted === undefined) this.#failures = 0;
      this.#wasLost = false;
      this.#tools.watch(live.client);
      this.#tools.changed();
      if (this.#unlisted === undefined) this.#setStatus('connected');
      return live;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /** Waits for a server that was connected a moment ago: it is probably restarting. */
  async #connectPatiently(signal: AbortSignal): Promise<Connected> {
    const until = Date.now() + (this.#wasLost ? RESTART_MS : 0);
    for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, 500)) {
      try {
        return await connectTo({
          ...this.#options,
          signal,
          timeoutMs: this.#connectTimeoutMs,
          onLogin: () => this.#stopClock(),
          onChild: (child) => {
            this.#child = child;
          },
          listener: this.#listener,
        });
      } catch (error) {
        if (!isUnreachable(error) || Date.now() + waitMs > until) throw error;
        await delay(waitMs, signal);
      }
    }
  }

  /** One attempt at a call. */
  async #call(live: Live, { tool, args, context, attempts }: Call): Promise<CallToolResult> {
    const { client } = live;
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxTimeoutMs = DEFAULT_MAX_TIMEOUT_MS } = this.#options.entry;
    attempts.startedAt ??= performance.now();
    const call = this.#pending.start({
      tool: tool.name,
      server: this.name,
      signal: context.signal,
      timeoutMs,
      maxTimeoutMs,
      startedAt: attempts.startedAt,
      onProgress: (update) => this.#tellProgress(update, context),
    });
    const { signal } = call.clock;
    const _meta = { ...(live.logs ? LOGS : {}), ...context.meta, progressToken: call.token };
    // the SDK reads from it which arguments must be sent as headers too; results are checked below
    const toolDefinition = { name: tool.name, inputSchema: (attempts.relisted ?? tool).inputSchema };
    const check = { tool, server: this.name, origin: client, signal };
    try {
      if (tool.outputSchema) await checkSchema(check);
      const params = { name: tool.name, arguments: args, _meta };
      const result = await client.callTool(params, { signal, timeout: LONGEST_TIMER_MS, toolDefinition });
      if (tool.outputSchema) await checkOutput(result, check);
      return result;
    } catch (error) {
      attempts.hasStarted = call.hasStarted;
      if (!signal.aborted) throw error;
      this.#pending.abandon(call);
      throw signal.reason;
    } finally {
      this.#pending.end(call);
    }
  }

  #tellProgress(update: ToolProgress, { toolCallId, progress }: ToolCallContext): void {
    const { logger, handlers } = this.#options;
    tell(logger, 'The progress of a call', () => progress(update));
    tell(logger, 'progressHandler', () => handlers.progressHandler?.({ ...update, server: this.name, toolCallId }));
  }

  get #connectTimeoutMs(): number {
    return this.#options.entry.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  }

  #setStatus(status: ServerStatus, reason?: string): void {
    this.#status = { status, ...(reason === undefined ? {} : { reason }) };
    this.#options.onStatus(status, reason);
  }

  #fail(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#failures++;
    this.#wasLost = false;
    this.#tools.changed();
    this.#retryAt = Date.now() + Math.min(FIRST_RETRY_MS * 2 ** (this.#failures - 1), LONGEST_RETRY_MS);
    this.#setStatus('failed', errorText(error));
  }

  /** The error for all callers that waited for the list. It counts as one failure. */
  #failToList(live: Live, error: unknown): unknown {
    const reason = `MCP server "${this.name}" did not list its tools: ${reasonOf(live, error)}`;
    const explained = isPocketError(error) ? error : new PocketError('MCP_REQUEST_FAILED', reason, { cause: error });
    if (error === this.#unlisted) return explained;
    this.#unlisted = error;
    this.#fail(explained);
    return explained;
  }

  #hasListed(): void {
    this.#isSlow = false;
    this.#warnedOf = undefined;
    if (this.#unlisted !== undefined) {
      this.#unlisted = undefined;
      this.#failures = 0;
      this.#tools.revision++; // callers in between saw an empty list
    }
    if (this.#status?.status !== 'connected') this.#setStatus('connected');
  }

  #lose(live: Live, reason: string): void {
    if (!this.#drop(live)) return; // another call has noticed it first, and may have reconnected already
    this.#wasLost = true;
    this.#setStatus('lost', reason);
    this.#options.logger.warn(`MCP server "${this.name}" was lost: ${reason}`);
  }

  #drop(live: Live): boolean {
    if (this.#live !== live) return false;
    this.#live = undefined;
    this.#tools.changed();
    live.client.onclose = undefined;
    this.#left ??= new Set();
    this.#left.add(live);
    this.#dropIfUnused(live);
    return true;
  }

  #lost(error: unknown): PocketError {
    const text = `The connection to MCP server "${this.name}" was lost: ${errorText(error)}`;
    return new PocketError('MCP_REQUEST_FAILED', text, { cause: error });
  }

  #dropIfUnused(live: Live): void {
    if (live.calls > 0 || !this.#left?.delete(live)) return;
    live.client.close().catch((error) => this.#options.logger.debug(`closing "${this.name}": ${errorText(error)}`));
  }
}

/** A request and the attempts at it so far. */
interface Attempts {
  /** Undefined for requests other than tool calls. */
  tool?: Tool;
  signal: AbortSignal;
  isSecond: boolean;
  logins: number;
  /** The server has run a part of the last attempt, and asked something. */
  hasStarted: boolean;
  /** By `performance.now()`. */
  startedAt?: number;
  /** The tool as it was listed after the server missed arguments in the headers. */
  relisted?: Tool;
}

interface Call {
  tool: Tool;
  args: Record<string, unknown>;
  context: ToolCallContext;
  attempts: Attempts;
}

interface Live extends Connected {
  /** Calls must ask for log messages. */
  logs: boolean;
  /** Number of requests under way, which closing would cut off. */
  calls: number;
}

function outcomeUnknown(what: string, cause: unknown): PocketError {
  const text = `${what}. It may or may not have taken effect; check before you try again.`;
  return new PocketError('TOOL_OUTCOME_UNKNOWN', text, { cause });
}

/** Why a connection ended or failed, with the last output of a server process. */
function reasonOf(live: Live, error: unknown): string {
  const broken = brokenOff(live.transport);
  if (broken) return broken.message;
  const { transport } = live;
  return `${errorText(error)}${transport instanceof ChildTransport ? childHint(transport) : ''}`;
}

/** Without setLevel in the 2026 era, each request says which log messages it wants. */
function asksForLogs({ client }: Connected): boolean {
  return client.getProtocolEra() === 'modern' && client.getServerCapabilities()?.logging !== undefined;
}

async function endSession({ client, transport }: Connected): Promise<void> {
  client.onclose = undefined;
  const deadline = startDeadline('Ending the session', [], END_SESSION_MS);
  try {
    if (transport instanceof HttpTransport) await abortable(transport.terminateSession(), deadline.signal);
  } catch {
    // the server is gone, does not answer or does not support DELETE; its session ends with the connection
  } finally {
    deadline.release();
    await client.close();
  }
}
