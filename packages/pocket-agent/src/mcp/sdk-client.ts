// Connects a client of the SDK over a transport: which requests of the server it answers, and which messages it checks.
import {
  Client,
  type ConnectOptions,
  type JSONRPCMessage,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  type ListChangedHandlers,
  type Transport,
} from '@modelcontextprotocol/client';
import {
  abortable,
  callListener,
  errorText,
  isPocketError,
  type Logger,
  MAX_TIMER_MS,
  PocketError,
  withDeadline,
} from '@pocket-agent/kit';
import type { CallerHeaders } from './callers/caller-headers.ts';
import type { McpServerEntry } from './mcp-config.ts';
import type { PendingCalls } from './pending-calls.ts';
import {
  capabilitiesOf,
  registerServerRequests,
  type ServerHandlers,
  type ServerList,
  type ServerLog,
} from './server-requests.ts';
import type { ToolList } from './tool-list.ts';
import type { ChildTransport } from './transports/child-transport.ts';
import { withoutProperties } from './transports/hidden-properties.ts';

/** How often a server of the 2026 era may ask something in one call; the SDK would stop at ten. */
const MAX_ROUNDS = 100;
/** The SDK's error when it stops reopening a stream: for a 2025 server the one on which changes are announced. */
const STREAM_GIVEN_UP = /^Maximum reconnection attempts/;
/** The most content blocks of one result. Each costs far more than its bytes. */
const MAX_BLOCKS = 10_000;
const INVALID_REQUEST = -32_600;

/** The SDK would run the schemas of servers on this thread; `output-check.ts` does so in another process. */
const noValidator: jsonSchemaValidator = {
  getValidator<Value>(): JsonSchemaValidator<Value> {
    return (input) => ({ valid: true, data: input as Value, errorMessage: undefined });
  },
};

export interface ConnectRequest {
  /** The name of the server. */
  name: string;
  entry: McpServerEntry;
  /** If the connection belongs to one caller. */
  caller?: string | undefined;
  /** If the headers of the entry depend on the caller. */
  callerHeaders?: CallerHeaders | undefined;
  queryParams: Record<string, string> | undefined;
  signal: AbortSignal;
  /** The time limit for the server; the login of a person is not limited. */
  timeoutMs: number;
  /** The time limit for its answer to the probe for the protocol era. Default: `timeoutMs`. */
  probeMs?: number;
  handlers: ServerHandlers;
  logger: Logger;
  clientInfo: { name: string; version: string };
  pending: PendingCalls;
  tools: Pick<ToolList, 'changed' | 'changesUnavailable' | 'countListSize'>;
  onLog(log: ServerLog): void;
  /** A server process was started. */
  onChild?(child: ChildTransport): void;
  /** A person has to log in. */
  onLogin?(): void;
}

export interface Connected {
  client: Client;
  transport: Transport;
}

/** Limits the time of an attempt, or of several. */
export async function inTime(
  request: ConnectRequest,
  connect: (bounded: ConnectRequest) => Promise<Connected>,
): Promise<Connected> {
  const { name, signal, timeoutMs } = request;
  const what = `Connecting to MCP server "${name}"`;
  return withDeadline({ what, signals: [signal], timeoutMs }, async (bounded) => {
    try {
      return await connect({ ...request, signal: bounded });
    } catch (error) {
      if (error !== bounded.reason || !isPocketError(error, 'TIMEOUT')) throw error;
      const text = `${error.message} If it needs longer, raise "connectTimeoutMs" of its entry.`;
      throw new PocketError('TIMEOUT', text, { cause: error });
    }
  });
}

/** One attempt to connect. Closes the transport if it fails. */
export async function connectClient(
  request: ConnectRequest,
  transport: Transport,
  options: ConnectOptions,
): Promise<Connected> {
  const { signal } = request;
  const client = makeClient(request);
  observeMessages(transport, request);
  try {
    const timeout = Math.min(request.timeoutMs, MAX_TIMER_MS);
    await abortable(client.connect(transport, { ...options, timeout, signal }), signal);
    routeMessages(transport, request, client.getProtocolEra() === 'modern');
    return { client, transport };
  } catch (error) {
    await transport.close().catch(() => {}); // the first error matters
    throw closeReason(transport) ?? error;
  }
}

/** Set if we closed the connection because its server exceeded a limit. */
export function closeReason(transport: Transport): Error | undefined {
  return 'closeReason' in transport && transport.closeReason instanceof Error ? transport.closeReason : undefined;
}

function makeClient(request: ConnectRequest): Client {
  const { name, handlers, logger, clientInfo, pending, tools, probeMs } = request;
  const probe = probeMs === undefined ? {} : { probe: { timeoutMs: Math.min(probeMs, MAX_TIMER_MS) } };
  const client = new Client(clientInfo, {
    capabilities: capabilitiesOf(handlers),
    versionNegotiation: { mode: 'auto', ...probe },
    jsonSchemaValidator: noValidator,
    inputRequired: { maxRounds: MAX_ROUNDS },
    listChanged: watchedLists(request),
  });
  registerServerRequests(client, {
    server: name,
    handlers,
    logger,
    whileAsked: (cancelled, answer) => pending.whileAsked(cancelled, answer),
  });
  // the SDK's own handler, behind `onprogress`, misses progress that arrives together with the result
  client.setNotificationHandler('notifications/progress', ({ params }) => pending.progress(params));
  client.onerror = (error) => {
    logger.debug(`MCP server "${name}": ${errorText(error)}`);
    if (STREAM_GIVEN_UP.test(error.message) && client.getProtocolEra() !== 'modern') tools.changesUnavailable(client);
  };
  return client;
}

/** Prompts and resources are watched only if there is a `listChangedHandler`. */
function watchedLists({ name: server, caller, tools, handlers, logger }: ConnectRequest): ListChangedHandlers {
  const { listChangedHandler } = handlers;
  const watch = (list: ServerList, onChanged = () => {}) => ({
    autoRefresh: false,
    debounceMs: 0,
    onChanged: () => {
      onChanged();
      callListener(logger, 'listChangedHandler', () => listChangedHandler?.(list, { server, caller }));
    },
  });
  const others = listChangedHandler ? { prompts: watch('prompts'), resources: watch('resources') } : {};
  return { tools: watch('tools', () => tools.changed()), ...others };
}

/** Called before the client connects, to observe all messages of the server. */
function observeMessages(transport: Transport, request: ConnectRequest): void {
  const { onmessage: before } = transport;
  transport.onmessage = (message, extra) => {
    before?.(message, extra);
    observeMessage(request, message);
  };
}

/** Called once the client is connected: refuses excessive answers, and ties questions to their calls. */
function routeMessages(transport: Transport, { pending, tools }: ConnectRequest, isModern: boolean): void {
  const { onmessage: deliver } = transport;
  transport.onmessage = (message, extra) => {
    tools.countListSize(message);
    const checked = withFewBlocks(message);
    if (isModern) pending.answered(checked, () => deliver?.(checked, extra));
    else deliver?.(withoutProperties(checked), extra);
  };
  if (!isModern) return;
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ('id' in message && 'method' in message) pending.noteSent(message);
    return send(message, options);
  };
}

function observeMessage(request: ConnectRequest, message: JSONRPCMessage): void {
  const { name, caller, handlers, logger, onLog } = request;
  if (!('method' in message)) return;
  callListener(logger, 'messageHandler', () => handlers.messageHandler?.(message, { server: name, caller }));
  if (message.method !== 'notifications/message') return;
  const log = message.params as unknown as Omit<ServerLog, 'server'>;
  callListener(logger, 'The log of a server', () =>
    onLog({ ...log, server: name, ...(caller === undefined ? {} : { caller }) }),
  );
}

/** The message, or an error instead of a result that the SDK would take long to check. */
function withFewBlocks(message: JSONRPCMessage): JSONRPCMessage {
  const content = 'result' in message ? message.result.content : undefined;
  if (!('result' in message) || !Array.isArray(content) || content.length <= MAX_BLOCKS) return message;
  const text = `Invalid result: content exceeds the limit of ${MAX_BLOCKS} blocks`;
  return { jsonrpc: '2.0', id: message.id, error: { code: INVALID_REQUEST, message: text } };
}
