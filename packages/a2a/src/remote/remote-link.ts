// The way to a remote A2A agent: its card, the interface to use, and what can be asked of it.
import {
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { A2AError } from '@a2a-js/sdk/errors';
import { FetchError, isHost, makeFetch, withCutStrings } from '@pocket-agent/http/fetch';
import { errorText, isPocketError, PocketError, refusalReason } from '@pocket-agent/kit';
import { retryAfterHeader } from 'pocket-agent/internal';
import type * as wire from '../wire/wire.ts';
import { CARD_PATH } from '../wire/wire.ts';
import { boundedResponse } from './bounded-response.ts';

/** Of everything that is answered to one request, before long strings in it are cut. */
const MOST_BYTES = 268_435_456;
const MOST_ERROR_BYTES = 1_048_576;

export interface RemoteLinkOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Hosts that may have a private address, and are sent the headers, beside that of `url`. */
  allowHosts: readonly string[];
  /** Longer strings in answers are cut. */
  maxStringBytes: number;
}

export interface RemoteLink {
  readonly name: string;
  readonly description: string;
  readonly isStreaming: boolean;
  send(message: wire.Message, signal: AbortSignal): AsyncIterable<wire.StreamUpdate>;
  /** Sends, and does not wait for what comes of it. */
  post(message: wire.Message, signal: AbortSignal): Promise<wire.StreamUpdate>;
  subscribe(id: string, signal: AbortSignal): AsyncIterable<wire.StreamUpdate>;
  get(id: string, signal: AbortSignal): Promise<wire.Task>;
  cancel(id: string, signal: AbortSignal): Promise<void>;
  close(): void;
}

export async function openLink(options: RemoteLinkOptions, signal: AbortSignal): Promise<RemoteLink> {
  const { fetch: anyFetch, close } = guardedFetch(options);
  try {
    const card = await readCard(options, anyFetch, signal);
    const fetch: typeof anyFetch = async (input, init) => readable(await anyFetch(input, init), options);
    const legacyCompat = { enabled: true };
    const factory = new ClientFactory({
      transports: [
        new JsonRpcTransportFactory({ fetchImpl: fetch, legacyCompat }),
        new RestTransportFactory({ fetchImpl: fetch, legacyCompat }),
      ],
      cardResolver: { resolve: async () => card, normalizeAgentCard: () => card },
      clientConfig: { polling: true },
    });
    const client = await factory.createFromAgentCard(card);
    const request = (message: wire.Message) => SendMessageRequest.fromJSON({ message });
    const post: RemoteLink['post'] = async (message, ended) => {
      const result = await client.sendMessage(request(message), { signal: ended }).catch(explain);
      // the SDK tells the two apart by this as well
      return 'messageId' in result
        ? { message: Message.toJSON(result) as wire.Message }
        : { task: Task.toJSON(result) as wire.Task };
    };
    const isStreaming = card.capabilities?.streaming === true;
    return {
      name: card.name,
      description: card.description,
      isStreaming,
      async *send(message, ended) {
        if (isStreaming) yield* updates(client.sendMessageStream(request(message), { signal: ended }));
        else yield await post(message, ended);
      },
      post,
      subscribe: (id, ended) =>
        updates(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id }), { signal: ended })),
      async get(id, ended) {
        return Task.toJSON(
          await client.getTask(GetTaskRequest.fromJSON({ id }), { signal: ended }).catch(explain),
        ) as wire.Task;
      },
      async cancel(id, ended) {
        await client.cancelTask(CancelTaskRequest.fromJSON({ id }), { signal: ended });
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

async function* updates(events: AsyncIterable<StreamResponse>): AsyncGenerator<wire.StreamUpdate> {
  try {
    for await (const event of events) yield StreamResponse.toJSON(event) as wire.StreamUpdate;
  } catch (error) {
    explain(error);
  }
}

/**
 * Tells errors of the network, after which a task can be taken up again, from answers that break the protocol: those
 * reach us as plain errors of the SDK.
 */
function explain(error: unknown): never {
  if (!(error instanceof Error)) throw error;
  if (error.cause instanceof A2AError) throw error.cause;
  const isKnown = error instanceof A2AError || error instanceof FetchError || isPocketError(error);
  if (isKnown || error instanceof TypeError || error.name === 'AbortError') throw error;
  throw new PocketError('TOOL_FAILED', `The agent broke the A2A protocol: ${errorText(error).slice(0, 300)}`, {
    cause: error,
  });
}

/** Our credentials go where they are meant for, whatever addresses a card names: not to its host without TLS either. */
function guardedFetch({ url, headers, allowHosts }: RemoteLinkOptions) {
  const own = new URL(url);
  const guarded = makeFetch({
    guard: 'public',
    allowHosts: [own.host, ...allowHosts],
    redirects: 'refuse',
    maxBytes: MOST_BYTES,
  });
  const fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const target = new URL(input instanceof Request ? input.url : input);
    const { host, origin } = target;
    const isTrusted = origin === own.origin || allowHosts.some((allowed) => isHost(allowed, target));
    const sent = new Headers(init.headers);
    if (isTrusted) for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    const response = await guarded(input, { ...init, headers: sent });
    const { status } = response;
    if (status !== 401 && status !== 403 && status !== 429) return response;
    await response.body?.cancel();
    if (status === 429) throw busy(host, response);
    throw new PocketError('TOOL_FAILED', `${origin} ${refusalOf(response, sent.get('authorization'), isTrusted)}`);
  };
  return { fetch, close: () => guarded.close() };
}

/** What the SDK can read. A page in HTML comes from a proxy, or from a server that does not speak A2A. */
async function readable(response: Response, options: RemoteLinkOptions): Promise<Response> {
  const { status, headers, url } = response;
  const { host } = new URL(url);
  if (headers.get('content-type')?.startsWith('text/html')) {
    await response.body?.cancel();
    const text = `${host} answered ${status} with a page in HTML, not with A2A`;
    throw status >= 500 ? new TypeError(text) : new PocketError('TOOL_FAILED', `${text}.`);
  }
  const { maxStringBytes } = options;
  if (status < 500) return boundedResponse(response, { host, maxStringBytes });
  return withErrorBody(withCutStrings(response, { maxStringBytes, maxBytes: MOST_ERROR_BYTES }), host);
}

/** A server that fails for a moment answers without an error of A2A. */
async function withErrorBody(response: Response, host: string): Promise<Response> {
  const text = await response.text();
  if (!text.includes('"error"')) throw new TypeError(`${host} answered ${response.status}`);
  return new Response(text, response);
}

function busy(host: string, { headers }: Response): PocketError {
  const details = { retryAfterMs: retryAfterHeader(Object.fromEntries(headers)) };
  return new PocketError('RATE_LIMITED', `${host} has too much to do; try again later.`, { details });
}

/** Why a request was refused, told apart by what was sent with it. */
function refusalOf({ status, headers }: Response, sent: string | null, isTrusted: boolean): string {
  if (!isTrusted)
    return `wants credentials (${status}), which go to the origin of "url" only: name the host in "allowHosts" if it may have them.`;
  if (sent === null) return `wants credentials (${status}): set "token" or "headers".`;
  return `refused the credentials it was sent (${status}).${refusalReason(headers.get('www-authenticate'), sent)}`;
}

async function readCard(
  { url, maxStringBytes }: RemoteLinkOptions,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<AgentCard> {
  const address = url.endsWith('.json') ? url : new URL(CARD_PATH, url.endsWith('/') ? url : `${url}/`).href;
  const response = await fetch(address, { headers: { 'a2a-version': '1.0', accept: 'application/json' }, signal });
  if (!response.ok) throw new PocketError('TOOL_FAILED', `There is no agent card at ${address}: ${response.status}.`);
  const bounds = { host: new URL(address).host, maxStringBytes };
  const raw: unknown = await boundedResponse(response, bounds)
    .json()
    .catch(() => undefined);
  if (typeof raw !== 'object' || raw === null || !('name' in raw))
    throw new PocketError('TOOL_FAILED', `What is at ${address} is no agent card.`);
  const isModern = 'supportedInterfaces' in raw && Array.isArray(raw.supportedInterfaces);
  const card = isModern
    ? AgentCard.fromJSON(raw)
    : new DefaultAgentCardResolver({ legacyCompat: { enabled: true } }).normalizeAgentCard(raw);
  return { ...card, supportedInterfaces: [usableInterface(card, address)] };
}

/** The first one that we speak, the newer version before the older. */
function usableInterface({ supportedInterfaces = [] }: AgentCard, address: string) {
  const known = supportedInterfaces.filter(({ protocolBinding }) => /^(jsonrpc|http\+json)$/i.test(protocolBinding));
  const found =
    known.find(({ protocolVersion }) => protocolVersion.startsWith('1.')) ??
    known.find(({ protocolVersion }) => protocolVersion.startsWith('0.3'));
  if (found) return found;
  throw new PocketError(
    'TOOL_FAILED',
    `The agent at ${address} offers neither JSON-RPC nor REST in version 1.0 or 0.3.`,
  );
}
