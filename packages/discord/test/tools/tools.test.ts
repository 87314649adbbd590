// The included tools, tools of other folders, access profiles, and approvals.
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { calls, lastText, quiet, results, runBot, startBot, temporaryFolder } from '../support/start-bot.ts';

test('tools know the user and the channel, and are named below the answer', async () => {
  const model = calls(
    { name: 'get_user_info' },
    { name: 'fetch_date_time', arguments: { timezone: 'Asia/Tokyo' } },
    { name: 'pull_knowledge_base', arguments: { kb_name: 'privacy' } },
    { name: 'react_message', arguments: { emoji: '👍' } },
    { name: 'file_write', arguments: { file_name: '../../etc/passwd', file_contents: 'hello' } },
    { name: 'create_polls', arguments: { question: 'Tea?', choices: [{ text: 'yes', emoji: '🍵' }, { text: 'no' }] } },
  );
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  const question = ann.say('general', `${discord.bot.mention} use them all`);
  const answer = await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
  const result =
    lastText({ prompt: model.calls[1]?.prompt ?? [] }, 'tool') && results({ prompt: model.calls[1]?.prompt ?? [] });
  expect(result).toContain(ann.id);
  expect(result).toContain('Asia/Tokyo');
  expect(result).toContain('# Privacy');
  expect([...question.reactions.keys()]).toEqual(['👍']);
  const messages = discord.botMessages('general');
  expect(messages.find(({ files }) => files.length > 0)?.files[0]).toMatchObject({ name: '.._.._etc_passwd' });
  expect(messages.find(({ poll }) => poll)?.poll?.answers).toHaveLength(2);
  expect(answer.content).toContain('Let me see.\n\ndone:');
  await discord.waitFor(() =>
    discord.botMessages('general').some(({ content }) => /-# Used .*`get_user_info`/.test(content)),
  );
});

test('tool errors are reported: paths outside the knowledge base, refused reactions, unknown time zones', async () => {
  const model = calls(
    { name: 'pull_knowledge_base', arguments: { kb_name: '../../../../../README' } },
    { name: 'react_message', arguments: { emoji: 'not an emoji' } },
    { name: 'fetch_date_time', arguments: { timezone: 'Mars/Base' } },
    { name: 'create_polls', arguments: { question: 'Tea?', choices: [{ text: 'x'.repeat(56) }, { text: 'no' }] } },
  );
  const { discord } = await startBot({ model });
  discord.user('ann').say('general', `${discord.bot.mention} try`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
  const result = results({ prompt: model.calls[1]?.prompt ?? [] });
  expect(result).toContain('Unknown page');
  expect(result).toContain('Discord refused the reaction');
  expect(result).toContain('Unknown time zone');
  expect(result).toContain('Bad arguments');
});

test('fetch_date_time accepts a city and ignores case', async () => {
  const cities = ['tokyo', 'New York', 'KOLKATA'];
  const model = calls(...cities.map((timezone) => ({ name: 'fetch_date_time', arguments: { timezone } })));
  const { discord } = await startBot({ model });
  discord.user('ann').say('general', `${discord.bot.mention} what time is it there?`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
  const result = results({ prompt: model.calls[1]?.prompt ?? [] });
  for (const zone of ['Asia/Tokyo', 'America/New_York', 'Asia/']) expect(result).toContain(zone);
});

test('only tools that were really called are named below the answer', async () => {
  const model = calls(
    { name: 'send_user_dm_message', arguments: { message: 'psst' } },
    { name: 'no_such_tool' },
    { name: 'file_write', arguments: { file_name: 'a.txt', file_contents: 'x' } },
    { name: 'fetch_date_time', arguments: { zone: 'UTC' } },
    { name: 'get_user_info' },
  );
  const { discord } = await startBot({ model });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  await admin.command('setup profile', { channel: 'general', options: { profile: 'writer' } }).reply();
  ann.say('general', `${discord.bot.mention} go`);
  const asked = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  ann.click(asked, 'Deny');
  const named = (content: string) => /-# Used (.*)/.exec(content)?.[1];
  const { content } = await discord.waitForBotMessage('general', (message) => named(message.content) !== undefined);
  expect(named(content)).toBe('`get_user_info`');
});

test('a direct message is sent only after approval by the user', async () => {
  const model = calls({ name: 'send_user_dm_message', arguments: { message: 'psst @everyone' } });
  const { discord } = await startBot({ model });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say('general', `${discord.bot.mention} write to me`);
  const asked = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  expect(asked.content).toContain('psst');
  expect(asked.pinged).toEqual({ users: [ann.id], roles: [], everyone: false });
  expect((await bob.click(asked, 'Allow').reply()).content).toBe(`Only ${ann.mention} can answer this.`);
  expect(discord.botMessages(ann.dm)).toHaveLength(0);
  ann.click(asked, 'Allow');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'psst @everyone');
  await discord.waitFor(() => asked.content.includes('Allowed.') && asked.components.length === 0);

  bob.say('general', `${discord.bot.mention} write to me`);
  const second = await discord.waitForBotMessage('general', ({ content }) =>
    content.startsWith(`${bob.mention}, may I`),
  );
  bob.click(second, 'Deny');
  await discord.waitFor(() => second.content.includes('Denied.'));
  await discord.waitFor(() =>
    discord.botMessages('general').some(({ content }) => content.includes('done:') && content.includes('Denied')),
  );
  expect(discord.botMessages('general').at(-1)?.content).not.toContain('Denied..');
  expect(discord.botMessages(bob.dm)).toHaveLength(0);
});

test('an unanswered approval expires and loses its buttons', async () => {
  const model = calls({ name: 'send_user_dm_message', arguments: { message: 'psst' } });
  const { discord } = await startBot({ model, limits: { approvalTimeoutMs: 100 } });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} write to me`);
  const asked = await discord.waitForBotMessage('general', ({ content }) => content.includes('No answer in time'));
  expect(asked.components).toEqual([]);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
  expect(discord.botMessages(ann.dm)).toHaveLength(0);
});

test("the widest profile of a member's roles decides the tools, and other calls are refused", async () => {
  const model = calls({ name: 'file_write', arguments: { file_name: 'a.txt', file_contents: 'x' } });
  const { discord } = await startBot({ model });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  await admin.command('setup profile', { channel: 'general', options: { profile: 'reader' } }).reply();
  await admin
    .command('setup profile', { channel: 'general', options: { profile: 'manager', role: 'Helpers' } })
    .reply();
  ann.say('general', `${discord.bot.mention} write a file`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
  expect(model.calls[0]?.tools?.map(({ name }) => name)).not.toContain('file_write');
  expect(discord.botMessages('general').some(({ files }) => files.length > 0)).toBe(false);
  discord.stage.setRoles(discord.guild(), ann, ['Helpers']);
  ann.say('general', `${discord.bot.mention} write a file`);
  await discord.waitForBotMessage('general', ({ files }) => files.length > 0);
});

test('a folder of the operator gets the Discord context under its new and old names', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, 'Canvas'));
  await writeFile(
    join(root, 'Canvas', 'manifest.yaml'),
    'tool_name: Canvas\ntool_list:\n  - { name: canvas, description: Opens a thread, capability: create }\n',
  );
  await writeFile(
    join(root, 'Canvas', 'tool.mjs'),
    `export class Tools {
      constructor(context) { this.context = context; }
      async canvas() {
        const { discord, discord_ctx, discord_message, discord_bot } = this.context;
        await discord_ctx.channel.send({ embeds: [{ title: 'A plan' }] });
        const thread = await discord_message.startThread({ name: 'Canvas' });
        await thread.send('the content');
        return { same: discord === discord_ctx && discord.message === discord_message && discord.client === discord_bot, guild: discord.guild.name };
      }
    }\n`,
  );
  const model = calls({ name: 'canvas' });
  const { discord } = await startBot({ model, toolDirectories: [root] });
  const ann = discord.user('ann');
  await ann.command('agent', { channel: 'general', options: { name: 'Canvas' } }).reply();
  ann.say('general', `${discord.bot.mention} plan it`);
  const answer = await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
  expect(answer.content).toContain('same');
  expect(results({ prompt: model.calls[1]?.prompt ?? [] })).toContain('\\"same\\":true');
  const [thread] = discord.threads('general');
  expect(thread?.name).toBe('Canvas');
  // the bot's own thread needs no mention
  if (thread) {
    discord.user('admin').say(thread, '@everyone look');
    ann.say(thread, 'go on');
    await discord.waitForBotMessage(thread, ({ content }) => content.includes('done:'));
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).not.toContain('look');
  }
});

const replacement = (text: string) => ({
  'manifest.yaml': `tool_human_name: Careful files
tool_list:
  - { name: file_write, description: Writes little, capability: read }
`,
  'tool.mjs': `export class Tools { async tool_file_write() { return '${text}'; } }`,
});

async function writeFolder(folder: string, files: Record<string, string>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

test('a folder that replaces an included one does so even if it is broken', async () => {
  const root = await temporaryFolder();
  await writeFolder(join(root, 'file_write'), { ...replacement('careful'), 'manifest.yaml': 'tool_list: [' });
  const model = calls({ name: 'file_write', arguments: { file_name: 'a.txt', file_contents: 'x' } });
  const { discord } = await startBot({ model, toolDirectories: [root] });
  discord.user('ann').say('general', `${discord.bot.mention} write a file`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
  const offered = model.calls[0]?.tools?.map(({ name }) => name);
  expect(offered).toContain('fetch_date_time');
  expect(offered).not.toContain('file_write');
  expect(discord.botMessages('general').some(({ files }) => files.length > 0)).toBe(false);
});

test('a folder that an edit breaks keeps working as loaded before', async () => {
  const root = await temporaryFolder();
  await writeFolder(join(root, 'file_write'), replacement('careful'));
  const model = calls({ name: 'file_write' });
  const warnings: string[] = [];
  const logger = { ...quiet, warn: (message: string) => void warnings.push(message) };
  const { discord } = await startBot({ model, toolDirectories: [root], logger });
  const ann = discord.user('ann');
  const asked = async () => {
    const { id } = ann.say('general', `${discord.bot.mention} write a file`);
    const isAnswer = (message: { content: string; replyTo?: { messageId: string } | undefined }) =>
      message.replyTo?.messageId === id && message.content.includes('done:');
    return (await discord.waitForBotMessage('general', isAnswer)).content;
  };
  expect(await asked()).toContain('careful');
  // renamed, so that no reader sees half of it
  await writeFile(join(root, 'edited.yaml'), 'tool_list: [');
  await rename(join(root, 'edited.yaml'), join(root, 'file_write', 'manifest.yaml'));
  // noticed by the catalogue and by the loaded folder
  await expect.poll(() => warnings.filter((text) => text.includes('file_write/manifest.yaml')).length).toBe(2);
  expect(await asked()).toContain('careful');
  const choices = ann.complete('agent', { channel: 'general', options: { name: 'careful' }, focused: 'name' });
  expect(await choices.choices()).toEqual([{ name: 'Careful files', value: 'file_write' }]);
  await writeFolder(join(root, 'file_write'), replacement('more careful'));
  await expect.poll(asked).toContain('more careful');
});

test('long arguments are attached in full to an approval, with invisible characters escaped', async () => {
  const hidden = [0x202e, 0xe0148, 0xe0149, 0xfe01, 0x3164, 0x2800, 0x115f, 0x034f, 0x85];
  const message = `${'harmless '.repeat(200)}${String.fromCodePoint(...hidden)} the end`;
  const { discord } = await startBot({ model: calls({ name: 'send_user_dm_message', arguments: { message } }) });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} write to me`);
  const asked = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  const shown = asked.files[0]?.bytes.toString() ?? '';
  expect(shown).toContain(`${hidden.map((point) => `\\u{${point.toString(16)}}`).join('')} the end`);
  expect(shown).not.toContain('\u202E');
  ann.click(asked, 'Deny');
  await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
});

test('a used button and a button of a stopped process do nothing', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = calls({ name: 'send_user_dm_message', arguments: { message: 'psst' } });
  const { discord, bot, options } = await startBot({ model, database, closeGraceMs: 0 });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} write to me`);
  const asked = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  const buttons = asked.components;
  // a double click
  ann.click(asked, 'Allow');
  ann.click(asked, 'Allow');
  await discord.waitForBotMessage(ann.dm);
  await discord.waitFor(() => asked.components.length === 0);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
  ann.say('general', `${discord.bot.mention} write to me again`);
  const second = await discord.waitForBotMessage(
    'general',
    ({ content, components }) => content.includes('may I use') && components.length > 0,
  );
  asked.components = buttons; // as shown on a slow screen
  expect((await ann.click(asked, 'Allow').reply()).content).toBe('This button has expired.');
  const left = second.components;
  discord.failNext({ request: new RegExp(`PATCH .*messages/${second.id}`), status: 403 }); // as after a crash
  await bot.close();
  expect(second.components).toBe(left);
  await runBot(options);
  // no tool had run, so the run is repeated
  const third = await discord.waitForBotMessage(
    'general',
    ({ id, components }) => id > second.id && JSON.stringify(components).includes('Allow'),
  );
  expect(second.components).toEqual([]);
  expect(second.content).toContain('I was restarted, so I did not do it.');
  second.components = left;
  expect((await ann.click(second, 'Allow').reply()).content).toBe('This button has expired.');
  ann.click(third, 'Deny');
  await discord.waitFor(() => third.content.includes('Denied.'));
  expect(discord.botMessages(ann.dm)).toHaveLength(1);
});

test('a tool that returns an unusable value or throws does not fail the answer', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, 'odd'));
  await writeFile(
    join(root, 'odd', 'manifest.yaml'),
    `tool_name: Odd\ntool_list:\n${['circle', 'number', 'crash'].map((name) => `  - { name: ${name}, description: Odd, capability: read }\n`).join('')}`,
  );
  await writeFile(
    join(root, 'odd', 'tool.mjs'),
    `export class Tools {
      async tool_circle() { const it = {}; it.it = it; return it; }
      async tool_number() { return 10n; }
      async tool_crash() { throw new Error('no such luck'); }
    }`,
  );
  const model = calls({ name: 'circle' }, { name: 'number' }, { name: 'crash' });
  const { discord } = await startBot({ model, toolDirectories: [root] });
  const ann = discord.user('ann');
  await ann.command('agent', { channel: ann.dm, options: { name: 'Odd' } }).reply();
  ann.say(ann.dm, 'go');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('done:'));
  expect(model.calls[1]?.prompt.findLast(({ role }) => role === 'tool')?.content).toHaveLength(3);
});

test('arguments that grow when escaped can still be approved', async () => {
  const message = '```'.repeat(390);
  const { discord } = await startBot({ model: calls({ name: 'send_user_dm_message', arguments: { message } }) });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} write to me`);
  const asked = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  expect(asked.files[0]?.bytes.toString()).toContain(message);
  ann.click(asked, 'Allow');
  await discord.waitForBotMessage(ann.dm);
});

test('an approval says so when its answer is stopped or its process ends', async () => {
  const model = calls({ name: 'send_user_dm_message', arguments: { message: 'psst' } });
  const { discord, bot } = await startBot({ model, closeGraceMs: 0 });
  const ann = discord.user('ann');
  const asked = async (count: number) => {
    ann.say('general', `${discord.bot.mention} write to me`);
    const questions = () => discord.botMessages('general').filter(({ content }) => content.includes('may I use'));
    return discord.waitFor(() => questions()[count - 1]);
  };
  const first = await asked(1);
  const shown = await discord.waitForBotMessage('general', ({ components }) =>
    JSON.stringify(components).includes('"Stop"'),
  );
  ann.click(shown, 'Stop');
  await discord.waitFor(() => first.content.includes('Stopped, so I did not do it.') && first.components.length === 0);
  const second = await asked(2);
  await bot.close();
  expect(second.content).toContain('Stopped, so I did not do it.');
  expect(discord.botMessages(ann.dm)).toHaveLength(0);
});

test('the text of a tool error stays in the log; the model gets a safe text', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, 'shop'));
  const names = ['crash', 'agent', 'refuse', 'fail'];
  await writeFile(
    join(root, 'shop', 'manifest.yaml'),
    `tool_human_name: Shop\ntool_list:\n${names.map((name) => `  - { name: ${name}, description: Odd, capability: read }\n`).join('')}`,
  );
  await writeFile(
    join(root, 'shop', 'tool.mjs'),
    `import { PocketError } from '${new URL('../../../pocket-agent/src/index.ts', import.meta.url)}';
    export class Tools {
      async tool_crash() { throw new Error('connect to postgres://admin:hunter2@10.0.0.5/prod failed'); }
      async tool_agent() { throw new PocketError('MODEL_FAILED', 'the provider said hunter3'); }
      async tool_refuse() { throw new PocketError('TOOL_FAILED', 'There are no seats left.'); }
      async tool_fail() { return { isError: true, content: [{ type: 'text', text: 'Closed on Mondays.' }] }; }
    }`,
  );
  const logged: unknown[] = [];
  const model = calls(...names.map((name) => ({ name })));
  const logger = { ...quiet, warn: (...line: unknown[]) => void logged.push(line) };
  const { discord } = await startBot({ model, toolDirectories: [root], logger });
  const question = discord.user('ann').say('general', `${discord.bot.mention} go`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('done:'));
  const result = results({ prompt: model.calls[1]?.prompt ?? [] });
  expect(result).not.toContain('hunter');
  expect(result).toContain(`crash failed; the log of the bot has details under ${question.id}.`);
  expect(result).toContain('There are no seats left.');
  expect(result).toContain('Closed on Mondays.');
  const failed = {
    tool: 'crash',
    claim: question.id,
    error: 'Error',
    at: expect.arrayContaining([expect.stringContaining('tool_crash')]),
  };
  expect(logged).toContainEqual(['Tool failed', expect.objectContaining(failed)]);
  expect(logged).toHaveLength(2);
});
