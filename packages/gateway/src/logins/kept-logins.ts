// The logins of callers at servers, in the state of the gateway. Encrypted, because unlike the hash of a token they are of use
// to a reader of the state.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { KeptLogin } from 'pocket-agent/internal/gate';
import type { GatewayState } from '../callers/state.ts';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const MIN_KEY = 32;

/** Whose login it is, and where. */
export interface LoginPlace {
  /** Empty for what all callers share: the registration of the gateway at the authorization server. */
  caller: string;
  /** Name and address: tokens never go to another server of the same name. */
  server: string;
}

/** No name of a server has a colon. */
const PAGE = 'page:';

/** Where the login page that is open is kept. */
export function pageOf({ caller, server }: LoginPlace): LoginPlace {
  return { caller, server: `${PAGE}${server}` };
}

/** The login of a caller at a server. */
export interface KnownLogin {
  caller: string;
  /** The name of the server. */
  server: string;
  url: string;
}

/** The logins that callers have, without those in progress. */
export async function loginsIn(state: GatewayState): Promise<KnownLogin[]> {
  const own = (await state.logins()).filter(({ caller, server }) => caller !== '' && !server.startsWith(PAGE));
  return own.map((place) => ({ caller: place.caller, ...partsOf(place) }));
}

/** Removes the logins of a caller: all, or those at one server. Returns whether there were any. */
export async function removeLogins(
  state: GatewayState,
  { caller, server }: { caller: string; server?: string | undefined },
): Promise<boolean> {
  const all = await state.logins();
  const meant = all.filter(
    (place) => place.caller === caller && (server === undefined || partsOf(place).server === server),
  );
  for (const place of meant) await state.saveLogin(place, undefined);
  return meant.length > 0;
}

function partsOf({ server }: LoginPlace): Pick<KnownLogin, 'server' | 'url'> {
  const place = server.startsWith(PAGE) ? server.slice(PAGE.length) : server;
  const end = place.indexOf(' '); // a name has no spaces
  return { server: place.slice(0, end), url: place.slice(end + 1) };
}

/** Where logins are kept, as much of the state as they need. */
export type LoginState = Pick<GatewayState, 'login' | 'saveLogin'>;

export class KeptLogins {
  readonly #state: LoginState;
  readonly #key: Buffer;

  constructor(state: LoginState, key: string) {
    this.#state = state;
    this.#key = createHash('sha256').update(key).digest();
  }

  /** Empty if there is none, or if it was encrypted with another key. */
  async read(place: LoginPlace): Promise<KeptLogin> {
    const text = await this.#state.login(place);
    return text === undefined ? {} : (this.#decrypted(text, place) ?? {});
  }

  write(place: LoginPlace, login: KeptLogin): Promise<void> {
    return this.#state.saveLogin(place, this.#text(login, place));
  }

  /** Changes nothing if the tokens are not those of `from` any more: another process has renewed them, or the caller was removed. */
  async replace(place: LoginPlace, { from, to }: { from: KeptLogin; to: KeptLogin }): Promise<void> {
    const text = await this.#state.login(place);
    const known = text === undefined ? undefined : this.#decrypted(text, place);
    if (text === undefined || known?.tokens?.access_token !== from.tokens?.access_token) return;
    await this.#state.saveLogin(place, this.#text(to, place), text);
  }

  /** Undefined for an empty login. */
  #text(login: KeptLogin, place: LoginPlace): string | undefined {
    const isEmpty = Object.values(login).every((part) => part === undefined);
    return isEmpty ? undefined : this.#encrypted(JSON.stringify(login), place);
  }

  #encrypted(text: string, place: LoginPlace): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv).setAAD(ownerOf(place));
    const parts = [iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(parts).toString('base64');
  }

  #decrypted(text: string, place: LoginPlace): KeptLogin | undefined {
    const bytes = Buffer.from(text, 'base64');
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES));
      decipher.setAAD(ownerOf(place)).setAuthTag(bytes.subarray(-TAG_BYTES));
      const start = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
      return JSON.parse(Buffer.concat([start, decipher.final()]).toString());
    } catch {
      return undefined; // the caller logs in again
    }
  }
}

/** A login that is copied to another row cannot be read there. */
function ownerOf({ caller, server }: LoginPlace): Buffer {
  return Buffer.from(JSON.stringify([caller, server]));
}

export function isLoginKey(key: string): boolean {
  return key.length >= MIN_KEY;
}
