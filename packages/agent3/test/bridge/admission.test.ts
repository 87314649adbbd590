import type { RequestListener, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { limitChecks } from '../../../schema/test/check-limit.ts';
import type { Price } from '../../src/base/agents.ts';
import type { CallErrorCode, CallRequest } from '../../src/base/calls.ts';
import type { ApprovalQuestion, BridgeOptions } from '../../src/bridge/bridge-options.ts';
import { me, setUp } from '../fixtures/bridge-setup.ts';
import { cardOf, type Json, messageOf, rpcServer, sendJson, serve } from '../fixtures/local-server.ts';

async function startCounter(answer: () => unknown = () => messageOf('hi')) {
  const messages: Json[] = [];
  const url = await rpcServer(({ params }) => {
    messages.push(params.message ?? {});
    return answer();
  });
  return { url, messages };
}

test.each<[string, Partial<BridgeOptions>]>([
  ['an agent that is denied', { policy: { denyAgents: ['echo'] } }],
  ['an agent that is not allowed', { policy: { allowAgents: ['other'] } }],
  ['a host that is denied', { policy: { denyHosts: ['127.0.0.1'] } }],
  ['a host that is not allowed', { policy: { allowHosts: ['*.example.com'] } }],
  ['a call that is not approved', { approve: () => 'deny' }],
])('%s is not called, and that is recorded without a receipt', async (_case, options) => {
  const { url, messages } = await startCounter();
  const { say, directory } = setUp({ card: cardOf(url) }, options);
  const response = await say('hello');
  expect(response).toMatchObject({ success: false, errorCode: 'REFUSED' });
  expect(response.receipt).toBeUndefined();
  expect(directory.records).toMatchObject([{ errorCode: 'REFUSED', success: false }]);
  expect(messages).toEqual([]);
});

test('the approver sees agent, host, price and message, and has until the timeout', async () => {
  const { url } = await startCounter();
  const asked: ApprovalQuestion[] = [];
  const price = { perCall: 0.5, currency: 'USD' };
  const approve = (question: ApprovalQuestion) => {
    asked.push(question);
    return 'allow' as const;
  };
  const yes = setUp({ card: cardOf(url), price }, { approve });
  expect((await yes.say('hello')).success).toBe(true);
  const host = new URL(url).host;
  expect(asked).toMatchObject([{ agentId: 'echo', name: 'Echo', host, price, message: 'hello', caller: 'me' }]);
  const never = setUp({ card: cardOf(url) }, { approve: () => new Promise(() => {}) });
  expect(await never.say('hello', { metadata: { timeout: 30 } })).toMatchObject({ errorCode: 'TIMEOUT' });
});

test('an unknown agent and a reached rate limit are reported', async () => {
  const { url, messages } = await startCounter();
  const { bridge, directory, say } = setUp({ card: cardOf(url) });
  expect(await bridge.call({ agentId: 'unknown', message: 'hi' }, me)).toMatchObject({
    errorCode: 'AGENT_UNKNOWN',
    error: 'Agent "unknown": unknown agent. Find one with agent3_search, or in a terminal with agent3 search.',
  });
  directory.wait = 7;
  expect(await say('hello')).toMatchObject({ errorCode: 'RATE_LIMITED', metadata: { retryAfter: 7, retryCount: 0 } });
  expect(messages).toEqual([]);
});

test('errors of the directory are logged and replaced by a neutral text', async () => {
  const { url } = await startCounter();
  const { say, directory, logged } = setUp({ card: cardOf(url) });
  const broken = () => Promise.reject(new Error('GET https://cards.example.com/?key=planted failed'));
  directory.record = broken;
  expect(await say('hello')).toMatchObject({ success: true });
  expect(logged()).toContain('a call could not be recorded');
  directory.credentials = broken;
  expect(await say('hello')).toMatchObject({ errorCode: 'AUTH_MISSING' });
  directory.fresh = broken;
  const response = await say('hello');
  expect(response).toMatchObject({
    errorCode: 'UNREACHABLE',
    error: expect.stringContaining('card cannot be fetched'),
  });
  expect(JSON.stringify(response)).not.toContain('planted');
});

test('budgets hold in total and per caller, with concurrent calls, and restart each day', async () => {
  const { url, messages } = await startCounter();
  let today = Date.parse('2026-01-01T23:00:00Z');
  const price = { perCall: 0.4, currency: 'USD' };
  const budget = { perDay: 1.7, perCallerPerDay: 1 };
  const { bridge } = setUp({ card: cardOf(url), price }, { budget, now: () => today });
  const call = (id: string) => bridge.call({ agentId: 'echo', message: 'hi' }, { id });
  const codes = async (ids: string[]) => (await Promise.all(ids.map(call))).map(({ errorCode }) => errorCode);
  expect(await codes(['a', 'a', 'a'])).toEqual([undefined, undefined, 'BUDGET']);
  expect(await codes(['b', 'b', 'c'])).toEqual([undefined, undefined, 'BUDGET']);
  expect(messages).toHaveLength(4);
  today += 3_600_000;
  expect(await codes(['a'])).toEqual([undefined]);
});

test.each<[string, Price, RegExp]>([
  [
    'by the token, without a known number of tokens',
    { perToken: 100, currency: 'USD' },
    /by the token.* no upper bound/,
  ],
  ['by the token beside the call', { perCall: 0.1, perToken: 1e-9, currency: 'USD' }, /by the token.* no upper bound/],
  ['in money that is not counted', { perCall: 0.1, currency: 'EUR' }, /not in US dollars/],
])('with a budget, an agent that charges %s is not called', async (_case, price, error) => {
  const { url, messages } = await startCounter();
  for (const budget of [{ perDay: 1 }, { perCallerPerDay: 1 }]) {
    const { say } = setUp({ card: cardOf(url), price }, { budget });
    expect(await say('hello')).toMatchObject({ errorCode: 'BUDGET', error: expect.stringMatching(error) });
  }
  expect(messages).toEqual([]);
  const { say } = setUp({ card: cardOf(url), price });
  expect((await say('hello')).success).toBe(true);
});

test('with a budget, an agent that charges by the token is called within maxCost, and its actual cost counts', async () => {
  const { url } = await startCounter();
  const price = { perToken: 0.01, currency: 'USD' };
  const { say, directory } = setUp({ card: cardOf(url), price }, { budget: { perDay: 1 } });
  expect(await say('hello', { metadata: { maxCost: 2 } })).toMatchObject({ errorCode: 'BUDGET' });
  expect(await say('hello', { metadata: { maxCost: 0.5 } })).toMatchObject({ success: true, metadata: { cost: 0.03 } });
  for (const spent of directory.spent.values()) expect(spent).toBeCloseTo(0.03);
});

test('an agent that reports more tokens than agreed does not use up the budget', async () => {
  const { url } = await startCounter(() => ({
    message: { messageId: 'm', parts: [{ text: 'hi' }], metadata: { tokensUsed: 1_000_000 } },
  }));
  const price = { perToken: 0.01, currency: 'USD' };
  const { say, directory } = setUp({ card: cardOf(url), price }, { budget: { perDay: 1 } });
  expect(await say('hello', { metadata: { maxCost: 0.5 } })).toMatchObject({ metadata: { cost: 10_000 } });
  for (const spent of directory.spent.values()) expect(spent).toBeCloseTo(0.5);
});

test('a budget for one caller overrides the budget per caller', async () => {
  const { url } = await startCounter();
  const budget = { perCallerPerDay: 1, byCaller: new Map([['alice', 3]]) };
  const { bridge } = setUp({ card: cardOf(url), price: { perCall: 2, currency: 'USD' } }, { budget });
  const call = (id: string) => bridge.call({ agentId: 'echo', message: 'hi' }, { id });
  expect((await call('bob')).errorCode).toBe('BUDGET');
  expect((await call('alice')).success).toBe(true);
  expect(await call('alice')).toMatchObject({ errorCode: 'BUDGET', error: expect.stringContaining('$3 per day') });
});

test('if the cost is limited, mode "start" is refused for an agent that charges by the minute', async () => {
  const { url, messages } = await startCounter();
  const listing = { card: cardOf(url), price: { perMinute: 0.1, currency: 'USD' } };
  const refused = { errorCode: 'BUDGET', error: expect.stringContaining('without mode "start"') };
  const free = setUp(listing);
  expect(await free.say('hello', { mode: 'start', metadata: { maxCost: 1 } })).toMatchObject(refused);
  const limited = setUp(listing, { budget: { perDay: 1 } });
  expect(await limited.say('hello', { mode: 'start' })).toMatchObject(refused);
  expect(messages).toEqual([]);
  expect(limited.directory.spent.size).toBe(0);
  expect(await limited.say('hello')).toMatchObject({ success: true });
  expect(await free.say('hello', { mode: 'start' })).toMatchObject({ success: true });
});

test('the amount reserved for a call that was not sent is released', async () => {
  const price = { perCall: 0.9, currency: 'USD' };
  const { say, directory } = setUp({ card: cardOf('http://127.0.0.1:1'), price }, { budget: { perDay: 1 } });
  expect((await say('hello')).errorCode).toBe('UNREACHABLE');
  const { url } = await startCounter();
  directory.add('echo', { card: cardOf(url), price });
  expect((await say('hello')).success).toBe(true);
  expect(await say('hello')).toMatchObject({ errorCode: 'BUDGET', error: expect.stringContaining('$1 per day') });
});

test.each<[string, RequestListener, CallErrorCode, boolean]>([
  ['an answer larger than may be read', (_request, response) => void sendLarge(response), 'TOO_LARGE', true],
  ['a page instead of JSON', (_request, response) => void response.end('<html>'), 'PROTOCOL', true],
  ['a failure of its server', (_request, response) => void response.writeHead(500).end(), 'AGENT_ERROR', true],
  ['but not an error of A2A', (_request, response) => sendError(response), 'AGENT_ERROR', false],
  ['but not 404', (_request, response) => void response.writeHead(404).end(), 'PROTOCOL', false],
  ['but not 429', (_request, response) => void response.writeHead(429).end(), 'RATE_LIMITED', false],
])('the budget counts work that the agent may have done: %s', async (_case, answer, errorCode, isCounted) => {
  const url = await serve((request, response) => void request.resume().on('end', () => answer(request, response)));
  const price = { perCall: 0.9, currency: 'USD' };
  const { say, directory } = setUp({ card: cardOf(url), price }, { budget: { perDay: 1 } });
  expect(await say('hello', { metadata: { retries: 0 } })).toMatchObject({ errorCode });
  for (const spent of directory.spent.values()) expect(spent).toBeCloseTo(isCounted ? 0.9 : 0);
  expect(directory.spent.size).toBeGreaterThan(0);
});

test.each<[string, Price | undefined, number | undefined, CallErrorCode | undefined]>([
  ['a price within it', { perCall: 0.1, currency: 'USD' }, 0.1, undefined],
  ['a price above it', { perCall: 0.2, currency: 'USD' }, 0.1, 'BUDGET'],
  ['no price', undefined, 0.1, 'BUDGET'],
  ['no price, when nothing may be paid', undefined, 0, undefined],
  ['a price by time that can become too much', { perMinute: 1, currency: 'USD' }, 0.1, 'BUDGET'],
  ['a price by the token', { perToken: 0.001, currency: 'USD' }, 10, undefined],
  ['a price by the token that the message alone exceeds', { perToken: 1, currency: 'USD' }, 1, 'BUDGET'],
  ['a price in another currency', { perCall: 0.01, currency: 'EUR' }, 0.1, 'BUDGET'],
])('maxCost with %s', async (_case, price, maxCost, code) => {
  const { url, messages } = await startCounter();
  const { say } = setUp({ card: cardOf(url), price });
  const response = await say('hello', { metadata: { maxCost } });
  expect(response.errorCode).toBe(code);
  expect(messages).toHaveLength(code ? 0 : 1);
});

test.each<[string, Price | undefined, Json, number | undefined]>([
  ['is the price of a call', { perCall: 0.25, currency: 'USD' }, {}, 0.25],
  ['is nothing for a free agent', { perCall: 0, currency: 'USD' }, {}, 0],
  [
    'counts the tokens the agent tells',
    { perToken: 0.01, currency: 'USD' },
    { usage: { inputTokens: 3, outputTokens: 4 } },
    0.07,
  ],
  ['is estimated when the agent reports no tokens', { perToken: 0.01, currency: 'USD' }, {}, 0.03],
  ['is estimated when the agent reports nonsense', { perToken: 1, currency: 'USD' }, { tokensUsed: 1e300 }, 3],
  ['is unknown without a price', undefined, { tokensUsed: 7 }, undefined],
  ['is unknown in another currency', { perCall: 1, currency: 'EUR' }, {}, undefined],
])('the cost %s', async (_case, price, metadata, cost) => {
  const { url } = await startCounter(() => ({ message: { messageId: 'm', parts: [{ text: 'hi' }], metadata } }));
  const { say, directory } = setUp({ card: cardOf(url), price });
  const response = await say('hello');
  expect(response.metadata.cost).toBe(cost);
  const isCounted = Object.keys(metadata).length > 0 && metadata.tokensUsed !== 1e300;
  expect(response.metadata.tokensUsed).toBe(isCounted ? 7 : 3);
  expect(response.metadata.tokensEstimated).toBe(isCounted ? undefined : true);
  expect(directory.records[0]).toMatchObject({
    tokensUsed: isCounted ? 7 : 3,
    tokensEstimated: isCounted ? undefined : true,
  });
  expect(directory.records[0]?.cost).toBe(cost);
});

test('the cost by the minute is that of the response time', async () => {
  const { url } = await startCounter(() => pause(300, messageOf('hi')));
  const { say } = setUp({ card: cardOf(url), price: { perMinute: 60, currency: 'USD' } });
  const { metadata } = await say('hello');
  const costOfMs = (metadata.cost ?? 0) * 1_000;
  expect(costOfMs).toBeGreaterThan(290);
  expect(costOfMs).toBeLessThanOrEqual(metadata.responseTime + 1);
});

const schema = {
  type: 'object',
  required: ['size'],
  properties: { size: { $ref: '#/$defs/size' } },
  $defs: { size: { enum: ['S', 'L'] } },
};
const pizza = {
  defaultInputModes: ['text', 'application/json', 'image/*'],
  skills: [
    { id: 'order', inputModes: ['application/json'] },
    { id: 'chat', inputModes: ['text/plain'] },
  ],
  capabilities: { extensions: [{ uri: 'urn:pocket-agent:a2a:input-schema:1', params: { skills: { order: schema } } }] },
};

test.each<[string, Omit<CallRequest, 'agentId'>, RegExp]>([
  ['an empty message', { message: ' ' }, /the message is empty/],
  [
    'a mode the card does not have',
    { message: 'hi', inputMode: 'text/html' },
    /it accepts text\/plain, application\/json, image\/\*, not text\/html/,
  ],
  [
    'a mode the skill does not have',
    { message: '{"size":"L"}', inputMode: 'json', skillId: 'chat' },
    /it accepts text\/plain, not application\/json/,
  ],
  ['an unknown skill', { message: 'hi', skillId: 'fly' }, /no skill "fly"; its card lists order, chat/],
  [
    'JSON that is too deep',
    { message: `${'['.repeat(50_000)}${']'.repeat(50_000)}`, inputMode: 'json' },
    /nested more than 100 levels/,
  ],
  ['invalid JSON', { message: '{', inputMode: 'application/json' }, /not valid JSON/],
  [
    'JSON against the schema',
    { message: '{"size":"XXL"}', inputMode: 'json', skillId: 'order' },
    /does not match its schema: .*Its schema: \{"type":"object","required":\["size"\]/,
  ],
  [
    'plain text against the schema',
    { message: 'a large pizza', skillId: 'order' },
    /does not match its schema. Send matching JSON, with inputMode application\/json. Its schema: \{"type":"object"/,
  ],
  [
    'a file of a wrong kind',
    { message: 'hi', files: [{ name: 'a', mediaType: 'video/mp4', base64: '' }] },
    /not video\/mp4/,
  ],
  [
    'a file that is not base64',
    { message: 'hi', files: [{ name: 'a', mediaType: 'image/png', base64: '%' }] },
    /base64/,
  ],
  ['a message whose mode is an image', { message: 'hi', inputMode: 'image/png' }, /Send that as a file/],
  ['a timeout of 0', { message: 'hi', metadata: { timeout: 0 } }, /metadata\.timeout: .*>=1/],
  ['half a retry', { message: 'hi', metadata: { retries: 0.5 } }, /metadata\.retries: .*int/],
])('%s is not sent', async (_case, request, error) => {
  const { url, messages } = await startCounter();
  const { bridge } = setUp({ card: cardOf(url, pizza) });
  const response = await bridge.call({ agentId: 'echo', ...request }, me);
  expect(response).toMatchObject({ errorCode: 'INPUT_INVALID', error: expect.stringMatching(error) });
  expect(messages).toEqual([]);
});

test('a call without an agent id is refused', async () => {
  const { bridge } = setUp({ card: cardOf('http://127.0.0.1:1/', pizza) });
  const response = await bridge.call({ agentId: undefined as unknown as string, message: 'hi' }, me);
  expect(response).toMatchObject({
    errorCode: 'INPUT_INVALID',
    error: expect.stringContaining('agentId: Invalid input'),
  });
});

test('a matching message is sent unchanged', async () => {
  const { url, messages } = await startCounter();
  const { say } = setUp({ card: cardOf(url, pizza) });
  const files = [{ name: 'a.png', mediaType: 'image/png', base64: 'aGk=' }];
  expect((await say('look', { files })).success).toBe(true);
  expect((await say('{"size":"L"}', { inputMode: 'application/json', skillId: 'order' })).success).toBe(true);
  expect(messages).toMatchObject([
    { parts: [{ text: 'look' }, { raw: 'aGk=', mediaType: 'image/png', filename: 'a.png' }] },
    { parts: [{ data: { size: 'L' } }], metadata: { skillId: 'order' } },
  ]);
});

test.each<[string, object, string, object]>([
  ['that takes a string', { type: 'string', maxLength: 20 }, 'two of them', { text: 'two of them' }],
  [
    'with one required property',
    { type: 'object', required: ['order'], properties: { order: { type: 'string' }, note: { type: 'string' } } },
    'two of them',
    { data: { order: 'two of them' }, mediaType: 'application/json' },
  ],
  [
    'with one property',
    { properties: { order: { type: 'string' }, count: { type: 'number' } } },
    'two of them',
    { data: { order: 'two of them' } },
  ],
  [
    'with a property that is named like a message',
    { type: 'object', properties: { style: { type: 'string' }, prompt: { type: 'string' } } },
    'two of them',
    { data: { prompt: 'two of them' } },
  ],
  [
    'that the text fits as JSON',
    {
      type: 'object',
      required: ['order', 'count'],
      properties: { order: { type: 'string' }, count: { type: 'number' } },
    },
    '{"order":"pizza","count":2}',
    { data: { order: 'pizza', count: 2 } },
  ],
])('plain text becomes the payload of an agent with a schema %s', async (_case, inputSchema, message, part) => {
  const { url, messages } = await startCounter();
  const { say } = setUp({ card: cardOf(url, { defaultInputModes: ['text/plain', 'application/json'], inputSchema }) });
  expect((await say(message)).success).toBe(true);
  expect(messages).toMatchObject([{ parts: [part] }]);
});

test('an agent that accepts only text gets its payload as text', async () => {
  const { url, messages } = await startCounter();
  const inputSchema = { type: 'object', required: ['order'], properties: { order: { type: 'string' } } };
  const { say } = setUp({ card: cardOf(url, { inputSchema }) });
  expect((await say('two')).success).toBe(true);
  expect(messages).toMatchObject([{ parts: [{ text: '{"order":"two"}', mediaType: 'text/plain' }] }]);
});

test.each<[string, object]>([
  [
    'two required properties',
    { type: 'object', required: ['a', 'b'], properties: { a: { type: 'string' }, b: { type: 'string' } } },
  ],
  ['a required number', { type: 'object', required: ['count'], properties: { count: { type: 'number' } } }],
  [
    'a value that is too long',
    { type: 'object', required: ['a'], properties: { a: { type: 'string', maxLength: 3 } } },
  ],
  ['a list', { type: 'array' }],
])('plain text to an agent whose schema requires %s is refused with the schema', async (_case, inputSchema) => {
  const { url, messages } = await startCounter();
  const { say } = setUp({ card: cardOf(url, { inputSchema }) });
  const { errorCode, error } = await say('two of them');
  expect(errorCode).toBe('INPUT_INVALID');
  expect(error).toContain(JSON.stringify(inputSchema));
  expect(messages).toEqual([]);
});

test.each([
  ['refers to itself', { $ref: '#' }],
  [
    'grows without end',
    {
      allOf: [{ $ref: '#/$defs/a0' }],
      $defs: Object.fromEntries(
        Array.from({ length: 40 }, (_, index) => [
          `a${index}`,
          { allOf: [{ $ref: `#/$defs/a${index + 1}` }, { $ref: `#/$defs/a${index + 1}` }] },
        ]),
      ),
    },
  ],
  ['is somewhere else', { $ref: 'https://example.com/schema.json' }],
])('a schema that %s is ignored and reported', async (_case, inputSchema) => {
  const { url } = await startCounter();
  const { say, logged } = setUp({ card: cardOf(url, { defaultInputModes: [], inputSchema }) });
  for (const message of ['{}', '[]']) expect((await say(message, { inputMode: 'json' })).success).toBe(true);
  expect(logged().match(/unusable input schema/g)).toHaveLength(1);
});

test.each<[string, object, string]>([
  ['a pattern that backtracks', { type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`],
  [
    'hundreds of comparisons of all items',
    { allOf: Array.from({ length: 500 }, () => ({ uniqueItems: true })) },
    JSON.stringify(Array.from({ length: 3_000 }, (_, index) => ({ index }))),
  ],
])('a schema with %s does not block the hub', async (_case, inputSchema, message) => {
  limitChecks(500);
  const { url } = await startCounter();
  const { say, logged } = setUp({ card: cardOf(url, { defaultInputModes: [], inputSchema }) });
  const inputMode = message.startsWith('[') ? 'json' : 'text';
  const before = process.threadCpuUsage();
  for (let calls = 0; calls < 2; calls++) expect((await say(message, { inputMode })).success).toBe(true);
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(500);
  expect(logged().match(/unusable input schema/g)).toHaveLength(1);
});

test.each<[string, (index: number) => { url: string; owner: string }]>([
  ['one owner', (index) => ({ url: `http://127.0.0.${index + 2}/`, owner: 'mallory' })],
  ['one host', () => ({ url: 'http://127.0.0.1:1/', owner: 'local' })],
])('many slow schemas of %s do not delay checks of others', async (_case, listingOf) => {
  const { url } = await startCounter();
  const { bridge, directory } = setUp();
  const call = (agentId: string, message: string) => bridge.call({ agentId, message }, me);
  const inputSchema = { type: 'string', pattern: '^(a+)+$' };
  const slow = Array.from({ length: 8 }, (_, index) => {
    const { owner, url: address } = listingOf(index);
    directory.add(`slow-${index}`, { owner, card: cardOf(address, { defaultInputModes: [], inputSchema }) });
    return call(`slow-${index}`, `${'a'.repeat(40)}!`);
  });
  let ended = 0;
  for (const answer of slow) void answer.finally(() => ended++);
  directory.add('good', { owner: 'local', card: cardOf(url, { defaultInputModes: [], inputSchema }) });
  expect(await call('good', 'b')).toMatchObject({ errorCode: 'INPUT_INVALID' });
  expect(ended).toBeLessThan(3);
});

test('a check that times out disables its schema for one minute only', async () => {
  limitChecks(100);
  const { url } = await startCounter();
  let time = Date.now();
  const inputSchema = { type: 'string', pattern: '^(a+)+$' };
  const { say } = setUp({ card: cardOf(url, { defaultInputModes: [], inputSchema }) }, { now: () => time });
  expect((await say(`${'a'.repeat(40)}!`)).success).toBe(true);
  limitChecks(10_000);
  expect((await say('b')).success).toBe(true);
  time += 60_000;
  expect(await say('b')).toMatchObject({ success: false, errorCode: 'INPUT_INVALID' });
});

test('third-party text is cleaned, limited and marked as untrusted', async () => {
  const text = 'a\u001b[31mred\u001b[0m\u202Eb\u200b\u{e0041}c\r\nd\u0000';
  const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`);
  const parts = [
    { text },
    { data: { 'k\u0007ey': text } },
    { data: deep },
    { url: 'javascript:alert(1)', filename: 'x\u202Ey', mediaType: 'text/plain' },
    { url: 'https://example.com/a' },
    { text: 'ü'.repeat(2000) },
    { raw: 'aGk=' },
  ];
  const { url } = await startCounter(() => ({ message: { messageId: 'm', parts } }));
  const { say } = setUp({ card: cardOf(url, { name: 'Ec\u202Eho' }) }, { limits: { bytes: 2000 } });
  const { result } = await say('hello');
  expect(result).toMatchObject({
    untrusted: true,
    truncated: true,
    data: [{ key: 'aredbc\nd' }, expect.anything()],
    files: [
      { name: 'xy', mediaType: 'text/plain' },
      { url: 'https://example.com/a' },
      { mediaType: 'application/octet-stream' },
    ],
  });
  expect(result?.text).toMatch(/^aredbc\nd\nü+$/);
  expect(result?.files?.[0]).not.toHaveProperty('url');
  expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(2500);
});

test('parts beyond the limit are dropped, and the result is marked as truncated', async () => {
  const parts = Array.from({ length: 500 }, (_, index) => ({ text: String(index) }));
  const { url } = await startCounter(() => ({ message: { messageId: 'm', parts } }));
  const { say } = setUp({ card: cardOf(url) }, { limits: { parts: 3 } });
  expect((await say('hello')).result).toEqual({ untrusted: true, text: '0\n1\n2', truncated: true });
});

function sendLarge(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.alloc(17 * 1024 * 1024, ' '));
}

function sendError(response: ServerResponse): void {
  sendJson(response, { jsonrpc: '2.0', id: null, error: { code: -32_603, message: 'no' } });
}
