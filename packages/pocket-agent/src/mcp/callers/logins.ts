// The logins of callers at one server: one for each caller, never shared.
import { configError, isRecord } from '@pocket-agent/kit';
import { type CallerContext, type CallerKey, describeCaller, keyOf } from './caller.ts';

interface WithAuth {
  auth?: unknown;
}

export class Logins {
  readonly #server: string;
  /** The caller that each login was made for. */
  readonly #owners = new WeakMap<object, CallerKey>();

  constructor(server: string) {
    this.#server = server;
  }

  /** The entry with the login of a caller in place of a function. */
  resolve<Entry extends object>(entry: Entry, owner: CallerContext): Entry {
    const { auth } = entry as WithAuth;
    if (typeof auth !== 'function') return entry;
    const login: unknown = auth(owner);
    if (!isRecord(login)) {
      const text = `auth() of MCP server "${this.#server}" must return a login, such as fileOAuth({ … }),`;
      throw configError(`${text} for ${describeCaller(owner)}.`);
    }
    const provider = isRecord(login.provider) ? login.provider : login;
    const known = this.#owners.get(provider) ?? keyOf(owner);
    if (known !== keyOf(owner)) {
      const text = `auth() of MCP server "${this.#server}" returned the login of another caller for`;
      throw configError(`${text} ${describeCaller(owner)}: make one for each caller.`);
    }
    this.#owners.set(provider, known);
    return { ...entry, auth: login };
  }
}
