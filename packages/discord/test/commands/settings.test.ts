// Settings of guild admins.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SettingsStore } from '../../src/store/guild-settings.ts';
import { openBotStore } from '../../src/store/schema.ts';
import { answers, PacedModel, runBot, startBot, temporaryFolder } from '../support/start-bot.ts';
import { storedMessages } from '../support/stored-conversations.ts';

test('outside of allowed channels and roles the bot ignores messages and refuses commands', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const [admin, ann, bob] = [discord.user('admin'), discord.user('ann'), discord.user('bob')];
  const setup = (what: string, options: Record<string, string | boolean>) =>
    admin.command(`setup ${what}`, { channel: 'general', options }).reply();
  await setup('channel', { channel: 'general' });
  expect((await setup('role', { role: 'Helpers' })).content).toContain('**Roles**: <@&');
  discord.stage.setRoles(discord.guild(), ann, ['Helpers']);
  bob.say('general', `${discord.bot.mention} hello`);
  ann.say('random', `${discord.bot.mention} hello`);
  const refused = await bob.command('ask', { channel: 'general', options: { question: 'hello' } }).reply();
  expect(refused).toMatchObject({ content: 'I do not answer you in this channel.', onlyFor: bob.id });
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general');
  const thread = ann.thread('general', 'aside');
  ann.say(thread, `${discord.bot.mention} hello`);
  await discord.waitForBotMessage(thread);
  await setup('role', { role: 'Helpers', remove: true });
  await setup('channel', { channel: 'general', remove: true });
  const { id } = bob.say('random', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('random', ({ replyTo }) => replyTo?.messageId === id);
  expect(discord.botMessages('random')).toHaveLength(1);
  expect(discord.botMessages('general')).toHaveLength(1);
  expect(model.calls).toHaveLength(3);
});

test("the operator's lists of guilds and users take precedence over settings of admins", async () => {
  const model = answers(() => 'ok');
  const { discord, bot, options } = await startBot({ model });
  const [admin, ann, bob] = [discord.user('admin'), discord.user('ann'), discord.user('bob')];
  await bot.close();
  await runBot({ ...options, guilds: ['999999999999999999'], directMessages: [ann.id] });
  ann.say('general', `${discord.bot.mention} hello`);
  bob.say(bob.dm, 'hello');
  const refusals = [
    ann.command('ask', { channel: 'general', options: { question: 'hello' } }),
    admin.command('setup channel', { channel: 'general', options: { channel: 'general' } }),
    bob.command('help', { channel: bob.dm }),
  ];
  for (const refusal of refusals)
    expect((await refusal.reply()).content).toBe('The operator of this bot does not allow it here.');
  ann.say(ann.dm, 'hello');
  await discord.waitForBotMessage(ann.dm);
  expect(discord.botMessages('general')).toEqual([]);
  expect(discord.botMessages(bob.dm)).toEqual([]);
  expect(model.calls).toHaveLength(1);
});

test('a guild can choose one conversation per member', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const [admin, ann, bob] = [discord.user('admin'), discord.user('ann'), discord.user('bob')];
  ann.say('general', `${discord.bot.mention} from ann`);
  await discord.waitForBotMessage('general');
  bob.say('general', `${discord.bot.mention} from bob`);
  await discord.waitFor(() => discord.botMessages('general').length === 2);
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('from ann');
  await admin.command('setup conversations', { channel: 'general', options: { scope: 'user' } }).reply();
  ann.say('general', `${discord.bot.mention} mine`);
  await discord.waitFor(() => discord.botMessages('general').length === 3);
  bob.say('general', `${discord.bot.mention} and mine`);
  await discord.waitFor(() => discord.botMessages('general').length === 4);
  expect(JSON.stringify(model.calls[3]?.prompt)).not.toContain('/>\\nmine');
  expect(JSON.stringify(model.calls[3]?.prompt)).not.toContain('from ann');
});

test('a guild can limit the models', async () => {
  const [one, two] = [answers(() => 'from one'), answers(() => 'from two')];
  const { discord } = await startBot({
    models: [
      { name: 'one', model: one },
      { name: 'two', model: two },
    ],
  });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const options = { name: 'two' };
  await admin.command('setup model', { channel: 'general', options }).reply();
  expect(
    (await admin.command('setup model', { channel: 'general', options: { name: 'x' } }).reply()).content,
  ).toContain('Unknown model');
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'from two');
  const refused = await ann.command('model', { channel: 'general', options: { name: 'one' } }).reply();
  expect(refused.content).toContain('Unknown model `one`');
});

test('other models do not replace the allowed ones when none is available', async () => {
  const [large, cheap] = [answers(() => 'from large'), answers(() => 'from cheap')];
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const { discord, bot, options } = await startBot({
    database,
    models: [
      { name: 'large', model: large },
      { name: 'cheap', model: cheap },
    ],
  });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const setup = async (what: string, given: Record<string, string | boolean> = {}) =>
    (await admin.command(`setup ${what}`, { channel: 'general', options: given }).reply()).content;
  await setup('model', { name: 'cheap' });
  await bot.close();
  await runBot({ ...options, models: [{ name: 'large', model: large }] });
  const refusal = 'No model that this server allows is available.';
  ann.say('general', `${discord.bot.mention} hello`);
  const told = await discord.waitForBotMessage('general', ({ content }) => content.includes(refusal));
  expect(told.content).toContain('`/setup model`');
  for (const given of [undefined, { name: 'large' }])
    expect(
      (await ann.command('model', { channel: 'general', ...(given && { options: given }) }).reply()).content,
    ).toContain(refusal);
  expect((await ann.command('summarize', { channel: 'general' }).reply()).content).toContain(refusal);
  expect(await setup('show')).toContain('**Models**: `cheap` (deleted)');
  const offered = admin.complete('setup model', { channel: 'general', options: { name: '' }, focused: 'name' });
  expect((await offered.choices()).map(({ name }) => name)).toEqual(['large', 'cheap']);
  expect(await setup('model', { name: 'chaep', remove: true })).toContain('Unknown model `chaep`');
  expect(await setup('model', { name: 'cheap', remove: true })).toContain('**Models**: all');
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'from large');
  expect(large.calls).toHaveLength(1);
});

test('deleted channels and roles are marked, and a list can be cleared', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const { discord } = await startBot({ database });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const setup = async (what: string, options: Record<string, string | boolean> = {}) =>
    (await admin.command(`setup ${what}`, { channel: 'general', options }).reply()).content;
  const random = discord.channel('random');
  await setup('channel', { channel: 'random' });
  expect(await setup('role', { role: 'Helpers' })).not.toContain('(deleted)');
  const { db, close } = await openBotStore(database);
  onTestFinished(close);
  await new SettingsStore(db).change(discord.guild().id, (settings) => {
    settings.roles = ['999999999999999999'];
    settings.profiles = { '888888888888888888': 'admin' };
  });
  discord.stage.removeChannel(random);
  const refused = await ann.command('ask', { channel: 'general', options: { question: 'hello' } }).reply();
  expect(refused.content).toBe('I do not answer you in this channel.');
  const shown = await setup('show');
  expect(shown).toContain(`**Channels**: <#${random.id}> (deleted)`);
  expect(shown).toContain('**Roles**: <@&999999999999999999> (deleted)');
  expect(shown).toContain('<@&888888888888888888> (deleted) admin');
  expect(shown).toContain('`/setup clear`');
  expect(await setup('clear', { what: 'channels' })).toContain('**Channels**: all');
  await setup('clear', { what: 'profiles' });
  const cleared = await setup('clear', { what: 'roles' });
  expect(cleared).toContain('**Roles**: all');
  expect(cleared).not.toContain('deleted)');
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'ok');
});

test('the notice about too many open questions is sent once', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model, limits: { waitingPerUser: 2 } });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  for (let count = 0; count < 7; count++) ann.say('general', `${discord.bot.mention} question ${count}`);
  // later messages are handled after them
  for (let count = 0; count < 2; count++) bob.say('general', `${discord.bot.mention} question ${count}`);
  const last = bob.say('general', `${discord.bot.mention} one too many`);
  const told = () => discord.botMessages('general').filter(({ content }) => content.includes('open questions'));
  await discord.waitFor(() => told().some(({ replyTo }) => replyTo?.messageId === last.id));
  expect(told()).toHaveLength(2);
});

test('limits per user and per guild are announced once', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model, limits: { perUserPerMinute: 2, perGuildPerMinute: 3 } });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  for (const [index, who] of [ann, ann, ann, bob, bob].entries()) {
    who.say('general', `${discord.bot.mention} hello`);
    await discord.waitFor(() => discord.botMessages('general').length === index + 1);
  }
  const said = discord.botMessages('general').map(({ content }) => content);
  expect(said[2]).toContain('You can ask 2 questions per minute');
  // refusals of ann do not count against the others
  expect(said[3]).toBe('ok');
  expect(said[4]).toContain('This server can ask 3 questions per minute');
  expect((await ann.command('summarize', { channel: 'general' }).reply()).content).toContain('questions per minute');
  expect(model.calls).toHaveLength(3);
  // repeated messages get no further notice, not even empty ones
  ann.say('general', `${discord.bot.mention} hello`);
  ann.say('general', discord.bot.mention);
  bob.say('general', `${discord.bot.mention} hello`);
  const admin = discord.user('admin').say('general', `${discord.bot.mention} hello`);
  await discord.waitFor(() => discord.botMessages('general').length === 6);
  expect(discord.botMessages('general')[5]?.replyTo?.messageId).toBe(admin.id);
});

test('old turns are dropped whole, and summarized if the guild has enabled summaries', async () => {
  const model = answers(({ prompt }) =>
    JSON.stringify(prompt[0]).includes('Summarize the conversation') ? 'they spoke of numbers' : 'ok',
  );
  const { discord } = await startBot({ models: [{ name: 'small', model, contextTokens: 500 }] });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const ask = async (text: string, count: number) => {
    ann.say('general', `${discord.bot.mention} ${text} ${'x'.repeat(600)}`);
    await discord.waitFor(
      () => discord.botMessages('general').filter(({ content }) => content === 'ok').length === count,
    );
    return JSON.stringify(model.calls.at(-1)?.prompt);
  };
  await ask('one', 1);
  expect(await ask('two', 2)).toContain('one x');
  const third = await ask('three', 3);
  expect(third).not.toContain('one x');
  expect(third).toContain('two x');
  const roles = model.calls.at(-1)?.prompt.map(({ role }) => role);
  expect(roles).toEqual(['system', 'user', 'assistant', 'user']);
  await admin
    .command('setup conversations', { channel: 'general', options: { scope: 'channel', summaries: true } })
    .reply();
  const fourth = await ask('four', 4);
  expect(fourth).toContain('they spoke of numbers');
  expect(fourth).not.toContain('two x');
});

test('a failed summary deletes nothing and is repeated with the next question', async () => {
  let isBroken = true;
  const summarized: string[] = [];
  const refusal = Object.assign(new Error('not now'), { statusCode: 400 });
  const model = answers(({ prompt }) => {
    if (!JSON.stringify(prompt[0]).includes('Summarize the conversation')) return 'ok';
    summarized.push(JSON.stringify(prompt));
    return isBroken ? { error: refusal } : 'the code is 4711';
  });
  const { discord } = await startBot({ models: [{ name: 'small', model, contextTokens: 500 }] });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const options = { scope: 'channel', summaries: true };
  await admin.command('setup conversations', { channel: 'general', options }).reply();
  let asked = 0;
  const ask = async (text: string) => {
    const count = ++asked;
    ann.say('general', `${discord.bot.mention} ${text} ${'x'.repeat(500)}`);
    await discord.waitFor(() => discord.botMessages('general')[count - 1]?.content === 'ok');
  };
  for (const text of ['remember 4711', 'two', 'three', 'four']) await ask(text);
  expect(summarized.length).toBeGreaterThan(0);
  isBroken = false;
  summarized.length = 0;
  await ask('five');
  expect(summarized[0]).toContain('remember 4711');
  expect(JSON.stringify(model.calls.at(-1)?.prompt[0])).toContain('the code is 4711');
  summarized.length = 0;
  await ask('six');
  expect(summarized.join()).not.toContain('remember 4711');
});

test('summaries are made in chunks that fit the context window, without gaps', async () => {
  const sizes: number[] = [];
  const seen: string[] = [];
  const model = answers(({ prompt }) => {
    const text = JSON.stringify(prompt);
    if (!text.includes('Summarize the conversation')) return 'ok';
    sizes.push(text.length);
    seen.push(text);
    return `summary ${sizes.length}`;
  });
  const { discord } = await startBot({
    models: [
      { name: 'big', model },
      { name: 'small', model, contextTokens: 1_000 },
    ],
  });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const options = { scope: 'channel', summaries: true };
  await admin.command('setup conversations', { channel: 'general', options }).reply();
  for (let count = 0; count < 8; count++) {
    ann.say('general', `${discord.bot.mention} fact-${count} ${'<'.repeat(count % 2 ? 900 : 0)}${'x'.repeat(900)}`);
    await discord.waitFor(() => discord.botMessages('general')[count]?.content === 'ok');
  }
  await ann.command('model', { channel: 'general', options: { name: 'small' } }).reply();
  ann.say('general', `${discord.bot.mention} and now`);
  await discord.waitFor(() => discord.botMessages('general')[8]?.content === 'ok');
  expect(Math.max(...sizes)).toBeLessThan(1_000 * 3.5);
  const last = JSON.stringify(model.calls.at(-1)?.prompt);
  expect(last).toContain(`summary ${sizes.length}`);
  // each turn is in a summary or still in the history
  for (let count = 0; count < 8; count++) expect(`${seen.join()} ${last}`).toContain(`fact-${count} `);
  expect(seen.at(-1)).toContain(`summary ${sizes.length - 1}`);
});

test('old buttons and menus do not work for members who lost access', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  ann.say('general', `${discord.bot.mention} hello`);
  const answer = await discord.waitForBotMessage('general', ({ components }) =>
    JSON.stringify(components).includes('Regenerate'),
  );
  const menu = await ann.command('agent', { channel: 'general' }).reply();
  await admin.command('setup role', { channel: 'general', options: { role: 'Helpers' } }).reply();
  for (const used of [ann.click(answer, 'Regenerate'), ann.pick(menu, 'agent-tools', [])])
    expect((await used.reply()).content).toBe('I do not answer you in this channel.');
  expect(model.calls).toHaveLength(1);
});

test('data of a guild that removes the bot is deleted, other data is kept', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = new PacedModel();
  const { discord } = await startBot({ model, database });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  await admin.command('setup channel', { channel: 'general', options: { channel: 'general' } }).reply();
  ann.say(ann.dm, 'kept');
  await model.called(1);
  model.say('ok');
  model.end();
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'ok');
  ann.say('general', `${discord.bot.mention} in the guild`);
  await model.called(2);
  model.say('half', 1);
  await discord.waitForBotMessage('general');
  discord.stage.removeGuild(discord.guild());
  const { db, close } = await openBotStore(database);
  onTestFinished(close);
  const left = async () => ({
    conversations: (await db.selectFrom('discord_conversations').select('id').execute()).map(({ id }) => id),
    messages: (await storedMessages(database)).length,
    guilds: (await db.selectFrom('discord_guilds').select('guild_id').execute()).length,
  });
  await expect.poll(left).toEqual({ conversations: [`dm:${ann.id}`], messages: 2, guilds: 0 });
  expect(model.aborted).toBe(1);
});

test('each turn adds messages to the history and leaves old ones unchanged', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const { discord } = await startBot({ model: answers(() => 'ok'), database });
  const ann = discord.user('ann');
  const seen: Awaited<ReturnType<typeof storedMessages>>[] = [];
  for (let count = 1; count <= 3; count++) {
    ann.say(ann.dm, `question ${count}`);
    await discord.waitFor(() => discord.botMessages(ann.dm).at(count - 1)?.content === 'ok');
    seen.push(await storedMessages(database));
  }
  expect(seen.map(({ length }) => length)).toEqual([2, 4, 6]);
  expect(seen[2]?.slice(0, 4)).toEqual(seen[1]);
  expect(seen[1]?.slice(0, 2)).toEqual(seen[0]);
});
