// The bot answers: where, to whom, and how the answer grows.
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { answers, lastText, PacedModel, startBot } from '../support/start-bot.ts';

test('a mention gets a reply, and the conversation continues', async () => {
  const model = answers(({ prompt }) => `answer ${prompt.filter(({ role }) => role === 'user').length}`);
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  const question = ann.say('general', `${discord.bot.mention} hello`);
  const first = await discord.waitForBotMessage('general', ({ content }) => content === 'answer 1');
  expect(first.replyTo?.messageId).toBe(question.id);
  expect(first.pinged).toEqual({ users: [], roles: [], everyone: false });
  ann.say('general', `<@!${discord.bot.id}> and now?`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'answer 2');
  expect(lastText(model.calls[1] ?? { prompt: [] }, 'user')).toMatch(/id=\\"\d+\\"\/>\\nand now\?"/);
  expect(discord.unknownRequests).toEqual([]);
});

test('direct messages need no mention and never leak into a guild', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'my secret is 42');
  await discord.waitForBotMessage(ann.dm);
  ann.say('general', `${discord.bot.mention} what do you know?`);
  await discord.waitForBotMessage('general');
  expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain('secret');
  ann.say(ann.dm, 'and here?');
  await discord.waitFor(() => discord.botMessages(ann.dm)[1]);
  expect(JSON.stringify(model.calls[2]?.prompt)).toContain('secret');
  expect(JSON.stringify(model.calls[2]?.prompt)).not.toContain('what do you know');
});

test('replies to the bot are answered; bots, mass mentions and other messages are not', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const [ann, other] = [discord.user('ann'), discord.user('otherbot')];
  other.say('general', `${discord.bot.mention} hello`);
  discord.user('admin').say('general', '@everyone hello');
  discord.user('admin').say('general', '@here hello');
  ann.say('general', 'a remark to all');
  const answerTo = ({ id }: { id: string }) =>
    discord.waitForBotMessage('general', ({ content, replyTo }) => content === 'ok' && replyTo?.messageId === id);
  const answer = await answerTo(ann.say('general', `${discord.bot.mention} first`));
  await answerTo(ann.say('general', 'more of that', { replyTo: answer, pingReply: false }));
  expect(model.calls).toHaveLength(2);
  expect(discord.botMessages('general')).toHaveLength(2);
});

test('a thread has its own conversation', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} outside`);
  await discord.waitForBotMessage('general');
  const thread = ann.thread('general', 'aside');
  ann.say(thread, `${discord.bot.mention} inside`);
  await discord.waitForBotMessage(thread);
  expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain('outside');
});

test('a mention without a question gets an introduction', async () => {
  const { discord } = await startBot();
  discord.user('ann').say('general', discord.bot.mention);
  const { content } = await discord.waitForBotMessage('general');
  expect(content).toContain('/ask');
  expect(discord.commands()).toContain('ask');
});

test('an answer grows by edits, shows typing, and has no Stop button at the end', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  discord.user('ann').say('general', `${discord.bot.mention} count`);
  await model.called(1);
  model.say('one ');
  const message = await discord.waitForBotMessage('general', ({ content }) => content.startsWith('one'));
  expect(JSON.stringify(message.components)).toContain('Stop');
  model.say('two ');
  await discord.waitFor(() => message.content.includes('two'));
  model.say('three');
  model.end();
  await discord.waitFor(() => message.content === 'one two three');
  expect(JSON.stringify(message.components)).toContain('Regenerate');
  expect(JSON.stringify(message.components)).not.toContain('Stop');
  expect(discord.typing.some(({ userId }) => userId === discord.bot.id)).toBe(true);
  expect(discord.botMessages('general')).toHaveLength(1);
});

test('Stop ends the run; only the author or a moderator can press it', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say('general', `${discord.bot.mention} go on for ever`);
  await model.called(1);
  model.say('la la');
  const message = await discord.waitForBotMessage('general', ({ content }) => content.startsWith('la la'));
  const refused = await bob.click(message, 'Stop').reply();
  expect(refused).toMatchObject({ content: `Only ${ann.mention} can stop this.`, onlyFor: bob.id });
  expect(model.aborted).toBe(0);
  ann.click(message, 'Stop');
  await discord.waitFor(() => message.content === 'la la\n\n-# Stopped.');
  expect(model.aborted).toBe(1);
  ann.say('general', `${discord.bot.mention} and now?`);
  await model.called(2);
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('stopped by the user');
  model.end(1);
});

test('Regenerate replaces the newest answer in place and in the history', async () => {
  let count = 0;
  const model = answers(() => `answer ${++count}`);
  const { discord } = await startBot({ model });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say('general', `${discord.bot.mention} dice`);
  const message = await discord.waitForBotMessage('general', ({ content }) => content === 'answer 1');
  expect((await bob.click(message, 'Regenerate').reply()).content).toContain('Only');
  await discord.waitFor(() => JSON.stringify(message.components).includes('Regenerate'));
  ann.click(message, 'Regenerate');
  await discord.waitFor(() => message.content === 'answer 2');
  ann.say('general', `${discord.bot.mention} next`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'answer 3');
  expect(JSON.stringify(model.calls[2]?.prompt)).not.toContain('answer 1');
  expect(JSON.stringify(model.calls[2]?.prompt)).toContain('answer 2');
  const old = await ann.click(message, 'Regenerate').reply();
  expect(old.content).toContain('Only the newest');
  expect(discord.botMessages('general')).toHaveLength(2);
});

test('two simultaneous clicks on Regenerate give one answer', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} dice`);
  const message = await discord.waitForBotMessage('general', ({ components }) =>
    JSON.stringify(components).includes('Regenerate'),
  );
  await Promise.all([ann.click(message, 'Regenerate').answered(), ann.click(message, 'Regenerate').answered()]);
  ann.say('general', `${discord.bot.mention} next`);
  await discord.waitFor(() => discord.botMessages('general')[1]?.content === 'ok');
  expect(model.calls).toHaveLength(3);
});

test('a second question waits for the first and shows a notice', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  discord.user('ann').say('general', `${discord.bot.mention} first`);
  await model.called(1);
  discord.user('bob').say('general', `${discord.bot.mention} second`);
  const notice = await discord.waitForBotMessage('general', ({ content }) => content.includes('yours is next'));
  expect(model.calls).toHaveLength(1);
  model.say('one');
  model.end();
  await discord.waitForBotMessage('general', ({ content }) => content === 'one');
  await model.called(2);
  model.say('two', 1);
  model.end(1);
  await discord.waitForBotMessage('general', ({ content }) => content === 'two');
  expect(notice.deletedAt).toBeDefined();
  expect(discord.botMessages('general').map(({ content }) => content)).toEqual(['one', 'two']);
});

test('a model error is shown without details and leaves no trace in the history', async () => {
  let fails = true;
  const model = answers(() => (fails ? { error: new Error('key sk-123 was refused') } : 'fine'));
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} broken question`);
  const failed = await discord.waitForBotMessage('general', ({ content }) => content.includes('went wrong'));
  expect(failed.content).not.toContain('sk-123');
  fails = false;
  ann.say('general', `${discord.bot.mention} again`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'fine');
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).not.toContain('broken question');
});

test('the step limit ends an endless run', async () => {
  const model = answers(() => ({ toolCalls: [{ name: 'get_user_info' }] }));
  const { discord } = await startBot({ model, limits: { maxSteps: 4 } });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'go');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('limit of tool calls'));
  expect(model.calls).toHaveLength(4);
});

test('the time limit ends a long run', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model, limits: { runTimeoutMs: 300 } });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'go');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('took too long'));
  expect(model.aborted).toBe(model.calls.length);
});

test('without the permission to send there is no model call, and without the permission to read there is no reply reference', async () => {
  const model = answers(() => 'ok');
  const channels = [
    'general',
    { name: 'mute', deny: { pocket: ['SendMessages' as const] } },
    { name: 'blind', deny: { pocket: ['ReadMessageHistory' as const] } },
  ];
  const { discord } = await startBot({ model, world: { guilds: [{ channels }] } });
  const ann = discord.user('ann');
  ann.say('mute', `${discord.bot.mention} hello`);
  ann.say('blind', `${discord.bot.mention} hello`);
  const { replyTo } = await discord.waitForBotMessage('blind', ({ content }) => content === 'ok');
  expect(replyTo).toBeUndefined();
  expect(model.calls).toHaveLength(1);
});

test('an empty answer and a filtered answer are explained', async () => {
  const model = new ScriptedModel(['  ', { text: '', finishReason: 'content-filter' }]);
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'say nothing');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('returned no text. Try to rephrase'));
  ann.say(ann.dm, 'say something bad');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('blocked the answer'));
});
