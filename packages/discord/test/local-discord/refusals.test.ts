// Errors of the local Discord, which match the real ones, and its rate limits.
import { AttachmentBuilder } from 'discord.js';
import { expect, test } from 'vitest';
import { channelOf, login, start } from './test-client.ts';

const row = (...components: object[]) => ({ type: 1, components });
const button = (id: string, more: object = {}) => ({ type: 2, style: 1, label: 'Go', custom_id: id, ...more });
const menu = (count: number) =>
  row({
    type: 3,
    custom_id: 'menu',
    options: Array.from({ length: count }, (_, index) => ({ label: `${index}`, value: `${index}` })),
  });
const fields = (count: number, length: number) =>
  Array.from({ length: count }, () => ({ name: 'n', value: 'v'.repeat(length) }));
const poll = (answers: number, more: object = {}) => ({
  question: { text: 'Well?' },
  answers: Array.from({ length: answers }, () => ({ poll_media: { text: 'yes' } })),
  ...more,
});

const BODIES: [string, object, string][] = [
  ['2,001 characters', { content: 'x'.repeat(2001) }, 'content BASE_TYPE_MAX_LENGTH'],
  ['11 embeds', { embeds: Array.from({ length: 11 }, () => ({ title: 'x' })) }, 'embeds BASE_TYPE_BAD_LENGTH'],
  ['a long title', { embeds: [{ title: 'x'.repeat(257) }] }, 'embeds.0.title BASE_TYPE_MAX_LENGTH'],
  ['26 fields', { embeds: [{ fields: fields(26, 1) }] }, 'embeds.0.fields BASE_TYPE_BAD_LENGTH'],
  ['6,001 characters in embeds', { embeds: [{ fields: fields(6, 1000) }] }, 'embeds MAX_EMBED_SIZE_EXCEEDED'],
  [
    'six rows',
    { components: Array.from({ length: 6 }, (_, index) => row(button(`${index}`))) },
    'components BASE_TYPE_BAD_LENGTH',
  ],
  [
    'six buttons in a row',
    { components: [row(...'abcdef'.split('').map((id) => button(id)))] },
    'components.0.components BASE_TYPE_BAD_LENGTH',
  ],
  [
    'two buttons of one id',
    { components: [row(button('a'), button('a'))] },
    'components.0.components.1.custom_id COMPONENT_CUSTOM_ID_DUPLICATED',
  ],
  [
    'a long custom id',
    { components: [row(button('x'.repeat(101)))] },
    'components.0.components.0.custom_id BASE_TYPE_BAD_LENGTH',
  ],
  [
    'a long label',
    { components: [row(button('a', { label: 'x'.repeat(81) }))] },
    'components.0.components.0.label BASE_TYPE_MAX_LENGTH',
  ],
  ['a menu of 26', { components: [menu(26)] }, 'components.0.components.0.options BASE_TYPE_BAD_LENGTH'],
  ['a button without a row', { components: [button('a')] }, 'components.0.type UNION_TYPE_CHOICES'],
  ['eleven poll answers', { poll: poll(11) }, 'poll.answers BASE_TYPE_BAD_LENGTH'],
  ['a poll of 33 days', { poll: poll(2, { duration: 792 }) }, 'poll.duration NUMBER_TYPE_MAX'],
  [
    'an answer to nothing',
    { content: 'x', message_reference: { message_id: '1' } },
    'message_reference REPLIES_UNKNOWN_MESSAGE',
  ],
  [
    'contradicting mentions',
    { content: 'x', allowed_mentions: { parse: ['users'], users: ['1'] } },
    'allowed_mentions MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE',
  ],
];

const option = (name: string, more: object = {}) => ({ type: 3, name, description: 'd', ...more });
const COMMANDS: [string, object[], string][] = [
  ['capital letters', [{ name: 'Ask', description: 'd' }], '0.name APPLICATION_COMMAND_INVALID_NAME'],
  ['no description', [{ name: 'ask' }], '0.description BASE_TYPE_REQUIRED'],
  ['a long description', [{ name: 'ask', description: 'd'.repeat(101) }], '0.description BASE_TYPE_BAD_LENGTH'],
  [
    'the same name twice',
    [
      { name: 'ask', description: 'd' },
      { name: 'ask', description: 'd' },
    ],
    '1.name APPLICATION_COMMANDS_DUPLICATE_NAME',
  ],
  [
    'a required option at the end',
    [{ name: 'ask', description: 'd', options: [option('a'), option('b', { required: true })] }],
    '0.options.1.required APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID',
  ],
  [
    'a subcommand beside an option',
    [{ name: 'ask', description: 'd', options: [option('a'), { type: 1, name: 'b', description: 'd' }] }],
    '0.options.1.type APPLICATION_COMMAND_OPTIONS_TYPE_INVALID',
  ],
  [
    '26 choices',
    [
      {
        name: 'ask',
        description: 'd',
        options: [
          option('a', { choices: Array.from({ length: 26 }, (_, index) => ({ name: `${index}`, value: `${index}` })) }),
        ],
      },
    ],
    '0.options.0.choices BASE_TYPE_BAD_LENGTH',
  ],
  [
    'choices and autocomplete',
    [
      {
        name: 'ask',
        description: 'd',
        options: [option('a', { autocomplete: true, choices: [{ name: 'x', value: 'x' }] })],
      },
    ],
    '0.options.0.autocomplete APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_INVALID',
  ],
];

/** The tree of an "Invalid Form Body" as one line: the path of the first problem and its code. */
function firstProblem(errors: unknown, path: string[] = []): string {
  const [key = '', inner]: [string, unknown] = Object.entries(Object(errors))[0] ?? ['', ''];
  return key === '_errors' ? `${path.join('.')} ${Object(inner)[0].code}` : firstProblem(inner, [...path, key]);
}

async function refusal(request: Promise<unknown>): Promise<string> {
  const error = Object(
    await request.then(
      () => ({}),
      (reason) => reason,
    ),
  );
  expect(error).toMatchObject({ code: 50035, status: 400, rawError: { message: 'Invalid Form Body' } });
  return firstProblem(error.rawError.errors);
}

test.each(BODIES)('a message with %s is an invalid form', async (_, body, problem) => {
  const discord = await start();
  const client = await login(discord);
  const path = `/channels/${discord.channel('general').id}/messages` as const;
  expect(await refusal(client.rest.post(path, { body }))).toBe(problem);
  expect(discord.messages('general')).toEqual([]);
});

test.each(COMMANDS)('a command with %s is an invalid form', async (_, body, problem) => {
  const discord = await start();
  const client = await login(discord);
  expect(await refusal(client.rest.put(`/applications/${discord.bot.id}/commands`, { body }))).toBe(problem);
  expect(discord.commands()).toEqual([]);
});

test('requests about empty, deleted, hidden, too large or foreign things are refused', async () => {
  const discord = await start({ maxFileBytes: 1000, rateLimits: 'none' });
  const client = await login(discord);
  const channel = await channelOf(client, discord.channel('general'));
  await channel.send('x'.repeat(2000));
  await expect(channel.send(' ')).rejects.toMatchObject({ code: 50006 });
  const large = new AttachmentBuilder(Buffer.alloc(1001), { name: 'large.bin' });
  await expect(channel.send({ files: [large] })).rejects.toMatchObject({ code: 40005, status: 413 });
  await expect(channel.messages.fetch('1')).rejects.toMatchObject({ code: 10008 });
  await expect(client.channels.fetch('1')).rejects.toMatchObject({ code: 10003 });
  const foreign = discord.user('ann').say('general', 'mine');
  await expect(channel.messages.edit(foreign.id, 'yours')).rejects.toMatchObject({ code: 50005 });
  await expect(channel.messages.delete(foreign.id)).rejects.toMatchObject({ code: 50013 });
  await expect(channel.messages.react(foreign.id, 'no emoji')).rejects.toMatchObject({ code: 10014 });
});

test('permissions apply to the bot and to people', async () => {
  const discord = await start({
    guilds: [
      {
        channels: [
          { name: 'secret', deny: { everyone: ['ViewChannel'] } },
          { name: 'silent', deny: { everyone: ['SendMessages'] }, allow: { bob: ['SendMessages'] } },
          { name: 'plain', deny: { pocket: ['AttachFiles', 'AddReactions'] } },
        ],
      },
    ],
  });
  const client = await login(discord);
  await expect(client.rest.get(`/channels/${discord.channel('secret').id}`)).rejects.toMatchObject({ code: 50001 });
  const silent = await channelOf(client, discord.channel('silent'));
  await expect(silent.send('hi')).rejects.toMatchObject({ code: 50013 });
  const plain = await channelOf(client, discord.channel('plain'));
  await expect(plain.send({ files: [Buffer.from('x')] })).rejects.toMatchObject({ code: 50013 });
  await expect((await plain.send('hi')).react('👍')).rejects.toMatchObject({ code: 50013 });
  expect(() => discord.user('ann').say('secret', 'hi')).toThrow('ann cannot see #secret');
  expect(() => discord.user('ann').say('silent', 'hi')).toThrow('ann cannot send messages in #silent');
  expect(discord.user('bob').say('silent', 'hi').content).toBe('hi');
  expect(discord.user('admin').say('secret', 'hi').content).toBe('hi');
});

test('discord.js waits for the bucket and sends nothing while it is empty', async () => {
  const route = 'PATCH /channels/:channel/messages/:message';
  const discord = await start({ rateLimits: { [route]: { limit: 2, perMs: 300 } } });
  const client = await login(discord);
  const message = await (await channelOf(client, discord.channel('general'))).send('0');
  const began = Date.now();
  await Promise.all(['1', '2', '3', '4', '5'].map((text) => message.edit(text)));
  expect(Date.now() - began).toBeGreaterThanOrEqual(600);
  expect(discord.messages('general')[0]?.history.map(({ content }) => content)).toEqual(['0', '1', '2', '3', '4', '5']);
  expect(discord.violations).toEqual([]);
});

test('requests beyond a bucket or the global limit get 429 and are recorded', async () => {
  const route = 'POST /channels/:channel/typing';
  const discord = await start({
    rateLimits: { [route]: { limit: 1, perMs: 5000 }, global: { limit: 3, perMs: 5000 } },
  });
  const hasty = (path: string, method: string) =>
    fetch(`${discord.apiUrl}/v10${path}`, { method, headers: { authorization: `Bot ${discord.token}` } });
  const typing = `/channels/${discord.channel('general').id}/typing`;
  const allowed = await hasty(typing, 'POST');
  expect(allowed.headers.get('x-ratelimit-remaining')).toBe('0');
  const refused = await hasty(typing, 'POST');
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ global: false, retry_after: expect.any(Number) });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(4);
  await hasty('/users/@me', 'GET');
  const all = await hasty('/users/@me', 'GET');
  expect(await all.json()).toMatchObject({ global: true });
  expect(all.headers.get('x-ratelimit-global')).toBe('true');
  expect(discord.violations.map(({ route: where, global }) => [where, global])).toEqual([
    [route, false],
    ['GET /users/@me', true],
  ]);
});

test('simulated failures: discord.js retries after an error status or a cut connection', async () => {
  const discord = await start();
  const client = await login(discord);
  const channel = await channelOf(client, discord.channel('general'));
  discord.failNext({ request: /POST .*messages/, status: 503 });
  await channel.send('in the end');
  discord.failNext({ request: /POST .*messages/, status: 'cut', times: 4 });
  await expect(channel.send('never')).rejects.toThrow();
  expect(discord.messages('general').map(({ content }) => content)).toEqual(['in the end']);
});
