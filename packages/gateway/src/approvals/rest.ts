// Requests to the REST API of a chat.
import { type HttpFetch, makeFetch } from '@pocket-agent/http/fetch';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 20_000_000;
const MAX_SHOWN = 200;

interface RestRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  path: string;
  json?: object;
}

export class RestApi {
  readonly #base: string;
  readonly #authorization: string;
  readonly #fetch: HttpFetch;

  constructor(base: string, authorization: string) {
    this.#base = base.replace(/\/+$/, '');
    this.#authorization = authorization;
    // the operator has named this address
    this.#fetch = makeFetch({ guard: 'none', timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
  }

  async request<Answer>({ method, path, json }: RestRequest): Promise<Answer> {
    const headers = {
      authorization: this.#authorization,
      accept: 'application/json',
      'user-agent': 'DiscordBot (https://www.npmjs.com/package/@pocket-agent/gateway, 0.1)',
      ...(json ? { 'content-type': 'application/json' } : {}),
    };
    const response = await this.#fetch(`${this.#base}${path}`, {
      method,
      headers,
      ...(json ? { body: JSON.stringify(json) } : {}),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(`${method} ${path} was answered with ${response.status}: ${text.slice(0, MAX_SHOWN)}`);
    return JSON.parse(text) as Answer;
  }

  close(): void {
    this.#fetch.close();
  }
}
