// Connects to a remote agent: reads its card and creates the client. Credentials go to trusted hosts only.
import { FetchError, type HttpFetch, isHost, makeFetch, withCutStrings } from '@pocket-agent/http/fetch';
import { textFault } from '@pocket-agent/http/json-weight';
import { isRecord, PocketError, printable, recordsIn, refusalReason, retryAfterHeader } from '@pocket-agent/kit';
import { currentRun } from 'pocket-agent/internal';
import { A2aClient, type A2aFetch, type Authorization } from '../client/a2a-client.ts';
import { A2aError } from '../client/a2a-error.ts';
import { endpointOf, MAX_CARD_BYTES } from '../client/endpoint.ts';
import { publicPart, type SigningKey } from '../signing/signing-key.ts';
import { verifyCard } from '../signing/verify-card.ts';
import { CARD_PATH } from '../wire/agent-card.ts';
import type { RemoteOAuth } from './remote-agent-options.ts';
import { type LoginCall, RemoteLogin } from './remote-login.ts';

/** Size of a response before long strings in it are cut. */
const MAX_RESPONSE_BYTES = 268_435_456;
/** Size of a response after long strings were cut. Streams may be larger, because their events are read one by one. */
const MAX_CUT_BYTES = 16_777_216;
const MAX_ERROR_BYTES = 1_048_576;
const MAX_REASON_LENGTH = 300;

interface RemoteLinkOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Hosts beside that of `url` that may have a private address and that get the headers. */
  allowHosts: readonly string[];
  /** Longer strings in responses are truncated. */
  maxStringBytes: number;
  /** One of them must have signed the card. */
  trustedKeys?: readonly SigningKey[] | undefined;
  oauth?: RemoteOAuth | undefined;
  extensions?: readonly string[] | undefined;
  /** Aborted when the agent is closed. */
  closing: AbortSignal;
}

export interface RemoteLink {
  readonly name: string;
  readonly description: string;
  readonly isStreaming: boolean;
  /** The client for a call, with the credentials of its caller. */
  clientFor(call: LoginCall): Promise<A2aClient>;
  close(): void;
}

export async function openLink(options: RemoteLinkOptions, signal: AbortSignal): Promise<RemoteLink> {
  const { url, allowHosts, maxStringBytes } = options;
  const fetch = makeFetch({
    guard: 'public',
    allowHosts: [new URL(url).host, ...allowHosts],
    redirects: 'refuse',
    maxBytes: MAX_RESPONSE_BYTES,
  });
  try {
    const card = await readCard(options, fetch, signal);
    if (options.trustedKeys) await checkSignature(card, options.trustedKeys);
    const endpoint = endpointOf(card);
    checkExtensions(card, options.extensions ?? []);
    const cutFetch: A2aFetch = async (target, init) => {
      const { traceparent } = currentRun() ?? {}; // without a tracer, a run forwards its trace context unchanged
      const headers = { ...(traceparent ? { traceparent } : {}), ...init.headers };
      return cutResponse(await fetch(target, { ...init, headers }), maxStringBytes);
    };
    const clientWith = (authorization: Authorization) =>
      new A2aClient({
        endpoint,
        authorization,
        fetch: cutFetch,
        extensions: options.extensions ?? [],
        clean: (text) => text.replace(/\p{C}+/gu, ' ').slice(0, MAX_REASON_LENGTH),
      });
    const authorization = authorizationFor(endpoint.url, options);
    const client = clientWith(authorization);
    const { oauth, closing } = options;
    const login =
      oauth && isTrusted(endpoint.url, options) && new RemoteLogin({ ...options, oauth, fetch, card, signal: closing });
    return {
      name: String(card.name),
      description: String(card.description ?? ''),
      isStreaming: isRecord(card.capabilities) && card.capabilities.streaming === true,
      clientFor: async (call) => (login ? clientWith(await loggedIn(login, call, authorization)) : client),
      close: () => fetch.close(),
    };
  } catch (error) {
    fetch.close();
    throw error;
  }
}

/** Whether an address may have our credentials. */
function isTrusted(target: URL, { url, allowHosts }: Pick<RemoteLinkOptions, 'url' | 'allowHosts'>): boolean {
  return target.origin === new URL(url).origin || allowHosts.some((allowed) => isHost(allowed, target));
}

/** With the token of the caller beside the other headers. Each call has its own, so no caller gets the token of another. */
async function loggedIn(login: RemoteLogin, call: LoginCall, others: Authorization): Promise<Authorization> {
  const make = (headers: Record<string, string>): Authorization => ({
    ...others,
    headers: { ...others.headers, ...headers },
    renew: async (signal) => make(await login.renew(headers, { ...call, signal })),
  });
  return make(await login.headers(call));
}

/** Credentials go to the origin of `url` and to `allowHosts`, whatever addresses the card names. */
function authorizationFor(target: URL, { url, headers, allowHosts }: RemoteLinkOptions): Authorization {
  const mayHave = isTrusted(target, { url, allowHosts });
  const sent = mayHave ? headers : {};
  return { headers: sent, refused: (status, received) => refused(status, received.get('www-authenticate')) };

  function refused(status: number, challenge: string | null): PocketError {
    const credentials = new Headers(sent).get('authorization');
    const reason = !mayHave
      ? `requires credentials (${status}), which go to the origin of "url" only: add the host to "allowHosts" if it may have them.`
      : credentials === null
        ? `requires credentials (${status}): set "token", "oauth" or "headers".`
        : `refused the credentials it was sent (${status}).${refusalReason(challenge, credentials)}`;
    return new PocketError('TOOL_FAILED', `${target.origin} ${reason}`, { details: { statusCode: status } });
  }
}

function cutResponse(response: Response, maxStringBytes: number): Response {
  const { headers, status } = response;
  if (headers.get('content-type')?.startsWith('text/event-stream')) return withCutStrings(response, { maxStringBytes });
  if (status >= 400) return withCutStrings(response, { maxStringBytes, maxBytes: MAX_ERROR_BYTES });
  const length = headers.has('content-encoding') ? Number.NaN : Number(headers.get('content-length') ?? Number.NaN);
  return length <= maxStringBytes ? response : withCutStrings(response, { maxStringBytes, maxBytes: MAX_CUT_BYTES });
}

async function readCard(
  options: RemoteLinkOptions,
  fetch: HttpFetch,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { url, headers: credentials, maxStringBytes } = options;
  const address = url.endsWith('.json') ? url : new URL(CARD_PATH, url.endsWith('/') ? url : `${url}/`).href;
  const headers = { ...credentials, 'a2a-version': '1.0', accept: 'application/json' };
  const response = await fetch(address, { headers, signal });
  if (!response.ok) {
    await response.body?.cancel();
    throw cardRefused(response, address, options);
  }
  const card = parseCard(await cardText(withCutStrings(response, { maxStringBytes, maxBytes: MAX_CARD_BYTES })));
  if (!isRecord(card) || !('name' in card))
    throw new PocketError('TOOL_FAILED', `The document at ${address} is not an agent card.`);
  return card;
}

function checkExtensions({ name, capabilities }: Record<string, unknown>, used: readonly string[]): void {
  const declared = recordsIn(isRecord(capabilities) ? capabilities.extensions : undefined);
  const missing = declared.find(({ uri, required }) => required === true && !used.includes(String(uri)));
  if (!missing) return;
  const [agent, uri] = [name, missing.uri].map((text) => printable(String(text), 100));
  throw new PocketError(
    'TOOL_FAILED',
    `The A2A agent ${agent} requires the extension ${uri}: name it in "extensions".`,
  );
}

async function checkSignature(card: Record<string, unknown>, trustedKeys: readonly SigningKey[]): Promise<void> {
  const keys = trustedKeys.map(publicPart);
  const state = await verifyCard(card, async ({ kid }) => keys.filter((key) => key.kid === kid));
  if (state === 'valid') return;
  const reasons = {
    none: 'its card is not signed',
    unknown: 'its card is signed by other keys',
    invalid: 'its card was changed after it was signed',
  };
  throw new PocketError(
    'TOOL_FAILED',
    `The A2A agent ${printable(String(card.name), 100)} is not used: ${reasons[state]} ("trustedKeys").`,
  );
}

async function cardText(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    if (!(error instanceof FetchError) || error.code !== 'TOO_LARGE') throw error;
    throw new A2aError('TOO_LARGE', `its card is larger than ${MAX_CARD_BYTES} bytes.`, { cause: error });
  }
}

function parseCard(text: string): unknown {
  const fault = textFault(text);
  if (fault) throw new A2aError('PROTOCOL', `its card is JSON ${fault}.`);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function cardRefused({ status, headers }: Response, address: string, options: RemoteLinkOptions): Error {
  const { host } = new URL(address);
  if (status === 401 || status === 403) return authorizationFor(new URL(address), options).refused(status, headers);
  if (status !== 429) return new PocketError('TOOL_FAILED', `There is no agent card at ${address}: ${status}.`);
  const details = { retryAfterMs: retryAfterHeader(Object.fromEntries(headers)) };
  return new PocketError('RATE_LIMITED', `${host} has too many requests; try again later.`, { details });
}
