// Starts a local Discord and a discord.js client for a test, and closes both afterwards.
import { Client, type ClientOptions, Events, GatewayIntentBits, Partials, type SendableChannels } from 'discord.js';
import { expect, onTestFinished } from 'vitest';
import { type DiscordOptions, type LocalDiscord, startDiscord } from '../counterpart/discord.ts';

const INTENTS = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.GuildMembers,
  GatewayIntentBits.GuildMessageReactions,
  GatewayIntentBits.GuildMessageTyping,
  GatewayIntentBits.DirectMessages,
  GatewayIntentBits.MessageContent,
];

export async function start(options?: DiscordOptions): Promise<LocalDiscord> {
  const discord = await startDiscord(options);
  onTestFinished(() => discord.close());
  return discord;
}

export function clientOf({ apiUrl }: { apiUrl: string }, options: Partial<ClientOptions> = {}): Client {
  const client = new Client({
    intents: INTENTS,
    partials: [Partials.Channel],
    ...options,
    rest: { api: apiUrl, ...options.rest },
    // skip the five seconds that discord.js waits between identifies
    ws: { buildIdentifyThrottler: async () => ({ waitForIdentify: async () => {} }) },
  });
  onTestFinished(() => client.destroy());
  return client;
}

export async function login(
  discord: { apiUrl: string; token: string },
  options?: Partial<ClientOptions>,
): Promise<Client<true>> {
  const client = clientOf(discord, options);
  const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(discord.token);
  return ready;
}

export async function channelOf(client: Client, { id }: { id: string }): Promise<SendableChannels> {
  const channel = await client.channels.fetch(id);
  if (!channel?.isSendable()) throw new Error('No messages can be sent in that channel.');
  return channel;
}

/** Polls the events of a client, because nothing notifies the test. */
export async function eventually<Value>(look: () => Value, expected: Value): Promise<void> {
  await expect.poll(look, { interval: 10 }).toEqual(expected);
}
