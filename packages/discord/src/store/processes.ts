// Heartbeats of the processes that share this database. A dead process is noticed within a second on the same machine,
// elsewhere when its lease expires.
import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorText } from '@pocket-agent/kit';
import type { Logger } from 'pocket-agent';
import type { BotDatabase } from './schema.ts';

/** Checking process ids is cheap. */
const CHECK_MS = 1_000;

export class Processes {
  readonly id = randomUUID();
  readonly #db: BotDatabase;
  readonly #leaseMs: number;
  readonly #logger: Logger;
  readonly #host = hostId();
  readonly #timers: NodeJS.Timeout[] = [];
  #others: readonly string[] = [];
  #isChecking = false;

  constructor(db: BotDatabase, { leaseMs, logger }: { leaseMs: number; logger: Logger }) {
    this.#db = db;
    this.#leaseMs = leaseMs;
    this.#logger = logger;
  }

  /** Starts heartbeats. Calls `onBeat` after each one, and when another process has gone. */
  async start(onBeat: () => void): Promise<void> {
    await this.#heartbeat();
    const beatAgain = () =>
      this.#heartbeat().then(onBeat, (error) => this.#logger.error('Heartbeat failed', { reason: errorText(error) }));
    this.#timers.push(setInterval(beatAgain, this.#leaseMs / 3).unref());
    this.#timers.push(setInterval(() => void this.#check(onBeat), CHECK_MS).unref());
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#db.deleteFrom('discord_processes').where('id', '=', this.id).execute();
  }

  async #heartbeat(): Promise<void> {
    const seen_at = Date.now();
    await this.#db
      .insertInto('discord_processes')
      .values({ id: this.id, host: this.#host, pid: process.pid, seen_at })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at }))
      .execute();
    await this.#removeDead();
  }

  async #check(onBeat: () => void): Promise<void> {
    if (this.#isChecking) return; // the database may be slower than the interval
    this.#isChecking = true;
    try {
      if (await this.#removeDead()) onBeat();
    } catch {
      // the next heartbeat reports it
    } finally {
      this.#isChecking = false;
    }
  }

  /** Whether a process has disappeared since the last check, no matter which process removed it. */
  async #removeDead(): Promise<boolean> {
    const others = await this.#db.selectFrom('discord_processes').selectAll().where('id', '!=', this.id).execute();
    const isDead = ({ host, pid, seen_at }: (typeof others)[number]) => {
      if (seen_at < Date.now() - this.#leaseMs) return true;
      return host === this.#host && pid !== process.pid && !isAlive(pid);
    };
    const dead = others.filter(isDead).map(({ id }) => id);
    if (dead.length > 0) await this.#db.deleteFrom('discord_processes').where('id', 'in', dead).execute();
    const before = this.#others;
    this.#others = others.map(({ id }) => id).filter((id) => !dead.includes(id));
    return dead.length > 0 || before.some((id) => !this.#others.includes(id));
  }
}

/** Process ids are comparable only on one machine and in one container. */
function hostId(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
