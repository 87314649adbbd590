// The connection to the studio: its token, and requests with it.
import type { Line } from '../src/wire/wire.ts';
import { type ConnectionState, LineStream } from './stream.ts';

const TOKEN = 'studio-token';
const ASK = 'token?';
/** Tabs of the same page answer within this time. */
const OTHER_TABS_MS = 300;

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

  /** Ends only if the token is refused. */
  follow(onLines: (lines: Line[]) => void, onState: (state: ConnectionState) => void): Promise<void> {
    const open = async (after: number) => {
      const { status, body } = await fetch(`/api/events?after=${after}`, { headers: this.#headers() });
      if (status === 200 && body) return body;
      if (status !== 401) throw new Error(`status ${status}`);
      forgetToken();
      onState(this.#token === '' ? 'refused' : 'expired');
      return undefined;
    };
    return new LineStream({ open, onLines, onState }).follow();
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
