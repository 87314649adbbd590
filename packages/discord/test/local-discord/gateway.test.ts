// The gateway of the local Discord: lost and resumed sessions, shards, and close codes.
import { once } from 'node:events';
import { Events, GatewayIntentBits } from 'discord.js';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import type { LocalDiscord } from '../counterpart/discord.ts';
import { clientOf, eventually, login, start } from './test-client.ts';

async function listening(discord: LocalDiscord): Promise<string[]> {
  const client = await login(discord);
  const read: string[] = [];
  client.on(Events.MessageCreate, (message) => read.push(message.content));
  return read;
}

const logged = (discord: LocalDiscord, kind: string) => discord.gateway.log.filter((entry) => entry.kind === kind);

const WAYS: [string, (discord: LocalDiscord) => unknown][] = [
  ['the connection is cut', (discord) => discord.dropGateway()],
  ['Discord asks to reconnect', (discord) => discord.dropGateway({ how: 'reconnect' })],
  ['the session is called invalid but resumable', (discord) => discord.dropGateway({ how: 'invalid' })],
  ['connections are refused for a while', (discord) => discord.dropGateway({ until: refused(discord) })],
];

/** Resolves when the client was refused once. */
function refused(discord: LocalDiscord): Promise<unknown> {
  return discord.waitFor(() => logged(discord, 'refused').length > 0);
}

test.each(WAYS)('when %s, RESUME replays missed events in order', async (_, drop) => {
  const discord = await start();
  const read = await listening(discord);
  const ann = discord.user('ann');
  ann.say('general', 'before');
  await eventually(() => read, ['before']);
  drop(discord);
  ann.say('general', 'meanwhile');
  ann.say('general', 'and then');
  await discord.waitFor(() => logged(discord, 'resume').length > 0);
  ann.say('general', 'after');
  await eventually(() => read, ['before', 'meanwhile', 'and then', 'after']);
  expect(logged(discord, 'identify')).toHaveLength(1);
});

test('a lost session identifies again, and events in between are lost', async () => {
  const discord = await start();
  const read = await listening(discord);
  discord.dropGateway({ resumable: false, how: 'invalid' });
  discord.user('ann').say('general', 'lost');
  await discord.waitFor(() => logged(discord, 'identify').length === 2);
  discord.user('ann').say('general', 'heard');
  await eventually(() => read, ['heard']);
});

test('a client reconnects when heartbeats are not acknowledged', async () => {
  const discord = await start({ heartbeatIntervalMs: 150 });
  const read = await listening(discord);
  discord.gateway.acknowledgesHeartbeats = false;
  await discord.waitFor(() => logged(discord, 'closed').length > 0);
  discord.gateway.acknowledgesHeartbeats = true;
  discord.user('ann').say('general', 'still there?');
  await eventually(() => read, ['still there?']);
  expect(logged(discord, 'identify')).toHaveLength(1);
});

test('each shard gets events of its guilds, and the first one direct messages', async () => {
  const discord = await start({ guilds: [{ name: 'A' }, { name: 'B' }], shards: 2 });
  const client = await login(discord, { shards: 'auto' });
  const heard: string[] = [];
  client.on(Events.MessageCreate, (message) => heard.push(`${message.guild?.shardId ?? 'dm'} ${message.content}`));
  const ann = discord.user('ann');
  ann.say('A/general', 'a');
  ann.say('B/general', 'b');
  ann.say(ann.dm, 'd');
  await eventually(() => heard.sort(), ['0 a', '1 b', 'dm d']);
  const shards = discord.gateway.sessions.map(({ shard }) => shard.join(' of '));
  expect(shards.sort()).toEqual(['0 of 2', '1 of 2']);
});

test('without the intent the bot reads only mentions and direct messages', async () => {
  const discord = await start();
  const intents = [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.DirectMessages];
  const client = await login(discord, { intents });
  const read: string[] = [];
  client.on(Events.MessageCreate, (message) => read.push(message.content));
  const ann = discord.user('ann');
  ann.say('general', 'secret');
  ann.say('general', `${discord.bot.mention} open`);
  ann.say(ann.dm, 'between us');
  await eventually(() => read, ['', `${discord.bot.mention} open`, 'between us']);
});

test('privileged intents that are turned off are refused', async () => {
  const discord = await start({ privilegedIntents: [] });
  await expect(clientOf(discord).login(discord.token)).rejects.toThrow('Used disallowed intents');
});

test('changes of guilds, channels, members and roles reach the bot', async () => {
  const discord = await start();
  const client = await login(discord);
  const seen: string[] = [];
  client.on(Events.GuildCreate, (guild) => seen.push(`guild ${guild.name}`));
  client.on(Events.GuildDelete, (guild) => seen.push(`no guild ${guild.name}`));
  client.on(Events.ChannelCreate, (channel) => seen.push(`channel ${channel.name}`));
  client.on(Events.ChannelDelete, (channel) => seen.push(`no channel ${'name' in channel && channel.name}`));
  client.on(Events.GuildMemberAdd, (member) => seen.push(`member ${member.displayName}`));
  client.on(Events.GuildMemberUpdate, (_, member) => seen.push(member.roles.cache.map(({ name }) => name).join()));
  const { stage } = discord;
  const home = discord.guild();
  const added = stage.addGuild({ name: 'New' });
  stage.removeGuild(added);
  stage.removeChannel(stage.addChannel(home, 'lobby'));
  const eve = stage.addUser({ name: 'eve' });
  stage.setRoles(home, eve, ['Helpers']);
  await eventually(
    () => seen,
    ['guild New', 'no guild New', 'channel lobby', 'no channel lobby', 'member eve', '@everyone,Helpers'],
  );
});

const IDENTIFY = { token: 'x', intents: 1, properties: {} };
const CLOSING: [string, number, (token: string) => string[]][] = [
  ['invalid JSON', 4002, () => ['{']],
  ['an unknown opcode', 4001, () => [JSON.stringify({ op: 99 })]],
  ['a presence before IDENTIFY', 4003, () => [JSON.stringify({ op: 3, d: {} })]],
  ['a wrong token', 4004, () => [JSON.stringify({ op: 2, d: IDENTIFY })]],
  [
    'a second IDENTIFY',
    4005,
    (token) => [
      JSON.stringify({ op: 2, d: { ...IDENTIFY, token } }),
      JSON.stringify({ op: 2, d: { ...IDENTIFY, token } }),
    ],
  ],
  ['a shard that cannot be', 4010, (token) => [JSON.stringify({ op: 2, d: { ...IDENTIFY, token, shard: [2, 2] } })]],
  ['120 frames and one', 4008, () => Array.from({ length: 121 }, () => JSON.stringify({ op: 1, d: null }))],
];

test.each(CLOSING)('%s closes the connection with %i', async (_, code, frames) => {
  const discord = await start();
  const socket = new WebSocket(`${discord.gateway.url}?v=10&encoding=json`);
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  for (const frame of frames(discord.token)) socket.send(frame);
  const [closedWith] = await once(socket, 'close');
  expect(closedWith).toBe(code);
});
