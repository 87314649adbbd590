// Search providers: how each is called, and where its response has the results.
import type { HttpFetch } from '@pocket-agent/http/fetch';
import { isRecord } from '@pocket-agent/kit';

interface SearchOptions {
  query: string;
  count: number;
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
  fetch: HttpFetch;
}

export interface SearchResult {
  title: string;
  url: string;
  description: string;
}

interface Provider {
  name: string;
  /** The variable with its key or URL. */
  variable: string;
  request(value: string, options: SearchOptions): [url: URL, init?: RequestInit];
  /** The path to the list of results. */
  results: readonly string[];
  /** The field with the text of a result. */
  text: string;
}

const MAX_TEXT = 500;

const providers: readonly Provider[] = [
  {
    name: 'Brave Search',
    variable: 'BRAVE_API_KEY',
    request(key, { query, count }) {
      const url = new URL('https://api.search.brave.com/res/v1/web/search');
      url.search = String(new URLSearchParams({ q: query, count: String(count) }));
      return [url, { headers: { 'x-subscription-token': key, accept: 'application/json' } }];
    },
    results: ['web', 'results'],
    text: 'description',
  },
  {
    name: 'Tavily',
    variable: 'TAVILY_API_KEY',
    request: (key, { query, count }) => [
      new URL('https://api.tavily.com/search'),
      {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ query, max_results: count }),
      },
    ],
    results: ['results'],
    text: 'content',
  },
  {
    name: 'SearXNG',
    variable: 'SEARXNG_URL',
    request(base, { query }) {
      const url = new URL('search', base.endsWith('/') ? base : `${base}/`);
      url.search = String(new URLSearchParams({ q: query, format: 'json' }));
      return [url];
    },
    results: ['results'],
    text: 'content',
  },
];

export async function search(options: SearchOptions): Promise<{ provider: string; results: SearchResult[] }> {
  const provider = providers.find(({ variable }) => options.env[variable]);
  if (!provider) {
    const choices = providers.map(({ name, variable }) => `${variable} (${name})`).join(', ');
    throw new Error(`No search provider is configured. Set one of ${choices}; web_fetch needs none.`);
  }
  const { name, variable } = provider;
  const [url, init] = provider.request(options.env[variable] ?? '', options);
  const response = await options.fetch(url, { ...init, signal: options.signal });
  if (!response.ok) {
    await response.body?.cancel();
    const hint = response.status === 401 || response.status === 403 ? `; check ${variable}` : '';
    throw new Error(`${name} answered ${response.status}${hint}`);
  }
  return { provider: name, results: readResults(await response.json(), provider).slice(0, options.count) };
}

function readResults(answer: unknown, { results, text }: Provider): SearchResult[] {
  let list: unknown = answer;
  for (const key of results) list = isRecord(list) ? list[key] : undefined;
  if (!Array.isArray(list)) return [];
  return list.filter(isRecord).flatMap((entry) => {
    const { title, url } = entry;
    if (typeof url !== 'string') return [];
    const description = String(entry[text] ?? '').replace(/<[^>]{0,200}>/g, '');
    return [{ title: String(title ?? url), url, description: description.slice(0, MAX_TEXT) }];
  });
}
