// Snowflake ids like Discord's: the time is in the upper bits, so newer ids are greater.
const DISCORD_EPOCH = 1_420_070_400_000;
const TIME_SHIFT = 22n;

export class Snowflakes {
  readonly #now: () => number;
  #last = 0n;
  #fixed = 1_000_000n;
  #guilds = 2_000_000n;

  constructor(now: () => number) {
    this.#now = now;
  }

  next(): string {
    const now = BigInt(this.#now() - DISCORD_EPOCH) << TIME_SHIFT;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return String(this.#last);
  }

  /** Deterministic ids for the initial data. */
  seeded(): string {
    return String(this.#fixed++ << TIME_SHIFT);
  }

  /** Consecutive guilds belong to consecutive shards. */
  guild(): string {
    return String(this.#guilds++ << TIME_SHIFT);
  }
}

export function shardOf(guildId: string, shardCount: number): number {
  return Number((BigInt(guildId) >> TIME_SHIFT) % BigInt(shardCount));
}
