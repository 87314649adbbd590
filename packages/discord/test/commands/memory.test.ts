// The memory of the bot: facts about a person, in one server or in direct messages, which the person lists and erases.
import { join } from 'node:path';
import { openConversations } from '@pocket-agent/store';
import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import type { ChannelRef } from '../counterpart/people/person.ts';
import { answers, calls, lastText, startBot, temporaryFolder } from '../support/start-bot.ts';

const toolNames = (call: { tools?: readonly { name: string }[] } | undefined) =>
  (call?.tools ?? []).map(({ name }) => name);
const remember = (text: string) => calls({ name: 'remember', arguments: { text } });

/** Remembers what follows "note:", and recalls everything for other questions. */
const notebook = () =>
  answers((options) => {
    if (options.prompt.at(-1)?.role !== 'user') return `done: ${lastText(options, 'tool')}`;
    const [, text] = /note: ([\w ]+)/.exec(lastText(options, 'user')) ?? [];
    const call = text ? { name: 'remember', arguments: { text } } : { name: 'recall', arguments: {} };
    return { toolCalls: [call] };
  });

test('facts are remembered separately for each person, and for each server and direct messages', async () => {
  const { discord } = await startBot({ model: notebook(), memory: true });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  const answer = (channel: ChannelRef, text: string) =>
    discord.waitForBotMessage(channel, ({ content }) => content.includes('done:') && content.includes(text));
  ann.say('general', `${discord.bot.mention} note: likes tea`);
  await answer('general', 'Remembered as');
  ann.say(ann.dm, 'note: has a secret');
  await answer(ann.dm, 'Remembered as');
  ann.say('general', `${discord.bot.mention} what do you know?`);
  const { content } = await answer('general', 'likes tea');
  expect(content).not.toContain('secret');
  bob.say('general', `${discord.bot.mention} what do you know?`);
  await answer('general', 'Nothing was found');
});

test('/memory lists and erases the memories about the person; in direct messages, those of all places', async () => {
  const { discord } = await startBot({ model: notebook(), memory: true });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  const memory = (channel: ChannelRef, options: Record<string, string> = {}, user = ann) =>
    user.command('memory', { channel, options }).reply();
  expect((await memory('general')).content).toBe('I remember nothing about you here.');
  ann.say('general', `${discord.bot.mention} note: likes tea`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('Remembered as'));
  ann.say(ann.dm, 'note: has a secret');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('Remembered as'));

  const inServer = await memory('general');
  expect(inServer.content).toMatch(/^- `\w{8}` \(\d{4}-\d\d-\d\d in .+\): likes tea\n-# /);
  expect(Number(inServer.flags) & MessageFlags.Ephemeral).not.toBe(0); // only Ann sees it
  expect((await memory('general', {}, bob)).content).toBe('I remember nothing about you here.');
  const [, id = ''] = /`(\w{8})`/.exec(inServer.content) ?? [];
  expect((await memory('general', { erase: id }, bob)).content).toContain('No memory has this id.');

  expect((await memory(ann.dm)).content).toMatch(/has a secret\n.*likes tea|likes tea\n.*has a secret/);
  expect((await memory(ann.dm, { search: 'SECRET' })).content).not.toContain('tea');
  expect((await memory(ann.dm, { search: 'coffee' })).content).toBe('No memory contains this text.');
  expect((await memory(ann.dm, { erase: id })).content).toBe('Erased.');
  expect((await memory('general')).content).toBe('I remember nothing about you here.');
  expect((await memory(ann.dm, { erase: 'all' })).content).toBe('Erased 1 memory.');
  expect((await memory(ann.dm)).content).toBe('I remember nothing about you here.');
});

test('the profile decides which memory tools exist, and /agent turns them off', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model, memory: true });
  const ann = discord.user('ann');
  const offered = async () => {
    const count = discord.botMessages('general').length;
    ann.say('general', `${discord.bot.mention} hello`);
    await discord.waitFor(() => discord.botMessages('general').length > count);
    return toolNames(model.calls.at(-1)).filter((name) => ['remember', 'recall', 'forget'].includes(name));
  };
  expect(await offered()).toEqual(['remember', 'recall']); // `forget` can delete: not for the profile manager
  const agent = (options: Record<string, string | boolean>) => ann.command('agent', { channel: 'general', options });
  expect((await agent({ name: 'memory', off: true }).reply()).content).toContain('These tools are on');
  expect(await offered()).toEqual([]);
  expect((await agent({ name: 'Memory' }).reply()).content).toContain('**Memory**');
  expect(await offered()).toEqual(['remember', 'recall']);
});

test('without the option nothing is remembered, and earlier memories can still be erased', async () => {
  const file = join(await temporaryFolder(), 'bot.db');
  const model = remember('likes tea');
  const first = await startBot({ model, memory: true, database: { file } });
  first.discord.user('ann').say('general', `${first.discord.bot.mention} remember tea`);
  await first.discord.waitForBotMessage('general', ({ content }) => content.includes('Remembered as'));
  await first.bot.close();
  const again = answers(() => 'ok');
  const { discord } = await startBot({ model: again, database: { file } });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'ok');
  expect(toolNames(again.calls[0])).not.toContain('recall');
  expect((await ann.command('memory', { channel: 'general', options: { erase: 'all' } }).reply()).content).toContain(
    'Erased 1 memory.',
  );
});

test('when the bot leaves a server, its memories of that server are deleted', async () => {
  const file = join(await temporaryFolder(), 'bot.db');
  const { discord, bot } = await startBot({ model: notebook(), memory: true, database: { file } });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} note: likes tea`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('Remembered as'));
  ann.say(ann.dm, 'note: likes cake');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('Remembered as'));
  await using chats = await openConversations({ file, scope: 'discord' });
  expect((await chats.owners({ prefix: `${ann.id}/` })).owners).toHaveLength(2);
  const [guild] = bot.client.guilds.cache.values();
  await guild?.leave();
  await expect
    .poll(async () => (await chats.owners({ prefix: `${ann.id}/` })).owners)
    .toMatchObject([{ owner: `${ann.id}/dm`, memories: 1 }]);
});
