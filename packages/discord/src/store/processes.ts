// Which processes work on this database. One that is killed is missed after a while, on the same machine at once.
import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Logger } from 'pocket-agent';
import { messageOf } from '../errors.ts';
import type { BotDatabase } from './schema.ts';

export class Processes {
  readonly id = randomUUID();
  readonly #db: BotDatabase;
  readonly #leaseMs: number;
  readonly #logger: Logger;
  readonly #host = machine();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: BotDatabase, { leaseMs, logger }: { leaseMs: number; logger: Logger }) {
    this.#db = db;
    this.#leaseMs = leaseMs;
    this.#logger = logger;
  }

  /** Shows that this process is there, then calls `beat` each time it has shown so again. */
  async start(beat: () => void): Promise<void> {
    await this.#show();
    this.#timer = setInterval(() => {
      this.#show().then(beat, (error) =>
        this.#logger.error('This process could not show that it is there', { reason: messageOf(error) }),
      );
    }, this.#leaseMs / 3).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#db.deleteFrom('discord_processes').where('id', '=', this.id).execute();
  }

  async #show(): Promise<void> {
    const now = Date.now();
    await this.#db
      .insertInto('discord_processes')
      .values({ id: this.id, host: this.#host, pid: process.pid, seen_at: now })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: now }))
      .execute();
    const others = await this.#db.selectFrom('discord_processes').selectAll().where('id', '!=', this.id).execute();
    const gone = others.filter(({ host, pid, seen_at }) => {
      if (seen_at < now - this.#leaseMs) return true;
      return host === this.#host && pid !== process.pid && !isAlive(pid);
    });
    if (gone.length === 0) return;
    const ids = gone.map(({ id }) => id);
    await this.#db.deleteFrom('discord_processes').where('id', 'in', ids).execute();
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
