import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Price } from '../../src/index.ts';
import { cardOf, rpcServer } from '../fixtures/local-server.ts';
import {
  alice,
  altered,
  connect,
  connectTo,
  eras,
  keptLog,
  open,
  startHub,
  temporaryFolder,
} from '../fixtures/mcp-setup.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

test.each(eras)('%s: an agent is registered, found, shown, called and rated', async (era) => {
  const { card, messageIds } = await startSdkAgent();
  const { call } = await connect({ agent3: await open(), era });

  const { data: agent } = await call('agent3_register', { card, tags: ['parrot'] });
  const { data: found } = await call('agent3_search', { query: 'say it again' });
  expect(found).toMatchObject({ totalFound: 1, agents: [{ id: agent.id, name: 'Echo', tags: ['parrot'] }] });
  expect((await call('agent3_select', { agentId: agent.id })).data).toMatchObject({ owner: 'local', version: '1' });
  expect((await call('agent3_invoke', { agentId: agent.id })).data).toMatchObject({
    card: { name: 'Echo' },
    authentication: { required: false },
  });

  const { data: answer, text, isError } = await call('agent3_call', { agentId: agent.id, message: 'hello' });
  expect(answer).toMatchObject({ success: true, result: { untrusted: true, text: 'you said: hello' } });
  expect(JSON.parse(text)).toEqual(answer);
  expect(isError).toBe(false);
  expect(messageIds).toHaveLength(1);

  const rating = { agentId: agent.id, rating: 5, feedback: 'prompt and exact' };
  expect((await call('agent3_feedback', rating)).data).toMatchObject({ success: true, reputation: 5 });
  expect(await call('agent3_feedback', rating)).toMatchObject({
    isError: true,
    text: expect.stringContaining('once'),
  });
  expect((await call('agent3_health')).data).toMatchObject({ status: 'healthy', network: { totalFeedback: 1 } });
  expect((await call('agent3_guide')).text).toContain('agent3_search');
});

test("ratings of one's own agent no longer count once others use the registry through a hub", async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { call } = await connect({ agent3 });
  const { data: agent } = await call('agent3_register', { card });
  const hub = await startHub({ agent3 });
  await (await connectTo(hub, 'bob')).call('agent3_call', { agentId: agent.id, message: 'hello' });
  await call('agent3_call', { agentId: agent.id, message: 'hello' });
  const { data } = await call('agent3_feedback', { agentId: agent.id, rating: 5, feedback: 'the best' });
  expect(data.message).toContain('only ratings by others count');
  expect((await call('agent3_select', { agentId: agent.id })).data).toMatchObject({ totalReviews: 0 });
});

test('every tool declares its capability and its schema', async () => {
  const { client } = await connect({ agent3: await open() });
  const { tools } = await client.listTools();
  expect(Object.fromEntries(tools.map(({ name, _meta }) => [name, _meta?.capability]))).toEqual({
    agent3_search: 'read',
    agent3_select: 'read',
    agent3_invoke: 'read',
    agent3_call: 'write',
    agent3_call_batch: 'write',
    agent3_task: 'write',
    agent3_feedback: 'write',
    agent3_register: 'create',
    agent3_health: 'read',
    agent3_guide: 'read',
  });
  for (const { annotations, inputSchema, description } of tools) {
    expect(annotations).toHaveProperty('readOnlyHint');
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(description).toBeTruthy();
  }
});

test.each(eras)('%s: streamed text becomes progress, and an abort cancels the call at the agent', async (era) => {
  const { card, canceled } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card }, alice);
  const { call } = await connect({ agent3, era });
  const updates: unknown[] = [];
  const abort = new AbortController();
  const started = call(
    'agent3_call',
    { agentId, message: 'wait' },
    {
      signal: abort.signal,
      onprogress: ({ message }) => {
        updates.push(message);
        if (message?.includes('still at it')) abort.abort();
      },
    },
  );
  await expect(started).rejects.toThrow();
  await expect.poll(() => canceled.length).toBe(1);
  expect(updates.join()).toContain('still at it');
});

test('a question of an agent is answered through its task, which other callers cannot see', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card }, alice);
  const { call } = await connect({ agent3 });
  const { data: asked } = await call('agent3_call', { agentId, message: 'ask' });
  expect(asked.task).toMatchObject({ state: 'input-required', question: 'Which size?' });
  const { taskHandle } = asked.task;
  expect(await call('agent3_task', { action: 'reply', taskHandle })).toMatchObject({
    isError: true,
    text: expect.stringContaining('needs "message"'),
  });
  const { data: done } = await call('agent3_task', { action: 'reply', taskHandle, message: 'task' });
  expect(done).toMatchObject({ success: true, result: { text: expect.stringContaining('one two three') } });

  const stranger = await connect({ agent3, callerOf: () => ({ id: 'stranger' }) });
  expect((await stranger.call('agent3_task', { action: 'get', taskHandle })).data.errorCode).toBe('TASK_UNKNOWN');
});

test('several agents are called in parallel, and an unknown one fails alone', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card }, alice);
  const { call } = await connect({ agent3 });
  const calls = [
    { agentId, message: 'first' },
    { agentId: 'unknown', message: 'x' },
    { agentId, message: 'third' },
  ];
  const { data } = await call('agent3_call_batch', { calls });
  expect(data.results).toMatchObject([
    { success: true, result: { text: 'you said: first' } },
    { success: false, errorCode: 'AGENT_UNKNOWN' },
    { success: true, result: { text: 'you said: third' } },
  ]);
});

const perCall = (amount: number): Price => ({ perCall: amount, currency: 'USD' });

test.each(eras)('%s: a model cannot agree to a payment with its arguments', async (era) => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: perCall(0.02) }, alice);
  const { call } = await connect({ agent3, era });
  for (const metadata of [{}, { maxCost: 0.05 }, { agreedPrice: { perCall: 0.02 } }]) {
    const calling = { agentId, message: 'hi', metadata };
    for (const [tool, args] of [
      ['agent3_call', calling],
      ['agent3_call_batch', { calls: [calling] }],
    ] as const) {
      const { isError, text } = await call(tool, args);
      expect(isError).toBe(true);
      expect(text).toContain('Echo charges $0.02 a call. A person must agree to that');
      expect(text).toContain('sets AGENT3_DOLLARS_PER_CALL (for example 0.05) and AGENT3_DOLLARS_PER_DAY');
    }
  }
  expect(messageIds).toEqual([]);
});

test('a person is asked even if the model gives maxCost, which still limits the call', async () => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: perCall(0.02) }, alice);
  const questions: string[] = [];
  const { call } = await connect({
    agent3,
    elicit: (question) => {
      questions.push(question);
      return true;
    },
  });
  const ask = async (maxCost: number) =>
    (await call('agent3_call', { agentId, message: 'hi', metadata: { maxCost } })).data;
  expect(await ask(0.01)).toMatchObject({ errorCode: 'BUDGET', error: expect.stringContaining('maxCost') });
  expect(messageIds).toEqual([]);
  expect(await ask(0.05)).toMatchObject({ success: true, metadata: { cost: 0.02 } });
  expect(questions).toEqual([expect.stringContaining('at most $0.01'), expect.stringContaining('at most $0.05')]);
});

test.each<[string, Price]>([
  ['by the call', perCall(0.02)],
  ['by the minute', { perMinute: 0.04, currency: 'USD' }],
  ['by the token', { perToken: 0.0001, currency: 'USD' }],
  ['by the call and the token', { perCall: 0.02, perToken: 0.0001, currency: 'USD' }],
])(
  'within the spending limit a person has set, an agent that charges %s is called without a question',
  async (_case, price) => {
    const { card, messageIds } = await startSdkAgent();
    const agent3 = await open();
    const { id: agentId } = await agent3.register({ card, price }, alice);
    const limited = (limit: number) =>
      connect({ agent3, spendingLimit: ({ id }) => (id === 'local' ? limit : undefined) });
    const refused = await (await limited(0.01)).call('agent3_call', {
      agentId,
      message: 'hi',
      metadata: { maxCost: 9 },
    });
    if (price.perCall || price.perMinute) {
      expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('The limit is $0.01 per call') });
      expect(messageIds).toEqual([]);
    }
    const { call } = await limited(0.05);
    const { data } = await call('agent3_call', { agentId, message: 'hi', metadata: { maxCost: 9 } });
    expect(data.success).toBe(true);
    expect(data.metadata.cost).toBeGreaterThan(0);
    expect(data.metadata.cost).toBeLessThanOrEqual(0.05);
    const lowered = await call('agent3_call', { agentId, message: 'hi', metadata: { maxCost: 0.000001 } });
    expect(lowered.data).toMatchObject({ errorCode: 'BUDGET' });
    const stranger = await connect({
      agent3,
      spendingLimit: ({ id }) => (id === 'local' ? 1 : undefined),
      callerOf: () => ({ id: 'bob' }),
    });
    expect(await stranger.call('agent3_call', { agentId, message: 'hi' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('AGENT3_DOLLARS_PER_CALL (for example bob=0.05)'),
    });
  },
);

test.each(eras)('%s: the person limits the cost of an agent that charges by the token', async (era) => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: { perToken: 0.01, currency: 'USD' } }, alice);
  let most = 0.001;
  const { call } = await connect({ agent3, era, elicit: () => ({ approve: true, maxCost: most }) });
  const { data: refused } = await call('agent3_call', { agentId, message: 'hello', metadata: { maxCost: 5 } });
  expect(refused).toMatchObject({ errorCode: 'BUDGET', error: expect.stringContaining('maxCost $0.001') });
  expect(messageIds).toEqual([]);
  most = 1;
  const { data } = await call('agent3_call', { agentId, message: 'hello' });
  expect(data).toMatchObject({ success: true, metadata: { tokensUsed: 6, tokensEstimated: true, cost: 0.06 } });
});

test('a model cannot make a call free by registering its agent with a lower price', async () => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const { call } = await connect({ agent3 });
  const { data: agent } = await call('agent3_register', { card, price: { perCall: 0.02 } });
  for (const price of [{ perCall: 0 }, { perMinute: 0.01 }, { perCall: 0.02, currency: 'EUR' }])
    expect(await call('agent3_register', { card, price })).toMatchObject({
      isError: true,
      text: expect.stringContaining('Only a person may lower the price of an agent'),
    });
  expect((await call('agent3_register', { card, price: { perCall: 0.03 } })).data.price.perCall).toBe(0.03);
  expect((await call('agent3_register', { card, tags: ['parrot'] })).data.price.perCall).toBe(0.03);
  expect((await call('agent3_call', { agentId: agent.id, message: 'hi' })).isError).toBe(true);
  expect(messageIds).toEqual([]);
});

test.each<[string, (url: string) => { name: string; url: string }]>([
  ['under another name', (url) => ({ name: 'Other', url })],
  ['with a parameter', (url) => ({ name: 'Echo', url: `${url}?free=1` })],
  ['with a slash', (url) => ({ name: 'Echo', url: `${url.replace(/\/$/, '')}//` })],
])('a model cannot make a call free by registering its agent a second time %s', async (_case, second) => {
  const { card, url, messageIds } = await startSdkAgent();
  const agent3 = await open();
  await agent3.register({ card, price: perCall(0.02) }, alice);
  const { call } = await connect({ agent3 });
  const { name, url: address } = second(url);
  const copy = { ...cardOf(address), name };
  expect(await call('agent3_register', { card: copy, price: { perCall: 0 } })).toMatchObject({
    isError: true,
    text: expect.stringContaining('Only a person may lower the price of an agent ($0.02 a call)'),
  });
  const { data: agent } = await call('agent3_register', { card: copy });
  expect(agent.price).toEqual(perCall(0.02));
  expect((await call('agent3_call', { agentId: agent.id, message: 'hi' })).text).toContain('charges $0.02 a call');
  expect(messageIds).toEqual([]);
  await agent3.register({ card: copy, price: perCall(0) }, { id: 'local' });
  expect((await call('agent3_call', { agentId: agent.id, message: 'hi' })).data).toMatchObject({ success: true });
});

test('an earlier record gets the price its owner registers later, not that of another owner', async () => {
  const { card } = await startSdkAgent();
  let now = Date.now();
  const agent3 = await open({ now: () => now++ });
  const { id } = await agent3.register({ card }, alice);
  await agent3.register({ card: { ...card, name: 'Expensive' }, price: perCall(500) }, { id: 'mallory' });
  expect((await agent3.select(id)).price).toBeUndefined();
  await agent3.register({ card: { ...card, name: 'Second' }, price: perCall(0.02) }, alice);
  expect((await agent3.select(id)).price).toEqual(perCall(0.02));
});

test.each(eras)('%s: the question names the files and the length of the message', async (era) => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: perCall(0.02) }, alice);
  const questions: string[] = [];
  const { call } = await connect({ agent3, era, elicit: (question) => questions.push(question) < 0 });
  const file = (name: string, content: string) => ({
    name,
    mediaType: 'text/plain',
    base64: Buffer.from(content).toString('base64'),
  });
  const files = [file('notes.txt', '123456'), file('keys\n.txt', '123')];
  await call('agent3_call', { agentId, message: 'x'.repeat(2_000), files });
  expect(questions).toEqual([
    expect.stringMatching(
      /: x{500}… \(2000 characters in all\)\n {2}with the files "notes.txt" \(text\/plain, 6 bytes\), "keys .txt" \(text\/plain, 3 bytes\)$/,
    ),
  ]);
});

test('the question names the timeout of an agent that charges by the minute, and its task ends then', async () => {
  const { card, canceled } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: { perMinute: 6, currency: 'USD' } }, alice);
  const questions: string[] = [];
  const { call } = await connect({ agent3, elicit: (question) => questions.push(question) > 0 });
  const { data } = await call('agent3_call', { agentId, message: 'wait', metadata: { timeout: 2_000 } });
  expect(data).toMatchObject({ errorCode: 'TIMEOUT', metadata: { cost: 0.2 } });
  expect(canceled).toHaveLength(1);
  await call('agent3_call', { agentId, message: 'ask', mode: 'start' });
  expect(questions).toEqual([
    expect.stringContaining('$6 a minute (at most 2 s), at most $0.2: wait'),
    expect.stringContaining('$6 a minute (as long as its task takes): ask'),
  ]);
});

test('the question names the timeout of an agent that charges by the minute and by the token', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const price = { perMinute: 6, perToken: 0.001, currency: 'USD' };
  const { id: agentId } = await agent3.register({ card, price }, alice);
  const questions: string[] = [];
  const { call } = await connect({ agent3, elicit: (question) => questions.push(question) < 0 });
  await call('agent3_call', { agentId, message: 'hello', metadata: { timeout: 500 } });
  expect(questions).toEqual([expect.stringContaining('$6 a minute, $0.001 a token (at most 0.5 s): hello')]);
});

test.each(eras)('%s: a person is asked before a paid call, and their answer decides', async (era) => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const price = { perCall: 0.02, currency: 'USD' };
  const { id: agentId } = await agent3.register({ card, price }, alice);
  const questions: string[] = [];
  const { call } = await connect({
    agent3,
    era,
    elicit: (question) => {
      questions.push(question);
      return question.includes('please');
    },
  });
  const refused = await call('agent3_call', { agentId, message: 'now' });
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('the user declined') });
  expect(messageIds).toEqual([]);
  expect((await call('agent3_call', { agentId, message: 'please' })).data).toMatchObject({ success: true });
  expect(questions[1]).toContain('$0.02 a call');
});

test.each(eras)('%s: a dismissed question is neither approval nor refusal', async (era) => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: { perCall: 0.02, currency: 'USD' } }, alice);
  const { call } = await connect({ agent3, era, elicit: () => undefined });
  const refused = await call('agent3_call', { agentId, message: 'now' });
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('without an answer') });
  expect(messageIds).toEqual([]);
});

test.each(eras)('%s: an approval covers one price: with a higher one the person is asked again', async (era) => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const price = (perCall: number) => agent3.register({ card, price: { perCall, currency: 'USD' } }, alice);
  const { id: agentId } = await price(0.01);
  const questions: string[] = [];
  const { call } = await connect({
    agent3,
    era,
    elicit: async (question) => {
      questions.push(question);
      await price(1_234.5678);
      return questions.length !== 2;
    },
  });
  const refused = await call('agent3_call', { agentId, message: 'hello' });
  expect(questions).toEqual([expect.stringContaining('$0.01 a call'), expect.stringContaining('$1,234.5678 a call')]);
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('the user declined') });
  expect(messageIds).toEqual([]);
  const { data } = await call('agent3_call', { agentId, message: 'hello' });
  expect(data).toMatchObject({ success: true, metadata: { cost: 1_234.5678 } });
});

test.each<[string, Price, Price]>([
  ['more a call', { perCall: 0.01, currency: 'USD' }, { perCall: 500, currency: 'USD' }],
  ['more a token', { perToken: 0.01, currency: 'USD' }, { perToken: 0.02, currency: 'USD' }],
  ['by the minute as well', { perCall: 1, currency: 'USD' }, { perCall: 1, perMinute: 9, currency: 'USD' }],
  ['other money', { perCall: 1, currency: 'USD' }, { perCall: 1, currency: 'EUR' }],
  ['money, which it did not', { perCall: 0, currency: 'USD' }, { perCall: 500, currency: 'USD' }],
])('an agent that wants %s after the agreement is not called', async (_case, agreed, raised) => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const price = (wanted: Price) => agent3.register({ card, price: wanted }, alice);
  const { id: agentId } = await price(agreed);
  const { id: other } = await agent3.register({ card: { ...card, name: 'Other' }, price: perCall(0) }, alice);
  const raising = altered(agent3, {
    async call(request, caller, options) {
      await price(raised);
      return agent3.call(request, caller, options);
    },
  });
  const { call } = await connect({ agent3: raising, elicit: () => true });
  const refused = { success: false, errorCode: 'BUDGET', error: expect.stringContaining('the agreed price is') };
  expect((await call('agent3_call', { agentId, message: 'hello' })).data).toMatchObject(refused);
  expect(messageIds).toEqual([]);
  await price(agreed);
  const calls = [other, agentId].map((id) => ({ agentId: id, message: 'hello' }));
  expect((await call('agent3_call_batch', { calls })).data.results).toMatchObject([{ success: true }, refused]);
  expect(messageIds).toHaveLength(1);
  const steady = await connect({ agent3, elicit: () => true });
  const { results } = (await steady.call('agent3_call_batch', { calls })).data;
  expect(results).toMatchObject([{ success: true }, { success: true }]);
});

test('a reply is not sent for more than the agreed price', async () => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const price = (perCall: number) => agent3.register({ card, price: { perCall, currency: 'USD' } }, alice);
  const { id: agentId } = await price(0.01);
  const raising = altered(agent3, {
    async task(request, caller, options) {
      await price(500);
      return agent3.task(request, caller, options);
    },
  });
  const { call } = await connect({ agent3: raising, elicit: () => true });
  const { data: asked } = await call('agent3_call', { agentId, message: 'ask' });
  const reply = { action: 'reply', taskHandle: asked.task.taskHandle, message: 'large' };
  expect((await call('agent3_task', reply)).data).toMatchObject({ success: false, errorCode: 'BUDGET' });
  expect(messageIds).toHaveLength(1);
  const { data } = await call('agent3_task', reply);
  expect(data).toMatchObject({ success: true, metadata: { cost: 500 } });
});

test.each(['paid', 'always'] as const)(
  'with confirm "%s" an approval does not lift the limits of the caller',
  async (confirm) => {
    const { card, messageIds } = await startSdkAgent();
    const agent3 = await open();
    const { id: agentId } = await agent3.register({ card, price: { perCall: 1, currency: 'USD' } }, alice);
    const { call } = await connect({ agent3, confirm, elicit: () => true });
    const ask = async (agreedPrice?: Partial<Price>) =>
      (await call('agent3_call', { agentId, message: 'ask', metadata: { agreedPrice } })).data;
    const refused = { errorCode: 'BUDGET', error: expect.stringContaining('agreedPrice') };
    expect(await ask({ perCall: 0.01 })).toMatchObject(refused);
    for (const agreedPrice of [{ perCall: 1, currency: 'EUR' }, { perMinute: 1 }])
      expect(await ask(agreedPrice)).toMatchObject({ errorCode: 'BUDGET' });
    expect(messageIds).toEqual([]);
    const { taskHandle } = (await ask({ perCall: 1 })).task;
    const reply = { action: 'reply', taskHandle, message: 'large' };
    expect((await call('agent3_task', { ...reply, agreedPrice: { perCall: 0.01 } })).data).toMatchObject(refused);
    expect((await call('agent3_task', { ...reply, agreedPrice: { perCall: 1 } })).data).toMatchObject({
      success: true,
    });
  },
);

test('after a restart a person is asked about a reply to an agent that charges', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: perCall(1) }, alice);
  const first = await connect({ agent3, confirm: 'never' });
  const { data: asked } = await first.call('agent3_call', { agentId, message: 'ask' });
  const reply = { action: 'reply', taskHandle: asked.task.taskHandle, message: 'large' };
  const questions: string[] = [];
  const { call } = await connect({
    agent3,
    elicit: (question) => {
      questions.push(question);
      return true;
    },
  });
  expect((await call('agent3_task', reply)).data).toMatchObject({ success: true });
  expect(questions).toEqual([expect.stringContaining('$1 a call: large')]);
});

test('an agent that became cheaper than agreed is called', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const price = (perCall: number) => agent3.register({ card, price: { perCall, currency: 'USD' } }, alice);
  const { id: agentId } = await price(0.02);
  const lowered = altered(agent3, {
    async call(request, caller, options) {
      await price(0.01);
      return agent3.call(request, caller, options);
    },
  });
  const { call } = await connect({ agent3: lowered, elicit: () => true });
  const { data } = await call('agent3_call', { agentId, message: 'hello' });
  expect(data).toMatchObject({ success: true, metadata: { cost: 0.01 } });
});

test('with confirm "always" replies need consent, too; with "never" nothing does', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: { perCall: 1, currency: 'USD' } }, alice);
  const silent = await connect({ agent3, confirm: 'never' });
  const { data: asked } = await silent.call('agent3_call', { agentId, message: 'ask' });
  const { taskHandle } = asked.task;
  const careful = await connect({ agent3, confirm: 'always' });
  const reply = { action: 'reply', taskHandle, message: 'large' };
  expect(await careful.call('agent3_task', reply)).toMatchObject({
    isError: true,
    text: expect.stringContaining('must approve every call'),
  });
  expect((await careful.call('agent3_task', { action: 'get', taskHandle })).data.task.state).toBe('input-required');
  expect(await careful.call('agent3_call', { agentId, message: 'x' })).toMatchObject({ isError: true });
});

test('a reply to an agent that charges needs consent like a call, also after a restart', async () => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: perCall(1) }, alice);
  const free = await connect({ agent3, confirm: 'never' });
  const { data: asked } = await free.call('agent3_call', { agentId, message: 'ask' });
  const reply = { action: 'reply', taskHandle: asked.task.taskHandle, message: 'large' };
  const second = await connect({ agent3 });
  expect(await second.call('agent3_task', { ...reply, maxCost: 1 })).toMatchObject({
    isError: true,
    text: expect.stringContaining('AGENT3_DOLLARS_PER_CALL'),
  });
  expect(messageIds).toHaveLength(1);
  const limited = await connect({ agent3, spendingLimit: () => 1 });
  expect((await limited.call('agent3_task', { ...reply, maxCost: 0.5 })).data.errorCode).toBe('BUDGET');
  expect((await limited.call('agent3_task', { ...reply, maxCost: 1 })).data).toMatchObject({ success: true });
});

test('closing ends and records the running calls', async () => {
  const asked = Promise.withResolvers<void>();
  const url = await rpcServer(() => asked.resolve());
  const file = join(await temporaryFolder(), 'agent3.db');
  const closing = await open({ file });
  const { id: agentId } = await closing.register({ card: cardOf(url) }, alice);
  const calling = closing.call({ agentId, message: 'hello' }, alice);
  await asked.promise;
  await closing.close();
  expect(await calling).toMatchObject({ errorCode: 'CANCELED', receipt: expect.any(String) });
  const { total } = await (await open({ file })).statistics({
    since: 0,
    until: Date.now() + 1,
    bucketMs: 86_400_000_000,
  });
  expect(total.calls).toBe(1);
});

test('invalid arguments are refused before anything happens', async () => {
  const { call } = await connect({ agent3: await open() });
  const wrong: [string, object][] = [
    ['agent3_search', { query: 'x', limit: 51 }],
    ['agent3_call', { agentId: 'a', message: '' }],
    ['agent3_call', { agentId: 'a', message: 'x', metadata: { retries: 11 } }],
    ['agent3_feedback', { agentId: 'a', rating: 6, feedback: 'x' }],
    ['agent3_register', { cardUrl: 'http://127.0.0.1', card: {} }],
    ['agent3_register', {}],
    ['agent3_register', { cardUrl: 'file:///etc/passwd' }],
  ];
  for (const [name, args] of wrong) {
    const { isError } = await call(name, { ...args }).catch(() => ({ isError: true }));
    expect(isError, `${name} ${JSON.stringify(args)}`).toBe(true);
  }
  expect(await call('agent3_feedback', { agentId: 'a', rating: 3, feedback: 'x' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('call the agent first'),
  });
});

test('unexpected errors are logged, and their details are not returned', async () => {
  const { lines, logger } = keptLog();
  const agent3 = await open();
  const broken = altered(agent3, {
    search: () => Promise.reject(new Error('row 7 of table secrets')),
  });
  const { call } = await connect({ agent3: broken, logger });
  const { text } = await call('agent3_search', { query: 'x' });
  expect(text).toBe('Agent3 failed; its log says why.');
  expect(lines.join()).toContain('row 7 of table secrets');
});
