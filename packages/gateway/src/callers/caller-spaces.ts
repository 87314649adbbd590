// The spaces of all callers that were seen lately, and what tells their clients of changes.
import type { Logger } from '@pocket-agent/kit';
import type { AccessOptions, ServerLog, ToolSource } from 'pocket-agent';
import type { RunAgent } from 'pocket-agent/internal/gate';
import { type Caller, mayUse } from './caller.ts';
import { CallerSpace } from './caller-space.ts';

const REFRESH_MS = 2_000;
/** Several servers often change together. */
const TELL_MS = 50;
const IDLE_MS = 3_600_000;
const MAX_SPACES = 10_000;

interface SpacesOptions {
  agent: RunAgent;
  access: AccessOptions;
  logger: Logger;
  /** Of all servers, by the name of the server. */
  sources: readonly ToolSource[];
  /** The tools of a caller may have changed. */
  onChange(caller: string): void;
}

export class CallerSpaces {
  readonly #options: SpacesOptions;
  /** By name, least recently used first. */
  readonly #spaces = new Map<string, CallerSpace>();
  readonly #telling = new Map<string, NodeJS.Timeout>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: SpacesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#refresh(), REFRESH_MS).unref();
  }

  of(caller: Caller): CallerSpace {
    const known = this.#spaces.get(caller.name);
    const space = known && isSame(known.caller, caller) ? known : this.#make(caller);
    if (known && known !== space) void known.close();
    space.lastUsed = Date.now();
    this.#spaces.delete(caller.name);
    this.#spaces.set(caller.name, space);
    if (this.#spaces.size > MAX_SPACES) this.#drop(this.#spaces.keys().next().value);
    return space;
  }

  /** A server has changed. */
  changed(server: string): void {
    for (const { caller } of this.#spaces.values()) if (mayUse(caller, server)) this.#tell(caller.name);
  }

  /** Passes a log message of a caller's own connection to a call of this caller. */
  log(log: ServerLog): void {
    const space = log.caller === undefined ? undefined : this.#spaces.get(log.caller);
    [...(space?.logs ?? [])].at(-1)?.(log);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const timer of this.#telling.values()) clearTimeout(timer);
    await Promise.all([...this.#spaces.values()].map((space) => space.close()));
  }

  #make(caller: Caller): CallerSpace {
    const { agent, access, logger, sources } = this.#options;
    const own = sources.filter(({ name }) => mayUse(caller, name));
    return new CallerSpace({ agent, access, logger, caller, sources: own });
  }

  #refresh(): void {
    const idleSince = Date.now() - IDLE_MS;
    for (const [name, space] of this.#spaces) {
      if (space.lastUsed < idleSince) this.#drop(name);
      else if (space.refresh()) this.#tell(name);
    }
  }

  #drop(name: string | undefined): void {
    if (name === undefined) return;
    void this.#spaces.get(name)?.close();
    this.#spaces.delete(name);
  }

  #tell(caller: string): void {
    if (this.#telling.has(caller)) return;
    const tell = () => {
      this.#telling.delete(caller);
      this.#options.onChange(caller);
    };
    this.#telling.set(caller, setTimeout(tell, TELL_MS).unref());
  }
}

function isSame(one: Caller, other: Caller): boolean {
  return JSON.stringify([one.settings, one.profile]) === JSON.stringify([other.settings, other.profile]);
}
