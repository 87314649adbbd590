// Discord fetches previewed links, so links of a model must not be previewed.
import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import { expectLittleWork } from '../../../pocket-agent/test/helpers.ts';
import { type BotOptions, createBot } from '../../src/index.ts';
import { inertLinks, previewFlags } from '../../src/reply/inert-links.ts';
import { answers, PacedModel, startBot } from '../support/start-bot.ts';

const LEAK = 'https://evil.example/?q=the-secret';
const paragraph = `${'some words that say little '.repeat(10).trim()}.\n`;

test('links in an answer are not previewed, while it grows and when it is complete', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say(`See ![](${LEAK}) and `);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('evil'));
  model.say(`[this](${LEAK}), ${LEAK}.`);
  model.end();
  const whole = `See ![](<${LEAK}>) and [this](<${LEAK}>), <${LEAK}>.`;
  await discord.waitForBotMessage('general', ({ content }) => content === whole);
  expect(discord.previews).toEqual([]);
});

test('links in split answers, direct messages, approvals and command answers are not previewed', async () => {
  const text = `${paragraph.repeat(8)}${LEAK}\n${paragraph.repeat(8)}`;
  const model = answers((options) => {
    if (!options.tools || options.prompt.at(-1)?.role === 'tool') return text;
    return { toolCalls: [{ name: 'send_user_dm_message', arguments: { message: LEAK } }] };
  });
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} write to me`);
  const asked = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  ann.click(asked, 'Allow');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === `<${LEAK}>`);
  await discord.waitForBotMessage('general', ({ components }) => JSON.stringify(components).includes('Regenerate'));
  const summary = ann.command('summarize', { channel: 'general' });
  await summary.reply();
  await discord.waitFor(() => ann.ephemeral('general').length > 1);
  expect(discord.previews).toEqual([]);
});

const ours = 'https://wiki.example.com/page';

async function previewsOf(text: string): Promise<string[]> {
  const { discord } = await startBot({ model: answers(() => text), allowLinkHosts: ['*.example.com'] });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ components }) => JSON.stringify(components).includes('Regenerate'));
  return [...new Set(discord.previews)];
}

test.each([ours, `(${ours}).`, `[wiki](${ours})`])('an operator can allow previews of a host: %s', async (text) => {
  expect(await previewsOf(text)).toEqual([ours]);
});

test.each([
  ['an address beside it', `${ours} and ${LEAK}`],
  ['a link whose name is an allowed address', `[${ours}](${LEAK})`],
  ['a host behind a backslash', 'https://wiki.example.com\\@evil.example/?q=the-secret'],
  ['an escaped bracket', `${ours} \\${LEAK}`],
  ['a bracket inside a link', `[x<https://a](${LEAK})>`],
])('a message shows no preview if one of its links may lead to another host: %s', (_case, text) => {
  const shown = inertLinks(text, ['*.example.com']);
  expect(previewFlags(shown, ['*.example.com']).flags).toEqual([MessageFlags.SuppressEmbeds]);
});

test.each([
  ['plain https://a.example/b(c), then', 'plain <https://a.example/b(c)>, then'],
  ['(https://a.example)', '(<https://a.example>)'],
  ['**https://a.example**', '**<https://a.example>**'],
  ['<https://a.example>', '<https://a.example>'],
  ['<https://a.example unclosed', '<<https://a.example> unclosed'],
  ['HTTP://A.example', '<HTTP://A.example>'],
  ['`https://a.example` https://b.example', '`https://a.example` <https://b.example>'],
  ['```\nhttps://a.example\n```\nhttps://b.example', '```\nhttps://a.example\n```\n<https://b.example>'],
  ['a ` tick https://a.example', 'a ` tick <https://a.example>'],
  ['[a](https://a.example "title")', '[a](<https://a.example> "title")'],
])('%j becomes %j', (text, expected) => {
  expect(inertLinks(text)).toBe(expected);
});

test('all hosts can be allowed, but a link that hides another one stays inert', () => {
  const plain = 'https://a.example/b';
  expect(inertLinks(plain, ['*'])).toBe(plain);
  expect(previewFlags(plain, ['*']).flags).toEqual([]);
  expect(previewFlags(`[${plain}](${LEAK})`, ['*']).flags).toEqual([MessageFlags.SuppressEmbeds]);
});

test.each([
  [{ allowLinkHosts: 'example.com' }, 'allowLinkHosts must be a list of hosts, got'],
  [{ allowLinkHosts: ['https://example.com/'] }, 'allowLinkHosts[0] must be a host such as example.com'],
  [{ fileHosts: ['*'] }, 'fileHosts[0] must be a host such as example.com'],
])('hosts are checked: %j', (options, problem) => {
  const given = { token: 'token', database: { file: ':memory:' }, models: [{ name: 'demo' }], ...options };
  expect(() => createBot(given as unknown as BotOptions)).toThrow(problem);
});

test('text made only of backticks, brackets and links is processed with little work', () => {
  const hostile = `${'`a``b'.repeat(30_000)}https://a.example/${')'.repeat(100_000)}`;
  const before = process.threadCpuUsage();
  inertLinks(hostile);
  expectLittleWork(before);
});
