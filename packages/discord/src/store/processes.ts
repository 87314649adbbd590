// Which processes work on this database. One that is killed is missed after its lease, on the same machine in a second.
import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Logger } from 'pocket-agent';
import { messageOf } from '../base/errors.ts';
import type { BotDatabase } from './schema.ts';

/** Process ids are cheap to look at. */
const LOOK_MS = 1_000;

export class Processes {
  readonly id = randomUUID();
  readonly #db: BotDatabase;
  readonly #leaseMs: number;
  readonly #logger: Logger;
  readonly #host = machine();
  readonly #timers: NodeJS.Timeout[] = [];
  #others: readonly string[] = [];
  #isLooking = false;

  constructor(db: BotDatabase, { leaseMs, logger }: { leaseMs: number; logger: Logger }) {
    this.#db = db;
    this.#leaseMs = leaseMs;
    this.#logger = logger;
  }

  /** Shows that this process is there, then calls `beat` each time it has shown so again, or another one is gone. */
  async start(beat: () => void): Promise<void> {
    await this.#show();
    const showAgain = () =>
      this.#show().then(beat, (error) =>
        this.#logger.error('This process could not show that it is there', { reason: messageOf(error) }),
      );
    this.#timers.push(setInterval(showAgain, this.#leaseMs / 3).unref());
    this.#timers.push(setInterval(() => void this.#look(beat), LOOK_MS).unref());
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#db.deleteFrom('discord_processes').where('id', '=', this.id).execute();
  }

  async #show(): Promise<void> {
    const seen_at = Date.now();
    await this.#db
      .insertInto('discord_processes')
      .values({ id: this.id, host: this.#host, pid: process.pid, seen_at })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at }))
      .execute();
    await this.#forgetGone();
  }

  async #look(beat: () => void): Promise<void> {
    if (this.#isLooking) return; // the database may take longer than a look should
    this.#isLooking = true;
    try {
      if (await this.#forgetGone()) beat();
    } catch {
      // told when this process next shows itself
    } finally {
      this.#isLooking = false;
    }
  }

  /** Whether one that was there is not any more, whoever forgot it. */
  async #forgetGone(): Promise<boolean> {
    const others = await this.#db.selectFrom('discord_processes').selectAll().where('id', '!=', this.id).execute();
    const isGone = ({ host, pid, seen_at }: (typeof others)[number]) => {
      if (seen_at < Date.now() - this.#leaseMs) return true;
      return host === this.#host && pid !== process.pid && !isAlive(pid);
    };
    const gone = others.filter(isGone).map(({ id }) => id);
    if (gone.length > 0) await this.#db.deleteFrom('discord_processes').where('id', 'in', gone).execute();
    const before = this.#others;
    this.#others = others.map(({ id }) => id).filter((id) => !gone.includes(id));
    return gone.length > 0 || before.some((id) => !this.#others.includes(id));
  }
}

/** Process ids mean the same only inside one machine and one of its containers. */
function machine(): string {
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
