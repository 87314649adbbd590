// Listens to messages, interactions and connection events until the bot closes.
import { type Client, type ClientEvents, Events, type Message } from 'discord.js';
import type { QuestionQueue } from '../answers/question-queue.ts';
import { messageOf } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import { retry } from '../base/retry.ts';
import type { BotParts } from '../conversation/parts.ts';
import type { Checkpoint } from '../store/claims.ts';
import { catchUp, isOurs } from './catch-up.ts';
import { onInteraction } from './on-interaction.ts';
import { isForThisBot, notifyNotSaved, onMessage } from './on-message.ts';

/** Messages that wait to be saved. */
const MAX_WAITING = 1_000;

interface ListenOptions {
  queue: QuestionQueue;
  /** How far back missed questions are searched, and how long saving one is retried. */
  catchUpMs: number;
  /** Channels to search for missed questions, and from where on. */
  checkpoints: readonly Checkpoint[];
  /** The bot was removed from a guild. */
  onGuildLeft(guildId: string): Promise<void>;
}

export interface Listeners {
  /** Resolves when all missed questions are saved. */
  readonly caughtUp: Promise<void>;
  /** Accepts no more questions; resolves when all received ones are saved. */
  stopMessages(): Promise<void>;
  /** Accepts no more commands and buttons. */
  stopInteractions(): void;
  /** Resolves when all received commands and buttons are answered. */
  idle(): Promise<void>;
}

export function listen(parts: BotParts, { queue, catchUpMs, checkpoints, onGuildLeft }: ListenOptions): Listeners {
  const { client, logger, claims } = parts;
  const [messages, answers] = [new KeyedQueue(), new KeyedQueue()];
  const closed = new AbortController();
  const { signal } = closed;
  /** Channels that are catching up. New messages there wait, because a saved one would hide missed ones from the next start. */
  const catchingUp = new Set<string>();
  /** When each shard lost its connection. */
  const disconnectedAt = new Map<number, number>();
  let waiting = 0;
  const logFailure = (what: string, error: unknown) => logger.error(`Failed: ${what}`, { reason: messageOf(error) });
  const retrying = <Result>(what: string, work: () => Promise<Result>, until = Date.now() + catchUpMs) =>
    retry(work, {
      until,
      signal,
      onWait: (error) => logger.warn(`Retrying: ${what}`, { reason: messageOf(error) }),
    });

  const notSaved = (message: Message, error: unknown) => {
    logFailure('a message', error);
    void answers.run(message.id, () => notifyNotSaved(parts, message));
  };
  const receive = async (message: Message) => {
    if (!isForThisBot(parts, message)) return;
    if (waiting >= MAX_WAITING) return notSaved(message, new Error('too many messages wait'));
    const until = Date.now() + catchUpMs;
    const save = async () => {
      // the bot closed during catch-up; the next start finds this message after the missed ones
      if (catchingUp.has(message.channelId)) return;
      await retrying('a message', () => onMessage(parts, queue, message), until);
    };
    waiting++;
    await messages.run(message.channelId, save).catch((error) => notSaved(message, error));
    waiting--;
  };

  const catchUpIn = async (checkpoint: Checkpoint) => {
    const { channelId } = checkpoint;
    catchingUp.add(channelId);
    const search = () => catchUp(parts, queue, { checkpoint, since: Date.now() - catchUpMs, signal });
    await messages.run(channelId, async () => {
      const isComplete = await retrying('catching up', search).catch((error) => {
        logFailure('catching up', error);
        return !signal.aborted;
      });
      if (isComplete) catchingUp.delete(channelId);
    });
  };
  const catchUpFrom = async (from: readonly Checkpoint[]) => {
    await Promise.all(from.filter((checkpoint) => isOurs(parts, checkpoint)).map(catchUpIn));
  };
  /** Uses checkpoints from before the disconnect, because newer messages were saved already. */
  const catchUpAfter = async (time: number) =>
    catchUpFrom(await retrying('catching up', () => claims.checkpoints({ until: time, lastMs: catchUpMs })));

  const unsubscribe = [
    on(client, Events.MessageCreate, (message) => void receive(message)),
    on(client, Events.ShardReconnecting, (shard) => {
      if (!disconnectedAt.has(shard)) disconnectedAt.set(shard, Date.now());
    }),
    on(client, Events.ShardResume, (shard) => void disconnectedAt.delete(shard)),
    // a new session means that events were missed
    on(client, Events.ShardReady, (shard) => {
      catchUpAfter(disconnectedAt.get(shard) ?? Date.now()).catch((error) => logFailure('catching up', error));
      disconnectedAt.delete(shard);
    }),
    on(client, Events.GuildDelete, ({ id }) => {
      onGuildLeft(id).catch((error) => logFailure('deleting data of a guild', error));
    }),
  ];
  const stopInteractions = on(client, Events.InteractionCreate, (interaction) => {
    void answers.run(interaction.id, () => onInteraction(parts, queue, interaction));
  });
  return {
    caughtUp: catchUpFrom(checkpoints),
    async stopMessages() {
      for (const off of unsubscribe) off();
      closed.abort();
      await messages.idle();
    },
    stopInteractions,
    idle: () => answers.idle(),
  };
}

function on<Event extends keyof ClientEvents>(
  client: Client,
  event: Event,
  listener: (...args: ClientEvents[Event]) => void,
): () => void {
  client.on(event, listener);
  return () => void client.off(event, listener);
}
