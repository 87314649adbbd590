// One session with an MCP server: the SDK's client, its transport, and the requests in progress. It dies as a whole,
// and `McpConnection` replaces it.
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type Client,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import {
  abortable,
  callListener,
  errorText,
  MAX_TIMER_MS,
  neverAborted,
  type SentCall,
  traceHeaders,
  withDeadline,
} from '@pocket-agent/kit';
import type { ToolProgress } from '../base/tool-call.ts';
import type { ToolCallContext } from '../tools/tool-source.ts';
import type { Attempts } from './attempts.ts';
import { childHint } from './connect-child.ts';
import { checkOutput, checkSchema } from './output-check.ts';
import { type Connected, type ConnectRequest, closeReason } from './sdk-client.ts';
import { ChildTransport } from './transports/child-transport.ts';
import { HttpTransport } from './transports/http-transport.ts';

interface ToolCallAttempt {
  tool: Tool;
  args: Record<string, unknown>;
  context: ToolCallContext;
  /** The call and the attempts at it so far. */
  attempts: Pick<Attempts, 'startedAt' | 'hasStarted' | 'relisted'>;
}

type SessionOptions = Pick<ConnectRequest, 'name' | 'entry' | 'handlers' | 'logger' | 'pending'>;

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_TIMEOUT_MS = 600_000;
/** How long `end` waits for the server to end its session. */
const END_SESSION_MS = 2_000;
/** Without setLevel in the 2026 era, each request says which log messages it wants. */
const LOGS = { 'io.modelcontextprotocol/logLevel': 'info' };

/** Sends a request over the client. It must have this `_meta`, so that questions in its answer find their run. */
export type SendRequest<Result> = (client: Client, meta: { progressToken: string }) => Promise<Result>;

export class Session {
  readonly client: Client;
  readonly transport: Transport;
  readonly #options: SessionOptions;
  readonly #asksForLogs: boolean;
  /** Requests in progress, which closing would cut off. */
  #requests = 0;
  #isRetired = false;

  constructor({ client, transport }: Connected, options: SessionOptions) {
    this.client = client;
    this.transport = transport;
    this.#options = options;
    this.#asksForLogs = client.getProtocolEra() === 'modern' && client.getServerCapabilities()?.logging !== undefined;
  }

  get isInUse(): boolean {
    return this.#requests > 0;
  }

  /** The session is not closed before `release`. */
  hold(): void {
    this.#requests++;
  }

  release(): void {
    this.#requests--;
    this.#closeIfUnused();
  }

  /** One attempt at a call. */
  async callTool({ tool, args, context, attempts }: ToolCallAttempt): Promise<CallToolResult> {
    const { name: server, entry, pending } = this.#options;
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxTimeoutMs = DEFAULT_MAX_TIMEOUT_MS } = entry;
    attempts.startedAt ??= performance.now();
    const call = pending.start({
      tool: tool.name,
      server,
      signal: context.signal,
      timeoutMs,
      maxTimeoutMs,
      startedAt: attempts.startedAt,
      onProgress: (update) => this.#reportProgress(update, context),
    });
    const { signal } = call.clock;
    const own = this.client.getProtocolEra() === 'modern' ? context.meta : withoutCapabilities(context.meta);
    const _meta = { ...(this.#asksForLogs ? LOGS : {}), ...own, ...traceHeaders(), progressToken: call.token };
    // the SDK reads from it which arguments must be sent as headers too; results are checked below
    const toolDefinition = { name: tool.name, inputSchema: (attempts.relisted ?? tool).inputSchema };
    const check = { tool, server, origin: this.client, signal };
    try {
      if (tool.outputSchema) await checkSchema(check);
      const params = { name: tool.name, arguments: args, _meta };
      const result = await this.client.callTool(params, { signal, timeout: MAX_TIMER_MS, toolDefinition });
      if (tool.outputSchema) await checkOutput(result, check);
      return result;
    } catch (error) {
      attempts.hasStarted = call.hasStarted;
      if (!signal.aborted) throw error;
      pending.abandon(call);
      throw signal.reason;
    } finally {
      pending.end(call);
    }
  }

  /** One attempt at any other request. A question in its answer is put to the run that made it. */
  async request<Result>(send: SendRequest<Result>): Promise<Result> {
    const { name: server, pending } = this.#options;
    const request = pending.start({
      tool: 'a request',
      server,
      signal: neverAborted(),
      // the SDK limits the time of each message
      timeoutMs: MAX_TIMER_MS,
      maxTimeoutMs: MAX_TIMER_MS,
      onProgress: () => {},
    });
    try {
      return await send(this.client, { progressToken: request.token });
    } finally {
      pending.end(request);
    }
  }

  /** Closes after the requests in progress, whose answers may still arrive. */
  retire(): void {
    this.#isRetired = true;
    this.client.onclose = undefined;
    this.#closeIfUnused();
  }

  /** Ends the session at the server too, and closes. */
  async end(): Promise<void> {
    this.client.onclose = undefined;
    const { transport } = this;
    const deadline = { what: `Ending the session with "${this.#options.name}"`, timeoutMs: END_SESSION_MS };
    try {
      if (transport instanceof HttpTransport)
        await withDeadline(deadline, (signal) => abortable(transport.terminateSession(), signal));
    } catch {
      // the server is gone, does not answer or does not support DELETE; its session ends with the connection
    } finally {
      await this.client.close();
    }
  }

  /** Set if we closed the session because its server exceeded a limit. */
  get closeReason(): Error | undefined {
    return closeReason(this.transport);
  }

  /** Why the session ended or failed, with the last output of a server process. */
  reasonOf(error: unknown): string {
    if (this.closeReason) return this.closeReason.message;
    const reason = errorText(error);
    const hint = this.transport instanceof ChildTransport ? childHint(this.transport) : '';
    return hint === '' ? reason : `${reason.replace(/[.!?]?$/, (end) => end || '.')}${hint}`;
  }

  /** The attributes of the span of a call. */
  sentCall(tool: Tool): SentCall {
    const { entry } = this.#options;
    const { sessionId } = this.transport;
    const server = 'url' in entry && entry.url ? new URL(entry.url) : 'command' in entry ? 'pipe' : undefined;
    return { tool: tool.name, protocolVersion: this.client.getNegotiatedProtocolVersion(), sessionId, server };
  }

  #closeIfUnused(): void {
    if (!this.#isRetired || this.isInUse) return;
    const { name, logger } = this.#options;
    this.client.close().catch((error) => logger.debug(`closing "${name}": ${errorText(error)}`));
  }

  #reportProgress(update: ToolProgress, { toolCallId, progress }: ToolCallContext): void {
    const { name: server, logger, handlers } = this.#options;
    callListener(logger, 'The progress of a call', () => progress(update));
    callListener(logger, 'progressHandler', () => handlers.progressHandler?.({ ...update, server, toolCallId }));
  }
}

/** Servers of the 2025 era got the capabilities of the client at the start of the session. */
function withoutCapabilities(meta: Record<string, unknown>): Record<string, unknown> {
  const { [CLIENT_CAPABILITIES_META_KEY]: _capabilities, ...others } = meta;
  return others;
}
