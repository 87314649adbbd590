// The answers in progress in this process: their context for tools, and how to stop them.
import type { Client, Guild, Message, User } from 'discord.js';
import type { AnswerChannel } from '../reply/interaction-channel.ts';

/** Context for tools. `message` is undefined for commands. */
export interface DiscordContext {
  message: Message | undefined;
  channel: AnswerChannel;
  user: User;
  guild: Guild | null;
  client: Client<true>;
}

interface LiveRun {
  userId: string;
  conversation: string;
  discord: DiscordContext;
  stop(): void;
  /** Ends the run because another process took over. */
  abandon(): void;
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

  abandonIn(conversations: readonly string[]): void {
    for (const { conversation, abandon } of this.#runs.values()) if (conversations.includes(conversation)) abandon();
  }

  stopInGuild(guildId: string): void {
    for (const { discord, stop } of this.#runs.values()) if (discord.guild?.id === guildId) stop();
  }

  /** Context for the tools of a run: `discord`, and the names that JakeyBot tools use. */
  contextOf(claim: unknown): object {
    const discord = typeof claim === 'string' ? this.#runs.get(claim)?.discord : undefined;
    if (!discord) return {};
    const { message, client } = discord;
    return { discord, discord_ctx: discord, discord_message: message, discord_bot: client };
  }
}
