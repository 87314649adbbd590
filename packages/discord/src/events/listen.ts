// What the bot hears, from its first moment to its last.
import { type Client, type ClientEvents, Events } from 'discord.js';
import type { Queue } from '../conversation/queue.ts';
import { messageOf } from '../errors.ts';
import type { BotParts } from '../parts.ts';
import { catchUp } from './catch-up.ts';
import { InOrder } from './in-order.ts';
import { onInteraction } from './on-interaction.ts';
import { onMessage } from './on-message.ts';

interface Listening {
  queue: Queue;
  /** How far back missed questions are looked for. */
  catchUpMs: number;
  /** The bot was thrown out of a guild. */
  onLeft(guildId: string): Promise<void>;
}

export interface Ears {
  /** No more questions; resolves when those that were heard are written down. */
  closeToMessages(): Promise<void>;
  /** No more commands and buttons. */
  closeToInteractions(): void;
  /** Resolves when the commands and buttons that were heard are answered. */
  idle(): Promise<void>;
}

export function listen(parts: BotParts, { queue, catchUpMs, onLeft }: Listening): Ears {
  const { client, logger } = parts;
  const [messages, interactions] = [new InOrder(), new InOrder()];
  const watched = (what: string, work: Promise<void>) =>
    void work.catch((error) => logger.error(`Failed: ${what}`, { reason: messageOf(error) }));
  const deaf = [
    on(client, Events.MessageCreate, (message) =>
      watched(
        'a message',
        messages.run(message.channelId, () => onMessage(parts, queue, message)),
      ),
    ),
    // a session that could not be resumed has missed something
    on(client, Events.ShardReady, () => watched('catching up', catchUp(parts, queue, catchUpMs))),
    on(client, Events.GuildDelete, ({ id }) => watched('forgetting a guild', onLeft(id))),
  ];
  const closeToInteractions = on(client, Events.InteractionCreate, (interaction) => {
    void interactions.run(interaction.id, () => onInteraction(parts, queue, interaction));
  });
  return {
    async closeToMessages() {
      for (const off of deaf) off();
      await messages.idle();
    },
    closeToInteractions,
    idle: () => interactions.idle(),
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
