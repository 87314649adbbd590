// Ids as Discord makes them: the time in the upper bits, so that newer things have greater ids.
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

  /** The same ids in every run, for what is there from the beginning. */
  seeded(): string {
    return String(this.#fixed++ << TIME_SHIFT);
  }

  /** Guilds that are made one after the other belong to one shard after the other. */
  guild(): string {
    return String(this.#guilds++ << TIME_SHIFT);
  }
}

export function shardOf(guildId: string, shardCount: number): number {
  return Number((BigInt(guildId) >> TIME_SHIFT) % BigInt(shardCount));
}
