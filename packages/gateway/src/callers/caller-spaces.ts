// The spaces of all recent callers; notifies their clients of changes.
import { inSlices, type Logger } from '@pocket-agent/kit';
import type { AccessOptions, ServerList, ServerLog, ToolSource } from 'pocket-agent';
import type { RunAgent } from 'pocket-agent/internal/gate';
import { type Caller, mayUse } from './caller.ts';
import { type Approvers, CallerSpace } from './caller-space.ts';
import type { GatewayServer } from './server.ts';

const lists: readonly ServerList[] = ['tools', 'prompts', 'resources'];
const REFRESH_MS = 2_000;
/** Several servers often change together. */
const TELL_MS = 50;
const IDLE_MS = 3_600_000;
const MAX_SPACES = 10_000;

interface SpacesOptions {
  agent: RunAgent;
  access(): AccessOptions;
  logger: Logger;
  servers(): readonly GatewayServer[];
  codeMode: ToolSource | undefined;
  approvers: Approvers;
  /** A list of a caller may have changed. */
  onChange(caller: string, list: ServerList): void;
}

export class CallerSpaces {
  readonly #options: SpacesOptions;
  /** By name, least recently used first. */
  readonly #spaces = new Map<string, CallerSpace>();
  /** Grows when servers or rules change. */
  #version = 0;
  /** The changed lists by caller, of which clients will be notified. */
  #changes = new Map<string, Set<ServerList>>();
  #telling: NodeJS.Timeout | undefined;
  readonly #timer: NodeJS.Timeout;
  #isRefreshing = false;

  constructor(options: SpacesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#refresh(), REFRESH_MS).unref();
  }

  of(caller: Caller | undefined): CallerSpace {
    if (!caller) throw new Error('A request without a caller was not refused.');
    const known = this.#spaces.get(caller.name);
    const isCurrent = known && known.version === this.#version && isSame(known.caller, caller);
    const space = isCurrent ? known : this.#make(caller, known);
    space.version = this.#version;
    space.lastUsed = Date.now();
    this.#spaces.delete(caller.name);
    this.#spaces.set(caller.name, space);
    if (this.#spaces.size > MAX_SPACES) this.#drop(this.#spaces.keys().next().value);
    return space;
  }

  /** Forgets an earlier caller of this name, who was removed since. Returns whether there was one. */
  forgetEarlier({ name, createdAt }: Caller): boolean {
    const known = this.#spaces.get(name);
    if (!known || known.caller.createdAt === createdAt) return false;
    this.#drop(name);
    return true;
  }

  /** The servers or the rules were replaced. */
  renew(): void {
    this.#version++;
    for (const name of this.#spaces.keys()) for (const list of lists) this.#tell(name, list);
  }

  /** A list of a server has changed: for one caller, or for all. */
  changed(server: string, list: ServerList, forCaller?: string): void {
    for (const { caller } of this.#spaces.values()) {
      const isConcerned = forCaller === undefined || forCaller === caller.name;
      if (isConcerned && mayUse(caller, server)) this.#tell(caller.name, list);
    }
  }

  /** Passes a log message of a caller's own connection to a call of this caller. */
  log(log: ServerLog): void {
    const space = log.caller === undefined ? undefined : this.#spaces.get(log.caller);
    [...(space?.logs ?? [])].at(-1)?.(log);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#telling);
    await Promise.all([...this.#spaces.values()].map((space) => space.close()));
  }

  #make(caller: Caller, before?: CallerSpace): CallerSpace {
    const { agent, access, logger, servers, codeMode, approvers } = this.#options;
    const own = servers().filter(({ name }) => mayUse(caller, name));
    return new CallerSpace({ agent, access: access(), logger, caller, servers: own, codeMode, approvers, before });
  }

  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    const idleSince = Date.now() - IDLE_MS;
    try {
      await inSlices([...this.#spaces.keys()], (name) => {
        const space = this.#spaces.get(name);
        if (!space) return;
        if (space.lastUsed < idleSince) this.#drop(name);
        else if (space.refresh()) this.#tell(name, 'tools');
      });
    } finally {
      this.#isRefreshing = false;
    }
  }

  #drop(name: string | undefined): void {
    if (name === undefined) return;
    void this.#spaces.get(name)?.close();
    this.#spaces.delete(name);
  }

  #tell(caller: string, list: ServerList): void {
    const changed = this.#changes.get(caller) ?? new Set<ServerList>();
    this.#changes.set(caller, changed.add(list));
    this.#telling ??= setTimeout(() => void this.#tellAll(), TELL_MS).unref();
  }

  async #tellAll(): Promise<void> {
    this.#telling = undefined;
    const changes = this.#changes;
    this.#changes = new Map();
    await inSlices(changes, ([caller, changed]) => {
      for (const list of changed) this.#options.onChange(caller, list);
    });
  }
}

function isSame(one: Caller, other: Caller): boolean {
  return JSON.stringify([one.settings, one.profile]) === JSON.stringify([other.settings, other.profile]);
}
