// Programs with an address for studios: what they do and ask is seen and answered in a studio that is attached to them.
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openRuns } from '@pocket-agent/runs';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { openStudioAddress, type StudioAddress } from '../src/index.ts';
import type { DurableList, DurableRunDetails, Line, ModelCallDetails, Question, Replay } from '../src/wire/wire.ts';
import { type Client, isEvent, isQuestion, makeShop, refundCall, startStudio } from './world.ts';

const token = 'the-token';

async function openAddress(address = '0', runs?: Awaited<ReturnType<typeof openRuns>>): Promise<StudioAddress> {
  const opened = await openStudioAddress({ address, token, ...(runs ? { runs } : {}) });
  onTestFinished(() => opened.close());
  return opened;
}

const attach = ({ url }: { url: string }) =>
  startStudio({ shop: makeShop([]).agent }, { attached: [{ url: new URL(url).origin, token }] });

async function asked(client: Client): Promise<Question> {
  const line = (await client.lines(isQuestion)).findLast(isQuestion);
  if (line?.type !== 'question') throw new Error('There is no question.');
  return line.question;
}

/** A bot with one conversation. */
function bot({ watch }: StudioAddress) {
  const watcher = watch({ id: 'thread-1', agent: 'helper' });
  const { agent, refunds } = makeShop([refundCall, 'Done.', 'Hello again.']);
  const ask = (text: string) => agent.run(text, watcher);
  return { ask, refunds };
}

test('a conversation of a bot is seen, and its approval answered', async () => {
  const address = await openAddress();
  const client = await attach(address);
  const { ask, refunds } = bot(address);
  const answer = ask('Refund order 17');
  const question = await asked(client);
  expect(question).toMatchObject({
    tool: 'refund',
    arguments: { id: 17, eur: 40 },
    program: new URL(address.url).host,
  });
  expect(refunds).toEqual([]);
  await client.post(`/api/questions/${question.id}`, { allow: { id: 18 } });
  expect(await answer).toBe('Done.');
  expect(refunds).toEqual([{ id: 18 }]);
  const lines = await client.lines(isEvent('run_finished'));
  const chat = lines.findLast((line) => line.type === 'chat');
  expect(chat).toMatchObject({ chat: { title: 'Refund order 17', agent: 'helper', isElsewhere: true } });
  expect(lines.filter((line) => isEvent('tool_result')(line))).toHaveLength(1);
});

test('a request of a bot to its model is read as it was sent, and asked again there', async () => {
  const address = await openAddress();
  const client = await attach(address);
  const { ask } = bot(address);
  const answer = ask('Refund order 17');
  const { id } = await asked(client);
  await client.post(`/api/questions/${id}`, { deny: '' });
  await answer;
  const calls = (await client.lines(isEvent('run_finished'))).flatMap((line) =>
    line.type === 'model_call' && line.call.endedAt !== undefined ? [line.call] : [],
  );
  expect(calls).toHaveLength(2);
  const path = `/api/calls/${encodeURIComponent(calls[0]?.id ?? '')}`;
  const details = (await (await client.fetch(path)).json()) as ModelCallDetails;
  expect(details.prompt).toContainEqual({ role: 'user', content: [{ type: 'text', text: 'Refund order 17' }] });
  expect(details.tools).toMatchObject([{ name: 'refund' }]);
  const replay = await client.post<Replay>(`${path}/replay`, {});
  expect(replay.answer).toMatchObject({ content: [{ text: 'Hello again.' }] });
  await expect(client.post(`/api/calls/${new URL(address.url).host}%20none/replay`, {})).rejects.toThrow(
    'no longer kept',
  );
});

test('the conversation is continued where it takes place, not in the studio', async () => {
  const address = await openAddress();
  const client = await attach(address);
  const { onEvent } = address.watch({ id: 'thread-1', agent: 'helper' });
  await makeShop(['Hello.']).agent.run('Hi', { onEvent });
  const isChat = (line: { type: string }) => line.type === 'chat';
  const line = (await client.lines(isChat)).findLast(isChat);
  const id = line?.type === 'chat' ? encodeURIComponent(line.chat.id) : '';
  await expect(client.post(`/api/chats/${id}/messages`, { text: 'More' })).rejects.toThrow('409');
});

test('a question that is answered where it was asked is withdrawn', async () => {
  const address = await openAddress();
  const client = await attach(address);
  const { watch } = address;
  const { approve } = watch({ id: 'thread-1', agent: 'helper' });
  const { agent } = makeShop([refundCall, 'Then not.']);
  const elsewhere = new AbortController();
  const answer = agent.run('Refund order 17', {
    approve: async (request) => {
      const signal = AbortSignal.any([request.signal, elsewhere.signal]);
      void approve({ ...request, signal });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { deny: 'asked in the chat' };
    },
  });
  const { id } = await asked(client);
  elsewhere.abort();
  expect(await answer).toBe('Then not.');
  await client.lines((line) => line.type === 'question_closed' && line.questionId === id);
  await expect(client.post(`/api/questions/${id}`, { allow: true })).rejects.toThrow('409');
});

test('a question whose answer did not arrive is asked again', async () => {
  const address = await openAddress();
  const target = new URL(address.url);
  let failing = 1;
  const proxy = createServer((request, response) => {
    if (request.method === 'POST' && failing-- > 0) return void response.writeHead(502).end('Bad gateway');
    const { url: path = '', method = '', headers } = request;
    const { hostname, port, host } = target;
    const forwarded = httpRequest({ hostname, port, path, method, headers: { ...headers, host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close().closeAllConnections());
  const client = await attach({ url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` });
  const { ask, refunds } = bot(address);
  const answer = ask('Refund order 17');
  const first = await asked(client);
  await client.post(`/api/questions/${first.id}`, { allow: true });
  const isNext = (line: Line) => line.type === 'question' && line.question.id !== first.id;
  const next = (await client.lines(isNext)).find(isNext);
  expect(refunds).toEqual([]);
  expect(next).toMatchObject({ question: { tool: 'refund', arguments: { id: 17, eur: 40 } } });
  const id = next?.type === 'question' ? next.question.id : '';
  await client.post(`/api/questions/${id}`, { allow: true });
  expect(await answer).toBe('Done.');
  expect(refunds).toHaveLength(1);
  await client.lines(isEvent('run_finished'));
  const [snapshot] = await client.lines(() => true);
  expect(snapshot).toMatchObject({ questions: [] });
});

test('the runs of a worker are listed, answered and cancelled without its database', async () => {
  const refund = tool({ name: 'refund', description: 'Refunds', run: () => 'refunded' });
  const script = [{ toolCalls: [{ name: 'refund', arguments: { id: 17 } }] }, 'Order 17 is refunded.'];
  const support = () =>
    new PocketAgent({ llmModel: new ScriptedModel(script), tools: [refund], access: { confirm: 'write' } });
  const runs = await openRuns({ url: 'sqlite::memory:', agents: { support } });
  onTestFinished(() => runs.close());
  const client = await attach(await openAddress('0', runs));
  await runs.start('support', 'Refund order 17', { id: 'order-17' });
  const question = await asked(client);
  expect(question).toMatchObject({ kind: 'approval', durableRun: 'order-17' });
  const read = async <Value>(path: string) => (await (await client.fetch(path)).json()) as Value;
  expect((await read<DurableList>('/api/durable')).runs).toMatchObject([{ id: 'order-17', status: 'waiting' }]);
  await client.post(`/api/questions/${question.id}`, { allow: true });
  expect(await runs.result('order-17')).toBe('Order 17 is refunded.');
  const { events } = await read<DurableRunDetails>('/api/durable/order-17');
  expect(events.at(-1)?.type).toBe('finished');
  await expect(client.post('/api/durable/order-17/cancel', {})).rejects.toThrow('over');
  expect((await client.fetch('/api/durable/none')).status).toBe(404);
});

test('a program that was started again is followed again, and its old conversations are gone', async () => {
  const first = await openStudioAddress({ address: '0', token });
  const { port } = new URL(first.url);
  const client = await attach(first);
  await makeShop(['Hello.']).agent.run('Before', { onEvent: first.watch({ id: 'one', agent: 'helper' }).onEvent });
  await client.lines(isEvent('run_finished'));
  await first.close();
  const second = await openAddress(`127.0.0.1:${port}`);
  await makeShop(['Hello.']).agent.run('After', { onEvent: second.watch({ id: 'two', agent: 'helper' }).onEvent });
  const isAfter = (line: object) => JSON.stringify(line).includes('"title":"After"');
  await client.lines(isAfter);
  const [snapshot] = await client.lines(() => true);
  expect(snapshot).toMatchObject({ type: 'snapshot', chats: [{ title: 'After' }] });
});

test('a program that is gone does not hide the runs of others, and nothing of it runs or asks any more', async () => {
  const script = [{ toolCalls: [{ name: 'refund', arguments: { id: 17 } }] }];
  const refund = tool({ name: 'refund', description: 'Refunds', run: () => 'refunded' });
  const support = () =>
    new PocketAgent({ llmModel: new ScriptedModel(script), tools: [refund], access: { confirm: 'write' } });
  const open = async () => {
    const runs = await openRuns({ url: 'sqlite::memory:', agents: { support } });
    onTestFinished(() => runs.close());
    return runs;
  };
  const [gone, alive] = [await open(), await open()];
  const bot = await openStudioAddress({ address: '0', token, runs: gone });
  const { onEvent } = bot.watch({ id: 'thread-1', agent: 'helper' });
  const worker = await openAddress('0', alive);
  const attached = [bot, worker].map(({ url }) => ({ url: new URL(url).origin, token }));
  const client = await startStudio({ shop: makeShop([]).agent }, { attached });
  await gone.start('support', 'Refund order 16', { id: 'order-16' });
  const { id } = await asked(client);
  await alive.start('support', 'Refund order 17', { id: 'order-17' });
  await client.lines((line) => isQuestion(line) && JSON.stringify(line).includes('order-17'));
  const stopped = Promise.withResolvers<string>();
  const wait = tool({ name: 'wait', description: 'Waits', run: () => stopped.promise });
  const calls = [{ toolCalls: [{ name: 'wait', arguments: {} }] }, 'Hello.'];
  const slow = new PocketAgent({ llmModel: new ScriptedModel(calls), tools: [wait] });
  onTestFinished(() => slow.close());
  const answer = slow.run('Hi', { onEvent });
  const isRunning = (is: boolean) => (line: Line) => line.type === 'chat' && line.chat.isRunning === is;
  const last = (await client.lines(isRunning(true))).at(-1)?.seq;
  await bot.close();
  await client.lines(isRunning(false), last);
  const [snapshot] = await client.lines(() => true);
  expect(snapshot).toMatchObject({
    chats: [{ title: 'Hi', isRunning: false }],
    questions: [{ durableRun: 'order-17' }],
  });
  await expect(client.post(`/api/questions/${id}`, { allow: true })).rejects.toThrow('409');
  const { host } = new URL(bot.url);
  const read = async <Value>(path: string) => (await (await client.fetch(path)).json()) as Value;
  expect(await read<DurableList>('/api/durable')).toMatchObject({
    runs: [{ id: 'order-17', status: 'waiting' }],
    problems: [expect.stringContaining(`The runs of ${host} cannot be reached: `)],
  });
  expect(await read('/api/durable/order-16')).toMatchObject({ error: expect.stringContaining(host) });
  await client.post('/api/durable/order-17/cancel', {});
  expect(await read('/api/durable/order-17')).toMatchObject({ status: 'cancelled' });
  stopped.resolve('waited');
  await answer;
});

test('a run older than those in the list is read and cancelled', async () => {
  const runs = await openRuns({ url: 'sqlite::memory:', agents: {} });
  onTestFinished(() => runs.close());
  const client = await attach(await openAddress('0', runs));
  await client.lines((line) => line.type === 'durable_runs' || (line.type === 'snapshot' && line.hasDurableRuns));
  const ids = Array.from({ length: 101 }, (_, n) => `order-${n}`);
  for (const id of ids) await runs.start('support', 'Refund', { id });
  const read = async <Value>(path: string) => (await (await client.fetch(path)).json()) as Value;
  const listed = (await read<DurableList>('/api/durable')).runs.map((run) => run.id);
  const [old = '', ...others] = ids.filter((id) => !listed.includes(id));
  expect(others).toEqual([]);
  expect(await read(`/api/durable/${old}`)).toMatchObject({ id: old, agent: 'support' });
  await client.post(`/api/durable/${old}/cancel`, {});
  expect(await read(`/api/durable/${old}`)).toMatchObject({ status: 'cancelled' });
  await expect(client.post(`/api/durable/${old}/cancel`, {})).rejects.toThrow('409 The run is over.');
});

test('without the token, or from a page or host of others, nothing is shown', async () => {
  const { url } = await openAddress();
  const { origin } = new URL(url);
  const status = async (headers: Record<string, string>) => (await fetch(`${origin}/api/events`, { headers })).status;
  const authorization = `Bearer ${token}`;
  expect(await status({})).toBe(401);
  expect(await status({ authorization: 'Bearer wrong' })).toBe(401);
  expect(await status({ authorization, origin: 'https://evil.example' })).toBe(403);
  expect(new URL(url).hostname).toBe('127.0.0.1');
});

test('a studio that has lost a program goes on without it', async () => {
  const client = await startStudio(
    { shop: makeShop(['Hello.']).agent },
    { attached: [{ url: 'http://127.0.0.1:9', token }] },
  );
  await client.chat('shop', 'Hi');
  await client.lines(isEvent('run_finished'));
});

test('an address with an IPv6 host is served, and its URL can be opened', async () => {
  const { url } = await openAddress('[::1]:0');
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+\/#token=/);
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(`${new URL(url).origin}/api/saved`, { headers })).status).toBe(200);
});

test.each(['', 'here', '127.0.0.1', '70000', '127.0.0.1:x', '::1', '::1:4100', '[::1]'])(
  'the address %j is refused',
  async (address) => {
    await expect(openStudioAddress({ address })).rejects.toThrow('a port or host:port');
  },
);
