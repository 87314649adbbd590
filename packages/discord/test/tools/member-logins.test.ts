// MCP servers of a guild at which each member logs in with OAuth.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startProtectedHost } from '../../../pocket-agent/test/fixtures/servers/authorization-server.ts';
import { execute } from '../support/old-database.ts';
import { answers, runBot, type Setup, startBot, temporaryFolder } from '../support/start-bot.ts';

const loginKey = 'a key for the tests of this file only';

/** The model says which tools of the server it has, and what it was told about missing logins. */
async function startWithServer(setup: Setup = {}) {
  const host = await startProtectedHost();
  onTestFinished(() => host.close());
  const model = answers(({ tools = [], prompt }) => {
    const isMissing = JSON.stringify(prompt[0]).includes('missing until the user logs in with the command /login: crm');
    return `${tools.some(({ name }) => name === 'crm_echo') ? 'has crm' : 'no crm'}${isMissing ? ', needs a login' : ''}`;
  });
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const started = await startBot({ model, database, loginKey, mcpHosts: [new URL(host.url).host], ...setup });
  const { discord } = started;
  const admin = discord.user('admin');
  const addServer = async (login: string) => {
    const form = admin.command('setup mcp', { channel: 'general' });
    const submitted = await admin.submit(form, { name: 'crm', url: host.url, headers: '', login });
    await admin.command('setup profile', { channel: 'general', options: { profile: 'admin' } }).reply();
    return (await submitted.reply()).content;
  };
  const ask = async (name: string) => {
    const { id } = discord.user(name).say('general', `${discord.bot.mention} what do you have?`);
    const isDone = ({ replyTo, components }: { replyTo?: { messageId: string }; components: unknown[] }) =>
      replyTo?.messageId === id && JSON.stringify(components).includes('again:');
    return (await discord.waitForBotMessage('general', isDone)).content;
  };
  const login = (name: string, options: Record<string, string | boolean> = { server: 'crm' }) =>
    discord.user(name).command('login', { channel: 'general', options });
  const logIn = async (name: string) => {
    const shown = await login(name).reply();
    const [, page = ''] = /<(http[^>]+)>/.exec(shown.content) ?? [];
    const back = await host.logIn(new URL(page));
    const submitted = await discord
      .user(name)
      .submit(discord.user(name).click(shown, 'Paste the address'), { address: back.href });
    return (await submitted.reply()).content;
  };
  return { ...started, database, host, addServer, ask, login, logIn };
}

test('members who have logged in have the tools of the server, each with their own account', async () => {
  const { discord, addServer, ask, logIn, login, host, database } = await startWithServer();
  expect(await addServer('yes')).toContain('each member logs in');
  expect(await ask('ann')).toBe('no crm, needs a login');
  expect(await logIn('ann')).toBe('You are logged in to `crm`. Its tools work with your account, only for you.');
  expect(await ask('ann')).toBe('has crm');
  expect(await ask('bob')).toBe('no crm, needs a login');
  const tools = await discord.user('bob').command('agent', { channel: 'general' }).reply();
  expect(tools.content).toContain('**crm** needs a login: `/login server:crm`.');
  expect(await logIn('bob')).toContain('You are logged in');
  const tokens = new Set(host.seen.flatMap(({ headers }) => headers.authorization ?? []));
  expect(tokens.size).toBe(2);
  const kept = JSON.stringify(await execute(database, 'select * from discord_logins'));
  for (const token of tokens) expect(kept).not.toContain(token.replace('Bearer ', ''));
  expect((await login('ann').reply()).content).toBe('You are logged in to `crm` already.');
  expect((await login('ann', { server: 'crm', logout: true }).reply()).content).toBe('You are logged out of `crm`.');
  expect(await ask('ann')).toBe('no crm, needs a login');
});

test('a login outlives the process, and ends when the server is removed', async () => {
  const { addServer, ask, logIn, bot, options, discord, database } = await startWithServer();
  await addServer('tools');
  await logIn('ann');
  await bot.close();
  await runBot(options);
  expect(await ask('ann')).toBe('has crm');
  await discord
    .user('admin')
    .command('setup mcp-remove', { channel: 'general', options: { name: 'crm' } })
    .reply();
  const rows = await execute(database, 'select person, server from discord_logins');
  expect(rows.filter(({ person }) => person !== '')).toEqual([]);
});

test('an address without a code, an old one, and that of another member are refused', async () => {
  const { addServer, login, logIn, host, discord } = await startWithServer();
  await addServer('yes');
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  const pageOf = async (name: string) => {
    const shown = await login(name).reply();
    return { shown, page: new URL(/<(http[^>]+)>/.exec(shown.content)?.[1] ?? '') };
  };
  const annsPage = await pageOf('ann');
  const bobsPage = await pageOf('bob');
  const paste = async (who: typeof ann, { shown }: { shown: typeof annsPage.shown }, address: string) =>
    (await (await who.submit(who.click(shown, 'Paste the address'), { address })).reply()).content;
  expect(await paste(ann, annsPage, 'http://127.0.0.1:19191/callback')).toContain('That is not the address');
  const bobsAddress = (await host.logIn(bobsPage.page)).href;
  expect(await paste(ann, annsPage, bobsAddress)).toContain('The login at `crm` failed.');
  expect(await paste(bob, bobsPage, bobsAddress)).toContain('You are logged in');
  expect(await paste(bob, bobsPage, bobsAddress)).toContain('The login at `crm` failed.');
  expect(await logIn('ann')).toContain('You are logged in');
});

test('without the key of the operator no login can be set up, and no other server needs one', async () => {
  const { addServer, login } = await startWithServer({ loginKey: undefined });
  expect(await addServer('yes')).toContain('The operator of this bot has not set up logins');
  expect((await login('ann').reply()).content).toContain('Servers with a login: none.');
});
