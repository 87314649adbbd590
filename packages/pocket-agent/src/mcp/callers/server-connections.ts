// The connections to one server: one for all runs, or one for each caller, bounded and closed when idle.
import { dropOldest, errorText, type Logger, MAX_TIMER_MS, PocketError, sha256 } from '@pocket-agent/kit';
import { type CallerContext, type CallerKey, currentCaller, keyOf } from './caller.ts';

interface Connection {
  readonly tools: { readonly revision: number };
  close(): Promise<void>;
}

interface ServerConnectionsOptions<Kept> {
  name: string;
  /** Whether each caller has its own connection. */
  isPersonal: boolean;
  make(owner: CallerContext): Kept;
  /** Connections of callers that are open at a time. */
  maxCallers: number;
  /** The connection of a caller is closed after this time without use. */
  idleMs: number;
  logger: Logger;
}

interface Slot<Kept> {
  connection: Kept;
  /** Unique among all slots of the server. */
  number: number;
  /** Requests in progress. */
  uses: number;
  timer: NodeJS.Timeout | undefined;
}

/** The key of a connection that all runs share. */
const EVERYONE = '';

export class ServerConnections<Kept extends Connection> {
  readonly name: string;
  readonly isPersonal: boolean;
  readonly #options: ServerConnectionsOptions<Kept>;
  /** Least recently used first. */
  readonly #slots = new Map<CallerKey, Slot<Kept>>();
  readonly #closing = new Set<Promise<void>>();
  #count = 0;

  constructor(options: ServerConnectionsOptions<Kept>) {
    this.name = options.name;
    this.isPersonal = options.isPersonal;
    this.#options = options;
    if (!options.isPersonal) this.#add(EVERYONE, currentCaller());
  }

  /** The connection of the current caller, if there is one. */
  get known(): Kept | undefined {
    return this.#slots.get(this.#key)?.connection;
  }

  /** The connection of the current caller, or the one that was used last. */
  get latest(): Kept | undefined {
    return this.known ?? [...this.#slots.values()].at(-1)?.connection;
  }

  get all(): Kept[] {
    return [...this.#slots.values()].map(({ connection }) => connection);
  }

  /** Differs for each caller, connection and list of tools. */
  get stamp(): string {
    const key = this.#key;
    const slot = this.#slots.get(key);
    const who = typeof key === 'string' ? JSON.stringify(key) : numberOf(key);
    return `${who} ${slot ? `${slot.number} ${slot.connection.tools.revision}` : 'none'}`;
  }

  /** The connection of the current caller, made at its first use. It is not closed before `release`. */
  hold(): { connection: Kept; release(): void } {
    const key = this.#key;
    const slot = this.#slots.get(key) ?? this.#add(key, currentCaller());
    this.#begin(key, slot);
    return { connection: slot.connection, release: () => this.#end(key, slot) };
  }

  /** Calls `work` with the connection of the current caller. */
  async use<Result>(work: (connection: Kept) => Promise<Result>): Promise<Result> {
    const { connection, release } = this.hold();
    try {
      return await work(connection);
    } finally {
      release();
    }
  }

  /** Closes the connection of the current caller, if it has one of its own. */
  async closeOwn(): Promise<void> {
    if (this.isPersonal) await this.#close(this.#key);
  }

  async close(): Promise<void> {
    for (const key of [...this.#slots.keys()]) void this.#close(key);
    await Promise.all(this.#closing);
  }

  get #key(): CallerKey {
    return this.isPersonal ? keyOf(currentCaller()) : EVERYONE;
  }

  #add(key: CallerKey, owner: CallerContext): Slot<Kept> {
    const { make, maxCallers, name } = this.#options;
    if (this.#slots.size >= maxCallers) {
      const [idle] = [...this.#slots].find(([, { uses }]) => uses === 0) ?? [];
      if (idle === undefined) {
        const text = `All connections of callers to MCP server "${name}" are in use (maxCallers: ${maxCallers}).`;
        throw new PocketError('MCP_CONNECT_FAILED', text);
      }
      void this.#close(idle);
    }
    const slot: Slot<Kept> = { connection: make(owner), number: ++this.#count, uses: 0, timer: undefined };
    this.#slots.set(key, slot);
    return slot;
  }

  #begin(key: CallerKey, slot: Slot<Kept>): void {
    slot.uses++;
    if (!this.isPersonal) return;
    clearTimeout(slot.timer);
    this.#slots.delete(key);
    this.#slots.set(key, slot);
  }

  #end(key: CallerKey, slot: Slot<Kept>): void {
    slot.uses--;
    if (!this.isPersonal || slot.uses > 0 || this.#slots.get(key) !== slot) return;
    slot.timer = setTimeout(() => void this.#close(key), Math.min(this.#options.idleMs, MAX_TIMER_MS)).unref();
  }

  async #close(key: CallerKey): Promise<void> {
    const slot = this.#slots.get(key);
    if (!slot) return;
    clearTimeout(slot.timer);
    if (this.isPersonal) this.#slots.delete(key); // the status of a shared connection stays
    const { name, logger } = this.#options;
    const failed = (error: unknown) => logger.debug(`closing "${name}": ${errorText(error)}`);
    const closing = slot.connection.close().catch(failed);
    this.#closing.add(closing);
    await closing.finally(() => this.#closing.delete(closing));
  }
}

/** Hexadecimal; several revisions are added up. */
const REVISION_DIGITS = 12;

const numbers = new WeakMap<object, number>();
let lastNumber = 0;

function numberOf(key: object): number {
  const known = numbers.get(key) ?? ++lastNumber;
  numbers.set(key, known);
  return known;
}

/** Cached, because revisions are read several times in each call. A forgotten one is calculated again. */
const MAX_REVISIONS = 1_000;
const revisions = new Map<string, number>();

/** A number for a state of all servers, so that lists of tools are kept apart by caller. */
export function revisionOf(stamps: readonly string[]): number {
  const state = stamps.join('\n');
  const known = revisions.get(state);
  if (known !== undefined) return known;
  const revision = Number.parseInt(sha256(state).slice(0, REVISION_DIGITS), 16);
  revisions.set(state, revision);
  dropOldest(revisions, MAX_REVISIONS);
  return revision;
}
