// Errors of Discord and of a proxy in front of it: an answer is shown, or the user gets a note and can ask again.
import { join } from 'node:path';
import { tool } from 'pocket-agent';
import { ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { createBot } from '../../src/index.ts';
import { startDiscord } from '../counterpart/discord.ts';
import { blockedContent, explicitContent, invalidForm, missingPermissions } from '../counterpart/state/api-error.ts';
import type { StoredMessage } from '../counterpart/state/records.ts';
import { answers, botOptions, calls, PacedModel, runBot, startBot, temporaryFolder } from '../support/start-bot.ts';

const MESSAGES = /(POST|PATCH) .*\/messages/;
const NOTE = '-# Discord refused to show this answer: Message was blocked by automatic moderation.';
const PART_NOTE = '-# Discord refused to show this part of the answer: Message was blocked by automatic moderation.';
const paragraph = `${'some words that say little '.repeat(10).trim()}.\n`;
const shows = (button: string) => (message: StoredMessage) => JSON.stringify(message.components).includes(button);
const canRepeat = shows('Regenerate');
/** Content that AutoMod blocks. */
const blocked = { request: MESSAGES, body: /secret word/, status: blockedContent(), times: Number.POSITIVE_INFINITY };

test('an answer that Discord blocks becomes a note with Regenerate and is removed from the history', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  discord.failNext(blocked);
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say('half an answer, ');
  const message = await discord.waitForBotMessage('general', shows('Stop'));
  model.say('then the secret word');
  model.end();
  await discord.waitFor(() => canRepeat(message));
  expect(message.content).toBe(NOTE);
  ann.click(message, 'Regenerate');
  await model.called(2);
  expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain('half an answer');
  model.say('harmless', 1);
  model.end(1);
  await discord.waitFor(() => message.content === 'harmless' && canRepeat(message));
  ann.say('general', `${discord.bot.mention} and now?`);
  await model.called(3);
  const known = JSON.stringify(model.calls[2]?.prompt);
  expect(known).toContain('harmless');
  expect(known).not.toContain('half an answer');
  model.end(2);
});

test('a note replaces one refused part of four, and the history has the visible parts', async () => {
  const text = `${paragraph.repeat(23)}the secret word`;
  const model = new ScriptedModel([text, 'next']);
  const { discord } = await startBot({ model });
  discord.failNext(blocked);
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} tell me more`);
  await discord.waitForBotMessage('general', canRepeat);
  const messages = discord.botMessages('general');
  expect(messages).toHaveLength(4);
  expect(messages.map(({ components }) => components.length)).toEqual([0, 0, 0, 1]);
  expect(messages.at(-1)?.content).toBe(PART_NOTE);
  ann.say('general', `${discord.bot.mention} and now?`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'next');
  const known = JSON.stringify(model.calls[1]?.prompt);
  expect(known).toContain('some words that say little');
  expect(known).toContain('Discord refused');
  expect(known).not.toContain('secret word');
});

test('a refused part in the middle is the only one that is lost', async () => {
  const text = `${paragraph.repeat(7)}\n${'the secret word '.repeat(120)}\n${paragraph.repeat(7)}`;
  const { discord } = await startBot({ model: answers(() => text) });
  discord.failNext(blocked);
  discord.user('ann').say('general', `${discord.bot.mention} tell me more`);
  await discord.waitForBotMessage('general', canRepeat);
  const [first, second, third] = discord.botMessages('general').map(({ content }) => content);
  expect(first).toContain('some words that say little');
  expect(second).toBe(PART_NOTE);
  expect(third).toContain('some words that say little');
});

test('an answer whose file Discord refuses is split instead', async () => {
  const long = paragraph.repeat(60).trim();
  const { discord } = await startBot({ model: answers(() => long), reply: { maxParts: 3, editIntervalMs: 40 } });
  discord.failNext({ request: MESSAGES, withFiles: true, status: explicitContent(), times: 9 });
  discord.user('ann').say('general', `${discord.bot.mention} tell me everything`);
  const last = await discord.waitForBotMessage('general', canRepeat);
  const messages = discord.botMessages('general');
  expect(messages.map(({ content }) => content).join('\n')).toBe(long);
  expect(messages.at(-1)).toBe(last);
});

test('if no more messages are accepted, the note is below the last part', async () => {
  const { discord } = await startBot({ model: answers(() => paragraph.repeat(20)), reply: { editIntervalMs: 60_000 } });
  discord.failNext({ request: /POST .*\/messages/, body: /nonce":"\d+-1"/, status: missingPermissions(), times: 9 });
  discord.user('ann').say('general', `${discord.bot.mention} tell me more`);
  const message = await discord.waitForBotMessage('general', canRepeat);
  expect(discord.botMessages('general')).toHaveLength(1);
  expect(message.content).toMatch(
    /^some words[\s\S]*\n\n-# Discord refused to show the rest of this answer: Missing Permissions\.$/,
  );
});

test('if neither messages nor notes are accepted, the history has the visible parts', async () => {
  const model = new ScriptedModel([paragraph.repeat(20), 'next']);
  const { discord } = await startBot({ model, reply: { editIntervalMs: 60_000 } });
  discord.failNext({ request: /POST .*\/messages/, body: /nonce":"\d+-1"/, status: missingPermissions(), times: 9 });
  discord.failNext({ request: /PATCH .*\/messages/, body: /the rest of this/, status: missingPermissions(), times: 9 });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} tell me more`);
  const first = await discord.waitForBotMessage('general', ({ content }) => content.startsWith('some words'));
  ann.say('general', `${discord.bot.mention} and now?`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'next');
  expect(first.content).not.toContain('Discord refused');
  const known = JSON.stringify(model.calls[1]?.prompt);
  expect(known).toContain('some words that say little');
  expect(known).toContain('[Discord refused to show the rest of this answer.]');
});

test('if edits are no longer accepted, the history has the text that was visible', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say('half an answer, ');
  await discord.waitForBotMessage('general', shows('Stop'));
  discord.failNext({ request: /PATCH .*\/messages/, status: missingPermissions(), times: 9 });
  model.say('then the secret word');
  model.end();
  ann.say('general', `${discord.bot.mention} and now?`);
  await model.called(2);
  const known = JSON.stringify(model.calls[1]?.prompt);
  expect(known).toContain('half an answer');
  expect(known).not.toContain('secret word');
  model.end(1);
});

test('the field that Discord refuses is named', async () => {
  const { discord } = await startBot();
  const status = invalidForm({ content: 'SLASH_COMMAND_LIKE: This word cannot be sent.' });
  discord.failNext({ request: MESSAGES, body: /"ok"/, status, times: 9 });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  const { content } = await discord.waitForBotMessage('general', canRepeat);
  expect(content).toBe(
    '-# Discord refused to show this answer: Invalid Form Body (content: This word cannot be sent.)',
  );
});

test('if Discord refuses a regenerated answer, the previous one stays in the channel and in the history', async () => {
  const model = new ScriptedModel(['precious', 'the secret word', 'next']);
  const { discord } = await startBot({ model });
  discord.failNext(blocked);
  const ann = discord.user('ann');
  ann.say(ann.dm, 'an essay, please');
  const message = await discord.waitForBotMessage(ann.dm, canRepeat);
  ann.click(message, 'Regenerate');
  await discord.waitFor(() => message.content.includes('previous answer') && canRepeat(message));
  expect(message.content).toBe(`precious\n\n${NOTE.replace('this', 'the new')} This is the previous answer.`);
  ann.say(ann.dm, 'and then?');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'next');
  const known = JSON.stringify(model.calls.at(-1)?.prompt);
  expect(known).toContain('precious');
  expect(known).not.toContain('secret word');
});

test('the history keeps the tool calls of a refused answer', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks',
    annotations: { readOnlyHint: true },
    run: () => 'the secret word',
  });
  const model = calls({ name: 'eyes_look' });
  const { discord } = await startBot({ model, mcpServers: { eyes: { server: await scriptedServer([look]) } } });
  discord.failNext(blocked);
  const ann = discord.user('ann');
  ann.say(ann.dm, 'look');
  const message = await discord.waitForBotMessage(ann.dm, canRepeat);
  expect(message.content).toBe(`${NOTE}\n-# Used \`eyes_look\``);
  ann.say(ann.dm, 'and now?');
  await discord.waitFor(() => model.calls.length >= 3);
  const known = model.calls[2]?.prompt.filter(({ role }) => role === 'assistant' || role === 'tool') ?? [];
  expect(known.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant']);
  expect(JSON.stringify(known)).not.toContain('done:');
  expect(JSON.stringify(known.at(-1))).toContain('[Discord refused to show this answer.]');
});

test.each([403, 404, 408])(
  'an HTML page of a proxy with status %i does not count as a refusal, and the answer is sent again',
  async (proxy) => {
    const model = new PacedModel();
    const { discord } = await startBot({ model, leaseMs: 300 });
    discord.user('ann').say('general', `${discord.bot.mention} hello`);
    await model.called(1);
    model.say('half');
    const message = await discord.waitForBotMessage('general', shows('Stop'));
    discord.failNext({ request: /PATCH .*messages/, status: { proxy }, times: 4 });
    model.say(' and whole');
    model.end();
    await discord.waitFor(() => message.content === 'half and whole' && canRepeat(message));
  },
);

test('a proxy error while loading a question after a restart does not lose the question', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = new PacedModel();
  const { discord, bot, options } = await startBot({ model, leaseMs: 300, database });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  await bot.close();
  discord.failNext({ request: /GET .*\/messages\/\d+$/, status: { proxy: 404 }, times: 2 });
  await runBot(options);
  await model.called(2);
  model.say('late', 1);
  model.end(1);
  await discord.waitForBotMessage('general', ({ content }) => content === 'late');
});

test('an answer that a proxy keeps blocking becomes a note and blocks no other question', async () => {
  const model = new ScriptedModel(['the secret word', 'next']);
  const { discord } = await startBot({ model, leaseMs: 300 });
  discord.failNext({ ...blocked, status: { proxy: 403 } });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} hello`);
  const { content } = await discord.waitForBotMessage('general', canRepeat);
  expect(content).toBe('-# Discord refused to show this answer: a proxy in front of Discord answered 403.');
  ann.say('general', `${discord.bot.mention} and now?`);
  await discord.waitForBotMessage('general', (message) => message.content === 'next');
  expect(model.calls).toHaveLength(2);
});

test('after a restart, a finished answer that is now refused becomes a note', async () => {
  const file = join(await temporaryFolder(), 'bot.db');
  const model = new PacedModel();
  const { discord, bot, options } = await startBot({ model, database: { file }, client: { rest: { retries: 0 } } });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say('half an answer, ');
  const message = await discord.waitForBotMessage('general', shows('Stop'));
  const isDown = { request: /PATCH .*messages/, status: 503, times: 3 };
  discord.failNext(isDown);
  model.say('then the secret word');
  model.end();
  await discord.waitFor(() => discord.requests.filter(({ status }) => status === 503).length === 3);
  await bot.close();
  expect(shows('Stop')(message)).toBe(true);
  discord.failNext(blocked);
  await runBot(options);
  await discord.waitFor(() => canRepeat(message));
  expect(message.content).toBe(NOTE);
  ann.say('general', `${discord.bot.mention} and now?`);
  await model.called(2);
  expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain('half an answer');
  model.end(1);
});

test('a failed answer becomes a note if Discord refuses its text', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  discord.failNext(blocked);
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say('half an answer, ');
  const message = await discord.waitForBotMessage('general', shows('Stop'));
  model.say('then the secret word');
  ann.click(message, 'Stop');
  await discord.waitFor(() => canRepeat(message));
  expect(message.content).toBe(`${NOTE}\n-# Stopped.`);
  ann.say('general', `${discord.bot.mention} and now?`);
  await model.called(2);
  expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain('secret word');
  model.end(1);
});

test('a command says so when Discord refuses its answer', async () => {
  const { discord } = await startBot({ model: answers(() => 'the secret word') });
  discord.failNext({ ...blocked, request: /PATCH .*\/webhooks/ });
  const ann = discord.user('ann');
  ann.say('general', 'something to sum up');
  const { content } = await ann.command('summarize', { channel: 'general' }).reply();
  expect(content).toBe(NOTE);
  discord.failNext({ request: /PATCH .*\/webhooks/, status: { proxy: 403 }, times: 1 });
  const again = await ann.command('help', { channel: 'general' }).reply();
  expect(again.content).toContain('/ask');
});

test('a refused registration names the command, the field and the reason', async () => {
  const discord = await startDiscord({ rateLimits: 'none' });
  onTestFinished(() => discord.close());
  const status = invalidForm({ '0.options.0.name': 'APPLICATION_COMMAND_INVALID_NAME: Command name is invalid.' });
  discord.failNext({ request: /PUT .*\/commands/, status });
  const bot = createBot(await botOptions(discord, {}));
  await expect(bot.start()).rejects.toMatchObject({
    code: 'COMMANDS_REFUSED',
    message: 'Discord refused to register the command "ask" (field options.0.name): Command name is invalid.',
  });
});

test('a 401 from a proxy does not drop the token', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say('half');
  const message = await discord.waitForBotMessage('general', shows('Stop'));
  discord.failNext({ request: /PATCH .*messages/, status: { proxy: 401 } });
  model.say(' and whole');
  model.end();
  await discord.waitFor(() => message.content === 'half and whole' && canRepeat(message));
});

test('a bot whose token is revoked reports that it is lost', async () => {
  const { discord, bot } = await startBot();
  discord.dropGateway({ how: 'revoked', resumable: false });
  expect(await bot.lost).toMatchObject({ code: 'LOGIN_FAILED', message: expect.stringContaining('DISCORD_TOKEN') });
});
