// The logins of all callers at the servers whose entry has `login`.
import {
  booleanRule,
  configError,
  dropOldest,
  isRecord,
  type OptionRule,
  OptionSet,
  stringRule,
} from '@pocket-agent/kit';
import { expandVariables } from 'pocket-agent/internal';
import type { GatewayState } from '../callers/state.ts';
import { CallerLogin, type ServerLogin } from './caller-login.ts';
import { isLoginKey, KeptLogins } from './kept-logins.ts';

/** More than the callers that are active at a time; a login that is dropped is read again. */
const MAX_LOGINS = 10_000;

const loginRule: OptionRule = {
  expected: 'true, or an object such as { "scope": "read" }',
  accepts: (value) => booleanRule.accepts(value) || isRecord(value),
};
const loginOptions = new OptionSet<ServerLogin>('login', {
  scope: stringRule,
  clientId: stringRule,
  clientSecret: { ...stringRule, isSecret: true },
  redirectUrl: stringRule,
});

interface LoginsOptions {
  state: GatewayState;
  key: string;
  gateway: string;
}

interface LoginServer {
  name: string;
  url: string;
  settings: ServerLogin;
}

/** A server at which a caller can log in. */
export interface OfferedLogin {
  server: string;
  login: CallerLogin;
  /** Sends a request as the caller. */
  check(): Promise<void>;
  /** Logs the caller out, and closes the connection. */
  end(): Promise<void>;
}

export class Logins {
  readonly #kept: KeptLogins;
  readonly #gateway: string;
  readonly #logins = new Map<string, CallerLogin>();

  constructor({ state, key, gateway }: LoginsOptions) {
    this.#kept = new KeptLogins(state, key);
    this.#gateway = gateway;
  }

  /** The same for each connection of a caller, so that requests share one renewal. */
  of(caller: string, { name, url, settings }: LoginServer): CallerLogin {
    const key = JSON.stringify([caller, name, url, settings]);
    const server = `${name} ${url}`;
    const known =
      this.#logins.get(key) ??
      new CallerLogin({ caller, name, server, settings, kept: this.#kept, gateway: this.#gateway });
    this.#logins.delete(key);
    this.#logins.set(key, known);
    dropOldest(this.#logins, MAX_LOGINS);
    return known;
  }
}

/** What `login` of an entry says; undefined without it. */
export function readLogin(server: string, login: unknown): ServerLogin | undefined {
  if (login === undefined || login === false) return undefined;
  const named = `MCP server "${server}": login`;
  if (!loginRule.accepts(login)) throw configError(`${named} must be ${loginRule.expected}.`);
  if (!isRecord(login)) return {};
  loginOptions.check(login);
  const filled = Object.entries(login).map(([key, value]) => [key, expandVariables(named, String(value))]);
  const settings: ServerLogin = Object.fromEntries(filled);
  if (settings.redirectUrl !== undefined && !isLoopback(settings.redirectUrl))
    throw configError(`${named}.redirectUrl must begin with http://127.0.0.1: or http://localhost: and have a port.`);
  return settings;
}

/** Only the machine that asked for the page gets the code: the page is of no use to another person. */
function isLoopback(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, port } = new URL(text);
  return protocol === 'http:' && (hostname === '127.0.0.1' || hostname === 'localhost') && port !== '';
}

export function checkLoginKey(key: string): void {
  if (isLoginKey(key)) return;
  throw configError('loginKey (the command: POCKET_AGENT_GATEWAY_LOGIN_KEY) must have at least 32 characters.');
}
