// The SDK's client of one connection: which requests of the server it answers, and what it hears of its messages.
import {
  Client,
  type ClientOptions,
  type JSONRPCMessage,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  type Transport,
} from '@modelcontextprotocol/client';
import { errorText, type Logger } from '@pocket-agent/kit';
import type { PendingCalls } from './pending-calls.ts';
import {
  capabilitiesOf,
  registerServerRequests,
  type ServerHandlers,
  type ServerLog,
  tell,
} from './server-requests.ts';
import type { ToolList } from './tool-list.ts';

/** How often a server of the 2026 era may ask something in one call; the SDK would stop at ten. */
const MOST_ROUNDS = 100;
/** The SDK's error when it stops reopening a stream: for a 2025 server the one on which changes are announced. */
const STREAM_GIVEN_UP = /^Maximum reconnection attempts/;
/** Of one result. Each block costs far more than its bytes. */
const MOST_BLOCKS = 10_000;
const INVALID_REQUEST = -32_600;

/** The SDK would run the schemas of servers on this thread; `output-check.ts` does so in another process. */
const noValidator: jsonSchemaValidator = {
  getValidator<Value>(): JsonSchemaValidator<Value> {
    return (input) => ({ valid: true, data: input as Value, errorMessage: undefined });
  },
};

/** The parts of a connection that its messages concern. */
export interface Listener {
  name: string;
  handlers: ServerHandlers;
  logger: Logger;
  clientInfo: { name: string; version: string };
  pending: PendingCalls;
  tools: Pick<ToolList, 'changed' | 'unheard' | 'weigh'>;
  onLog(log: ServerLog): void;
}

export function makeClient(
  listener: Listener,
  versionNegotiation: NonNullable<ClientOptions['versionNegotiation']>,
): Client {
  const { name, handlers, logger, clientInfo, pending, tools } = listener;
  const client = new Client(clientInfo, {
    capabilities: capabilitiesOf(handlers),
    versionNegotiation,
    jsonSchemaValidator: noValidator,
    inputRequired: { maxRounds: MOST_ROUNDS },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => tools.changed() } },
  });
  registerServerRequests(client, {
    server: name,
    handlers,
    logger,
    whileAsked: (answer) => pending.whileAsked(answer),
  });
  // the SDK's own handler, behind `onprogress`, misses progress that arrives together with the result
  client.setNotificationHandler('notifications/progress', ({ params }) => pending.progress(params));
  client.onerror = (error) => {
    logger.debug(`MCP server "${name}": ${errorText(error)}`);
    if (STREAM_GIVEN_UP.test(error.message) && client.getProtocolEra() !== 'modern') tools.unheard(client);
  };
  return client;
}

/** To be called before the client connects: every message of the server is heard from the first one on. */
export function hearMessages(transport: Transport, listener: Listener): void {
  const { onmessage: before } = transport;
  transport.onmessage = (message, extra) => {
    before?.(message, extra);
    hear(listener, message);
  };
}

/** To be called once the client is connected: refuses excessive answers, and ties questions to their calls. */
export function routeMessages(transport: Transport, { pending, tools }: Listener, isModern: boolean): void {
  const { onmessage: deliver } = transport;
  transport.onmessage = (message, extra) => {
    tools.weigh(message);
    const checked = withFewBlocks(message);
    if (isModern) pending.answered(checked, () => deliver?.(checked, extra));
    else deliver?.(checked, extra);
  };
  if (!isModern) return;
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ('id' in message && 'method' in message) pending.noteSent(message);
    return send(message, options);
  };
}

function hear({ name, handlers, logger, onLog }: Listener, message: JSONRPCMessage): void {
  if (!('method' in message)) return;
  tell(logger, 'messageHandler', () => handlers.messageHandler?.(message, { server: name }));
  if (message.method !== 'notifications/message') return;
  const log = message.params as unknown as Omit<ServerLog, 'server'>;
  tell(logger, 'The log of a server', () => onLog({ ...log, server: name }));
}

/** The message; an error in place of a result that would take the SDK long to check. */
function withFewBlocks(message: JSONRPCMessage): JSONRPCMessage {
  const content = 'result' in message ? message.result.content : undefined;
  if (!('result' in message) || !Array.isArray(content) || content.length <= MOST_BLOCKS) return message;
  const text = `Invalid result: content has more than ${MOST_BLOCKS} blocks, the most that are read`;
  return { jsonrpc: '2.0', id: message.id, error: { code: INVALID_REQUEST, message: text } };
}
