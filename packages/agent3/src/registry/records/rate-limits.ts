// Sliding-window rate limits, exact across all hubs that share a database.
import { type Kysely, sql } from 'kysely';
import type { RateLimit } from '../../base/agents.ts';
import { parse } from './listing.ts';
import type { RegistrySchema } from './schema.ts';

/** A window for more calls than this is divided into this many slots; a use counts until its slot leaves the window. */
const MAX_SLOTS = 1_000;

export interface LimitedUse extends RateLimit {
  key: string;
}

/** [time, count], oldest first. */
type Uses = [number, number][];

export class RateLimits {
  readonly #db: Kysely<RegistrySchema>;
  readonly #kind: 'sqlite' | 'postgres';
  readonly #now: (() => number) | undefined;

  /** Without `now`, hubs that share a PostgreSQL database use its clock. */
  constructor(
    db: Kysely<RegistrySchema>,
    { kind, now }: { kind: 'sqlite' | 'postgres'; now: (() => number) | undefined },
  ) {
    this.#db = db;
    this.#kind = kind;
    this.#now = now;
  }

  /** Counts all uses, or counts none and returns the seconds to wait if one limit is reached. */
  async use(uses: readonly LimitedUse[]): Promise<number | undefined> {
    if (uses.length === 0) return undefined;
    const clock =
      this.#kind === 'postgres'
        ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
        : sql<number>`cast(${Date.now()} as integer)`;
    return this.#db.transaction().execute(async (transaction) => {
      // locks the rows until the end of the transaction, always in the order agent, caller
      const rows = await transaction
        .insertInto('agent3_rate_windows')
        .values(uses.map(({ key }) => ({ key, uses: '[]', expires_at: 0 })))
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ expires_at: 0 }))
        .returning(['key', 'uses', clock.as('clock')])
        .execute();
      const states = uses.map(({ key, calls, perSeconds }) => {
        const row = rows.find((each) => each.key === key);
        const now = this.#now?.() ?? row?.clock ?? 0;
        const windowMs = perSeconds * 1_000;
        const kept = parse<Uses>(row?.uses ?? '[]').filter(([time]) => time > now - windowMs);
        const wait = waitFor(kept, { calls, windowMs, now });
        const next = wait === undefined ? addUse(kept, now, calls > MAX_SLOTS ? windowMs / MAX_SLOTS : 1) : kept;
        return { wait, change: { key, uses: JSON.stringify(next), expires_at: now + 2 * windowMs }, kept };
      });
      const waits = states.flatMap(({ wait }) => wait ?? []);
      const changes = states.map(({ change, kept }) =>
        waits.length === 0 ? change : { ...change, uses: JSON.stringify(kept) },
      );
      await transaction
        .insertInto('agent3_rate_windows')
        .values(changes)
        .onConflict((conflict) =>
          conflict.column('key').doUpdateSet(({ ref }) => ({
            uses: ref('excluded.uses'),
            expires_at: ref('excluded.expires_at'),
          })),
        )
        .execute();
      return waits.length === 0 ? undefined : Math.max(...waits);
    });
  }
}

function waitFor(uses: Uses, window: { calls: number; windowMs: number; now: number }): number | undefined {
  const total = uses.reduce((sum, [, count]) => sum + count, 0);
  let surplus = total - window.calls + 1;
  if (surplus <= 0) return undefined;
  for (const [time, count] of uses) {
    surplus -= count;
    if (surplus <= 0) return Math.max(1, Math.ceil((time + window.windowMs - window.now) / 1_000));
  }
  return Math.ceil(window.windowMs / 1_000);
}

function addUse(uses: Uses, now: number, slotMs: number): Uses {
  const end = Math.ceil(now / slotMs) * slotMs;
  const last = uses.at(-1);
  if (last && last[0] >= end) return [...uses.slice(0, -1), [last[0], last[1] + 1]];
  return [...uses, [end, 1]];
}
