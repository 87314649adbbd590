// Slash commands, autocomplete, menus, forms and message apps.
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { loadToolFolder } from '@pocket-agent/tool-folder';
import { tool } from 'pocket-agent';
import { ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { McpServers } from '../../src/toolbox/mcp-servers.ts';
import { answers, lastText, quiet, runBot, startBot, temporaryFolder } from '../support/start-bot.ts';

const toolNames = (call: { tools?: readonly { name: string }[] } | undefined) =>
  (call?.tools ?? []).map(({ name }) => name);

async function writeTool(root: string, name: string): Promise<void> {
  const folder = join(root, name);
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'manifest.yaml'),
    `tool_human_name: ${name} tools\ntool_list:\n  - { name: ${name}_go, description: Goes, capability: read }\n`,
  );
  await writeFile(
    join(folder, 'tool.mjs'),
    `export class Tools { async tool_${name}_go() { return '${name} went'; } }\n`,
  );
}

test('/ask answers like a mention, in the same conversation', async () => {
  const model = answers(({ prompt }) => `answer ${prompt.length}`);
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} first`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'answer 2');
  const used = ann.command('ask', { channel: 'general', options: { question: 'second?' } });
  await used.reply();
  await discord.waitForBotMessage('general', ({ content }) => content === '> second?\nanswer 4');
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('second?');
  expect(discord.botMessages('general')).toHaveLength(2);
});

test('/model checks the model, offers autocomplete, and keeps the conversation', async () => {
  const [one, two] = [answers(() => 'from one'), answers(() => 'from two')];
  vi.stubEnv('OPENAI_API_KEY', 'there at the start');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { discord } = await startBot({
    models: [{ name: 'one', model: one }, { name: 'two', model: two }, { name: 'openai/gpt-keyless' }],
  });
  vi.stubEnv('OPENAI_API_KEY', '');
  const ann = discord.user('ann');
  const model = (name?: string) =>
    ann.command('model', { channel: ann.dm, options: name === undefined ? {} : { name } }).reply();
  ann.say(ann.dm, 'remember 7');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'from one');
  expect((await model('nonsense')).content).toContain('Unknown model');
  expect((await model('openai/gpt-keyless')).content).toContain('needs a key');
  expect((await model()).content).toContain('uses `one`');
  const choices = await ann.complete('model', { channel: ann.dm, options: { name: 'tw' }, focused: 'name' }).choices();
  expect(choices).toEqual([{ name: 'two', value: 'two' }]);
  expect((await model('TWO')).content).toContain('uses `two`');
  ann.say(ann.dm, 'what was it?');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'from two');
  expect(JSON.stringify(two.calls[0]?.prompt)).toContain('remember 7');
});

test('/agent chooses several tools and keeps the conversation; Disabled turns all off', async () => {
  const root = await temporaryFolder();
  await writeTool(root, 'alpha');
  await writeTool(root, 'beta');
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model, toolDirectories: [root] });
  const ann = discord.user('ann');
  let asked = 0;
  const toolsOf = async () => {
    ann.say(ann.dm, `question ${++asked}`);
    await discord.waitFor(() => discord.botMessages(ann.dm).length === asked);
    return toolNames(model.calls.at(-1));
  };
  const agent = (options: Record<string, string | boolean>) =>
    ann.command('agent', { channel: ann.dm, options }).reply();

  expect((await toolsOf()).sort()).toEqual([
    'alpha_go',
    'beta_go',
    'create_polls',
    'fetch_date_time',
    'file_write',
    'get_user_info',
    'pull_knowledge_base',
    'react_message',
    'read_messages',
    'send_user_dm_message',
  ]);
  expect((await agent({ name: 'Disabled' })).content).toContain('All tools are off');
  expect(await toolsOf()).toEqual([]);
  await agent({ name: 'alpha' });
  expect((await agent({ name: 'beta' })).content).toContain('**alpha tools**, **beta tools**');
  expect(await toolsOf()).toEqual(['alpha_go', 'beta_go']);
  await agent({ name: 'alpha', off: true });
  expect(await toolsOf()).toEqual(['beta_go']);
  expect((await agent({ name: 'gamma' })).content).toContain('Nothing was changed');
  expect(await toolsOf()).toEqual(['beta_go']);

  const shown = await ann.command('agent', { channel: ann.dm }).reply();
  await ann.pick(shown, 'agent-tools', ['alpha', 'fetch_date_time']).reply();
  expect((await toolsOf()).sort()).toEqual(['alpha_go', 'fetch_date_time']);
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('question 1');
});

test('the list of tools follows folder changes without a restart', async () => {
  const root = await temporaryFolder();
  await writeTool(root, 'alpha');
  const { discord } = await startBot({ toolDirectories: [root] });
  const ann = discord.user('ann');
  const offered = async () => {
    const used = ann.complete('agent', { channel: 'general', options: { name: 'tools' }, focused: 'name' });
    return (await used.choices()).map(({ name }) => name);
  };
  expect(await offered()).toEqual(['alpha tools']);
  // a broken folder is not offered
  await mkdir(join(root, 'broken-tools'));
  await writeFile(join(root, 'broken-tools', 'manifest.yaml'), 'tool_human_name: broken tools\ntool_list: 7\n');
  await writeTool(root, 'beta');
  await expect.poll(offered).toEqual(['alpha tools', 'beta tools']);
  await rm(join(root, 'alpha'), { recursive: true });
  await expect.poll(offered).toEqual(['beta tools']);
});

test('a removed folder is closed, and starts again with the next question after it is back', async () => {
  const [root, elsewhere] = [await temporaryFolder(), await temporaryFolder()];
  const started = join(elsewhere, 'started');
  const writeAlpha = async () => {
    await writeTool(root, 'alpha');
    const code = `import { appendFileSync } from 'node:fs';
      export class Tools {
        constructor() { appendFileSync(${JSON.stringify(started)}, 'x'); }
        async tool_alpha_go() { return 'alpha went'; }
      }`;
    await writeFile(join(root, 'alpha', 'tool.mjs'), code);
  };
  await writeAlpha();
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model, toolDirectories: [root] });
  const ann = discord.user('ann');
  const ask = async () => {
    const count = model.calls.length;
    ann.say(ann.dm, 'hello');
    await discord.waitFor(() => discord.botMessages(ann.dm)[count]?.content === 'ok');
    return toolNames(model.calls.at(-1));
  };
  const offered = async () => {
    const used = ann.complete('agent', { channel: ann.dm, options: { name: 'tools' }, focused: 'name' });
    return (await used.choices()).map(({ name }) => name);
  };
  expect(await ask()).toContain('alpha_go');
  await rm(join(root, 'alpha'), { recursive: true });
  await expect.poll(offered).toEqual([]);
  await writeAlpha();
  await expect.poll(offered).toEqual(['alpha tools']);
  // an open watcher would have noticed it before this one
  await writeTool(root, 'beta');
  await expect.poll(offered).toEqual(['alpha tools', 'beta tools']);
  expect(await readFile(started, 'utf8')).toBe('x');
  expect(await ask()).toContain('alpha_go');
  expect(await readFile(started, 'utf8')).toBe('xx');
});

test('/sweep asks first, deletes only this conversation, and keeps model and tools by default', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} in the guild`);
  await discord.waitForBotMessage('general');
  ann.say(ann.dm, 'in the dm');
  await discord.waitForBotMessage(ann.dm);
  await ann.command('agent', { channel: ann.dm, options: { name: 'Disabled' } }).reply();
  const asked = await ann.command('sweep', { channel: ann.dm }).reply();
  expect(asked.content).toContain('our direct messages, 1 question)');
  await ann.click(asked, 'Keep').answered();
  ann.say(ann.dm, 'still there?');
  await discord.waitFor(() => discord.botMessages(ann.dm).length === 2);
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('in the dm');
  await ann.click(await ann.command('sweep', { channel: ann.dm }).reply(), 'Delete').answered();
  ann.say(ann.dm, 'and now?');
  await discord.waitFor(() => discord.botMessages(ann.dm).length === 3);
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).not.toContain('in the dm');
  expect(model.calls.at(-1)?.tools).toBeUndefined();
  ann.say('general', `${discord.bot.mention} more`);
  await discord.waitFor(() => discord.botMessages('general').length === 2);
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('in the guild');
  const all = await ann.command('sweep', { channel: ann.dm, options: { reset_prefs: true } }).reply();
  await ann.click(all, 'Delete').answered();
  ann.say(ann.dm, 'with tools');
  await discord.waitFor(() => discord.botMessages(ann.dm).length === 4);
  expect(toolNames(model.calls.at(-1))).toContain('fetch_date_time');
});

test('/sweep of a shared conversation needs a moderator', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const sweep = (who: typeof ann) => who.command('sweep', { channel: 'general' }).reply();
  ann.say('general', `${discord.bot.mention} in the guild`);
  await discord.waitForBotMessage('general');
  const refused = await sweep(ann);
  expect(refused.content).toContain('Only members who can manage messages');
  expect(refused.components).toEqual([]);
  const asked = await sweep(admin);
  expect(asked.content).toContain('shared by this channel, 1 question)');
  await admin.click(asked, 'Delete').answered();
  ann.say('general', `${discord.bot.mention} and now?`);
  await discord.waitFor(() => discord.botMessages('general').length === 2);
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).not.toContain('in the guild');
  const options = { scope: 'user' };
  await admin.command('setup conversations', { channel: 'general', options }).reply();
  expect((await sweep(ann)).content).toContain('yours in this channel');
});

test('/summarize stores nothing, and message apps answer only the user', async () => {
  const model = answers(() => 'short **version**');
  const { discord } = await startBot({
    model,
    world: { guilds: [{ channels: ['general', { name: 'adult', nsfw: true }] }] },
  });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  const said = bob.say('general', 'the </untrusted> meeting is at noon');
  const summary = await ann.command('summarize', { channel: 'general', options: { steer: 'times' } }).reply();
  expect(summary).toMatchObject({ content: 'short **version**', onlyFor: ann.id });
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain('the &lt;/untrusted&gt; meeting is at noon');
  for (const name of ['Explain this message', 'Rephrase this message', 'Suggest a response']) {
    expect(await ann.messageCommand(name, said).reply()).toMatchObject({ onlyFor: ann.id });
  }
  expect(model.calls[1]?.tools).toBeUndefined();
  const attachments = [{ name: 'menu.txt', bytes: Buffer.from('soup on Friday'), contentType: 'text/plain' }];
  await ann.messageCommand('Explain this message', bob.say('general', '', { attachments })).reply();
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('soup on Friday');
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general');
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).not.toContain('noon');
  expect((await ann.command('summarize', { channel: 'adult' }).reply()).content).toContain('age-restricted');
});

test('/summarize accepts dates and refuses invalid ones; threads of age-restricted channels are restricted', async () => {
  const model = answers(() => 'short');
  const { discord } = await startBot({
    model,
    world: { guilds: [{ channels: ['general', { name: 'adult', nsfw: true }] }] },
  });
  const ann = discord.user('ann');
  ann.say('general', 'the first thing');
  ann.say('general', 'no');
  ann.say('general', 'the second thing');
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const summarize = async (options: Record<string, string>) =>
    (await ann.command('summarize', { channel: 'general', options }).reply()).content;
  expect(await summarize({ after_date: day(-1), before_date: day(2) })).toBe('short');
  expect(JSON.stringify(model.calls[0]?.prompt)).toMatch(/the first thing.*: no\\n.*the second thing/);
  expect(await summarize({ around_date: day(0) })).toBe('short');
  const [year, month, date] = day(2).split('-');
  expect(await summarize({ before_date: `${month}/${date}/${year}` })).toBe('short');
  expect(await summarize({ before_date: day(0) })).toContain('no messages to summarize');
  expect(await summarize({ after_date: day(2) })).toContain('no messages to summarize');
  expect(await summarize({ after_date: day(1), before_date: day(1) })).toContain('must be earlier');
  expect(await summarize({ around_date: day(1), before_date: day(1) })).toContain('alone');
  for (const invalid of ['2026-02-30', 'yesterday', '13/45/2026', '1999-01-01']) {
    expect(await summarize({ after_date: invalid })).toContain(`\`${invalid}\` is not a date`);
  }
  expect(model.calls).toHaveLength(3);
  const thread = ann.thread('adult', 'aside');
  expect((await ann.command('summarize', { channel: thread }).reply()).content).toContain('age-restricted');
});

test('/ask says so where the bot may not send messages', async () => {
  const model = answers(() => 'ok');
  const channels = ['general', { name: 'mute', deny: { pocket: ['SendMessages' as const] } }];
  const { discord } = await startBot({ model, world: { guilds: [{ channels }] } });
  const refused = discord.user('ann').command('ask', { channel: 'mute', options: { question: 'hello' } });
  expect((await refused.reply()).content).toContain('I am not allowed to send messages in this channel');
  expect(model.calls).toHaveLength(0);
});

test('an unreachable or no longer allowed MCP server of a guild fails no answer', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = answers(() => 'ok');
  const { discord, bot, options } = await startBot({ model, database, mcpHosts: ['127.0.0.1'] });
  const [ann, admin] = [discord.user('ann'), discord.user('admin')];
  const form = { name: 'far', url: 'http://127.0.0.1:9/mcp', headers: '' };
  await (await admin.submit(admin.command('setup mcp', { channel: 'general' }), form)).reply();
  const offered = async () => {
    const used = ann.complete('agent', { channel: 'general', options: { name: 'mcp' }, focused: 'name' });
    return (await used.choices()).map(({ value }) => value);
  };
  expect(await offered()).toEqual(['mcp:far']);
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content.startsWith('ok'));
  await bot.close();
  await runBot({ ...options, mcpHosts: [] });
  expect(await offered()).toEqual([]);
});

test('an MCP server of a guild cannot redirect to other hosts or leak secrets', async () => {
  const seen: string[] = [];
  const listen = async (handle: RequestListener) => {
    const server = createServer(handle).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    return typeof address === 'object' ? address?.port : undefined;
  };
  const inside = await listen(({ url = '' }, response) => {
    seen.push(url);
    response.end('{}');
  });
  const allowed = await listen(({ headers }, response) => {
    seen.push(`allowed, with ${headers['x-api-key']}`);
    response.writeHead(307, { location: `http://localhost:${inside}/secrets` }).end();
  });
  const { discord } = await startBot({ model: answers(() => 'ok'), mcpHosts: [`127.0.0.1:${allowed}`, '*'] });
  const [ann, admin] = [discord.user('ann'), discord.user('admin')];
  const add = async (name: string, url: string) => {
    const form = { name, url, headers: 'X-Api-Key: hush' };
    await (await admin.submit(admin.command('setup mcp', { channel: 'general' }), form)).reply();
  };
  await add('sly', `http://127.0.0.1:${allowed}/mcp`);
  await add('inner', `http://localhost:${inside}/mcp`);
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'ok');
  expect(new Set(seen)).toEqual(new Set(['allowed, with hush']));
});

test('a silent MCP server of a guild delays an answer only briefly', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  // host names ignore case
  const { discord } = await startBot({ model: answers(() => 'ok'), mcpHosts: ['LOCALHOST'] });
  const [ann, admin] = [discord.user('ann'), discord.user('admin')];
  const form = { name: 'silent', url: `http://localhost:${port}/mcp`, headers: '' };
  await (await admin.submit(admin.command('setup mcp', { channel: 'general' }), form)).reply();
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'ok', { timeoutMs: 9_500 });
});

test('/setup profile can remove the profile of a role', async () => {
  const { discord } = await startBot();
  const admin = discord.user('admin');
  const setup = async (options: Record<string, string | boolean>) =>
    (await admin.command('setup profile', { channel: 'general', options }).reply()).content;
  expect(await setup({ profile: 'admin', role: 'Helpers' })).toMatch(/\*\*Profiles\*\*: <@&\d+> admin, all others/);
  expect(await setup({ role: 'Helpers' })).toContain('Nothing was changed.');
  expect(await setup({ role: 'Helpers', remove: true })).toContain('**Profiles**: all others manager');
});

test('/cost names models without a price', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ models: [{ name: 'mine', model }, { name: 'demo' }] });
  const ann = discord.user('ann');
  const { content } = await ann.command('cost', { channel: ann.dm }).reply();
  expect(content).toContain('The price of `mine` is unknown');
});

test('/setup shows the budget of the operator and models that cannot be used with a budget', async () => {
  const priced = { script: { input: 1, output: 1 } };
  const { discord } = await startBot({ budget: { guildUsd: 5 }, prices: priced });
  const other = await startBot();
  const setup = (place: typeof discord, what: string, options: Record<string, number> = {}) =>
    place.user('admin').command(`setup ${what}`, { channel: 'general', options }).reply();
  const shown = (await setup(discord, 'show')).content;
  expect(shown).toContain('**Budget of the operator**: $5.00 per server, no limit per user');
  expect((await setup(other.discord, 'show')).content).not.toContain('operator');
  const limited = (await setup(other.discord, 'budget', { server: 1 })).content;
  expect(limited).toContain('their price is unknown: test');
});

test('/help and /cost', async () => {
  const { discord } = await startBot({
    model: new ScriptedModel([{ text: 'ok', usage: { input: 1_000_000, output: 0 } }]),
    prices: { script: { input: 2, output: 2 } },
  });
  const ann = discord.user('ann');
  expect((await ann.command('help', { channel: 'general' }).reply()).content).toContain('/sweep');
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'ok');
  const cost = await ann.command('cost', { channel: 'general' }).reply();
  expect(cost.content).toContain('**You**: $2.0000, 1000000 tokens, 1 answer');
  expect(cost.content).toContain('**This server**: $2.0000');
});

test('/agent names chosen servers that are unreachable', async () => {
  const look = tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run: () => 'done' });
  const mcpServers = { ghost: { command: 'no-such-program' }, tickets: { server: await scriptedServer([look]) } };
  const { discord } = await startBot({ model: answers(() => 'ok'), mcpServers });
  const used = discord.user('ann').command('agent', { channel: 'general', options: { name: 'ghost' } });
  const { content } = await used.reply();
  expect(content).toContain('**ghost** is currently unreachable');
  expect(content).not.toContain('**tickets** cannot');
});

test('/agent accepts bare server names in any case, and names tools that the profile excludes', async () => {
  const run = () => 'done';
  const server = await scriptedServer([
    tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run }),
    tool({ name: 'act', description: 'Says nothing of itself', run }),
  ]);
  const { discord } = await startBot({ mcpServers: { Tickets: { server } } });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const agent = async (options: Record<string, string | boolean> = {}) =>
    (await ann.command('agent', { channel: 'general', options }).reply()).content;
  const note =
    '1 of 2 tools of **Tickets** are not available to the profile manager: they can delete, or declare no capability.';
  expect(await agent()).toContain(note);
  expect(await agent({ name: 'disabled' })).toContain('All tools are off');
  const chosen = await agent({ name: 'tickets' });
  expect(chosen).toContain('on: **Tickets (MCP)**.');
  expect(chosen).toContain(note);
  await admin.command('setup profile', { channel: 'general', options: { profile: 'admin' } }).reply();
  expect(await agent()).not.toContain('not for the profile');
});

test('MCP servers come from the operator, and from admins by a form on allowed hosts', async () => {
  const add = tool({ name: 'add', description: 'Adds', annotations: { readOnlyHint: true }, run: () => '3' });
  const model = answers(({ prompt, tools = [] }) => {
    const wanted = tools.find(({ name }) => name.endsWith('_add'));
    return wanted && prompt.at(-1)?.role === 'user' ? { toolCalls: [{ name: wanted.name }] } : 'it is 3';
  });
  const server = await scriptedServer([add]);
  const { discord } = await startBot({ model, mcpServers: { sums: { server } }, mcpHosts: ['mcp.example.com'] });
  const [ann, admin] = [discord.user('ann'), discord.user('admin')];
  ann.say('general', `${discord.bot.mention} 1 + 2`);
  const answer = await discord.waitForBotMessage('general', ({ content }) => content.startsWith('it is 3'));
  expect(answer.content).toContain('Used `sums_add`');

  const fill = async (url: string, headers = '', name = 'weather') => {
    const form = { name, url, headers };
    return (await (await admin.submit(admin.command('setup mcp', { channel: 'general' }), form)).reply()).content;
  };
  expect(await fill('https://mcp.example.com/x', '', 'sums')).toContain(
    '`sums` is the name of an MCP server of the operator',
  );
  expect(await fill('http://169.254.169.254/latest')).toContain('POCKET_DISCORD_MCP_HOSTS');
  expect(await fill('https://mcp.example.com/x', ['Authorization: Bearer $', '{DISCORD_TOKEN}'].join(''))).toContain(
    'Variables',
  );
  expect(await fill('not a url')).toContain('not the URL');
  const shown = await fill('https://mcp.example.com/mcp', 'Authorization: Bearer hush');
  expect(shown).toContain('weather (mcp.example.com)');
  expect(shown).not.toContain('hush');
  const choices = await ann
    .complete('agent', { channel: 'general', options: { name: 'mcp' }, focused: 'name' })
    .choices();
  expect(choices.map(({ name }) => name)).toEqual(['sums (MCP)', 'weather (MCP)']);
  const remove = async (name: string) =>
    (await admin.command('setup mcp-remove', { channel: 'general', options: { name } }).reply()).content;
  expect(await remove('wether')).toContain('This server has no MCP server `wether`. Nothing was changed.');
  expect(await remove('weather')).toContain('**MCP servers**: none');
  expect(() => ann.command('setup show', { channel: 'general' })).toThrow();
});

test('ten idle MCP connections are kept, and connections in use are never closed', async () => {
  const hello = tool({ name: 'hello', description: 'Hello', run: () => 'hello' });
  const servers = new McpServers({
    operatorServers: { a: { server: await scriptedServer([hello]) } },
    hosts: [],
    logger: quiet,
  });
  onTestFinished(() => servers.close());
  const lease = (place: number) => {
    const leased = servers.lease({ place: String(place), ids: ['mcp:a'], guild: {} });
    if (!leased) throw new Error('Unknown server.');
    return leased;
  };
  const all = Array.from({ length: 14 }, (_, place) => lease(place));
  const [inUse, again, ...others] = all;
  for (const { client } of all) expect(await client.listTools()).toHaveLength(1);
  again?.release();
  for (const { release } of others.slice(0, 9)) release();
  // it is no longer the longest idle one
  lease(1).release();
  for (const { release } of others.slice(9)) release();
  const isOpen = async ({ client }: (typeof all)[number]) => {
    try {
      return (await client.listTools()).length === 1;
    } catch {
      return false;
    }
  };
  const open = await Promise.all(all.map(isOpen));
  expect(open).toEqual([true, true, false, false, false, ...new Array(9).fill(true)]);
  inUse?.release();
});

test('an MCP server of an admin is called over HTTP with its headers', async () => {
  const root = await temporaryFolder();
  await writeTool(root, 'remote');
  const folder = loadToolFolder(root);
  const server = await (await folder.asMcpServer()).listen({ port: 0, token: 'hush' });
  onTestFinished(async () => {
    await server.close();
    await folder.close();
  });
  const model = answers(({ prompt }) =>
    prompt.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'far_remote_go' }] } : lastText({ prompt }, 'tool'),
  );
  const { discord } = await startBot({ model, mcpHosts: ['127.0.0.1'] });
  const [ann, admin] = [discord.user('ann'), discord.user('admin')];
  const form = { name: 'far', url: server.url, headers: 'Authorization: Bearer hush' };
  await (await admin.submit(admin.command('setup mcp', { channel: 'general' }), form)).reply();
  ann.say('general', `${discord.bot.mention} go`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('remote went'));
  expect(model.calls[0]?.tools?.map(({ name }) => name)).toContain('far_remote_go');
});

test('tools beyond the limit of the menu can be chosen by name', async () => {
  const root = await temporaryFolder();
  const names = Array.from({ length: 30 }, (_, index) => `tool${String(index).padStart(2, '0')}`);
  for (const name of names) await writeTool(root, name);
  const { discord } = await startBot({ toolDirectories: [root] });
  const ann = discord.user('ann');
  const offered = (typed: string) =>
    ann.complete('agent', { channel: ann.dm, options: { name: typed }, focused: 'name' }).choices();
  expect(await offered('')).toHaveLength(25);
  expect((await offered('tool29')).map(({ value }) => value)).toEqual(['tool29']);
  expect((await ann.command('agent', { channel: ann.dm, options: { name: 'tool29' } }).reply()).content).toContain(
    'tool29',
  );
  const menu = await ann.command('agent', { channel: ann.dm }).reply();
  expect((await ann.pick(menu, 'agent-tools', ['tool00']).reply()).content).toMatch(/tool00.*tool29/);
});
