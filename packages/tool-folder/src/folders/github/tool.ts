// The tool folder `github`: searches GitHub, and lists and reads files of repositories.
import { type HttpFetch, makeFetch } from '@pocket-agent/http/fetch';
import { isRecord } from '@pocket-agent/kit';
import type { ToolContext } from '../../index.ts';

const MAX_BYTES = 5_000_000;
const TIMEOUT_MS = 20_000;
const MAX_LINES = 800;
const RESULTS = 20;
const MAX_TEXT = 300;

interface FileLocation {
  repo: string;
  path: string;
  ref?: string;
}

export class Tools {
  readonly #context: ToolContext;
  readonly #fetch: HttpFetch;

  constructor(context: ToolContext) {
    this.#context = context;
    // the owner of the token chooses the URL, so it may be private
    this.#fetch = makeFetch({ guard: 'none', maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, redirects: 'follow' });
  }

  async github_search({ query, kind, page }: { query: string; kind: keyof typeof summaries; page: number }) {
    if (kind === 'code' && !this.#context.env.GITHUB_TOKEN) {
      throw new Error('Code search needs a token: set GITHUB_TOKEN.');
    }
    const parameters = new URLSearchParams({ q: query, page: String(page), per_page: String(RESULTS) });
    const found = record(await this.#json(`search/${kind}?${parameters}`));
    const items = Array.isArray(found.items) ? found.items.map(record) : [];
    return { total: found.total_count, page, results: items.map((item): Item => summaries[kind](item)) };
  }

  async github_list_files({ repo, path, ref }: FileLocation) {
    const entries = await this.#json(contentsPath({ repo, path, ref }));
    if (!Array.isArray(entries)) throw new Error(`${path} is a file; use github_read_file.`);
    return entries.map(record).map(({ name, type, size }) => (type === 'dir' ? `${name}/` : `${name} (${size} bytes)`));
  }

  async github_read_file(location: FileLocation & { first_line: number; last_line?: number }) {
    const { repo, path, first_line: first, last_line: last = first + MAX_LINES - 1 } = location;
    if (last < first) throw new Error(`last_line ${last} is before first_line ${first}.`);
    const text = await (await this.#get(contentsPath(location), 'application/vnd.github.raw+json')).text();
    if (text.includes('\0')) throw new Error(`${path} is not a text file.`);
    const lines = text.split('\n');
    if (first > lines.length) throw new Error(`${path} has only ${lines.length} lines; use a smaller first_line.`);
    const shown = lines.slice(first - 1, Math.min(last, first + MAX_LINES - 1));
    const end = first + shown.length - 1;
    return `[${repo}/${path}, lines ${first} to ${end} of ${lines.length}]\n${shown.join('\n')}`;
  }

  close(): void {
    this.#fetch.close();
  }

  async #json(path: string): Promise<unknown> {
    return (await this.#get(path, 'application/vnd.github+json')).json();
  }

  async #get(path: string, accept: string): Promise<Response> {
    const { env, signal } = this.#context;
    const base = env.GITHUB_API_URL || 'https://api.github.com';
    const response = await this.#fetch(`${base.replace(/\/$/, '')}/${path}`, {
      signal,
      headers: {
        accept,
        'user-agent': 'pocket-agent',
        'x-github-api-version': '2022-11-28',
        ...(env.GITHUB_TOKEN ? { authorization: `Bearer ${env.GITHUB_TOKEN}` } : {}),
      },
    });
    if (!response.ok) throw await errorFor(response, env.GITHUB_TOKEN !== undefined);
    return response;
  }
}

const summaries = {
  repositories: (item: Item) => ({
    repo: item.full_name,
    description: brief(item.description),
    stars: item.stargazers_count,
    language: item.language,
    url: item.html_url,
  }),
  code: (item: Item) => ({ repo: record(item.repository).full_name, path: item.path, url: item.html_url }),
  issues: (item: Item) => ({
    title: brief(item.title),
    state: item.state,
    author: record(item.user).login,
    isPullRequest: item.pull_request !== undefined,
    text: brief(item.body),
    url: item.html_url,
  }),
};

type Item = Record<string, unknown>;

function record(value: unknown): Item {
  return isRecord(value) ? value : {};
}

function brief(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, MAX_TEXT) : '';
}

function contentsPath({ repo, path, ref }: { repo: string; path: string; ref?: string | undefined }): string {
  const steps = path.split('/').filter((step) => step !== '');
  const leavesRepository = [...repo.split('/'), ...steps].some((step) => step === '.' || step === '..');
  if (leavesRepository) throw new Error(`"${repo}" and "${path}" must not contain . or ..`);
  const query = ref === undefined ? '' : `?${new URLSearchParams({ ref })}`;
  return `repos/${repo}/contents/${steps.map(encodeURIComponent).join('/')}${query}`;
}

async function errorFor(response: Response, hasToken: boolean): Promise<Error> {
  const { status, headers } = response;
  await response.body?.cancel();
  const isRateLimited = headers.get('x-ratelimit-remaining') === '0' || status === 429;
  if (isRateLimited && (status === 403 || status === 429)) {
    const seconds = Number(headers.get('retry-after') ?? Number(headers.get('x-ratelimit-reset')) - Date.now() / 1000);
    const wait = seconds > 0 ? ` Try again in ${Math.ceil(seconds)} s.` : '';
    return new Error(`The rate limit of GitHub is reached.${wait}${hasToken ? '' : ' GITHUB_TOKEN raises the limit.'}`);
  }
  if (status === 401) return new Error('GitHub rejected GITHUB_TOKEN: replace it.');
  if (status === 404) return new Error(`Not found on GitHub, or private${hasToken ? '' : ': set GITHUB_TOKEN'}.`);
  if (status === 422) return new Error('GitHub rejected the query as invalid: change its qualifiers.');
  return new Error(`GitHub answered with status ${status}.`);
}
