// fetch for models that are given by name. It fails within 5 s if no connection can be made: Node itself waits at least
// 10 s, and its fetch has no option for that, but it reports connections in diagnostics channels.
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { limitResponse } from './response-limits.ts';

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
