// In place of connections of node:http, which Cloudflare Workers do not have: their own `fetch`, with our rules.
import { FetchError } from './fetch-error.ts';
import { limitedResponse } from './limited-response.ts';

interface WorkerFetchOptions {
  timeoutMs?: number;
  maxBytes?: number;
}

/** Follows no redirects: a Worker would send all headers, which may hold a secret, to the other host. */
export async function workerFetch(
  input: string | URL | Request,
  init: RequestInit,
  { timeoutMs, maxBytes }: WorkerFetchOptions,
): Promise<Response> {
  const limits = [init.signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)];
  const signal = AbortSignal.any(limits.filter((each) => each instanceof AbortSignal));
  const response = await fetch(input, { ...init, signal, redirect: 'manual' });
  const location = isRedirect(response.status) ? response.headers.get('location') : null;
  if (location === null) return maxBytes === undefined ? response : limitedResponse(response, { maxBytes });
  await response.body?.cancel();
  const from = new URL(input instanceof Request ? input.url : input);
  const { origin, pathname } = new URL(location, from);
  throw new FetchError(
    'REDIRECT',
    `${from.host} redirects, which is not followed in a Worker: use ${origin}${pathname}`,
  );
}

export function isRedirect(status: number | undefined): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}
