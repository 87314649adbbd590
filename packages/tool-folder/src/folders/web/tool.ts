// The tool folder `web`: reads pages, and searches with the first provider that is configured.
import { type HttpFetch, makeFetch } from '@pocket-agent/http/fetch';
import type { ToolContext } from '../../index.ts';
import { readPage } from './page.ts';
import { search } from './search.ts';

const MAX_BYTES = 5_000_000;
const TIMEOUT_MS = 20_000;

export class Tools {
  readonly #context: ToolContext;
  readonly #fetch: HttpFetch;
  /** For the search provider, which the owner configures and which may have a private address. */
  readonly #fetchProvider: HttpFetch;

  constructor(context: ToolContext) {
    this.#context = context;
    const bounds = { redirects: 'follow', maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS } as const;
    const allowPrivate = context.env.POCKET_AGENT_ALLOW_PRIVATE_URLS === '1';
    this.#fetch = makeFetch({ ...bounds, guard: allowPrivate ? 'none' : 'public' });
    this.#fetchProvider = makeFetch({ ...bounds, guard: 'none' });
  }

  async web_search({ query, count }: { query: string; count: number }) {
    const { env, signal } = this.#context;
    return search({ query, count, env, signal, fetch: this.#fetchProvider });
  }

  async web_fetch({ url, start, max_characters }: { url: string; start: number; max_characters: number }) {
    return readPage({ url, start, maxLength: max_characters, fetch: this.#fetch, signal: this.#context.signal });
  }

  close(): void {
    this.#fetch.close();
    this.#fetchProvider.close();
  }
}
