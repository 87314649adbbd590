// How answers look in Discord: split messages, files, pings, and the rate of edits.
import { DefaultRestOptions } from 'discord.js';
import { expect, test } from 'vitest';
import type { DiscordOptions } from '../counterpart/discord.ts';
import { answers, PacedModel, startBot } from '../support/start-bot.ts';

/** With the id of a user that exists in every run. */
const SHOUT = '@everyone @here <@&1> ```look``` <@4194304000000>';
/** A guild where the bot may mention everyone. */
const mayPing: DiscordOptions = { guilds: [{ bot: ['MentionEveryone'] }] };
const paragraph = `${'some words that say little '.repeat(10).trim()}.\n`;

test('a long answer is split, with the button below the last message', async () => {
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

test('a very long answer becomes a file, and a shorter regenerated one removes the extra messages', async () => {
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

test('a message with a file has the question above and the note below', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model, reply: { maxParts: 2, editIntervalMs: 40 } });
  const ann = discord.user('ann');
  const question = '*why* '.repeat(100);
  ann.command('ask', { channel: 'general', options: { question } });
  await model.called(1);
  const text = paragraph.repeat(40);
  model.say(text);
  const growing = await discord.waitForBotMessage('general', ({ components }) =>
    JSON.stringify(components).includes('Stop'),
  );
  ann.click(growing, 'Stop');
  const { content, files } = await discord.waitForBotMessage('general', (message) => message.files.length === 1);
  expect(files[0]?.bytes.toString()).toBe(text);
  expect(content.length).toBeLessThanOrEqual(2_000);
  expect(content).toMatch(/^> \\\*why[^\n]*…\nsome words that say little/);
  expect(content).toMatch(/\n\n-# The full answer has \d+ characters and is in the file\.\n-# Stopped\.$/);
});

test('a note is outside of truncated code, and in its own message if there is no room', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  const stopAfter = async (text: string, call: number) => {
    ann.say('general', `${discord.bot.mention} code`);
    await model.called(call + 1);
    model.say(text, call);
    const growing = await discord.waitForBotMessage('general', ({ components }) =>
      JSON.stringify(components).includes('Stop'),
    );
    ann.click(growing, 'Stop');
    await discord.waitFor(() => discord.botMessages('general').at(-1)?.content.endsWith('-# Stopped.'));
    return discord.botMessages('general').map(({ content }) => content);
  };
  expect(await stopAfter('Here:\n```js\nconst a = 1;', 0)).toEqual(['Here:\n```js\nconst a = 1;\n```\n\n-# Stopped.']);
  const full = `\`\`\`js\n${'x'.repeat(1_990)}`;
  expect((await stopAfter(full, 1)).slice(1)).toEqual([`${full}\n\`\`\``, '-# Stopped.']);
});

test('deleting an extra message is retried until it succeeds', async () => {
  let isLong = true;
  const { discord } = await startBot({
    model: answers(() => (isLong ? paragraph.repeat(20) : 'short')),
    client: { rest: { retries: 0 } },
  });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} tell me more`);
  const last = await discord.waitForBotMessage('general', ({ components }) =>
    JSON.stringify(components).includes('Regenerate'),
  );
  isLong = false;
  discord.failNext({ request: /DELETE .*messages/, status: 503, times: 2 });
  ann.click(last, 'Regenerate');
  await discord.waitFor(() => discord.botMessages('general').length === 1);
  expect(discord.botMessages('general')[0]?.content).toBe('short');
});

test('without the permission to attach files the whole answer is split', async () => {
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

test('text of a model never pings anyone', async () => {
  const { discord } = await startBot({ model: answers(() => SHOUT), world: mayPing });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say('general', `${discord.bot.mention} shout at ${bob.mention}`);
  const message = await discord.waitForBotMessage('general', ({ content }) => content.includes('@everyone'));
  expect(message.pinged).toEqual({ users: [], roles: [], everyone: false });
});

test('rate limits of Discord are never exceeded, and the last edit arrives', async () => {
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
    await new Promise((resolve) => setTimeout(resolve, 20)); // a slow model
  }
  model.end();
  const message = await discord.waitForBotMessage('general', ({ content }) => content.endsWith('39 40'));
  expect(message.history.length).toBeGreaterThan(2);
  expect(discord.violations).toEqual([]);
});

test('errors of Discord do not lose the answer', async () => {
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

test('an answer that was deleted while it grew is posted again when complete', async () => {
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

test('an answer is shown later if Discord was unavailable, without another model call', async () => {
  const model = answers(() => 'the whole answer');
  const { discord } = await startBot({ model, leaseMs: 300, client: { rest: { retries: 0 } } });
  discord.failNext({ request: /POST .*messages/, status: 503, times: 5 });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'the whole answer');
  expect(discord.botMessages('general')).toHaveLength(1);
  expect(model.calls).toHaveLength(1);
});

test('deleting a channel during an answer ends the edits and blocks no other question', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model, reply: { editIntervalMs: 10 } });
  const ann = discord.user('ann');
  const channel = discord.channel('random');
  ann.say('random', `${discord.bot.mention} count`);
  await model.called(1);
  model.say('one ');
  await discord.waitForBotMessage('random', ({ content }) => content.startsWith('one'));
  discord.stage.removeChannel(channel);
  const refused = () => discord.requests.filter(({ path, status }) => path.includes(channel.id) && status === 404);
  model.say('two ');
  await discord.waitFor(() => refused().length > 0);
  const before = refused().length;
  for (let count = 0; count < 20; count++) {
    model.say('more ');
    await new Promise((resolve) => setTimeout(resolve, 10)); // several times the edit interval
  }
  expect(refused().length).toBe(before);
  model.end();
  ann.say(ann.dm, 'still there?');
  await model.called(2);
  model.say('yes', 1);
  model.end(1);
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'yes');
});

test('a thread that is archived during an answer is reopened', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  const thread = ann.thread('general', 'aside');
  ann.say(thread, `${discord.bot.mention} count`);
  await model.called(1);
  model.say('one');
  const message = await discord.waitForBotMessage(thread, ({ content }) => content.startsWith('one'));
  discord.stage.archive(thread);
  model.say(' two');
  model.end();
  await discord.waitFor(() => message.content === 'one two');
  expect(discord.botMessages(thread)).toHaveLength(1);
});

test('notices, files, commands, buttons and quoted questions ping no one', async () => {
  const model = answers(() => `${SHOUT} ${'word '.repeat(900)}`);
  const { discord } = await startBot({ model, reply: { maxParts: 1 }, world: mayPing });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  const question = `${bob.mention} ${SHOUT}`;
  await ann.command('ask', { channel: 'general', options: { question } }).reply();
  await discord.waitForBotMessage('general', ({ files }) => files.length === 1);
  const said = ann.say('general', question);
  const private_ = await ann.messageCommand('Explain this message', said).reply();
  await discord.waitFor(() => ann.ephemeral().length > 1);
  expect(private_.content).toContain('@everyone');
  const all = discord.messages('general').filter(({ author }) => author.id === discord.bot.id);
  expect(all.length).toBeGreaterThan(2);
  for (const { pinged } of all) expect(pinged).toEqual({ users: [], roles: [], everyone: false });
});

/** A bot whose model fails a number of times while Discord refuses requests. */
async function startInTheDark(usesTool: boolean, failures = Number.POSITIVE_INFINITY) {
  const state = { isDiscordAway: true };
  let left = failures;
  const log: string[] = [];
  const model = answers(({ prompt }) => {
    if (usesTool && prompt.at(-1)?.role === 'user') return { toolCalls: [{ name: 'fetch_date_time' }] };
    if (left-- > 0) throw new Error('broken');
    return 'here I am';
  });
  const { discord } = await startBot({
    model,
    leaseMs: 900,
    logger: { debug() {}, info() {}, warn: (text) => void log.push(text), error() {} },
    client: {
      rest: {
        retries: 0,
        makeRequest: async (url, init) => {
          const isCommands = url.includes('/commands');
          if (state.isDiscordAway && init.method !== 'GET' && !isCommands) throw new Error('connect ECONNREFUSED');
          return DefaultRestOptions.makeRequest(url, init);
        },
      },
    },
  });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'hello');
  await expect.poll(() => log.filter((text) => text === 'Showing an answer failed').length).toBeGreaterThan(2);
  state.isDiscordAway = false;
  expect(log).toContain('Answer failed');
  return { discord, dm: ann.dm };
}

test('an answer that failed while Discord was unavailable is repeated', async () => {
  const { discord, dm } = await startInTheDark(false, 1);
  await discord.waitForBotMessage(dm, ({ content }) => content === 'here I am');
  expect(discord.botMessages(dm)).toHaveLength(1);
});

test('a failure is shown when Discord is back, and tools are not called again', async () => {
  const [plain, withTool] = await Promise.all([startInTheDark(false), startInTheDark(true)]);
  await plain.discord.waitForBotMessage(plain.dm, ({ content }) => content.includes('Something went wrong'));
  await withTool.discord.waitForBotMessage(withTool.dm, ({ content }) => content.includes('press Regenerate'));
  for (const { discord, dm } of [plain, withTool]) expect(discord.botMessages(dm)).toHaveLength(1);
});
