// The state of a gateway in a real Redis, and two gateways that share it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { Gateway, openGatewayState } from '../src/index.ts';
import { atEnd, connect, expectLoginsOfKnownCallers, temporaryFolder, textOf } from './world.ts';

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  return port;
}

async function startRedis(): Promise<{ url: string; redis: ChildProcess }> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', await temporaryFolder(), '--save', ''];
  const redis = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  atEnd(async () => {
    if (redis.exitCode !== null || redis.signalCode !== null) return;
    redis.kill('SIGTERM');
    await once(redis, 'exit');
  });
  await new Promise<void>((resolve, reject) => {
    redis.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
    createInterface(redis.stdout as NodeJS.ReadableStream).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve();
    });
  });
  return { url: `redis://127.0.0.1:${port}`, redis };
}

function notes(): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool('read', { annotations: { readOnlyHint: true } }, () => text('a note'));
  server.registerTool('drop', {}, () => text('dropped'));
  return server;
}

test('two gateways share callers, limits, money and questions', async () => {
  const { url: location } = await startRedis();
  const open = async () => {
    const state = await openGatewayState(location);
    const gateway = new Gateway({
      mcpServers: { notes: { server: notes } },
      access: { confirm: 'destructive' },
      approvals: { endpoint: true },
      prices: { notes__read: 0.25 },
      state,
      logger: silent,
    });
    atEnd(async () => {
      await gateway.close();
      await state.close();
    });
    return { state, ...(await gateway.listen()) };
  };
  const [one, other] = [await open(), await open()];
  const token = await one.state.addCaller('ann', { profile: 'admin', callsPerDay: 4, usdPerDay: 0.5 });
  await expect(other.state.addCaller('ann', { profile: 'admin' })).rejects.toThrow('already');
  expect(await other.state.callers()).toMatchObject([{ name: 'ann', settings: { profile: 'admin' } }]);
  const login = { caller: 'ann', server: 'crm https://crm.example.com/mcp' };
  for (const text of ['first', 'second']) await one.state.saveLogin(login, text);
  expect(await other.state.login(login)).toBe('second');
  const [first, second] = [await connect('SDK v1', one.url, token), await connect('SDK v1', other.url, token)];
  expect(textOf(await first.call('notes__read'))).toBe('a note');
  expect(textOf(await second.call('notes__read'))).toBe('a note');
  expect(textOf(await first.call('notes__read'))).toContain('your limit of $0.5');
  const result = first.call('notes__drop');
  const patience = { timeout: 20_000 };
  await expect.poll(async () => (await other.state.questions()).length, patience).toBe(1);
  const [question] = await other.state.questions();
  expect(question).toMatchObject({ caller: 'ann', tool: 'notes__drop' });
  const given = { answer: { allow: true }, by: 'chief' } as const;
  expect(await other.state.answer(question?.id ?? '', given)).toBe(true);
  expect(await other.state.answer(question?.id ?? '', given)).toBe(false);
  expect(textOf(await result)).toBe('dropped');
  expect(await other.state.questions()).toEqual([]);
  expect(textOf(await second.call('notes__drop'))).toContain('you have made 4 calls in this day');
  expect(await other.state.removeCaller('ann')).toBe(true);
  expect(await one.state.login(login)).toBeUndefined();
  expect(await other.state.removeCaller('ann')).toBe(false);
  await expect(connect('SDK v1', one.url, token)).rejects.toThrow('Invalid token');
});

test('the logins of callers end with them', async () => {
  const state = await openGatewayState((await startRedis()).url);
  atEnd(() => state.close());
  await expectLoginsOfKnownCallers(state);
});

test('a question is taken out of the state once, with its answer', async () => {
  const { url } = await startRedis();
  const state = await openGatewayState(url);
  atEnd(() => state.close());
  const now = Date.now();
  const question = (id: string, askedAt: number) => ({
    ...{ id, caller: 'ann', tool: 'drop', capability: 'delete', arguments: {}, changed: false, hash: 'h' },
    ...{ askedAt, expiresAt: now + 60_000 },
  });
  await state.ask(question('open', now - 2));
  await state.ask(question('answered', now - 1));
  const given = { answer: { allow: true }, by: 'chief' } as const;
  await state.answer('answered', given);
  expect((await state.asked()).map(({ id }) => id)).toEqual(['open', 'answered']);
  expect((await state.questions()).map(({ id }) => id)).toEqual(['open']);
  expect(await Promise.all([state.take('answered'), state.take('answered')])).toEqual([{ given }, undefined]);
  expect(await state.take('open')).toEqual({});
  expect(await state.asked()).toEqual([]);
});

test('a Redis that cannot be reached is named without its password; one that is lost refuses requests and comes back', async () => {
  const port = await freePort();
  const nowhere = openGatewayState(`redis://:secret@127.0.0.1:${port}`);
  await expect(nowhere).rejects.toThrow(new RegExp(`^Redis at 127.0.0.1:${port} cannot be reached: (?!.*secret)`));
  const { url, redis } = await startRedis();
  const state = await openGatewayState(url);
  atEnd(() => state.close());
  const token = await state.addCaller('ann', { profile: 'reader' });
  redis.kill('SIGKILL');
  await once(redis, 'exit');
  await expect(state.callerWith(token)).rejects.toThrow();
  const again = spawn('redis-server', ['--port', new URL(url).port, '--save', ''], { stdio: 'ignore' });
  atEnd(async () => {
    again.kill('SIGTERM');
    await once(again, 'exit');
  });
  await expect.poll(() => state.callers().catch(() => 'lost'), { timeout: 30_000 }).toEqual([]);
});
