// What the bot hears, from its first moment to its last.
import { type Client, type ClientEvents, Events, type Message } from 'discord.js';
import type { Queue } from '../answers/question-queue.ts';
import { messageOf } from '../base/errors.ts';
import { InOrder } from '../base/keyed-queue.ts';
import { tryAgain } from '../base/retry.ts';
import type { BotParts } from '../conversation/parts.ts';
import type { Mark } from '../store/claims.ts';
import { catchUp, isOurs } from './catch-up.ts';
import { onInteraction } from './on-interaction.ts';
import { isHeard, onMessage, tellNotTaken } from './on-message.ts';

/** Of messages that could not be written down yet. */
const MOST_WAITING = 1_000;

interface Listening {
  queue: Queue;
  /** How far back missed questions are looked for, and for how long it is tried to write one down. */
  catchUpMs: number;
  /** Where to look for questions that were missed before. */
  marks: readonly Mark[];
  /** The bot was thrown out of a guild. */
  onLeft(guildId: string): Promise<void>;
}

export interface Ears {
  /** Resolves when what was missed before is written down. */
  readonly caughtUp: Promise<void>;
  /** No more questions; resolves when those that were heard are written down. */
  closeToMessages(): Promise<void>;
  /** No more commands and buttons. */
  closeToInteractions(): void;
  /** Resolves when the commands and buttons that were heard are answered. */
  idle(): Promise<void>;
}

export function listen(parts: BotParts, { queue, catchUpMs, marks, onLeft }: Listening): Ears {
  const { client, logger, claims } = parts;
  const [messages, answers] = [new InOrder(), new InOrder()];
  const closed = new AbortController();
  const { signal } = closed;
  /** Channels whose missed questions are not all written down: what is said there waits, or the next start would not find them. */
  const behind = new Set<string>();
  /** Since when a shard hears nothing. */
  const deafSince = new Map<number, number>();
  let waiting = 0;
  const failed = (what: string, error: unknown) => logger.error(`Failed: ${what}`, { reason: messageOf(error) });
  const patient = <Result>(what: string, work: () => Promise<Result>, until = Date.now() + catchUpMs) =>
    tryAgain(work, {
      until,
      signal,
      onWait: (error) => logger.warn(`Tried again until it works: ${what}`, { reason: messageOf(error) }),
    });

  const notTaken = (message: Message, error: unknown) => {
    failed('a message', error);
    void answers.run(message.id, () => tellNotTaken(parts, message));
  };
  const hear = async (message: Message) => {
    if (!isHeard(parts, message)) return;
    if (waiting >= MOST_WAITING) return notTaken(message, new Error('too many wait'));
    const until = Date.now() + catchUpMs;
    const take = async () => {
      // closed before the missed ones were all there; the next start finds this one behind them
      if (behind.has(message.channelId)) return;
      await patient('a message', () => onMessage(parts, queue, message), until);
    };
    waiting++;
    await messages.run(message.channelId, take).catch((error) => notTaken(message, error));
    waiting--;
  };

  const catchUpIn = async (mark: Mark) => {
    const { channelId } = mark;
    behind.add(channelId);
    const look = () => catchUp(parts, queue, { mark, since: Date.now() - catchUpMs, signal });
    await messages.run(channelId, async () => {
      const isOver = await patient('catching up', look).catch((error) => {
        failed('catching up', error);
        return !signal.aborted;
      });
      if (isOver) behind.delete(channelId);
    });
  };
  const catchUpFrom = async (from: readonly Mark[]) => {
    await Promise.all(from.filter((mark) => isOurs(parts, mark)).map(catchUpIn));
  };
  /** Live messages are there already, so only what was claimed before counts. */
  const catchUpAfter = async (time: number) =>
    catchUpFrom(await patient('catching up', () => claims.marks({ until: time, lastMs: catchUpMs })));

  const deaf = [
    on(client, Events.MessageCreate, (message) => void hear(message)),
    on(client, Events.ShardReconnecting, (shard) => {
      if (!deafSince.has(shard)) deafSince.set(shard, Date.now());
    }),
    on(client, Events.ShardResume, (shard) => void deafSince.delete(shard)),
    // a session that could not be resumed has missed something
    on(client, Events.ShardReady, (shard) => {
      catchUpAfter(deafSince.get(shard) ?? Date.now()).catch((error) => failed('catching up', error));
      deafSince.delete(shard);
    }),
    on(client, Events.GuildDelete, ({ id }) => {
      onLeft(id).catch((error) => failed('forgetting a guild', error));
    }),
  ];
  const closeToInteractions = on(client, Events.InteractionCreate, (interaction) => {
    void answers.run(interaction.id, () => onInteraction(parts, queue, interaction));
  });
  return {
    caughtUp: catchUpFrom(marks),
    async closeToMessages() {
      for (const off of deaf) off();
      closed.abort();
      await messages.idle();
    },
    closeToInteractions,
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
