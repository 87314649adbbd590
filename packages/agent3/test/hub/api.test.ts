import { createHmac } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { localOwner } from '../../src/base/owner-tokens.ts';
import { cardOf, rpcServer, taskOf } from '../fixtures/local-server.ts';
import { alice, altered, ask, connectTo, eras, keptLog, open, startHub, tokens } from '../fixtures/mcp-setup.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

test('an agent is registered, found, shown, called, rated and removed', async () => {
  const { card } = await startSdkAgent();
  const hub = await startHub({ agent3: await open() });
  const registration = { card, tags: ['parrot'], price: { perCall: 0.01 } };
  const registered = await ask(hub, '/api/agents', { owner: 'alice', body: registration });
  expect(registered).toMatchObject({ status: 201, body: { name: 'Echo', owner: 'alice' } });
  const { id } = registered.body;
  expect(registered.headers.get('location')).toBe(`/api/agents/${id}`);

  const found = await ask(hub, '/api/agents?query=says+it+again&tags=parrot&maxPricePerCall=0.5&limit=5');
  expect(found.body).toMatchObject({ totalFound: 1, agents: [{ id, price: { perCall: 0.01, currency: 'USD' } }] });
  expect((await ask(hub, '/api/agents?query=says&tags=other')).body.totalFound).toBe(0);
  expect((await ask(hub, '/api/agents?query=says&verified=true')).body.totalFound).toBe(0);
  expect((await ask(hub, `/api/agents/${id}`)).body).toMatchObject({ id, version: '1' });
  expect((await ask(hub, `/api/agents/${id}/card`)).body).toMatchObject({ agentId: id, card: { name: 'Echo' } });

  const called = await ask(hub, '/api/calls', { owner: 'bob', body: { agentId: id, message: 'hello' } });
  expect(called).toMatchObject({ status: 200, body: { success: true, result: { text: 'you said: hello' } } });
  const rating = { agentId: id, rating: 4, feedback: 'good', receipt: called.body.receipt };
  expect((await ask(hub, '/api/feedback', { owner: 'bob', body: rating })).body).toMatchObject({ reputation: 4 });
  expect(await ask(hub, '/api/feedback', { owner: 'bob', body: rating })).toMatchObject({
    status: 409,
    body: { error: { code: 'ALREADY_RATED' } },
  });
  expect((await ask(hub, `/api/statistics?agentId=${id}`)).body).toMatchObject({ total: { calls: 1, cost: 0.01 } });
  expect((await ask(hub, '/api/health')).body).toMatchObject({ status: 'healthy', network: { totalAgents: 1 } });

  const removing = { method: 'DELETE' };
  expect(await ask(hub, `/api/agents/${id}`, { ...removing, owner: 'bob' })).toMatchObject({
    status: 403,
    body: { error: { code: 'FORBIDDEN' } },
  });
  expect((await ask(hub, `/api/agents/${id}`, { ...removing, owner: 'alice' })).status).toBe(204);
  const { body: again } = await ask(hub, '/api/agents', { owner: 'alice', body: registration });
  expect((await ask(hub, `/api/agents/${again.id}`, { ...removing, owner: 'root' })).status).toBe(204);
  expect(await ask(hub, `/api/agents/${id}`)).toMatchObject({
    status: 404,
    body: { error: { code: 'AGENT_UNKNOWN' } },
  });
});

test('no token makes its owner the operator of the hub', async () => {
  const agent3 = await open();
  const { id } = await agent3.register({ card: cardOf('http://127.0.0.1:1') }, localOwner);
  for (const name of ['local', 'visitor']) expect(() => tokens.issue(name)).toThrow('reserved');
  // a token that was issued before the name was reserved
  const proof = createHmac('sha256', 'a key for the tests').update('owner token\0local').digest('base64url');
  const hub = await startHub({ agent3 });
  const removing = { method: 'DELETE', token: `a3_local_${proof}` };
  expect((await ask(hub, `/api/agents/${id}`, removing)).status).toBe(401);
});

test('callers read their own calls page by page, and admins read all calls', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: { perToken: 0.01, currency: 'USD' } }, alice);
  const hub = await startHub({ agent3 });
  const call = (owner: string, message: string, userAgentId?: string) =>
    ask(hub, '/api/calls', { owner, body: { agentId, message, metadata: { userAgentId } } });
  await call('bob', 'one', 'my-bot-456');
  await call('bob', 'fail');
  await call('carol', 'three');
  const log = async (owner: string, query = '') => (await ask(hub, `/api/calls?${query}`, { owner })).body;
  const { calls: bobs } = await log('bob');
  expect(bobs).toMatchObject([
    { agentId, agentName: 'Echo', caller: 'bob', success: false, errorCode: 'TASK_FAILED' },
    { caller: 'bob', userAgentId: 'my-bot-456', success: true, tokensEstimated: true, cost: expect.any(Number) },
  ]);
  expect(bobs[0].startedAt).toMatch(/^2\d{3}-.*Z$/);
  expect(JSON.stringify(bobs)).not.toContain('you said');
  expect((await log('bob', 'userAgentId=my-bot-456')).calls).toHaveLength(1);
  const first = await log('bob', 'limit=1');
  const second = await log('bob', `limit=1&cursor=${encodeURIComponent(first.nextCursor)}`);
  expect([...first.calls, ...second.calls]).toEqual(bobs);
  expect(second.nextCursor).toBeUndefined();
  expect((await log('root')).calls).toHaveLength(3);
  expect((await log('root', 'caller=carol')).calls).toHaveLength(1);
  expect(await ask(hub, '/api/calls?caller=carol', { owner: 'bob' })).toMatchObject({ status: 403 });
  expect((await ask(hub, '/api/calls')).status).toBe(401);
  expect((await ask(hub, '/api/calls?cursor=nonsense', { owner: 'bob' })).status).toBe(400);
});

test('a call and a reply are refused if the price is higher than agreed', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card, price: { perCall: 1, currency: 'USD' } }, alice);
  const hub = await startHub({ agent3 });
  const call = async (perCall: number) => {
    const body = { agentId, message: 'ask', metadata: { agreedPrice: { perCall } } };
    return (await ask(hub, '/api/calls', { owner: 'bob', body })).body;
  };
  expect(await call(0.5)).toMatchObject({ errorCode: 'BUDGET', error: expect.stringContaining('$0.5 a call') });
  const { taskHandle } = (await call(1)).task;
  const reply = async (perCall: number) => {
    const body = { action: 'reply', taskHandle, message: 'large', agreedPrice: { perCall } };
    return (await ask(hub, '/api/tasks', { owner: 'bob', body })).body;
  };
  expect(await reply(0.5)).toMatchObject({ errorCode: 'BUDGET' });
  expect(await reply(1)).toMatchObject({ success: true });
});

test('files of the documented maximum size fit into a request together with a message', async () => {
  const { card, messageIds } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card: { ...card, defaultInputModes: ['*/*'] } }, alice);
  const hub = await startHub({ agent3 });
  const { properties } = (await ask(hub, '/openapi.json')).body.components.schemas.callRequest;
  const { maxLength } = properties.files.items.properties.base64;
  expect(properties.files.description).toContain(`At most ${maxLength} characters`);
  const files = [{ name: 'a', mediaType: 'text/plain', base64: 'A'.repeat(maxLength) }];
  const body = { agentId, message: '語'.repeat(properties.message.maxLength), files };
  expect((await ask(hub, '/api/calls', { owner: 'bob', body })).body).toMatchObject({ success: true });
  expect(messageIds).toHaveLength(1);
});

test('requests that change or call something need an owner token', async () => {
  const hub = await startHub({ agent3: await open() });
  const writes: [string, string, unknown][] = [
    ['POST', '/api/agents', { card: cardOf('http://127.0.0.1:1') }],
    ['DELETE', '/api/agents/x', undefined],
    ['POST', '/api/calls', { agentId: 'x', message: 'x' }],
    ['POST', '/api/tasks', { action: 'get', taskHandle: 'x' }],
    ['POST', '/api/feedback', { agentId: 'x', rating: 1, feedback: 'x', receipt: 'x' }],
  ];
  const good = tokens.issue('alice');
  const wrong = [
    undefined,
    '',
    'a3_alice_',
    `${good.slice(0, -2)}AA`,
    good.replace('alice', 'bob'),
    tokens.issue('mallory'),
  ];
  for (const [method, path, body] of writes) {
    for (const token of wrong) {
      const { status, body: answer, headers } = await ask(hub, path, { method, body, ...(token ? { token } : {}) });
      expect([path, token, status, answer.error.code]).toEqual([path, token, 401, 'UNAUTHORIZED']);
      expect(headers.get('www-authenticate')).toBe('Bearer');
    }
  }
  expect((await ask(hub, '/api/calls', { token: good, body: { agentId: 'x', message: 'x' } })).status).toBe(200);
  const basic = Buffer.from(`x:${good}`).toString('base64');
  const byPassword = { headers: { authorization: `Basic ${basic}` }, body: { agentId: 'x', message: 'x' } };
  expect((await ask(hub, '/api/calls', byPassword)).status).toBe(401);
});

test('a private hub needs a token for reading, as bearer token or as password', async () => {
  const hub = await startHub({ agent3: await open(), isPrivate: true });
  const basic = Buffer.from(`alice:${tokens.issue('alice')}`).toString('base64');
  for (const path of ['/api/agents', '/api/agents/x', '/api/statistics', '/api/health', '/openapi.json']) {
    const refused = await ask(hub, path);
    expect([path, refused.status]).toEqual([path, 401]);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect((await ask(hub, path, { owner: 'alice' })).status).not.toBe(401);
    expect((await ask(hub, path, { headers: { authorization: `Basic ${basic}` } })).status).not.toBe(401);
  }
});

test('invalid requests are refused with the right status', async () => {
  const agent3 = await open();
  const hub = await startHub({ agent3 });
  const owner = 'alice';
  const file = { name: 'a', mediaType: 'text/plain', base64: 'A'.repeat(1_500_004) };
  const cases: [number, string, string, object][] = [
    [400, 'INPUT_INVALID', '/api/agents?limit=500', {}],
    [400, 'INPUT_INVALID', '/api/agents?colour=red', {}],
    [400, 'INPUT_INVALID', '/api/statistics?since=0&bucketMs=1000', {}],
    [404, 'AGENT_UNKNOWN', '/api/agents/unknown', {}],
    [404, 'AGENT_UNKNOWN', '/api/agents/unknown/card', {}],
    [404, 'NOT_FOUND', '/api/nothing', {}],
    [400, 'INPUT_INVALID', '/api/calls', { owner, body: '{ not json' }],
    [400, 'INPUT_INVALID', '/api/calls', { owner, body: { agentId: 'x' } }],
    [400, 'INPUT_INVALID', '/api/tasks', { owner, body: { action: 'reply', taskHandle: 'x' } }],
    [415, 'INPUT_INVALID', '/api/calls', { owner, body: '{}', headers: { 'content-type': 'text/plain' } }],
    [400, 'INPUT_INVALID', '/api/calls', { owner, body: { agentId: 'x', message: 'x', files: [file, file] } }],
    [422, 'CARD_INVALID', '/api/agents', { owner, body: `{"card":{"x":${'['.repeat(900)}${']'.repeat(900)}}}` }],
    [413, 'TOO_LARGE', '/api/agents', { owner, body: `{"card":{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}}` }],
    [413, 'TOO_LARGE', '/api/agents', { owner, body: `{"card":{"x":[${'{},'.repeat(100_000)}1]}}` }],
    [413, 'TOO_LARGE', '/api/calls', { owner, body: { agentId: 'x', message: 'x'.repeat(4_100_000) } }],
    [400, 'INPUT_INVALID', '/api/agents', { owner, body: { cardUrl: 'http://10.0.0.1/' } }],
    [502, 'CARD_UNAVAILABLE', '/api/agents', { owner, body: { cardUrl: 'https://127.0.0.1:1/' } }],
    [422, 'CARD_INVALID', '/api/agents', { owner, body: { card: { name: 'half' } } }],
    [
      422,
      'RECEIPT_INVALID',
      '/api/feedback',
      { owner, body: { agentId: 'x', rating: 1, feedback: 'x', receipt: 'x' } },
    ],
    [
      503,
      'SECRET_KEY',
      '/api/agents',
      { owner, body: { card: cardOf('http://127.0.0.1:1'), credentials: [{ type: 'bearer', token: 'hush' }] } },
    ],
  ];
  for (const [status, code, path, asked] of cases) {
    const answer = await ask(hub, path, asked);
    expect([path, answer.status, answer.body?.error?.code]).toEqual([path, status, code]);
    expect(answer.body.error.message).toBeTruthy();
  }
});

test('unexpected errors are logged, and their details are not returned', async () => {
  const { lines, logger } = keptLog();
  const agent3 = altered(await open(), {
    search: () => Promise.reject(new Error('row 7 of table secrets')),
  });
  const hub = await startHub({ agent3, logger });
  expect(await ask(hub, '/api/agents')).toMatchObject({ status: 500, body: { error: { code: 'INTERNAL' } } });
  expect(lines.join()).toContain('row 7 of table secrets');
});

test('a call is streamed line by line on request', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id } = await agent3.register({ card }, alice);
  const hub = await startHub({ agent3 });
  const { text, headers } = await ask(hub, '/api/calls', {
    owner: 'bob',
    headers: { accept: 'application/x-ndjson' },
    body: { agentId: id, message: 'task' },
  });
  expect(headers.get('content-type')).toBe('application/x-ndjson');
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(0)).toHaveProperty('progress.message');
  expect(lines.at(-1)).toMatchObject({ response: { success: true, result: { text: 'one two three' } } });
});

test.each(['application/json', 'application/x-ndjson'])(
  '%s: closing the connection cancels the call at the agent',
  async (accept) => {
    const { card, canceled, messageIds } = await startSdkAgent();
    const agent3 = await open();
    const { id } = await agent3.register({ card }, alice);
    const hub = await startHub({ agent3 });
    const gone = new AbortController();
    const call = fetch(new URL('/api/calls', hub.url), {
      method: 'POST',
      headers: { accept, 'content-type': 'application/json', authorization: `Bearer ${tokens.issue('bob')}` },
      body: JSON.stringify({ agentId: id, message: 'wait' }),
      signal: gone.signal,
    }).then((response) => response.text());
    call.catch(() => {});
    await expect.poll(() => messageIds.length).toBe(1);
    gone.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => canceled.length).toBe(1);
  },
);

test('an agent reports the end of a task to the hub with its push token', async () => {
  let push = { url: '', token: '' };
  const url = await rpcServer(({ params }) => {
    push = (params.configuration?.taskPushNotificationConfig as typeof push | undefined) ?? push;
    return { task: taskOf('t1', 'WORKING') };
  });
  const agent3 = await open({ pushUrl: 'https://hub.example/api/push' });
  const hub = await startHub({ agent3 });
  const { id } = await agent3.register({ card: cardOf(url, { capabilities: { pushNotifications: true } }) }, alice);
  const call = { agentId: id, message: 'begin', mode: 'start' };
  const { body: started } = await ask(hub, '/api/calls', { owner: 'bob', body: call });
  const { taskHandle } = started.task;
  expect(push.url).toBe(`https://hub.example/api/push/${taskHandle}`);

  const artifacts = [{ artifactId: 'a', parts: [{ text: 'at last' }] }];
  const body = { task: taskOf('t1', 'COMPLETED', { artifacts }) };
  const path = new URL(push.url).pathname;
  expect((await ask(hub, path, { body })).status).toBe(401);
  const headers = { 'x-a2a-notification-token': push.token };
  expect((await ask(hub, path, { body, headers })).status).toBe(204);
  const look = { owner: 'bob', body: { action: 'get', taskHandle } };
  expect((await ask(hub, '/api/tasks', look)).body).toMatchObject({ success: true, result: { text: 'at last' } });
});

test('requests from other origins and to other host names are refused', async () => {
  const hub = await startHub({ agent3: await open(), allowedHosts: ['hub.example'] });
  expect((await ask(hub, '/api/agents', { headers: { origin: 'https://evil.example' } })).status).toBe(403);
  expect((await ask(hub, '/api/agents', { headers: { origin: 'https://hub.example' } })).status).toBe(200);
});

test('the OpenAPI description is complete: references resolve, schemas compile, paths answer', async () => {
  const hub = await startHub({ agent3: await open() });
  const { body: description, text } = await ask(hub, '/openapi.json');
  expect(description.openapi).toBe('3.1.0');
  const { schemas } = description.components;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const schema of Object.values<object>(schemas)) ajv.compile(schema);
  for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) expect(schemas).toHaveProperty(name);

  const ids = new Set<string>();
  for (const [path, operations] of Object.entries<Record<string, OperationJson>>(description.paths)) {
    for (const [method, { operationId, parameters = [], responses, requestBody }] of Object.entries(operations)) {
      expect(ids.has(operationId)).toBe(false);
      ids.add(operationId);
      expect(Object.keys(responses).length).toBeGreaterThan(1);
      const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`);
      expect(path.match(/\{\w+\}/g) ?? []).toEqual(inPath);
      const body = requestBody ? {} : undefined;
      const answer = await ask(hub, path.replace(/\{\w+\}/, 'x'), {
        method: method.toUpperCase(),
        owner: 'root',
        body,
      });
      expect([path, answer.body?.error?.code]).not.toEqual([path, 'NOT_FOUND']);
    }
  }
  const { body: health } = await ask(hub, '/api/health');
  expect(ajv.validate(schemas.hubHealth, health)).toBe(true);
});

interface OperationJson {
  operationId: string;
  parameters?: { name: string; in: string }[];
  responses: object;
  requestBody?: object;
}

test.each(eras)('%s: MCP at the same address, for each owner under their own name', async (era) => {
  const { card } = await startSdkAgent();
  const hub = await startHub({ agent3: await open() });
  expect((await fetch(new URL('/mcp', hub.url), { method: 'POST', body: '{}' })).status).toBe(401);
  const alices = await connectTo(hub, 'alice', era);
  const { data: agent } = await alices.call('agent3_register', { card });
  expect(agent.owner).toBe('alice');
  const bobs = await connectTo(hub, 'bob', era);
  expect(await bobs.call('agent3_register', { card, tags: ['mine'] })).toMatchObject({ data: { owner: 'bob' } });
  expect((await bobs.call('agent3_call', { agentId: agent.id, message: 'hello' })).data.success).toBe(true);
  const rating = { agentId: agent.id, rating: 5, feedback: 'x' };
  expect((await alices.call('agent3_feedback', rating)).isError).toBe(true);
  expect((await bobs.call('agent3_feedback', rating)).data.success).toBe(true);
});

test('responses and pages are compressed for clients that accept it; streamed calls are not', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card }, alice);
  const hub = await startHub({ agent3 });
  for (const path of ['/openapi.json', '/', '/assets/style.css', `/api/agents/${agentId}`]) {
    const packed = await ask(hub, path, { headers: { 'accept-encoding': 'gzip' } });
    expect([path, packed.headers.get('content-encoding')]).toEqual([path, 'gzip']);
    expect(packed.headers.get('vary')).toMatch(/accept-encoding/i);
    const plain = await ask(hub, path, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(packed.text).toBe(plain.text);
  }
  const lines = { accept: 'application/x-ndjson', 'accept-encoding': 'gzip' };
  const told = await ask(hub, '/api/calls', { owner: 'bob', body: { agentId, message: 'hello' }, headers: lines });
  expect(told.headers.get('content-encoding')).toBeNull();
  expect(told.text).toContain('you said: hello');
});
