// The connection to the studio: requests with its token, and the stream of what happens.
import type { Line } from '../src/wire/wire.ts';

const TOKEN = 'studio-token';
const ASK = 'token?';
/** Tabs of the same page answer within this time. */
const OTHER_TABS_MS = 300;
/** Waits between attempts to connect again. */
const RETRY_MS = [300, 1_000, 3_000];

/** From the fragment of the address, which is then hidden. Kept for this tab, so that it can be reloaded, and given to others. */
export async function takeToken(): Promise<string> {
  const channel = new BroadcastChannel(TOKEN);
  const given = tokenIn(location.href);
  if (given !== undefined) {
    history.replaceState(null, '', '#/chat');
    channel.postMessage({ token: given });
  }
  const token = given ?? sessionStorage.getItem(TOKEN) ?? (await askTabs(channel));
  if (token !== '') sessionStorage.setItem(TOKEN, token);
  channel.onmessage = ({ data }) => {
    const own = sessionStorage.getItem(TOKEN);
    if (data === ASK && own !== null) channel.postMessage({ token: own });
    else if (own === null && typeof data?.token === 'string') useToken(data.token, location.hash);
  };
  addEventListener('hashchange', ({ newURL, oldURL }) => {
    const pasted = tokenIn(newURL);
    if (pasted === undefined) return;
    channel.postMessage({ token: pasted });
    useToken(pasted, new URL(oldURL).hash);
  });
  return token;
}

/** A refused token is neither kept nor given to other tabs. */
function forgetToken(): void {
  sessionStorage.removeItem(TOKEN);
}

/** Begins again with another token, in the same place. */
function useToken(token: string, place: string): void {
  sessionStorage.setItem(TOKEN, token);
  history.replaceState(null, '', place || '#/chat');
  location.reload();
}

function tokenIn(address: string): string | undefined {
  return /#token=(.+)$/.exec(address)?.[1];
}

/** A link may be opened in a new tab: other tabs of this page have the token. */
async function askTabs(channel: BroadcastChannel): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  channel.onmessage = ({ data }) => {
    if (typeof data?.token === 'string') resolve(data.token);
  };
  channel.postMessage(ASK);
  setTimeout(() => resolve(''), OTHER_TABS_MS);
  return promise;
}

/** `refused`: there is no token. `expired`: it is not that of the studio, which has a new one after each start. */
export type ConnectionState = 'connecting' | 'live' | 'reconnecting' | 'refused' | 'expired';

export class Connection {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  get<Value>(path: string): Promise<Value> {
    return this.#request<Value>(path, {});
  }

  post<Value>(path: string, body: object): Promise<Value> {
    return this.#request<Value>(path, { method: 'POST', body: JSON.stringify(body) });
  }

  delete(path: string): Promise<object> {
    return this.#request(path, { method: 'DELETE' });
  }

  /** Never ends, unless the token is refused. Lines come in order, each once. */
  async follow(onLines: (lines: Line[]) => void, onState: (state: ConnectionState) => void): Promise<void> {
    let after = 0;
    for (let failures = 0; ; failures++) {
      try {
        const response = await fetch(`/api/events?after=${after}`, { headers: this.#headers() });
        if (response.status === 401) {
          forgetToken();
          return onState(this.#token === '' ? 'refused' : 'expired');
        }
        if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
        failures = 0;
        onState('live');
        for await (const lines of readLines(response.body)) {
          after = lines.at(-1)?.seq ?? after;
          onLines(lines);
        }
      } catch {
        // the studio is away: tried again below, and the page says so
      }
      onState('reconnecting');
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]));
    }
  }

  async #request<Value>(path: string, init: RequestInit): Promise<Value> {
    const headers = { ...this.#headers(), 'content-type': 'application/json' };
    const response = await fetch(`/api${path}`, { ...init, headers }).catch(() => {
      throw new Error('The studio does not answer. Is it still running?');
    });
    const body: Value & { error?: string } = await response.json();
    if (!response.ok) throw new Error(body.error ?? `The studio answered ${response.status}.`);
    return body;
  }

  #headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#token}` };
  }
}

/** The messages of a stream of server-sent events, as many at once as have arrived. */
async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<Line[]> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const messages = (rest + decoder.decode(read.value, { stream: true })).split('\n\n');
    rest = messages.pop() ?? '';
    const lines = messages.filter((message) => message.startsWith('data: '));
    if (lines.length > 0) yield lines.map((message): Line => JSON.parse(message.slice('data: '.length)));
  }
}
