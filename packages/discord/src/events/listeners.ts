// Listens to messages, interactions and connection events until the bot closes.

import { errorText, KeyedQueue } from '@pocket-agent/kit';
import { type Client, type ClientEvents, Events, type Message } from 'discord.js';
import type { QuestionQueue } from '../answers/question-queue.ts';
import { retry } from '../base/retry.ts';
import type { BotParts } from '../conversation/parts.ts';
import { receivesMessagesOf } from '../gateway/shard-events.ts';
import type { Checkpoint } from '../store/claims.ts';
import { catchUp } from './catch-up.ts';
import { onInteraction } from './on-interaction.ts';
import { isForThisBot, notifyNotSaved, onMessage } from './on-message.ts';

/** Messages that wait to be saved. */
const MAX_WAITING = 1_000;

export interface CatchUpOptions {
  /** Maximum age of missed questions, and how long saving a question is retried. */
  catchUpMs: number;
  /** The channels to search for missed questions, each with its newest handled message. */
  checkpoints: readonly Checkpoint[];
}

interface ListenOptions extends CatchUpOptions {
  queue: QuestionQueue;
  /** The bot was removed from a guild. */
  onGuildLeft(guildId: string): Promise<void>;
}

export class Listeners {
  /** Resolves when all missed questions are saved. */
  readonly caughtUp: Promise<void>;
  /** Accepts no more commands and buttons. */
  readonly stopInteractions: () => void;
  readonly #parts: BotParts;
  readonly #options: ListenOptions;
  readonly #messages = new KeyedQueue();
  readonly #answers = new KeyedQueue();
  readonly #closed = new AbortController();
  /** Channels that are catching up. New messages there wait, because a saved one would hide missed ones from the next start. */
  readonly #catchingUp = new Set<string>();
  /** When each shard lost its connection. */
  readonly #disconnectedAt = new Map<number, number>();
  readonly #unsubscribe: readonly (() => void)[];
  #waiting = 0;

  constructor(parts: BotParts, options: ListenOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#unsubscribe = this.#subscribe();
    this.stopInteractions = on(parts.client, Events.InteractionCreate, (interaction) => {
      void this.#answers.run(interaction.id, () => onInteraction(parts, options.queue, interaction));
    });
    this.caughtUp = this.#catchUpFrom(options.checkpoints);
  }

  /** Accepts no more questions; resolves when all received ones are saved. */
  async stopMessages(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#closed.abort();
    await this.#messages.idle();
  }

  /** Resolves when all received commands and buttons are answered. */
  idle(): Promise<void> {
    return this.#answers.idle();
  }

  #subscribe(): (() => void)[] {
    const { client } = this.#parts;
    const disconnectedAt = this.#disconnectedAt;
    return [
      on(client, Events.MessageCreate, (message) => void this.#receive(message)),
      on(client, Events.ShardReconnecting, (shard) => {
        if (!disconnectedAt.has(shard)) disconnectedAt.set(shard, Date.now());
      }),
      on(client, Events.ShardResume, (shard) => void disconnectedAt.delete(shard)),
      // a new session means that events were missed
      on(client, Events.ShardReady, (shard) => {
        const time = disconnectedAt.get(shard) ?? Date.now();
        this.#catchUpAfter(time).catch((error) => this.#logFailure('catching up', error));
        disconnectedAt.delete(shard);
      }),
      on(client, Events.ChannelDelete, (channel) => {
        if (channel.isDMBased()) return;
        const { id: channelId, guildId } = channel;
        const removing = this.#parts.schedules.removeIn({ guildId, channelId });
        removing.catch((error) => this.#logFailure('removing the schedules of a channel', error));
      }),
      on(client, Events.GuildDelete, ({ id }) => {
        this.#options.onGuildLeft(id).catch((error) => this.#logFailure('deleting data of a guild', error));
      }),
    ];
  }

  async #receive(message: Message): Promise<void> {
    const parts = this.#parts;
    if (!isForThisBot(parts, message)) return;
    if (this.#waiting >= MAX_WAITING) {
      this.#notSaved(message, new Error('too many messages wait'));
      return;
    }
    const until = Date.now() + this.#options.catchUpMs;
    const save = async () => {
      // the bot closed during catch-up; the next start finds this message after the missed ones
      if (this.#catchingUp.has(message.channelId)) return;
      await this.#retrying('a message', () => onMessage(parts, this.#options.queue, message), until);
    };
    this.#waiting++;
    await this.#messages.run(message.channelId, save).catch((error) => this.#notSaved(message, error));
    this.#waiting--;
  }

  #notSaved(message: Message, error: unknown): void {
    this.#logFailure('a message', error);
    void this.#answers.run(message.id, () => notifyNotSaved(this.#parts, message));
  }

  /** Uses checkpoints from before the disconnect, because newer messages were saved already. */
  async #catchUpAfter(time: number): Promise<void> {
    const { claims } = this.#parts;
    const lastMs = this.#options.catchUpMs;
    await this.#catchUpFrom(await this.#retrying('catching up', () => claims.checkpoints({ until: time, lastMs })));
  }

  async #catchUpFrom(checkpoints: readonly Checkpoint[]): Promise<void> {
    const received = checkpoints.filter(({ guildId }) => receivesMessagesOf(this.#parts.client, guildId));
    await Promise.all(received.map((checkpoint) => this.#catchUpIn(checkpoint)));
  }

  async #catchUpIn(checkpoint: Checkpoint): Promise<void> {
    const { channelId } = checkpoint;
    const { queue, catchUpMs } = this.#options;
    const { signal } = this.#closed;
    this.#catchingUp.add(channelId);
    const search = () => catchUp(this.#parts, queue, { checkpoint, since: Date.now() - catchUpMs, signal });
    await this.#messages.run(channelId, async () => {
      const isComplete = await this.#retrying('catching up', search).catch((error) => {
        this.#logFailure('catching up', error);
        return !signal.aborted;
      });
      if (isComplete) this.#catchingUp.delete(channelId);
    });
  }

  #retrying<Result>(
    what: string,
    work: () => Promise<Result>,
    until = Date.now() + this.#options.catchUpMs,
  ): Promise<Result> {
    const onWait = (error: unknown) => this.#parts.logger.warn(`Retrying: ${what}`, { reason: errorText(error) });
    return retry(work, { until, signal: this.#closed.signal, onWait });
  }

  #logFailure(what: string, error: unknown): void {
    this.#parts.logger.error(`Failed: ${what}`, { reason: errorText(error) });
  }
}

function on<Event extends keyof ClientEvents>(
  client: Client,
  event: Event,
  listener: (...args: ClientEvents[Event]) => void,
): () => void {
  client.on(event, listener);
  return () => void client.off(event, listener);
}
