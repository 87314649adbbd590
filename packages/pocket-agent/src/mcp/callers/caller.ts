// On whose behalf a server is called: the caller of the current run, with the metadata of the run.
import { configError, isRecord, neverAborted } from '@pocket-agent/kit';
import { currentRun, NO_METADATA } from '../../run/run-context.ts';

/** The argument of functions for `headers`, `auth` and `env` of a server's entry. */
export interface CallerContext {
  /** `caller` of the run; undefined outside of a run and for runs without one. */
  caller: string | undefined;
  /** `metadata` of the run. */
  metadata: Readonly<Record<string, unknown>>;
  /** Aborted when the run is. */
  signal: AbortSignal;
}

/** Runs with the same key share a connection: those of one caller or, without a caller, with the same metadata. */
export type CallerKey = string | object;

export function currentCaller(): CallerContext {
  const run = currentRun();
  if (!run) return { caller: undefined, metadata: NO_METADATA, signal: neverAborted() };
  const { metadata, signal, policy } = run;
  return { caller: policy.caller, metadata, signal };
}

/** Identifies the current run, also in its tool calls; undefined outside of a run. */
export function currentRunId(): object | undefined {
  return currentRun()?.shared;
}

export function keyOf({ caller, metadata }: CallerContext): CallerKey {
  return caller ?? metadata;
}

/** Names the caller in error messages. */
export function describeCaller({ caller }: CallerContext): string {
  return caller === undefined ? 'a run without a caller' : `caller "${caller}"`;
}

/** The logins of callers at one server: one for each caller, never shared. */
export class Logins {
  readonly #server: string;
  /** The caller that each login was made for. */
  readonly #owners = new WeakMap<object, CallerKey>();

  constructor(server: string) {
    this.#server = server;
  }

  /** The entry with the login of a caller instead of a function. */
  resolve<Entry extends object>(entry: Entry, owner: CallerContext): Entry {
    const { auth } = entry as { auth?: unknown };
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
