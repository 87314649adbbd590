// The connection to one MCP server: opens a session at first use, and replaces one that is lost. A server whose session
// or list of tools failed is unavailable: it has no tools, and is retried with growing pauses and at each run start.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import {
  abortable,
  errorText,
  inToolCallSpan,
  isPocketError,
  MAX_TIMER_MS,
  neverAborted,
  PocketError,
} from '@pocket-agent/kit';
import type { ServerStatus } from '../run/events.ts';
import { inRun } from '../run/run-context.ts';
import { DEFAULT_WAIT_MS, type ListWait, type ToolCallContext } from '../tools/tool-source.ts';
import { Attempts } from './attempts.ts';
import { connectTo } from './connect.ts';
import { childHint } from './connect-child.ts';
import type { McpServerEntry } from './mcp-config.ts';
import { PendingCalls } from './pending-calls.ts';
import { retrySafety } from './retry-safety.ts';
import type { ConnectRequest } from './sdk-client.ts';
import { type SendRequest, Session } from './session.ts';
import { ToolList } from './tool-list.ts';
import { ToolWait } from './tool-wait.ts';
import type { ChildTransport } from './transports/child-transport.ts';

interface ConnectionOptions
  extends Pick<
    ConnectRequest,
    'name' | 'entry' | 'caller' | 'callerHeaders' | 'handlers' | 'logger' | 'clientInfo' | 'queryParams' | 'onLog'
  > {
  /** `error`: why it failed. */
  onStatus(status: ServerStatus, reason?: string, error?: unknown): void;
}

interface Failure {
  error: unknown;
  /** The server is connected, but did not list its tools. */
  failedListing: boolean;
  /** Failures in a row. */
  count: number;
  retryAt: number;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
/** How long to wait for a server that was just lost: it is probably restarting. */
const RESTART_MS = 3_000;

export class McpConnection {
  readonly name: string;
  readonly entry: McpServerEntry;
  /** Undefined before the first use. */
  status: { status: ServerStatus; reason?: string } | undefined;
  /** Undefined if there is no healthy one. */
  session: Session | undefined;
  readonly pending = new PendingCalls();
  readonly tools: ToolList;
  readonly #options: ConnectionOptions & ConnectRequest;
  readonly #wait: ToolWait;
  readonly #closing = new AbortController();
  /** Aborted when the connection is closed. */
  readonly signal: AbortSignal = this.#closing.signal;
  /** Shared by all callers that wait for the session. */
  #connecting: Promise<Session> | undefined;
  /** Lost sessions with requests in progress. */
  #retired: Session[] = [];
  #description: string | undefined;
  #wasLost = false;
  #failure: Failure | undefined;
  /** The server process that was started last. */
  #child: ChildTransport | undefined;
  /** The reason of the last warning that the server is not available. */
  #warnedOf: string | undefined;

  constructor(options: ConnectionOptions) {
    const { name, logger, entry } = options;
    const { connectTimeoutMs: timeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, waitMs = DEFAULT_WAIT_MS } = entry;
    this.name = name;
    this.entry = entry;
    this.tools = new ToolList({ name, logger, timeoutMs });
    this.#wait = new ToolWait({
      waitMs: Math.min(waitMs, MAX_TIMER_MS),
      onSlow: (afterMs) => this.#warnOfSlow(afterMs, waitMs),
    });
    this.#options = {
      ...options,
      pending: this.pending,
      tools: this.tools,
      signal: this.signal,
      timeoutMs,
      onLogin: () => this.#wait.stopTimers(),
      onChild: (child) => {
        this.#child = child;
      },
    };
  }

  /** Whether the last attempt to connect or to list the tools failed. */
  get isUnavailable(): boolean {
    return this.#failure !== undefined && (this.#failure.failedListing || !this.session);
  }

  /** The server's description of itself; kept when the connection is lost. */
  get description(): string | undefined {
    const { client } = this.session ?? {};
    if (!client) return this.#description;
    const { title, description } = client.getServerVersion() ?? {};
    this.#description = [title, description, client.getInstructions()].filter(Boolean).join('. ') || undefined;
    return this.#description;
  }

  /** Called at every step: drops an expired list, and retries an unavailable server when a retry is due or a run starts. */
  refresh(isRunStart: boolean): void {
    this.tools.changeIfStale();
    if (!this.isUnavailable || this.signal.aborted) return;
    if (!isRunStart && Date.now() < (this.#failure?.retryAt ?? 0)) return;
    void this.#listForRuns();
    if (isRunStart) this.tools.relist(); // so that the run waits for them
  }

  /** Retries an unavailable server at once. Never rejects: the outcome is in `status`. */
  async retry(): Promise<void> {
    if (this.isUnavailable && !this.signal.aborted) await this.list().catch(() => {});
  }

  /** Returns no tools for an unavailable server. */
  async listTools(signal: AbortSignal, wait: ListWait): Promise<readonly Tool[]> {
    this.refresh(false);
    if (wait === 'all') return this.isUnavailable ? [] : this.#listOrWarn(signal);
    // `refresh` may just have started a retry: then runs wait for it
    if (this.isUnavailable && !this.#wait.isInProgress) return [];
    return abortable(this.#listForRuns(), signal);
  }

  /** Sends a call. If the session is lost, sends it once more over a new one, unless it could take effect twice. */
  async callTool(tool: Tool, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    const attempts = new Attempts(this, context.signal, tool);
    // ends when an attempt succeeds, or `recover` throws because the call may not be sent again
    for (;;) {
      const session = await attempts.holdSession();
      try {
        return await inToolCallSpan(
          () => session.sentCall(tool),
          () => session.callTool({ tool, args, context, attempts }),
        );
      } catch (error) {
        await attempts.recover(session, error);
      } finally {
        session.release();
      }
    }
  }

  /** Sends any other request. They only read, so they may be repeated. */
  async request<Result>(send: SendRequest<Result>): Promise<Result> {
    const attempts = new Attempts(this, this.signal);
    // as in `callTool`
    for (;;) {
      const session = await attempts.holdSession();
      try {
        return await session.request(send);
      } catch (error) {
        await attempts.recover(session, error);
      } finally {
        session.release();
      }
    }
  }

  async close(): Promise<void> {
    const wasClosed = this.signal.aborted;
    this.#closing.abort(new PocketError('AGENT_CLOSED', `The connection to "${this.name}" was closed.`));
    const session = this.session ?? (await this.#connecting?.catch(() => undefined));
    this.session = undefined;
    if (session) this.#setStatus('closed');
    else if (this.status && !wasClosed) this.#options.onStatus('closed'); // its own status still says why it failed
    const inUse = this.#retired.filter(({ isInUse }) => isInUse);
    await Promise.all([...inUse, ...(session ? [session] : [])].map((each) => each.end()));
    this.#wait.stopTimers();
  }

  /** Reads the list again, even without an announced change. */
  listAgain({ client }: Session, signal: AbortSignal): Promise<readonly Tool[]> {
    this.tools.changed();
    return this.tools.read(client, signal);
  }

  /** Connects if necessary, and reads the list unless it is known. */
  list(signal: AbortSignal = neverAborted()): Promise<{ session: Session; tools: readonly Tool[] }> {
    return this.#wait.timed(async () => {
      for (let isSecond = false; ; isSecond = true) {
        const session = await abortable(this.connect(), signal);
        try {
          const tools = await this.tools.read(session.client, signal);
          this.#hasListed();
          return { session, tools };
        } catch (error) {
          signal.throwIfAborted();
          const wasClosedByUs = session.closeReason !== undefined;
          const isLost = wasClosedByUs || retrySafety(error) !== 'no-loss';
          if (isLost && !isSecond) {
            this.sessionLost(session, error);
            if (!wasClosedByUs) continue;
          } else if (isLost || isPocketError(error, 'TIMEOUT')) {
            this.#forget(session); // the next attempt reconnects to a server that hangs
          } // a server that answered with an error stays connected
          throw this.#failToList(session, error);
        }
      }
    });
  }

  connect(): Promise<Session> {
    if (this.signal.aborted) return Promise.reject(this.signal.reason);
    if (this.session) return Promise.resolve(this.session);
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Replaces the session at its next use, and reports the loss. */
  sessionLost(session: Session, error: unknown): void {
    const reason = session.reasonOf(error);
    if (!this.#forget(session)) return; // another call has noticed the loss first, and may have reconnected
    this.#wasLost = true;
    this.#setStatus('lost', reason);
    this.#options.logger.warn(`MCP server "${this.name}" was lost: ${reason}`);
  }

  /** Continues in the background when runs stop waiting. */
  #listForRuns(): Promise<readonly Tool[]> {
    return this.#wait.forRuns(
      () => this.#listOrWarn(),
      () => this.tools.relist(),
    );
  }

  async #listOrWarn(signal: AbortSignal = neverAborted()): Promise<readonly Tool[]> {
    try {
      return (await this.list(signal)).tools;
    } catch (error) {
      signal.throwIfAborted();
      const reason = errorText(error);
      if (!this.signal.aborted && reason !== this.#warnedOf)
        this.#options.logger.warn(`MCP server "${this.name}" is not available: ${reason}`);
      this.#warnedOf = reason;
      return [];
    }
  }

  async #open(): Promise<Session> {
    const { signal } = this;
    if (!this.#failure) this.#setStatus('connecting');
    try {
      const connect = () => connectTo(this.#options, this.#wasLost ? RESTART_MS : 0);
      const session = new Session(await (this.#isShared ? inRun(undefined, connect) : connect()), this.#options);
      if (signal.aborted) {
        await session.end();
        throw signal.reason;
      }
      session.client.onclose = () => this.sessionLost(session, 'the server closed the connection');
      this.session = session;
      this.#wasLost = false;
      this.tools.watch(session.client);
      this.tools.changed();
      if (!this.#failure?.failedListing) {
        this.#failure = undefined;
        this.#setStatus('connected');
      }
      return session;
    } catch (error) {
      this.#fail({ error, failedListing: false });
      throw error;
    }
  }

  /** Messages on a shared connection do not belong to the run that happens to open it. */
  get #isShared(): boolean {
    const { caller, callerHeaders } = this.#options;
    return caller === undefined && callerHeaders === undefined;
  }

  #hasListed(): void {
    this.#warnedOf = undefined;
    if (this.#failure) {
      this.#failure = undefined;
      this.tools.relist(); // callers in between saw an empty list
    }
    if (this.status?.status !== 'connected') this.#setStatus('connected');
  }

  /** The error for all callers that waited for the list. It counts as one failure. */
  #failToList(session: Session, error: unknown): unknown {
    const reason = `MCP server "${this.name}" did not list its tools: ${session.reasonOf(error)}`;
    const explained = isPocketError(error) ? error : new PocketError('MCP_REQUEST_FAILED', reason, { cause: error });
    if (error !== this.#failure?.error) this.#fail({ error, failedListing: true }, explained);
    return explained;
  }

  #fail({ error, failedListing }: Pick<Failure, 'error' | 'failedListing'>, explained = error): void {
    if (this.signal.aborted) return;
    const count = (this.#failure?.count ?? 0) + 1;
    const retryAt = Date.now() + Math.min(FIRST_RETRY_MS * 2 ** (count - 1), MAX_RETRY_MS);
    // a server that did not list its tools stays unavailable until it does; to reconnect is not enough
    this.#failure = { error, failedListing: failedListing || this.#failure?.failedListing === true, count, retryAt };
    this.#wasLost = false;
    this.tools.changed();
    this.#setStatus('failed', errorText(explained), explained);
  }

  /** False if the session was replaced already. */
  #forget(session: Session): boolean {
    if (this.session !== session) return false;
    this.session = undefined;
    this.tools.changed();
    session.retire();
    this.#retired = [...this.#retired, session].filter(({ isInUse }) => isInUse);
    return true;
  }

  #warnOfSlow(afterMs: number, waitMs: number): void {
    const what = this.session ? 'listed its tools' : 'answered';
    const hint = this.#child ? childHint(this.#child) : '';
    const reason = `has not ${what} within ${afterMs} ms.${hint}`;
    const advice = `Runs wait ${waitMs} ms for it ("waitMs" of its entry); after that its tools become available later.`;
    this.#options.logger.warn(`MCP server "${this.name}" ${reason} ${advice}`);
    this.#setStatus('connecting', `it ${reason}`);
  }

  #setStatus(status: ServerStatus, reason?: string, error?: unknown): void {
    this.status = { status, ...(reason === undefined ? {} : { reason }) };
    this.#options.onStatus(status, reason, error);
  }
}
