// The studio as its page uses it: chats, questions, the stream of what happens, and who may ask at all.
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { openStudio } from '../src/index.ts';
import { Journal } from '../src/state/journal.ts';
import type { ChatInfo, Line, ModelCallDetails, ToolList } from '../src/wire/wire.ts';
import { type Client, hasEnded, isEvent, isQuestion, makeShop, refundCall, startStudio } from './world.ts';

function questionIn(lines: readonly Line[]) {
  const line = lines.findLast((each) => each.type === 'question');
  if (line?.type !== 'question' || line.question.kind !== 'approval') throw new Error('There is no question.');
  return line.question;
}

async function askedForRefund(client: Client) {
  const chat = await client.chat('shop', 'Refund order 17');
  return { chat, question: questionIn(await client.lines(isQuestion)) };
}

test('a message runs the agent, and the stream tells each step, call and answer', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Order 17 was refunded.'], { access: { confirm: 'never' } });
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'Refund order 17');
  const lines = await client.lines(hasEnded);
  const events = lines.flatMap((line) => (line.type === 'event' ? [line.event.type] : []));
  expect(events).toEqual(expect.arrayContaining(['run_started', 'step_started', 'tool_call', 'tool_result', 'audit']));
  expect(events.at(-1)).toBe('run_finished');
  expect(refunds).toEqual([{ id: 17, eur: 40 }]);
  expect(agent.messages).toEqual([]); // the chat has a history of its own
});

test('a call that needs approval waits for an answer', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Done.']);
  const client = await startStudio({ shop: agent });
  const { question } = await askedForRefund(client);
  expect(question).toMatchObject({
    tool: 'refund',
    capability: 'delete',
    arguments: { id: 17, eur: 40 },
    path: ['shop'],
  });
  expect(refunds).toEqual([]);
  await client.post(`/api/questions/${question.id}`, { allow: true });
  await client.lines(isEvent('run_finished'));
  expect(refunds).toEqual([{ id: 17, eur: 40 }]);
});

test('the arguments can be changed before the call is allowed', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Done.']);
  const client = await startStudio({ shop: agent });
  const { question } = await askedForRefund(client);
  await client.post(`/api/questions/${question.id}`, { allow: { id: 17, eur: 4 } });
  await client.lines(isEvent('run_finished'));
  expect(refunds).toEqual([{ id: 17, eur: 4 }]);
});

test('a denied call is not made, and the model reads the reason', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Then I will not.']);
  const client = await startStudio({ shop: agent });
  const { question } = await askedForRefund(client);
  await client.post(`/api/questions/${question.id}`, { deny: 'ask accounting first' });
  const lines = await client.lines(isEvent('run_finished'));
  expect(refunds).toEqual([]);
  expect(JSON.stringify(lines.filter(isEvent('tool_result')))).toContain('ask accounting first');
});

test('the first of two answers counts', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Done.']);
  const client = await startStudio({ shop: agent });
  const { question } = await askedForRefund(client);
  await client.post(`/api/questions/${question.id}`, { deny: '' });
  await expect(client.post(`/api/questions/${question.id}`, { allow: true })).rejects.toThrow('409');
  await client.lines(isEvent('run_finished'));
  expect(refunds).toEqual([]);
});

test('a stopped run withdraws its question', async () => {
  const { agent } = makeShop([refundCall]);
  const client = await startStudio({ shop: agent });
  const { chat, question } = await askedForRefund(client);
  await client.post(`/api/chats/${chat.id}/stop`, {});
  const lines = await client.lines(hasEnded);
  expect(lines).toContainEqual(expect.objectContaining({ type: 'question_closed', questionId: question.id }));
  const next = await client.lines((line) => line.type === 'snapshot');
  expect(next[0]).toMatchObject({ questions: [], chats: [{ isRunning: false }] });
});

test('a page that loses the connection at any line gets each later line once', async () => {
  const { agent } = makeShop([refundCall, 'Order 17 was refunded.'], { access: { confirm: 'never' } });
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'Refund order 17');
  const all = (await client.lines(hasEnded)).slice(1);
  for (const [index, { seq }] of all.slice(0, -1).entries()) {
    const [snapshot, ...rest] = await client.lines(hasEnded, seq);
    expect(snapshot).toMatchObject({ type: 'snapshot', isReset: false, seq });
    expect(rest).toEqual(all.slice(index + 1));
  }
});

test('fifty pages follow one agent', async () => {
  const { agent } = makeShop(['One answer for all.']);
  const client = await startStudio({ shop: agent });
  const pages = Array.from({ length: 50 }, () => client.lines(hasEnded));
  await client.chat('shop', 'Hello');
  const seen = await Promise.all(pages);
  for (const lines of seen)
    expect(lines.filter(isEvent('run_finished'))).toEqual([
      expect.objectContaining({
        event: expect.objectContaining({ data: expect.objectContaining({ answer: 'One answer for all.' }) }),
      }),
    ]);
});

test('what was streamed is dropped once the message is whole', async () => {
  const { agent } = makeShop(['A long answer in many parts.']);
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'Hello');
  await client.lines(hasEnded);
  const late = await client.lines(hasEnded);
  expect(late.filter(isEvent('text_delta'))).toEqual([]);
  expect(JSON.stringify(late.filter(isEvent('new_message')))).toContain('A long answer in many parts.');
});

test('a journal that is full forgets its oldest lines, and says so to pages that miss them', async () => {
  const journal = new Journal(1_000);
  for (let index = 0; index < 100; index++) journal.add({ type: 'problem', chatId: 'a', text: `problem ${index}` });
  expect([journal.hasLost(0), journal.hasLost(99), journal.hasLost(101)]).toEqual([true, false, true]);
  const leaving = new AbortController();
  const kept: string[] = [];
  for await (const batch of journal.follow(0, leaving.signal)) {
    kept.push(...batch);
    leaving.abort();
  }
  expect(kept.length).toBeLessThan(20);
  expect(kept.at(-1)).toContain('problem 99');
});

test('a branch goes on from an earlier message', async () => {
  const { agent } = makeShop(['First answer.', 'Second answer.', 'Another second answer.']);
  const client = await startStudio({ shop: agent });
  const chat = await client.chat('shop', 'First question');
  await client.lines(hasEnded);
  await client.post(`/api/chats/${chat.id}/messages`, { text: 'Second question' });
  await client.lines((line) => isEvent('run_finished')(line) && JSON.stringify(line).includes('Second answer.'));
  const branch = await client.post<ChatInfo>('/api/chats', { agent: 'shop', from: { chatId: chat.id, count: 2 } });
  await client.post(`/api/chats/${branch.id}/messages`, { text: 'A better question' });
  const lines = await client.lines((line) => isEvent('run_finished')(line) && JSON.stringify(line).includes('Another'));
  const history = lines.find((line) => line.type === 'history');
  expect(history).toMatchObject({ chatId: branch.id, messages: [{ role: 'user' }, { role: 'assistant' }] });
});

test('a request to the model can be read exactly as it was sent, with its answer', async () => {
  const { agent } = makeShop(['Hello.'], { systemPrompt: 'Be brief.' });
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'Hi');
  const call = (await client.lines(hasEnded)).findLast((line) => line.type === 'model_call');
  const id = call?.type === 'model_call' ? call.call.id : '';
  const details = (await (await client.fetch(`/api/calls/${id}`)).json()) as ModelCallDetails;
  expect(details.prompt).toMatchObject([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
  ]);
  expect(details.tools).toMatchObject([{ name: 'refund' }]);
  expect(details.answer).toMatchObject({ content: [{ type: 'text', text: 'Hello.' }] });
});

test('tools are listed with their capability and schema', async () => {
  const { agent } = makeShop([]);
  const client = await startStudio({ shop: agent });
  const list = (await (await client.fetch('/api/agents/shop/tools')).json()) as ToolList;
  expect(list.tools).toMatchObject([{ name: 'refund', capability: 'delete', inputSchema: { required: ['id'] } }]);
});

test('a tool called from its form passes the same rules as in a run', async () => {
  const { agent, refunds } = makeShop([]);
  const client = await startStudio({ shop: agent });
  await client.post('/api/agents/shop/tools/refund', { arguments: { id: 3 } });
  const question = questionIn(await client.lines(isQuestion));
  expect(refunds).toEqual([]);
  await client.post(`/api/questions/${question.id}`, { allow: true });
  const lines = await client.lines(hasEnded);
  expect(refunds).toEqual([{ id: 3 }]);
  expect(lines.filter(isEvent('audit'))).toHaveLength(1);
});

test('a tool is called from its form also for an agent with a budget in dollars', async () => {
  const llmModel = new ScriptedModel([], { modelId: 'priced' });
  const prices = { priced: { input: 1, output: 1 } };
  const access = { confirm: 'never' as const };
  const { agent, refunds } = makeShop([], { llmModel, limits: { maxCostUsd: 1 }, prices, access });
  const client = await startStudio({ shop: agent });
  await client.post('/api/agents/shop/tools/refund', { arguments: { id: 17 } });
  await client.lines(isEvent('run_finished'));
  expect(refunds).toEqual([{ id: 17 }]);
});

test('a model that is chosen while a tool is called from its form answers the next message, not the call', async () => {
  const { agent, refunds } = makeShop([]);
  const client = await startStudio({ shop: agent });
  const { id } = await client.post<ChatInfo>('/api/agents/shop/tools/refund', { arguments: { id: 3 } });
  const question = questionIn(await client.lines(isQuestion));
  const modelsOf = (lines: readonly Line[]) =>
    new Set(lines.flatMap((line) => (line.type === 'model_call' ? [line.call.model] : [])));
  await client.post(`/api/chats/${id}/settings`, { model: 'demo' });
  await client.post(`/api/questions/${question.id}`, { allow: true });
  const called = await client.lines(hasEnded);
  expect(refunds).toEqual([{ id: 3 }]);
  expect([...modelsOf(called)]).not.toContainEqual(expect.stringContaining('demo'));
  await client.post(`/api/chats/${id}/messages`, { text: 'What is 2 + 2?' });
  const after = called.at(-1)?.seq ?? 0;
  const answered = await client.lines(hasEnded, after);
  expect([...modelsOf(answered)]).toEqual([expect.stringContaining('demo')]);
});

test('a profile that is chosen for a chat narrows what the agent may do', async () => {
  const { agent, refunds } = makeShop([refundCall, 'I may not.']);
  const client = await startStudio({ shop: agent });
  const chat = await client.post<ChatInfo>('/api/chats', { agent: 'shop' });
  await client.post(`/api/chats/${chat.id}/settings`, { profile: 'reader' });
  await client.post(`/api/chats/${chat.id}/messages`, { text: 'Refund order 17' });
  await client.lines(isEvent('run_finished'));
  expect(refunds).toEqual([]);
});

test('another model answers from the next message on', async () => {
  const { agent } = makeShop(['From the script.']);
  const client = await startStudio({ shop: agent });
  const chat = await client.chat('shop', 'Hi');
  await client.lines(hasEnded);
  await expect(client.post(`/api/chats/${chat.id}/settings`, { model: 'unknown/model' })).rejects.toThrow('unknown');
  await client.post(`/api/chats/${chat.id}/settings`, { model: 'demo' });
  await client.post(`/api/chats/${chat.id}/messages`, { text: 'What is 2 + 2?' });
  const lines = await client.lines((line) => line.type === 'model_call' && line.call.model.includes('demo'));
  expect(lines.length).toBeGreaterThan(0);
});

test('a run that fails says why', async () => {
  const { agent } = makeShop([]);
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'Hi');
  const lines = await client.lines(hasEnded);
  expect(lines.filter(isEvent('run_failed'))).toHaveLength(1);
});

test.each([
  ['an empty message', 'messages', { text: ' ' }, '400'],
  ['no text', 'messages', {}, '400'],
])('%s is refused', async (_what, path, body, status) => {
  const { agent } = makeShop([]);
  const client = await startStudio({ shop: agent });
  const { id } = await client.post<ChatInfo>('/api/chats', { agent: 'shop' });
  await expect(client.post(`/api/chats/${id}/${path}`, body)).rejects.toThrow(status);
});

test('a second message has to wait for the end of the run', async () => {
  const { agent } = makeShop([refundCall, 'Done.']);
  const client = await startStudio({ shop: agent });
  const { chat } = await askedForRefund(client);
  await expect(client.post(`/api/chats/${chat.id}/messages`, { text: 'And order 18' })).rejects.toThrow('409');
});

test('unknown chats, agents and questions are named as such', async () => {
  const { agent } = makeShop([]);
  const client = await startStudio({ shop: agent });
  await expect(client.post('/api/chats', { agent: 'billing' })).rejects.toThrow('There is no agent "billing"');
  await expect(client.post('/api/chats/none/messages', { text: 'Hi' })).rejects.toThrow('404');
  await expect(client.post('/api/questions/none', { allow: true })).rejects.toThrow('409');
  expect((await client.fetch('/api/nothing')).status).toBe(404);
});

test('a request without the token is refused', async () => {
  const { agent } = makeShop([]);
  const client = await startStudio({ shop: agent });
  for (const authorization of ['', 'Bearer', 'Bearer x', `Basic ${client.token}`, `Bearer ${client.token}x`])
    expect((await client.fetch('/api/events', { headers: { authorization } })).status).toBe(401);
});

test('pages of other origins, and names that were rebound to this machine, are refused', async () => {
  const { agent } = makeShop([]);
  const client = await startStudio({ shop: agent });
  expect((await client.fetch('/api/events', { headers: { origin: 'https://evil.example' } })).status).toBe(403);
  expect((await client.fetch('/', { headers: { origin: 'https://evil.example' } })).status).toBe(403);
});

test('the page may not load or run anything from elsewhere', async () => {
  const { agent } = makeShop([]);
  const client = await startStudio({ shop: agent });
  const { headers } = await fetch(client.origin);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toContain('unsafe');
  expect(policy).toContain("frame-ancestors 'none'");
});

test.each([
  [{ agents: {} }, 'needs an agent'],
  [{ agents: { shop: 'shop' } }, 'agents.shop'],
  [{ agents: {}, prot: 3 }, 'prot'],
])('openStudio(%j) is refused', async (options, message) => {
  await expect(openStudio(options as unknown as Parameters<typeof openStudio>[0])).rejects.toThrow(message);
});

test('closing the studio stops its runs and leaves the agents open', async () => {
  const { agent } = makeShop([refundCall, 'Still here.']);
  const client = await startStudio({ shop: agent });
  await askedForRefund(client);
  await client.close();
  expect(await agent.run('Hello', { approve: () => 'deny' })).toBe('Still here.');
  expect(agent).toBeInstanceOf(PocketAgent);
});
