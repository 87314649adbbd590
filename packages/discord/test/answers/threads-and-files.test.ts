// Answers in a new thread, and files that the model generates.
import { expect, test } from 'vitest';
import { answers, lastText, startBot } from '../support/start-bot.ts';

const png = Buffer.from('iVBORw0KGgo=', 'base64');
const picture = (bytes: Buffer) => ({
  type: 'file' as const,
  mediaType: 'image/png',
  data: { type: 'data' as const, data: bytes.toString('base64') },
});

test('/ask thread:true answers in a new thread, which is a conversation that needs no mention', async () => {
  const model = answers(({ prompt }) => `answer ${prompt.filter(({ role }) => role === 'user').length}`);
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  const options = { question: 'how do birds fly?', thread: true };
  const message = await ann.command('ask', { channel: 'general', options }).reply();
  const [thread] = await discord.waitFor(() => discord.threads('general').length === 1 && discord.threads('general'));
  expect(thread).toMatchObject({ name: 'how do birds fly?', id: message.id });
  if (!thread) return;
  await discord.waitForBotMessage(thread, ({ content }) => content === '> how do birds fly?\nanswer 1');
  await discord.waitFor(() => message.content === '> how do birds fly?\n-# I answer in the thread.');
  ann.say(thread, 'and bats?');
  await discord.waitForBotMessage(thread, ({ content }) => content === 'answer 2');
  expect(discord.botMessages('general')).toHaveLength(1);
});

test('without the permission to create threads it says so, and where Discord refuses one it answers in the channel', async () => {
  const { discord } = await startBot();
  const ann = discord.user('ann');
  const ask = (channel: Parameters<typeof ann.command>[1]['channel']) =>
    ann.command('ask', { channel, options: { question: 'hello', thread: true } }).reply();
  discord.stage.addChannel(discord.guild(), { name: 'flat', deny: { everyone: ['CreatePublicThreads'] } });
  expect((await ask('flat')).content).toContain('I cannot start a thread here.');
  expect((await ask(ann.dm)).content).toContain('I cannot start a thread here.');
  discord.failNext({ request: /POST .*threads/, status: 400 });
  const message = await ask('general');
  await discord.waitFor(() => message.content === '> hello\nok');
});

test('pictures of the model are attached to the answer, also without text, and replaced with it', async () => {
  const model = answers((options) => {
    const wantsText = lastText(options, 'user').includes('explain');
    return { content: [...(wantsText ? [{ type: 'text' as const, text: 'A cat.' }] : []), picture(png)] };
  });
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  const draw = async (text: string) => {
    const { id } = ann.say('general', `${discord.bot.mention} ${text}`);
    return discord.waitForBotMessage('general', ({ replyTo, files }) => replyTo?.messageId === id && files.length > 0);
  };
  const explained = await draw('draw and explain');
  expect(explained.content).toBe('A cat.');
  expect(explained.files).toMatchObject([{ name: 'file-1.png', bytes: png }]);
  const drawn = await draw('draw a cat');
  expect(drawn.content).toBe('');
  ann.click(drawn, 'Regenerate');
  await discord.waitFor(() => model.calls.length === 3 && JSON.stringify(drawn.components).includes('again:'));
  expect(drawn.files).toHaveLength(1);
});

test('if a new answer fails, the previous one stays with its picture', async () => {
  let count = 0;
  const model = answers(() => (++count === 1 ? { content: [picture(png)] } : { error: new Error('no model') }));
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} draw`);
  const drawn = await discord.waitForBotMessage('general', ({ files }) => files.length > 0);
  ann.click(drawn, 'Regenerate');
  await discord.waitFor(() => drawn.content.includes('This is the previous answer.'));
  expect(drawn.files).toMatchObject([{ name: 'file-1.png', bytes: png }]);
});

test('where files are not allowed, or too large, a note says so', async () => {
  const large = Buffer.alloc(10_000_001);
  const model = answers((options) => {
    const data = lastText(options, 'user').includes('large') ? large : png;
    return { content: [{ type: 'text', text: 'Look.' }, picture(data)] };
  });
  const { discord } = await startBot({ model });
  discord.stage.addChannel(discord.guild(), { name: 'bare', deny: { everyone: ['AttachFiles'] } });
  const ann = discord.user('ann');
  ann.say('bare', `${discord.bot.mention} draw`);
  const note = 'Look.\n\n-# A generated file could not be attached.';
  await discord.waitForBotMessage('bare', ({ content }) => content === note);
  ann.say('general', `${discord.bot.mention} draw something large`);
  await discord.waitForBotMessage('general', ({ content }) => content === note);
});
