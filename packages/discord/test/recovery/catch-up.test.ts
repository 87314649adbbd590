// Questions that arrived while the bot was offline are found and answered once and in order.
import { join } from 'node:path';
import { DefaultRestOptions, type RESTOptions } from 'discord.js';
import { expect, onTestFinished, test } from 'vitest';
import { createBot } from '../../src/index.ts';
import { openBotStore } from '../../src/store/schema.ts';
import type { LocalDiscord } from '../counterpart/discord.ts';
import { botOptions, runBot, type Setup, startBot, temporaryFolder } from '../support/start-bot.ts';

/** A bot that has answered in #general and in a direct message, and is now offline. */
async function away(setup: Setup = {}) {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const { discord, bot, options } = await startBot({ database, ...setup });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say('general', `${discord.bot.mention} one`);
  ann.say(ann.dm, 'one');
  await discord.waitFor(() => [...answered(discord, 'general'), ...answered(discord, ann.dm)].length === 2);
  await bot.close();
  const again = async (client: Setup['client']) =>
    botOptions(discord, { ...setup, database, ...(client && { client }) });
  return { discord, database, options, ann, bob, again };
}

/** The ids of the messages that were answered, in the order of the answers. */
function answered(discord: LocalDiscord, channel: Parameters<LocalDiscord['botMessages']>[0]): (string | undefined)[] {
  return discord
    .botMessages(channel)
    .filter(({ content }) => content === 'ok')
    .map(({ replyTo }) => replyTo?.messageId);
}

function before(isIt: (request: string) => boolean, wait: () => Promise<unknown> | undefined): Partial<RESTOptions> {
  const makeRequest: RESTOptions['makeRequest'] = async (url, init) => {
    if (isIt(`${init.method} ${url}`)) await wait();
    return DefaultRestOptions.makeRequest(url, init);
  };
  return { makeRequest };
}

const isLookUp = (request: string) => request.includes('messages?') && request.includes('after=');

test('messages during the start do not hide missed ones and are answered after them', async () => {
  const { discord, ann, bob, again } = await away();
  const missed = ann.say('general', `${discord.bot.mention} while you were away`);
  const live: string[] = [];
  const saying = async () => {
    live.push(bob.say('general', `${discord.bot.mention} now`).id);
    await discord.waitFor(() => answered(discord, 'general').includes(live[0]));
  };
  const rest = before((request) => request.startsWith('PUT') && request.includes('/commands'), saying);
  await runBot(await again({ rest }));
  await discord.waitFor(() => answered(discord, 'general').length === 3);
  expect(answered(discord, 'general').slice(1)).toEqual([missed.id, live[0]]);
});

test('missed messages are found across several pages', async () => {
  const { discord, options, ann, bob } = await away();
  for (let count = 0; count < 210; count++) bob.say('general', `chatter ${count}`);
  const missed = ann.say('general', `${discord.bot.mention} after all of that`);
  await runBot(options);
  await discord.waitFor(() => answered(discord, 'general').at(-1) === missed.id);
  expect(answered(discord, 'general')).toHaveLength(2);
});

test('direct messages are searched even if the last one is a day old', async () => {
  const { discord, database, options, ann } = await away();
  const { db, close } = await openBotStore(database);
  await db
    .updateTable('discord_claims')
    .set({ created_at: Date.now() - 24 * 3_600_000 })
    .execute();
  await close();
  const missed = ann.say(ann.dm, 'after a day');
  ann.say('general', `${discord.bot.mention} after a day`);
  await runBot(options);
  await discord.waitFor(() => answered(discord, ann.dm).at(-1) === missed.id);
  expect(answered(discord, 'general')).toHaveLength(1);
});

test('a bot that closes while catching up leaves the remaining messages to the next start', async () => {
  const { discord, options, ann, bob, again } = await away();
  const missed = ann.say('general', `${discord.bot.mention} while you were away`);
  const looking = Promise.withResolvers<void>();
  const never = new Promise<void>(() => {});
  const look = () => {
    looking.resolve();
    return never;
  };
  const bot = createBot(await again({ rest: before(isLookUp, look) }));
  onTestFinished(() => bot.close());
  const starting = expect(bot.start()).rejects.toThrow('The bot is closed');
  await looking.promise;
  const live = bob.say('general', `${discord.bot.mention} now`);
  await expect.poll(() => bot.client.channels.resolve(live.channelId)).toHaveProperty('lastMessageId', live.id);
  await bot.close();
  await starting;
  expect(answered(discord, 'general')).toHaveLength(1);
  await runBot(options);
  await discord.waitFor(() => answered(discord, 'general').length === 3);
  expect(answered(discord, 'general').slice(1)).toEqual([missed.id, live.id]);
});

test('new messages are answered where the history cannot be read', async () => {
  const { discord, ann, again } = await away();
  ann.say('general', `${discord.bot.mention} while you were away`);
  discord.failNext({ request: /GET .*messages$/, status: 500, times: 2 });
  await runBot(await again({ rest: { retries: 0 } }));
  const live = ann.say('general', `${discord.bot.mention} now`);
  await discord.waitFor(() => answered(discord, 'general').at(-1) === live.id);
  expect(answered(discord, 'general')).toHaveLength(2);
});

test('after a lost session, a new message that is saved first does not hide missed ones', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const { discord } = await startBot({ database });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} one`);
  await discord.waitFor(() => answered(discord, 'general').length === 1);
  const { db, close } = await openBotStore(database);
  onTestFinished(close);
  const open = Promise.withResolvers<void>();
  discord.dropGateway({ resumable: false, until: open.promise });
  const missed = ann.say('general', `${discord.bot.mention} meanwhile`);
  const { id } = ann.say('general', `${discord.bot.mention} heard by a session that is new`);
  const [first] = await db.selectFrom('discord_claims').selectAll().execute();
  if (!first) throw new Error('The first question was not saved.');
  await db
    .insertInto('discord_claims')
    .values({ ...first, id, created_at: Date.now() + 1_000 })
    .execute();
  open.resolve();
  await discord.waitFor(() => answered(discord, 'general').at(-1) === missed.id);
});
