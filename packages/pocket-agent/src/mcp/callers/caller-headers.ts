// The headers of one caller for one server: returned by a function, and sent only on the connection of this caller.
import type { FetchLike } from '@modelcontextprotocol/client';
import { abortable, errorText, isPocketError, isRecord, neverAborted, PocketError } from '@pocket-agent/kit';
import { type CallerContext, currentCaller, currentRunId, describeCaller, keyOf } from './caller.ts';

export type HeadersFunction = (run: CallerContext) => Record<string, string> | Promise<Record<string, string>>;

type Made = Promise<Record<string, string>>;

export class CallerHeaders {
  readonly #server: string;
  readonly #make: HeadersFunction;
  /** The caller that the connection was made for. */
  readonly #owner: CallerContext;
  /** Made once for each run, and again after a refusal. */
  readonly #made = new WeakMap<object, Made>();
  /** The headers of requests that belong to no run, such as those of a stream that is opened again. */
  #last: Made | undefined;

  constructor(server: string, make: HeadersFunction, owner: CallerContext) {
    this.#server = server;
    this.#make = make;
    this.#owner = owner;
  }

  /** The headers of the current run, if it is one of this caller. Headers of another caller are never used. */
  current(): Made {
    const run = this.#isOwn() ? currentRunId() : undefined;
    return (run ? this.#made.get(run) : this.#last) ?? this.#renew();
  }

  /** A `fetch` with these headers for the server. A refused request is sent once more if they have changed. */
  fetchFor(server: URL, fetch: FetchLike): FetchLike {
    return async (url, init) => {
      if (new URL(url).origin !== server.origin) return fetch(url, init);
      const signal = init?.signal ?? neverAborted();
      const made = this.current();
      const sent = await abortable(made, signal);
      const response = await fetch(url, withHeaders(init, sent));
      if (response.status !== 401) return response;
      // another request of this run may have renewed them already
      const known = this.current();
      const renewed = await abortable(known === made ? this.#renew() : known, signal);
      if (JSON.stringify(renewed) === JSON.stringify(sent)) return response;
      await response.body?.cancel();
      return fetch(url, withHeaders(init, renewed));
    };
  }

  #isOwn(): boolean {
    return keyOf(currentCaller()) === keyOf(this.#owner);
  }

  #renew(): Made {
    const isOwn = this.#isOwn();
    const run = isOwn ? currentRunId() : undefined;
    const made = this.#ask(isOwn ? currentCaller() : this.#owner);
    if (run) this.#made.set(run, made);
    this.#last = made;
    made.catch(() => {
      // asked again by the next request
      if (run) this.#made.delete(run);
      if (this.#last === made) this.#last = undefined;
    });
    return made;
  }

  async #ask(run: CallerContext): Made {
    try {
      const headers: unknown = await abortable(Promise.resolve(this.#make(run)), run.signal);
      return this.#checked(headers, run);
    } catch (error) {
      run.signal.throwIfAborted();
      if (isPocketError(error, 'MCP_AUTHORIZATION_NEEDED')) throw error;
      throw this.#error(`failed for ${describeCaller(run)}: ${errorText(error)}`, error);
    }
  }

  #checked(headers: unknown, run: CallerContext): Record<string, string> {
    if (!isRecord(headers)) throw this.#error(`must return an object of strings, for ${describeCaller(run)}.`);
    for (const [name, value] of Object.entries(headers)) {
      if (typeof value !== 'string') throw this.#error(`must return an object of strings, for ${describeCaller(run)}.`);
      if (!canBeSent(name, value))
        throw this.#error(`returned a header "${name}" that cannot be sent, for ${describeCaller(run)}.`);
    }
    return { ...headers } as Record<string, string>;
  }

  #error(what: string, cause?: unknown): PocketError {
    const text = `headers() of MCP server "${this.#server}" ${what}`;
    return new PocketError('MCP_AUTHORIZATION_NEEDED', text, cause === undefined ? {} : { cause });
  }
}

/** Errors of `Headers` would show the value, such as a token. */
function canBeSent(name: string, value: string): boolean {
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    return false;
  }
}

function withHeaders(init: RequestInit | undefined, headers: Record<string, string>): RequestInit {
  const all = new Headers(init?.headers);
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return { ...init, headers: all };
}
