// The SDK's client for one connection: it answers what a server asks, and everything the server says is heard.
import type {
  Client,
  ClientOptions,
  JSONRPCMessage,
  JsonSchemaValidator,
  jsonSchemaValidator,
  Transport,
} from '@modelcontextprotocol/client';
import { errorText, type Logger } from '@pocket-agent/kit';
import type { ToolProgress } from '../tools/tools.ts';
import type { PendingCalls } from './pending-calls.ts';
import {
  capabilitiesOf,
  registerServerRequests,
  type ServerHandlers,
  type ServerLog,
  tell,
} from './server-requests.ts';
import type { ToolList } from './tool-list.ts';
import { CallingClient } from './wire/calling-client.ts';
import { SparingCache } from './wire/sparing-cache.ts';

/** How often a server of the 2026 era may ask something in one call; the SDK would stop at ten. */
const MOST_ROUNDS = 100;
/** What the SDK says of a stream that it will not open again: in the 2025 era that on which changes are told. */
const STREAM_GIVEN_UP = /^Maximum reconnection attempts/;

/** The SDK would run schemas of servers on this thread; `send-call.ts` checks results in another. */
const noValidator: jsonSchemaValidator = {
  getValidator<Value>(): JsonSchemaValidator<Value> {
    return (input) => ({ valid: true, data: input as Value, errorMessage: undefined });
  },
};

export interface Listener {
  name: string;
  handlers: ServerHandlers;
  logger: Logger;
  clientInfo: { name: string; version: string };
  pending: PendingCalls;
  tools: Pick<ToolList, 'changed' | 'unheard' | 'weigh'>;
  onLog(log: ServerLog): void;
}

export class ListeningClient extends CallingClient {
  readonly #listener: Listener;

  constructor(listener: Listener, versionNegotiation: NonNullable<ClientOptions['versionNegotiation']>) {
    const { name, handlers, logger, clientInfo, pending } = listener;
    super(clientInfo, {
      capabilities: capabilitiesOf(handlers),
      versionNegotiation,
      responseCacheStore: new SparingCache(),
      jsonSchemaValidator: noValidator,
      inputRequired: { maxRounds: MOST_ROUNDS },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => listener.tools.changed() } },
    });
    this.#listener = listener;
    registerServerRequests(this, {
      server: name,
      handlers,
      logger,
      whileAsked: (answer) => pending.whileAsked(answer),
    });
    this.onerror = (error) => {
      logger.debug(`MCP server "${name}": ${errorText(error)}`);
      if (STREAM_GIVEN_UP.test(error.message) && this.getProtocolEra() !== 'modern') listener.tools.unheard(this);
    };
  }

  override async connect(...[transport, options]: Parameters<Client['connect']>): Promise<void> {
    const { onmessage: before } = transport;
    const heard: NonNullable<Transport['onmessage']> = (message, extra) => {
      before?.(message, extra);
      hear(this.#listener, message);
    };
    transport.onmessage = heard;
    await super.connect(transport, options);
    const { onmessage: bySdk } = transport;
    transport.onmessage = (message, extra) => {
      if (this.answer(message)) before?.(message, extra);
      else if (progressOf(message))
        heard(message, extra); // the SDK does not know our tokens: its `onprogress` is not for this client
      else {
        this.#listener.tools.weigh(message);
        bySdk?.(message, extra);
      }
    };
  }
}

/** Every message as it arrives: the SDK's own progress callbacks miss those that come together with the result. */
function hear({ name, handlers, logger, pending, onLog }: Listener, message: JSONRPCMessage): void {
  if (!('method' in message)) return;
  tell(logger, 'messageHandler', () => handlers.messageHandler?.(message, { server: name }));
  const heard = progressOf(message);
  if (heard) pending.progress(heard.token, heard.update);
  else if (message.method === 'notifications/message') {
    const log = message.params as unknown as Omit<ServerLog, 'server'>;
    tell(logger, 'The log of a server', () => onLog({ ...log, server: name }));
  }
}

/** Undefined also for one of no call, which the SDK reports; without `update` for a mere sign of life. */
function progressOf(message: JSONRPCMessage): { token: string | number; update?: ToolProgress } | undefined {
  if (!('method' in message) || message.method !== 'notifications/progress' || 'id' in message) return undefined;
  const { progressToken: token, progress, total, message: text } = message.params ?? {};
  if (typeof token !== 'string' && typeof token !== 'number') return undefined;
  if (typeof progress !== 'number') return { token };
  const update = {
    progress,
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof text === 'string' ? { message: text } : {}),
  };
  return { token, update };
}
