// Approvals whose gateway ended before they were answered: the same call, made at the next gateway, finds its question.
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { startDiscord } from '../../discord/test/counterpart/discord.ts';
import { startFakeMattermost } from '../../mattermost/test/fake/fake-mattermost.ts';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { type GatewayApprovals, openGatewayState } from '../src/index.ts';
import { atEnd, connect, served, temporaryFolder, textOf } from './world.ts';

const often = { interval: 10 };
const allowed = { answer: { allow: true as const }, by: 'chief' };

function notes(effects: string[]): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  const inputSchema = z.object({ name: z.string() });
  server.registerTool('drop', { description: 'Drops a note', inputSchema }, ({ name }) =>
    text(`dropped ${name} (${effects.push(name)})`),
  );
  return server;
}

/** Gateways one after the other, on one state. */
async function succession(approvals: GatewayApprovals) {
  const state = await openGatewayState(join(await temporaryFolder(), 'gateway.db'));
  atEnd(() => state.close());
  const effects: string[] = [];
  const tokens = new Map<string, string>();
  const access = { confirm: 'destructive' as const, approvalTimeoutMs: 60_000 };
  const start = async () => {
    const { gateway, url } = await served({
      mcpServers: { notes: { server: () => notes(effects) } },
      access,
      approvals,
      state,
    });
    const call = async (name = 'a', caller = 'ann') => {
      const token = tokens.get(caller) ?? (await state.addCaller(caller, { profile: 'admin' }));
      tokens.set(caller, token);
      const client = await connect('SDK v1', url, token);
      return client.call('notes__drop', { name }).then(textOf, (error: Error) => `failed: ${error.message}`);
    };
    return { gateway, call };
  };
  return { state, start, effects };
}

test('an answer given while no gateway runs allows the same call of the same caller, once', async () => {
  const { state, start, effects } = await succession({ endpoint: true });
  const first = await start();
  void first.call();
  await expect.poll(() => state.questions(), often).toHaveLength(1);
  await first.gateway.close();
  const [question] = await state.questions();
  expect(await state.answer(question?.id ?? '', allowed)).toBe(true);

  const { call } = await start();
  const others = [call('b'), call('a', 'bob')];
  await expect.poll(() => state.questions(), often).toHaveLength(2);
  expect(await call()).toBe('dropped a (1)');
  const again = call();
  await expect.poll(() => state.questions(), often).toHaveLength(3);
  expect(effects).toEqual(['a']);
  for (const { id } of await state.questions()) await state.answer(id, { answer: { deny: 'no' }, by: 'chief' });
  for (const denied of [...others, again]) expect(await denied).toContain('was not called: no');
});

test('a question without an answer is asked by the next gateway, and not listed twice', async () => {
  const { state, start } = await succession({ endpoint: true });
  const first = await start();
  void first.call();
  await expect.poll(() => state.questions(), often).toHaveLength(1);
  const [before] = await state.questions();
  await first.gateway.close();
  const { call } = await start();
  const result = call();
  await expect.poll(async () => (await state.questions()).map(({ id }) => id), often).not.toEqual([before?.id]);
  const [now, ...more] = await state.questions();
  expect(more).toEqual([]);
  await state.answer(now?.id ?? '', allowed);
  expect(await result).toBe('dropped a (1)');
});

test('a call that its client cancels leaves no question', async () => {
  const { state, start } = await succession({ endpoint: true });
  const { gateway } = await start();
  const client = await connect(
    'SDK v1',
    (await gateway.listen()).url,
    await state.addCaller('eve', { profile: 'admin' }),
  );
  const gone = new AbortController();
  const result = client.call('notes__drop', { name: 'a' }, { signal: gone.signal });
  await expect.poll(() => state.questions(), often).toHaveLength(1);
  gone.abort();
  await expect(result).rejects.toThrow();
  await expect.poll(() => state.questions(), often).toEqual([]);
});

test('a reply to a post on Mattermost counts, although the gateway that asked has ended', async () => {
  const fake = await startFakeMattermost();
  atEnd(() => fake.close());
  const channel = fake.channel('town-square').id;
  const { start } = await succession({
    mattermost: { url: fake.url, token: fake.token('helper'), channel, pollMs: 20 },
  });
  const posts = () => [...fake.world.posts.values()].filter(({ message }) => message.startsWith('May this call'));
  const first = await start();
  void first.call();
  await expect.poll(posts, often).toHaveLength(1);
  const [asked] = posts();
  await first.gateway.close();
  expect(asked?.message).toContain('Reply to this message');
  fake.say('bob', 'town-square', 'allow', { root: asked?.id ?? '' });
  const { call } = await start();
  expect(await call()).toBe('dropped a (1)');
  expect(posts().map(({ message }) => message)).toEqual([expect.stringContaining('Allowed by bob.')]);
  const again = call();
  await expect.poll(posts, often).toHaveLength(2);
  fake.say('bob', 'town-square', 'deny', { root: posts()[1]?.id ?? '' });
  expect(await again).toContain('was not called');
  expect(fake.unanswered).toEqual([]);
});

test('a reply to a message on Discord counts, although the gateway that asked has ended', async () => {
  const discord = await startDiscord();
  atEnd(() => discord.close());
  const channel = discord.channel('general').id;
  const { start } = await succession({
    discord: { url: discord.apiUrl, token: discord.token, channel, pollMs: 1_100 },
  });
  const asked = () => discord.botMessages('general').filter(({ content }) => content.startsWith('May this'));
  const first = await start();
  void first.call();
  await expect.poll(asked, often).toHaveLength(1);
  await first.gateway.close();
  discord.user('bob').say('general', 'allow', { replyTo: asked()[0] });
  const { call } = await start();
  expect(await call()).toBe('dropped a (1)');
  expect(asked()).toHaveLength(1);
  expect(asked()[0]?.content).toContain('Allowed by');
  expect(discord.unknownRequests).toEqual([]);
});
