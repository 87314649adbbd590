// The built-in fetch for model servers: it fails within 5 s if no connection can be made, and limits what a server
// may send. Node itself waits at least 10 s for a connection, and its fetch has no option for that, but it reports
// connections in diagnostics channels. Provider packages read a whole body, however long it is.
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';

const CONNECT_MS = 4_500;

interface Attempt {
  host: string;
  isConnecting: boolean;
  /** A connection to the host was made, or the request went out on one that was open. */
  isConnected: boolean;
}

const attempts = new Set<Attempt>();
const current = new AsyncLocalStorage<Attempt>();
const attemptOf = new WeakMap<object, Attempt>();
let isWatching = false;

export const modelFetch: typeof fetch = async (input, init) => {
  watchConnections();
  const { host } = new URL(input instanceof Request ? input.url : input);
  const attempt: Attempt = { host, isConnecting: false, isConnected: false };
  const giveUp = new AbortController();
  const check = () => {
    if (attempt.isConnecting && !attempt.isConnected) giveUp.abort(notConnected(host));
  };
  // after a busy moment of this process, let pending connection events run first
  const timer = setTimeout(() => setImmediate(check), CONNECT_MS);
  attempts.add(attempt);
  try {
    const signal = init?.signal ? AbortSignal.any([init.signal, giveUp.signal]) : giveUp.signal;
    return limitResponse(await current.run(attempt, () => fetch(input, { ...init, signal })));
  } finally {
    clearTimeout(timer);
    attempts.delete(attempt);
  }
};

/** In the form of fetch's own errors, which provider packages recognise and retry. */
function notConnected(host: string): TypeError {
  const cause = new Error(`Connect Timeout Error: ${host} accepted no connection within 5 seconds`);
  return new TypeError('fetch failed', { cause });
}

function watchConnections(): void {
  if (isWatching) return;
  isWatching = true;
  subscribe('undici:request:create', (message) => {
    const attempt = current.getStore();
    if (attempt) attemptOf.set(requestIn(message), attempt);
  });
  subscribe('undici:client:sendHeaders', (message) => {
    const attempt = attemptOf.get(requestIn(message));
    if (attempt) attempt.isConnected = true;
  });
  subscribe('undici:client:beforeConnect', (message) => mark(message, 'isConnecting'));
  subscribe('undici:client:connected', (message) => mark(message, 'isConnected'));
}

function requestIn(message: unknown): object {
  return (message as { request: object }).request;
}

function mark(message: unknown, state: 'isConnecting' | 'isConnected'): void {
  const { host } = (message as { connectParams: { host: string } }).connectParams;
  for (const attempt of attempts) if (attempt.host === host) attempt[state] = true;
}

/** The rest of an error is not read. */
const MAX_ERROR_BYTES = 100_000;
const MAX_BYTES = 64 * 1_024 * 1_024;
/** A stream has a few hundred bytes around each word. */
const MAX_STREAM_BYTES = 128 * 1_024 * 1_024;
const MAX_JSON_VALUES = 1_000_000;

type ByteFilter = TransformStream<Uint8Array, Uint8Array>;

async function limitResponse(response: Response): Promise<Response> {
  const { body, status, statusText, headers, ok } = response;
  if (!body) return response;
  const filter = ok ? await filterFor(headers) : truncateAfter(MAX_ERROR_BYTES);
  return new Response(body.pipeThrough(filter), { status, statusText, headers });
}

async function filterFor(headers: Headers): Promise<ByteFilter> {
  if (headers.get('content-type')?.startsWith('text/event-stream')) return failAfter(MAX_STREAM_BYTES);
  const { JsonWeight } = await import('../json-weight.ts');
  const weight = new JsonWeight({ maxValues: MAX_JSON_VALUES });
  return failAfter(MAX_BYTES, (chunk) => weight.add(chunk));
}

/** `faultOf` returns what is wrong with the answer so far, if anything. */
function failAfter(maxBytes: number, faultOf: (chunk: Uint8Array) => string | undefined = () => undefined): ByteFilter {
  let bytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      const fault = bytes > maxBytes ? `that exceeds the limit of ${maxBytes} bytes` : faultOf(chunk);
      if (fault === undefined) controller.enqueue(chunk);
      else controller.error(new Error(`The model server sent an answer ${fault}`));
    },
  });
}

function truncateAfter(maxBytes: number): ByteFilter {
  let left = maxBytes;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.byteLength;
      if (left <= 0) controller.terminate();
    },
  });
}
