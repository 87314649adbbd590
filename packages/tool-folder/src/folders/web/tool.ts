// The folder `web`: pages as text, and search by whichever provider there is a key for.
import { type HttpFetch, makeFetch } from '@pocket-agent/http/fetch';
import type { ToolContext } from '../../index.ts';
import { readPage } from './page.ts';
import { search } from './search.ts';

const LARGEST_BYTES = 5_000_000;
const TIME_LIMIT_MS = 20_000;

export class Tools {
  readonly #context: ToolContext;
  readonly #fetch: HttpFetch;
  /** For the provider that the owner chose, which may well be at home. */
  readonly #fetchOwn: HttpFetch;

  constructor(context: ToolContext) {
    this.#context = context;
    const bounds = { redirects: 'follow', maxBytes: LARGEST_BYTES, timeoutMs: TIME_LIMIT_MS } as const;
    const isOpen = context.env.POCKET_AGENT_ALLOW_PRIVATE_URLS === '1';
    this.#fetch = makeFetch({ ...bounds, guard: isOpen ? 'none' : 'public' });
    this.#fetchOwn = makeFetch({ ...bounds, guard: 'none' });
  }

  async web_search({ query, count }: { query: string; count: number }) {
    const { env, signal } = this.#context;
    return search({ query, count, env, signal, fetch: this.#fetchOwn });
  }

  async web_fetch({ url, start, max_characters }: { url: string; start: number; max_characters: number }) {
    return readPage({ url, start, most: max_characters, fetch: this.#fetch, signal: this.#context.signal });
  }

  close(): void {
    this.#fetch.close();
    this.#fetchOwn.close();
  }
}
