// The answers that are being written in this process: what tools may know of them, and who may stop them.
import type { Client, Guild, Message, SendableChannels, User } from 'discord.js';

/** What a tool gets of Discord. `message` is missing when somebody used a command. */
export interface DiscordContext {
  message: Message | undefined;
  channel: SendableChannels;
  user: User;
  guild: Guild | null;
  client: Client<true>;
}

interface LiveRun {
  userId: string;
  conversation: string;
  discord: DiscordContext;
  stop(): void;
  /** Another process goes on with it. */
  lose(): void;
}

export class LiveRuns {
  readonly #runs = new Map<string, LiveRun>();

  get size(): number {
    return this.#runs.size;
  }

  get(claim: string): LiveRun | undefined {
    return this.#runs.get(claim);
  }

  add(claim: string, run: LiveRun): () => void {
    this.#runs.set(claim, run);
    return () => void this.#runs.delete(claim);
  }

  get conversations(): string[] {
    return [...this.#runs.values()].map(({ conversation }) => conversation);
  }

  loseIn(conversations: readonly string[]): void {
    for (const { conversation, lose } of this.#runs.values()) if (conversations.includes(conversation)) lose();
  }

  stopIn(guildId: string): void {
    for (const { discord, stop } of this.#runs.values()) if (discord.guild?.id === guildId) stop();
  }

  /** For the tools of a run: `discord`, and the names that the first tools of this kind were written for. */
  contextOf(claim: unknown): object {
    const discord = typeof claim === 'string' ? this.#runs.get(claim)?.discord : undefined;
    if (!discord) return {};
    const { message, client } = discord;
    return { discord, discord_ctx: discord, discord_message: message, discord_bot: client };
  }
}
