// Commands of people who installed the bot for themselves, in servers and groups that the bot is not a member of.
import { expect, test } from 'vitest';
import type { StoredMessage } from '../counterpart/state/records.ts';
import { answers, calls, lastText, PacedModel, type Setup, startBot } from '../support/start-bot.ts';

async function startAbroad(setup: Setup = {}) {
  const guilds = [{ name: 'Home' }, { name: 'Abroad', channels: ['plaza'], bot: 'absent' as const }];
  const started = await startBot({ ...setup, world: { guilds, ...setup.world } });
  const { discord } = started;
  const ann = discord.user('ann');
  discord.stage.install(ann);
  const ask = (question: string, channel: Parameters<typeof ann.command>[1]['channel'] = 'plaza') =>
    ann.command('ask', { channel, options: { question } });
  return { ...started, ann, ask };
}

const isDone = ({ content, components }: StoredMessage) => components.length === 0 && !content.includes('-# …');

test('/ask answers where the bot is not a member, only by the answer to the command', async () => {
  const { discord, ann, ask } = await startAbroad({ model: answers(({ prompt }) => `hello ${prompt.length}`) });
  const message = await ask('who are you?').reply();
  await discord.waitFor(() => isDone(message));
  expect(message).toMatchObject({ content: '> who are you?\nhello 2' });
  expect(message.onlyFor).toBeUndefined();
  const { id } = discord.channel('plaza');
  expect(discord.requests.filter(({ path }) => path.includes(`/channels/${id}`))).toEqual([]);
  const again = await ask('and now?').reply();
  await discord.waitFor(() => again.content.endsWith('hello 4')); // a conversation of its own
  ann.say(ann.dm, 'hello');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'hello 2');
});

test('it answers in groups, and to the person alone where the server does not allow external apps', async () => {
  const { discord, ann, ask } = await startAbroad();
  const group = discord.stage.addGroup('friends', [ann, discord.user('bob')]);
  const inGroup = await ask('hello', group).reply();
  await discord.waitFor(() => isDone(inGroup));
  expect(inGroup.onlyFor).toBeUndefined();
  discord.stage.addChannel(discord.guild('Abroad'), { name: 'strict', deny: { everyone: ['UseExternalApps'] } });
  const alone = await ask('hello', 'strict').reply();
  await discord.waitFor(() => isDone(alone));
  expect(alone.onlyFor).toBe(ann.id);
});

test('only people who installed it have the commands there, and not those of a server', async () => {
  const { discord, ann } = await startAbroad();
  const use = (who: string, name: string) => discord.user(who).command(name, { channel: 'plaza', options: {} });
  expect(() => use('bob', 'help')).toThrow('No command "help" is offered in #plaza.');
  expect(() => use('ann', 'summarize')).toThrow('No command "summarize" is offered in #plaza.');
  expect((await use('ann', 'help').reply()).onlyFor).toBe(ann.id);
  expect((await use('ann', 'model').reply()).content).toContain('This conversation uses `test`.');
  const text = discord.user('bob').say('plaza', 'Bonjour');
  const explained = await ann.messageCommand('Explain this message', text).reply();
  expect(explained).toMatchObject({ content: 'ok', onlyFor: ann.id });
});

test('a long answer is a file, because Discord allows five more messages at most', async () => {
  const model = answers((options) => 'many words '.repeat(options.tools ? 700 : 2_000));
  const { discord, ask, ann } = await startAbroad({ model });
  const used = ask('tell me much');
  const message = await used.reply();
  await discord.waitFor(() => isDone(message) && message.files.length === 1);
  expect(message.files[0]?.name).toBe('answer.md');
  expect(used.interaction.followUps.filter(({ deletedAt }) => deletedAt === undefined)).toEqual([]);
  const explained = await ann.messageCommand('Explain this message', discord.user('bob').say('plaza', 'x')).reply();
  expect(explained.files[0]?.name).toBe('answer.md');
});

test('an answer can be stopped by the person who asked', async () => {
  const model = new PacedModel();
  const { discord, ask, ann } = await startAbroad({ model });
  const message = await ask('tell me').reply();
  await model.called(1);
  await discord.waitFor(() => message.components.length > 0);
  ann.click(message, 'Stop');
  await discord.waitFor(() => message.content.includes('Stopped.'));
});

test('tools that change something ask below the answer', async () => {
  const model = calls({ name: 'send_user_dm_message', arguments: { message: 'psst' } });
  const { discord, ask, ann } = await startAbroad({ model });
  const used = ask('write to me');
  const asked = await used.followUp();
  expect(asked.content).toContain('may I use **send_user_dm_message**?');
  ann.click(asked, 'Allow');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'psst');
  await discord.waitFor(() => asked.content.includes('Allowed.') && asked.components.length === 0);
});

test('settings of a server and memories of direct messages do not apply there', async () => {
  const model = answers((options) => `${options.tools?.length ?? 0} ${lastText(options, 'user').length > 0}`);
  const { discord, ask, ann } = await startAbroad({ model, memory: true });
  const inDm = ann.say(ann.dm, 'hello');
  const direct = await discord.waitForBotMessage(ann.dm, ({ replyTo }) => replyTo?.messageId === inDm.id);
  await discord.waitFor(() => /^\d+ true/.test(direct.content));
  const message = await ask('hello').reply();
  await discord.waitFor(() => /\d+ true$/.test(message.content));
  const names = model.calls.map(({ tools }) => (tools ?? []).map(({ name }) => name));
  expect(names[0]).toContain('recall');
  expect(names[1]).not.toContain('recall');
});

test("the operator's list of people applies", async () => {
  const { ask } = await startAbroad({ directMessages: ['999999999999999999'] });
  expect((await ask('hello').reply()).content).toBe('The operator of this bot does not allow it here.');
});

test('commands are only for servers if the operator turned installs by people off', async () => {
  const { ask, discord, ann } = await startAbroad({ world: { hasUserInstall: false } });
  expect(() => ask('hello')).toThrow('No command "ask" is offered');
  expect((await ann.command('help', { channel: ann.dm }).reply()).content).toContain('I am **pocket**');
  expect(discord.unknownRequests).toEqual([]);
});
