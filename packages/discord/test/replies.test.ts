// How answers look at Discord: pieces, files, pings, and no more edits than Discord allows.
import { expect, test } from 'vitest';
import { splitMessage } from '../src/index.ts';
import { answers, PacedModel, startBot } from './start-bot.ts';

const paragraph = `${'some words that say little '.repeat(10).trim()}.\n`;

test('a long answer comes in pieces, with the button under the last', async () => {
  const text = paragraph.repeat(20).trim();
  const { discord } = await startBot({ model: answers(() => text) });
  discord.user('ann').say('general', `${discord.bot.mention} tell me more`);
  await discord.waitFor(
    () =>
      discord
        .botMessages('general')
        .map(({ content }) => content)
        .join('\n') === text,
  );
  const messages = discord.botMessages('general');
  expect(messages).toHaveLength(3);
  expect(messages.map(({ components }) => components.length)).toEqual([0, 0, 1]);
  expect(messages.map(({ replyTo }) => replyTo !== undefined)).toEqual([true, false, false]);
});

test('a longer one is a file with its beginning, also when it was watched in pieces; a shorter regenerated one tidies up', async () => {
  let isLong = true;
  const long = paragraph.repeat(60).trim();
  const { discord } = await startBot({
    model: answers(() => (isLong ? long : 'short')),
    reply: { maxParts: 3, editIntervalMs: 40 },
  });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} tell me everything`);
  const message = await discord.waitForBotMessage('general', ({ files }) => files.length === 1);
  expect(message.files[0]?.name).toBe('answer.md');
  expect(message.files[0]?.bytes.toString()).toBe(long);
  expect(message.content).toContain('is in the file');
  await discord.waitFor(() => discord.botMessages('general').length === 1);
  isLong = false;
  ann.click(message, 'Regenerate');
  await discord.waitFor(() => message.content === 'short' && message.files.length === 0);
});

test('where files may not be sent, all of it comes in pieces', async () => {
  const long = paragraph.repeat(50).trim();
  const everyone = ['ViewChannel', 'SendMessages', 'ReadMessageHistory'] as const;
  const { discord } = await startBot({
    model: answers(() => long),
    reply: { maxParts: 2, editIntervalMs: 40 },
    world: { guilds: [{ everyone: [...everyone] }] },
  });
  discord.user('ann').say('general', `${discord.bot.mention} tell me everything`);
  await discord.waitFor(
    () =>
      discord
        .botMessages('general')
        .map(({ content }) => content)
        .join('\n') === long,
  );
});

test('whatever the model writes, nobody is pinged', async () => {
  const { discord } = await startBot({ model: answers(() => '@everyone @here <@&1> look, <@4194304000000>') });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say('general', `${discord.bot.mention} shout at ${bob.mention}`);
  const message = await discord.waitForBotMessage('general', ({ content }) => content.includes('@everyone'));
  expect(message.pinged).toEqual({ users: [], roles: [], everyone: false });
});

test('with the rate limits of Discord no bucket is ever overdrawn, and the last edit arrives', async () => {
  const model = new PacedModel();
  const limit = { limit: 2, perMs: 400 };
  const { discord } = await startBot({
    model,
    reply: { editIntervalMs: 20 },
    world: {
      rateLimits: {
        'PATCH /channels/:channel/messages/:message': limit,
        'POST /channels/:channel/messages': limit,
      },
    },
  });
  discord.user('ann').say('general', `${discord.bot.mention} count`);
  await model.called(1);
  for (let count = 1; count <= 40; count++) {
    model.say(`${count} `);
    await new Promise((resolve) => setTimeout(resolve, 20)); // a model that takes its time
  }
  model.end();
  const message = await discord.waitForBotMessage('general', ({ content }) => content.endsWith('39 40'));
  expect(message.history.length).toBeGreaterThan(2);
  expect(message.history.length).toBeLessThan(12);
  expect(discord.violations).toEqual([]);
});

test('trouble at Discord does not cost the answer', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model, client: { rest: { retries: 0 } } });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say('half');
  const message = await discord.waitForBotMessage('general', ({ content }) => content.startsWith('half'));
  discord.failNext({ request: /PATCH .*messages/, status: 503, times: 2 });
  model.say(' and whole');
  model.end();
  await discord.waitFor(() => message.content === 'half and whole');
});

test('an answer that somebody deleted while it grew is posted again when it is whole', async () => {
  const model = new PacedModel();
  const { discord, bot } = await startBot({ model });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say('half');
  const message = await discord.waitForBotMessage('general', ({ content }) => content.startsWith('half'));
  const channel = await bot.client.channels.fetch(message.channelId);
  if (channel?.isSendable()) await channel.messages.delete(message.id);
  model.say(' and whole');
  model.end();
  await discord.waitForBotMessage('general', ({ content }) => content === 'half and whole');
  expect(discord.botMessages('general')).toHaveLength(1);
});

const fences = (part: string) => part.split('\n').filter((line) => line.startsWith('```')).length;

test('a short text is one message, nothing is none', () => {
  expect(splitMessage('hello')).toEqual(['hello']);
  expect(splitMessage(' \n ')).toEqual([]);
});

test('text is split between lines, then words, and only then inside them', () => {
  const paragraphs = Array.from({ length: 60 }, (_, index) => `Line ${index} ${'word '.repeat(15).trim()}.`);
  const parts = splitMessage(paragraphs.join('\n'));
  expect(parts.every((part) => part.length <= 2000)).toBe(true);
  expect(parts.join('\n')).toBe(paragraphs.join('\n'));
  const words = 'abcde '.repeat(800).trim();
  expect(
    splitMessage(words)
      .map((part) => part.trim())
      .join(' '),
  ).toBe(words);
  const long = '😀'.repeat(1500);
  const pieces = splitMessage(long);
  expect(pieces.join('')).toBe(long);
  expect(pieces.every((part) => part.length <= 2000 && part.isWellFormed())).toBe(true);
});

test('a code fence that fits into a message is never torn', () => {
  const code = ['```ts', ...Array.from({ length: 40 }, (_, index) => `const a${index} = ${index};`), '```'].join('\n');
  const parts = splitMessage(`${'intro '.repeat(280)}\n${code}\nthe end`);
  expect(parts).toHaveLength(2);
  expect(parts[1]).toBe(`${code}\nthe end`);
});

test('a longer one is closed and reopened with its language, and loses no line', () => {
  const lines = Array.from({ length: 300 }, (_, index) => `print(${index})  # ${'x'.repeat(20)}`);
  const parts = splitMessage(`Look:\n\`\`\`python title="a"\n${lines.join('\n')}\n\`\`\`\nDone.`);
  expect(parts.length).toBeGreaterThan(4);
  for (const part of parts) {
    expect(part.length).toBeLessThanOrEqual(2000);
    expect(fences(part) % 2).toBe(0);
    if (part.includes('print')) expect(part).toContain('```python\n');
  }
  const code = parts.flatMap((part) => part.split('\n').filter((line) => line.startsWith('print')));
  expect(code).toEqual(lines);
});

test('a fence that is still being written is closed for the moment, and longer fences keep shorter ones', () => {
  expect(splitMessage('```js\nlet a')).toEqual(['```js\nlet a\n```']);
  const nested = '````md\n```js\nx\n```\n````';
  expect(splitMessage(nested)).toEqual([nested]);
});
