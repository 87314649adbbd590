import { AgentCard } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import { InMemoryTaskStore } from '@a2a-js/sdk/server';
import type { A2aServerOptions } from '@pocket-agent/a2a';
import { PocketAgent, PocketError, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { add, silent } from '../../pocket-agent/test/helpers.ts';
import {
  answerOf,
  bindings,
  clientOf,
  collect,
  listAll,
  message,
  rpc,
  send,
  stateOf,
  statusText,
  until,
  World,
} from './fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

/** A tool that runs until `finish()` or an abort. */
function slowTool() {
  const started = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const finished = Promise.withResolvers<string>();
  const slow = tool({
    name: 'slow',
    description: 'Lasts',
    annotations: { readOnlyHint: true },
    run: (_args, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve(), { once: true });
      started.resolve();
      return finished.promise;
    },
  });
  return { slow, started: started.promise, aborted: aborted.promise, finish: () => finished.resolve('done') };
}

describe.each(bindings)('an agent served over A2A (%s)', (binding) => {
  test('answers with a task whose artifact is the answer', async () => {
    const { url } = await world.serve(world.agent(['Good morning.']));
    const task = await send(await clientOf(url, { binding }), message('hello'));
    expect(stateOf(task)).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(task)).toBe('Good morning.');
  });

  test('streams text as chunks and tool calls as status, in order, and ends', async () => {
    const calls = { text: 'let me see', toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] };
    const { url } = await world.serve(world.agent([calls, 'it is three'], { tools: [add] }));
    const client = await clientOf(url, { binding });
    const seen = await collect(client.sendMessageStream(message('1 + 2?')));
    const shown = seen.map(({ task, statusUpdate, artifactUpdate }) => {
      if (task) return 'task';
      if (statusUpdate) return statusUpdate.status.message?.parts[0]?.text ?? statusUpdate.status.state;
      const { artifact, append, lastChunk } = artifactUpdate ?? {};
      return `${append ? '+' : '='}${artifact?.parts[0]?.text}${lastChunk ? '.' : ''}`;
    });
    expect(shown.filter((entry) => entry !== 'TASK_STATE_WORKING')).toEqual([
      'task',
      '=let ',
      '+me ',
      '+see',
      'Helper calls "add".',
      '=it ',
      '+is ',
      '+three',
      '+.',
      'TASK_STATE_COMPLETED',
    ]);
    expect(answerOf(await client.getTask({ id: seen[0]?.task?.id ?? '', tenant: '' }))).toBe('it is three');
  });

  test('gives the value of an agent with an output as a data part', async () => {
    const value = { city: 'Zurich', celsius: 21 };
    const llmModel = new ScriptedModel([{ text: 'Here.', toolCalls: [{ name: 'final_answer', arguments: value }] }]);
    const output = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const agent = world.keep(new PocketAgent<unknown>({ llmModel, name: 'Helper', output, logger: silent }));
    const task = await send(await clientOf((await world.serve(agent)).url, { binding }), message('How warm?'));
    const parts = task.artifacts[0]?.parts.map(({ content }) => content) ?? [];
    expect(parts).toEqual([
      { $case: 'text', value: JSON.stringify(value) },
      { $case: 'data', value },
    ]);
  });

  test('keeps a conversation for each context', async () => {
    const model = new ScriptedModel(['one', 'two', 'other']);
    const agent = world.keep(new PocketAgent({ agentConfig: { llmModel: model, name: 'Helper' } }));
    const client = await clientOf((await world.serve(agent)).url, { binding });
    const first = await send(client, message('first'));
    await send(client, message('second', { contextId: first.contextId }));
    const other = await send(client, message('third'));
    expect(model.calls.map(({ prompt }) => prompt.length)).toEqual([1, 3, 1]);
    expect(other.contextId).not.toBe(first.contextId);
  });

  test('cancels a task and aborts its tool call', async () => {
    const { slow, started, aborted } = slowTool();
    const agent = world.agent([{ toolCalls: [{ name: 'slow' }] }], { tools: [slow] });
    const client = await clientOf((await world.serve(agent)).url, { binding });
    const { id } = await send(client, message('go', {}, { returnImmediately: true }));
    await started;
    const canceled = await client.cancelTask({ id, tenant: '', metadata: undefined });
    expect(stateOf(canceled)).toBe('TASK_STATE_CANCELED');
    await aborted;
    expect(stateOf(await client.cancelTask({ id, tenant: '', metadata: undefined }))).toBe('TASK_STATE_CANCELED');
  });

  test('continues a task when its client disconnects, and the client can subscribe again', async () => {
    const { slow, started, finish } = slowTool();
    const agent = world.agent([{ toolCalls: [{ name: 'slow' }] }, 'finished'], { tools: [slow] });
    const client = await clientOf((await world.serve(agent)).url, { binding });
    let id = '';
    for await (const { payload } of client.sendMessageStream(message('go'))) {
      if (payload?.$case === 'task') id = payload.value.id;
      break;
    }
    await started;
    const watching = client.resubscribeTask({ id, tenant: '' });
    const first = await watching.next();
    expect(first.value?.payload?.$case).toBe('task');
    finish();
    const rest = await collect(watching);
    expect(rest.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(await client.getTask({ id, tenant: '' }))).toBe('finished');
  });

  test('sends all watchers the same updates, also when one of them disconnects', async () => {
    const { slow, started, finish } = slowTool();
    const agent = world.agent([{ toolCalls: [{ name: 'slow' }] }, 'it is done'], { tools: [slow] });
    const client = await clientOf((await world.serve(agent)).url, { binding });
    const { id } = await send(client, message('go', {}, { returnImmediately: true }));
    await started;
    const [left, right, gone] = [1, 2, 3].map(() => client.resubscribeTask({ id, tenant: '' }));
    for (const watching of [left, right, gone]) await watching?.next();
    await gone?.return();
    finish();
    const seen = await Promise.all([left, right].map((watching) => collect(watching ?? [])));
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]?.map(({ artifactUpdate }) => artifactUpdate?.artifact.parts[0]?.text ?? '').join('')).toBe(
      'it is done',
    );
  });

  test('refuses invalid requests with the A2A error for each', async () => {
    const client = await clientOf((await world.serve(world.agent(['done', 'x']))).url, { binding });
    const { id, contextId } = await send(client, message('hello'));
    await expect(client.getTask({ id: 'unknown', tenant: '' })).rejects.toThrow(TaskNotFoundError);
    await expect(send(client, message('x', { taskId: 'unknown' }))).rejects.toThrow(TaskNotFoundError);
    await expect(send(client, message('x', { taskId: id, contextId: 'another' }))).rejects.toThrow(
      /does not belong to context/,
    );
    await expect(send(client, message('x', { taskId: id, contextId }))).rejects.toThrow(UnsupportedOperationError);
    await expect(client.cancelTask({ id, tenant: '', metadata: undefined })).rejects.toThrow(TaskNotCancelableError);
    await expect(collect(client.resubscribeTask({ id, tenant: '' }))).rejects.toThrow(UnsupportedOperationError);
    await expect(send(client, message([]))).rejects.toThrow(/must not be empty/);
    await expect(send(client, message([{ mediaType: 'text/plain' }]))).rejects.toThrow(/needs text/);
    await expect(send(client, message([{ url: 'file:///etc/passwd', mediaType: 'image/png' }]))).rejects.toThrow(
      /http/,
    );
    await expect(send(client, message([{ raw: 'AAAA', mediaType: 'image/png' }]))).rejects.toThrow(/accepts text/);
    await expect(
      send(client, message([{ url: 'https://x.example/a.pdf', mediaType: 'application/pdf' }])),
    ).rejects.toThrow(/accepts text and JSON, not application\/pdf/);
  });

  test('starts one task for a message that is sent twice', async () => {
    const agent = world.agent(['once']);
    const client = await clientOf((await world.serve(agent)).url, { binding });
    const request = message('hello');
    const [left, right] = await Promise.all([send(client, request), send(client, request)]);
    expect(left.id).toBe(right.id);
    expect((await send(client, request)).id).toBe(left.id);
    expect(answerOf(right)).toBe('once');
  });

  test('shows and lists callers only their own tasks', async () => {
    const agent = world.agent(['for a', 'for b']);
    const { url } = await world.serve(agent, {}, { tokens: { 'token-a': 'admin', 'token-b': 'reader' } });
    const a = await clientOf(url, { binding, token: 'token-a' });
    const b = await clientOf(url, { binding, token: 'token-b' });
    const { id, contextId } = await send(a, message('hello'));
    const theirs = await send(b, message('hello', { contextId }));
    expect(answerOf(theirs)).toBe('for b');
    const unknown = await b.getTask({ id: 'x'.repeat(36), tenant: '' }).catch((error) => error);
    const forbidden = await b.getTask({ id, tenant: '' }).catch((error) => error);
    expect(forbidden.message.replace(id, '')).toBe(unknown.message.replace('x'.repeat(36), ''));
    await expect(b.cancelTask({ id, tenant: '', metadata: undefined })).rejects.toThrow(TaskNotFoundError);
    await expect(collect(b.resubscribeTask({ id, tenant: '' }))).rejects.toThrow(TaskNotFoundError);
    const { tasks, totalSize } = await listAll(b, { includeArtifacts: true });
    expect(tasks.map((task) => task.id)).toEqual([theirs.id]);
    expect(totalSize).toBe(1);
    expect(tasks.map(answerOf)).toEqual(['for b']);
  });

  test('shows callers the text of a public PocketError, but not of other errors', async () => {
    const agent = world.agent([{ error: new PocketError('BUDGET_REACHED', 'The budget is used up.') }]);
    class Broken extends PocketAgent {
      override async run(): Promise<string> {
        throw new Error('password hunter2 is wrong');
      }
    }
    const broken = world.keep(
      new Broken({ agentConfig: { llmModel: new ScriptedModel([]), name: 'Broken' }, logger: agent.logger }),
    );
    const shown = await send(await clientOf((await world.serve(agent)).url, { binding }), message('hello'));
    const hidden = await send(await clientOf((await world.serve(broken)).url, { binding }), message('hello'));
    expect([stateOf(shown), statusText(shown)]).toEqual(['TASK_STATE_FAILED', 'The budget is used up.']);
    expect(stateOf(hidden)).toBe('TASK_STATE_FAILED');
    expect(JSON.stringify(hidden)).not.toContain('hunter2');
  });
});

describe('the card', () => {
  test('describes the agent and its authentication', async () => {
    const agent = world.agent([], { agentConfig: { llmModel: '', name: 'Poet', roleDescription: 'Writes verse' } });
    const { url, cardUrl } = await world.serve(agent, { card: { version: '2.0.0' } }, { token: 'secret' });
    const response = await fetch(cardUrl, { headers: { 'A2A-Version': '1.0' } });
    const json = (await response.json()) as Record<string, unknown>;
    expect(json).toMatchObject({
      name: 'Poet',
      description: 'Writes verse',
      version: '2.0.0',
      capabilities: { streaming: true, pushNotifications: true },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      skills: [{ id: 'message', name: 'Poet' }],
    });
    expect(json).not.toHaveProperty('url');
    const read = await new DefaultAgentCardResolver().resolve(url);
    expect(read.securitySchemes.bearer?.scheme).toMatchObject({
      $case: 'httpAuthSecurityScheme',
      value: { scheme: 'Bearer' },
    });
    expect(AgentCard.toJSON(AgentCard.fromJSON(json))).toMatchObject({ name: 'Poet' });
    expect(JSON.stringify(json)).not.toContain('secret');
  });

  test('is not sent again to a client that has it (ETag)', async () => {
    const { cardUrl } = await world.serve(world.agent([]));
    const first = await fetch(cardUrl);
    const etag = first.headers.get('etag') ?? '';
    expect(first.headers.get('cache-control')).toMatch(/max-age=\d+/);
    const again = await fetch(cardUrl, { headers: { 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await fetch(cardUrl, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  test('lists the tools that callers may use, with skills: tools', async () => {
    const erase = tool({ name: 'erase', description: 'Erases', run: () => '' });
    const agent = world.agent([], { tools: [add, erase] });
    const { cardUrl } = await world.serve(agent, { skills: 'tools', profile: 'reader' });
    const card = (await (await fetch(cardUrl)).json()) as { skills: unknown[] };
    expect(card.skills).toEqual([{ id: 'add', name: 'add', description: 'Adds two numbers', tags: ['read'] }]);
  });
});

describe('clients of version 0.3', () => {
  test('find a URL and a security scheme in the card', async () => {
    const { url, cardUrl } = await world.serve(world.agent([]), { token: 't' });
    expect(await (await fetch(cardUrl)).json()).toMatchObject({
      url: `${url}/a2a/jsonrpc`,
      preferredTransport: 'JSONRPC',
      protocolVersion: '0.3.0',
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
      security: [{ bearer: [] }],
    });
  });

  const old = (text: string, more: object = {}) => ({
    message: {
      kind: 'message',
      role: 'user',
      messageId: crypto.randomUUID(),
      parts: [{ kind: 'text', text }],
      ...more,
    },
  });

  test('can send, read and stream', async () => {
    const { url } = await world.serve(world.agent(['an answer', 'another one']));
    const { result } = await rpc(url, 'message/send', old('hello'));
    expect(result).toMatchObject({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'an answer' }] }],
    });
    expect((await rpc(url, 'tasks/get', { id: result?.id })).result).toMatchObject({ id: result?.id });
    expect((await rpc(url, 'tasks/get', { id: 'unknown' })).error?.code).toBe(-32_001);
    const response = await fetch(`${url}/a2a/jsonrpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'message/stream', params: old('hello again') }),
    });
    const events = (await response.text()).match(/^data: (.*)$/gm)?.map((line) => JSON.parse(line.slice(6)).result);
    expect(events?.[0]).toMatchObject({ kind: 'task' });
    expect(events?.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true });
  });

  test('can answer a question', async () => {
    const { agent, erased } = world.cleaner();
    const { url } = await world.serve(agent);
    const asked = await rpc(url, 'message/send', old('clean up'));
    expect(asked.result).toMatchObject({ status: { state: 'input-required' } });
    const { id: taskId, contextId } = asked.result ?? {};
    const done = await rpc(url, 'message/send', old('yes', { taskId, contextId }));
    expect(done.result).toMatchObject({ status: { state: 'completed' } });
    expect(erased).toEqual([{ id: 7 }]);
  });

  test('get an error for methods of 1.0, and so do clients of unknown versions', async () => {
    const { url } = await world.serve(world.agent(['x']));
    const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } };
    expect((await rpc(url, 'SendMessage', params, { 'A2A-Version': '2.0' })).error?.code).toBe(-32_009);
    const forgotten = await rpc(url, 'SendMessage', params);
    expect(forgotten.error).toMatchObject({ code: -32_009, message: expect.stringContaining('A2A-Version: 1.0') });
    const inQuery = await fetch(`${url}/a2a/rest/message:send?A2A-Version=1.0`, {
      method: 'POST',
      headers: { 'content-type': 'application/a2a+json' },
      body: JSON.stringify(params),
    });
    expect(inQuery.status).toBe(200);
    expect(inQuery.headers.get('content-type')).toBe('application/a2a+json');
  });
});

test.each(['jsonrpc', 'rest'])('messages by %s need the role ROLE_USER', async (binding) => {
  const { url } = await world.serve(world.agent(['hello']));
  const send = async (role: unknown) => {
    const message = { messageId: 'm', role, parts: [{ text: 'x' }] };
    const isRest = binding === 'rest';
    const response = await fetch(isRest ? `${url}/a2a/rest/message:send` : `${url}/a2a/jsonrpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'A2A-Version': '1.0' },
      body: JSON.stringify(
        isRest ? { message } : { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } },
      ),
    });
    return response.text();
  };
  for (const role of ['ROLE_AGENT', 'ROLE_ADMIN', 'user', 'ROLE_UNSPECIFIED', 7, undefined])
    expect(await send(role)).toContain('message.role must be ROLE_USER.');
  expect(await send('ROLE_USER')).toContain('TASK_STATE_COMPLETED');
});

describe('access to the server', () => {
  test('needs a token, except for the card', async () => {
    const { url, cardUrl } = await world.serve(world.agent([]), {}, { token: 'right' });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } });
    const post = (headers: Record<string, string>) =>
      fetch(`${url}/a2a/jsonrpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
    const refused = await post({});
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toMatch(/bearer/i);
    expect((await post({ authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await post({ authorization: 'Bearer right', 'A2A-Version': '1.0' })).status).toBe(200);
    expect((await fetch(`${url}/a2a/rest/tasks/x`)).status).toBe(401);
    expect((await fetch(cardUrl)).status).toBe(200);
  });

  test('is not opened by tokens or authenticate with an undefined value: listen() throws', async () => {
    const cases: [A2aServerOptions, object, string][] = [
      [{ tokens: { right: 'admin' } }, { tokens: undefined }, 'The "tokens" of the server is undefined; set it'],
      [{ authenticate: () => undefined }, { authenticate: undefined }, 'The "authenticate" of the server is undefined'],
      [{}, { authenticate: null }, 'The "authenticate" of the server is null'],
    ];
    for (const [made, listening, words] of cases) {
      const server = world.agent([]).asA2aServer(made);
      await expect(server.listen(listening)).rejects.toThrow(words);
    }
  });

  test('can be decided by authenticate', async () => {
    const agent = world.agent([{ toolCalls: [{ name: 'erase' }] }, 'tried'], {
      tools: [tool({ name: 'erase', description: 'Erases', run: () => 'erased' })],
    });
    const { url } = await world.serve(agent, {
      authenticate: (request) => {
        const id = request.headers.get('x-user');
        return id ? { id, profile: 'reader' } : undefined;
      },
    });
    const sent = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'erase' }] } };
    const known = { 'A2A-Version': '1.0', 'x-user': 'ann' };
    const { result } = await rpc(url, 'SendMessage', sent, known);
    expect(JSON.stringify(result)).toContain('tried');
    const { id } = (result?.task ?? {}) as { id: string };
    expect((await rpc(url, 'GetTask', { id }, { ...known, 'x-user': 'bob' })).error?.code).toBe(-32_001);
    expect(await rpc(url, 'GetTask', { id }, { 'A2A-Version': '1.0' })).toEqual({ error: 'unauthorized' });
  });

  test('is refused for other host names, for pages of other origins, and for large bodies', async () => {
    const server = world.agent([]).asA2aServer({ maxBodyBytes: 1_000 });
    const { url, cardUrl } = await server.listen();
    const stranger = await server.fetch(new Request('http://evil.example/.well-known/agent-card.json'));
    expect(stranger.status).toBe(403);
    expect((await fetch(cardUrl, { headers: { origin: 'https://evil.example' } })).status).toBe(403);
    const large = (target: string) =>
      new Request(target, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `"${'x'.repeat(2_000)}"`,
      });
    expect((await fetch(large(`${url}/a2a/jsonrpc`))).status).toBe(413);
    expect((await server.fetch(large('http://localhost/a2a/jsonrpc'))).status).toBe(413);
    expect((await server.fetch(large('http://localhost/a2a/rest/message:send'))).status).toBe(413);
  });

  test.each([
    ['values', `[${'{},'.repeat(100_000)}{}]`, 'The body is JSON that exceeds the limit of 100000 values.'],
    ['levels', `${'['.repeat(1_001)}${']'.repeat(1_001)}`, 'that exceeds the limit of 1000 nested levels'],
  ])('is refused for a body with too many %s', async (_what, data, text) => {
    const { url } = await world.serve(world.agent([]));
    const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"parts":[{"data":${data}}]}}}`;
    const refused = await fetch(`${url}/a2a/jsonrpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(refused.status).toBe(413);
    expect(await refused.text()).toContain(text);
  });

  test('answers invalid JSON with a JSON-RPC error', async () => {
    const { url } = await world.serve(world.agent([]));
    const post = async (body: string, type = 'application/json') =>
      (await (
        await fetch(`${url}/a2a/jsonrpc`, { method: 'POST', headers: { 'content-type': type }, body })
      ).json()) as {
        error: { code: number };
      };
    expect((await post('{')).error.code).toBe(-32_700);
    expect((await post('[]')).error.code).toBe(-32_600);
    expect((await post('{}', 'text/plain')).error.code).toBe(-32_005);
    expect((await rpc(url, 'Nonsense', {}, { 'A2A-Version': '1.0' })).error?.code).toBe(-32_601);
  });

  test('lists tasks for unauthenticated callers only by context', async () => {
    const { url } = await world.serve(world.agent(['x']));
    const client = await clientOf(url);
    const { contextId } = await send(client, message('hello'));
    await expect(listAll(client)).rejects.toThrow(/must give a contextId/);
    expect((await listAll(client, { contextId })).tasks).toHaveLength(1);
  });
});

test('images reach an agent that allows them', async () => {
  const model = new ScriptedModel(['an image']);
  const agent = world.keep(new PocketAgent({ agentConfig: { llmModel: model, name: 'Seer', allowImages: true } }));
  const client = await clientOf((await world.serve(agent)).url);
  const task = await send(client, message([{ text: 'what is it?' }, { raw: 'iVBORw0KGgo=', mediaType: 'image/png' }]));
  expect(answerOf(task)).toBe('an image');
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain('image/png');
  expect(JSON.stringify(task.history)).not.toContain('iVBOR');
});

test('files reach an agent that is served with their types, and others are refused', async () => {
  const model = new ScriptedModel(['a report']);
  const agent = world.keep(new PocketAgent({ agentConfig: { llmModel: model, name: 'Reader' } }));
  const server = await world.serve(agent, { files: ['application/pdf', 'audio/*'] });
  const client = await clientOf(server.url);
  const raw = Buffer.from('%PDF-1.7').toString('base64');
  const pdf = { raw, mediaType: 'application/pdf', filename: 'a.pdf' };
  const task = await send(client, message([{ text: 'read' }, pdf, { raw, mediaType: 'audio/wav' }]));
  expect(answerOf(task)).toBe('a report');
  const prompt = JSON.stringify(model.calls[0]?.prompt);
  expect(prompt).toContain('"mediaType":"application/pdf","filename":"a.pdf"');
  expect(prompt).toContain('"mediaType":"audio/wav"');
  await expect(send(client, message([{ raw, mediaType: 'video/mp4' }]))).rejects.toThrow(
    'This agent accepts text, JSON, application/pdf and audio/*, not video/mp4.',
  );
});

test('a message may have 20 files', async () => {
  const model = new ScriptedModel(['many reports']);
  const agent = world.keep(new PocketAgent({ agentConfig: { llmModel: model, name: 'Reader', allowImages: true } }));
  const client = await clientOf((await world.serve(agent, { files: ['application/pdf'] })).url);
  const pdf = { raw: Buffer.from('%PDF-1.7').toString('base64'), mediaType: 'application/pdf' };
  const image = { url: 'http://169.254.169.254/a.png', mediaType: 'image/png' };
  const twenty = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? pdf : image));
  await expect(send(client, message([...twenty, pdf]))).rejects.toThrow('A message may have at most 20 files.');
  expect(answerOf(await send(client, message(twenty)))).toBe('many reports');
  const sent = JSON.stringify(model.calls[0]?.prompt);
  expect(sent.match(/its address is private/g)).toHaveLength(10);
  expect(sent.match(/application\/pdf/g)).toHaveLength(10);
});

test('JSON and text files are read as text', async () => {
  const model = new ScriptedModel(['read']);
  const agent = world.keep(new PocketAgent({ agentConfig: { llmModel: model, name: 'Reader' } }));
  const client = await clientOf((await world.serve(agent)).url);
  const raw = Buffer.from('from a file').toString('base64');
  await send(
    client,
    message([
      { text: 'first' },
      { data: { second: 1 }, mediaType: 'application/json; charset=utf-8' },
      { raw, mediaType: 'text/plain' },
    ]),
  );
  expect(model.calls[0]?.prompt[0]?.content).toMatchObject([{ text: 'first\n{"second":1}\nfrom a file' }]);
});

test('tasks above the limit are rejected, and the oldest finished tasks are dropped', async () => {
  const { slow, started, finish } = slowTool();
  const agent = world.agent([{ toolCalls: [{ name: 'slow' }] }, 'first', 'second'], { tools: [slow] });
  const client = await clientOf((await world.serve(agent, { maxRunningTasks: 1, maxTasks: 1 })).url);
  const first = await send(client, message('go', {}, { returnImmediately: true }));
  await started;
  const rejected = await send(client, message('too much'));
  expect([stateOf(rejected), statusText(rejected)]).toEqual(['TASK_STATE_REJECTED', expect.stringContaining('later')]);
  const watching = client.resubscribeTask({ id: first.id, tenant: '' });
  await watching.next();
  finish();
  await collect(watching);
  await send(client, message('next'));
  await expect(client.getTask({ id: first.id, tenant: '' })).rejects.toThrow(TaskNotFoundError);
});

test('one caller cannot use up the limits for running and stored tasks', async () => {
  const { slow, finish } = slowTool();
  const busy = { toolCalls: [{ name: 'slow' }] };
  const agent = world.agent([busy, 'one', 'two', 'three', 'four', 'five'], { tools: [slow] });
  const tokens = { greedy: 'admin', modest: 'admin' } as const;
  const { url } = await world.serve(agent, { tokens, maxRunningTasks: 4, maxTasks: 3 });
  const [greedy, modest] = [await clientOf(url, { token: 'greedy' }), await clientOf(url, { token: 'modest' })];
  const first = await send(greedy, message('go', {}, { returnImmediately: true }));
  await until(greedy, first.id, (task) => stateOf(task) === 'TASK_STATE_WORKING');
  const refused = await send(greedy, message('more'));
  expect([stateOf(refused), statusText(refused)]).toEqual([
    'TASK_STATE_REJECTED',
    expect.stringContaining('one caller'),
  ]);
  const kept = await send(modest, message('a question'));
  expect(stateOf(kept)).toBe('TASK_STATE_COMPLETED');
  finish();
  await until(greedy, first.id, (task) => stateOf(task) === 'TASK_STATE_COMPLETED');
  for (const text of ['a', 'b', 'c']) await send(greedy, message(text));
  expect((await modest.getTask({ id: kept.id, tenant: '' })).id).toBe(kept.id);
  await expect(greedy.getTask({ id: first.id, tenant: '' })).rejects.toThrow(TaskNotFoundError);
});

describe('messages of running tasks that exceed maxRunningBytes', () => {
  const half = 'x'.repeat(6_000);
  const startSlowTask = async (given: { tokens?: Record<string, 'admin'>; maxRunningBytes: number }) => {
    const { slow, started, finish } = slowTool();
    const agent = world.agent([{ toolCalls: [{ name: 'slow' }] }, 'one', 'two'], { tools: [slow] });
    const { url } = await world.serve(agent, given);
    const client = await clientOf(url, given.tokens ? { token: 'greedy' } : {});
    const first = await send(client, message(half, {}, { returnImmediately: true }));
    await started;
    const end = async () => {
      finish();
      await until(client, first.id, (task) => stateOf(task) === 'TASK_STATE_COMPLETED');
    };
    return { url, client, end };
  };

  test('are rejected with the limit, and accepted when a task has ended', async () => {
    const { client, end } = await startSlowTask({ maxRunningBytes: 10_000 });
    const again = message(half);
    const rejected = await send(client, again);
    expect([stateOf(rejected), statusText(rejected)]).toEqual([
      'TASK_STATE_REJECTED',
      expect.stringMatching(/they would exceed its limit of 10000 bytes\. Try again later\.$/),
    ]);
    await end();
    expect(stateOf(await send(client, again))).toBe('TASK_STATE_COMPLETED');
  });

  test('are rejected for one of several callers at a quarter of it', async () => {
    const tokens = { greedy: 'admin', modest: 'admin' } as const;
    const { url, client, end } = await startSlowTask({ tokens, maxRunningBytes: 40_000 });
    expect(statusText(await send(client, message(half)))).toMatch(/exceed the limit of 10000 bytes for one caller/);
    const modest = await clientOf(url, { token: 'modest' });
    expect(stateOf(await send(modest, message(half)))).toBe('TASK_STATE_COMPLETED');
    await end();
  });

  test('run if they are alone', async () => {
    const agent = world.agent(['done']);
    const client = await clientOf((await world.serve(agent, { maxRunningBytes: 100 })).url);
    expect(stateOf(await send(client, message(half)))).toBe('TASK_STATE_COMPLETED');
  });
});

describe('a caller with more than maxMemoryBytes loses its oldest', () => {
  const tokens = { greedy: 'admin', modest: 'admin' } as const;
  const long = 'x'.repeat(50_000);
  /** Answers with the number of messages of users in the conversation. */
  const count = ({ prompt }: ScriptedModel['calls'][number]) =>
    `message ${prompt.filter(({ role }) => role === 'user').length}`;
  const serve = async () => {
    const agent = world.agent(Array.from({ length: 7 }, () => count));
    const { url } = await world.serve(agent, { tokens, maxMemoryBytes: 120_000 });
    return { greedy: await clientOf(url, { token: 'greedy' }), modest: await clientOf(url, { token: 'modest' }) };
  };

  test('finished tasks', async () => {
    const { greedy, modest } = await serve();
    const kept = await send(modest, message('a question'));
    const [first, second, third] = [
      await send(greedy, message(long)),
      await send(greedy, message(long)),
      await send(greedy, message(long)),
    ];
    await expect(greedy.getTask({ id: first.id, tenant: '' })).rejects.toThrow(TaskNotFoundError);
    for (const { id } of [second, third]) expect((await greedy.getTask({ id, tenant: '' })).id).toBe(id);
    expect((await modest.getTask({ id: kept.id, tenant: '' })).id).toBe(kept.id);
  });

  test('conversations', async () => {
    const { greedy, modest } = await serve();
    await send(modest, message('a question', { contextId: 'mine' }));
    for (const contextId of ['a', 'b', 'c']) await send(greedy, message(long, { contextId }));
    expect(answerOf(await send(greedy, message('again', { contextId: 'c' })))).toBe('message 2');
    expect(answerOf(await send(greedy, message('again', { contextId: 'a' })))).toBe('message 1');
    expect(answerOf(await send(modest, message('again', { contextId: 'mine' })))).toBe('message 2');
  });
});

test.each(['messageId', 'contextId', 'taskId'])('a %s of more than 512 characters is refused', async (name) => {
  const client = await clientOf((await world.serve(world.agent(['hello']))).url);
  const sent = send(client, message('hello', { [name]: 'x'.repeat(513) }));
  await expect(sent).rejects.toThrow(`${name} must have at most 512 characters.`);
  const fitting = name === 'taskId' ? {} : { [name]: 'x'.repeat(512) };
  expect(answerOf(await send(client, message('hello', fitting)))).toBe('hello');
});

test('a single caller, or callers without authentication, may use the whole limit', async () => {
  const { slow, finish } = slowTool();
  const agent = world.agent(
    Array.from({ length: 4 }, () => ({ toolCalls: [{ name: 'slow' }] })),
    { tools: [slow] },
  );
  const { url } = await world.serve(agent, { token: 'mine', maxRunningTasks: 2 });
  const client = await clientOf(url, { token: 'mine' });
  const go = () => send(client, message('go', {}, { returnImmediately: true }));
  expect([await go(), await go(), await go()].map(stateOf).map((state) => state === 'TASK_STATE_REJECTED')).toEqual([
    false,
    false,
    true,
  ]);
  finish();
});

test('tasks can be kept in a store of the SDK', async () => {
  const taskStore = new InMemoryTaskStore();
  const before = await world.serve(world.agent(['kept']), { taskStore, token: 't' });
  const { id } = await send(await clientOf(before.url, { token: 't' }), message('hello'));
  await before.close();
  const after = await world.serve(world.agent([]), { taskStore, token: 't' });
  const client = await clientOf(after.url, { token: 't' });
  expect(answerOf(await client.getTask({ id, tenant: '' }))).toBe('kept');
  const { tasks } = await listAll(client, { status: 'TASK_STATE_COMPLETED' });
  expect(tasks.map((task) => task.id)).toEqual([id]);
});

test('an error of the store is hidden from callers and does not stop the task', async () => {
  const broken = () => Promise.reject(new Error('password hunter2 is wrong'));
  const logged: string[] = [];
  const agent = world.agent(['all the same'], { logger: { ...silent, error: (text) => void logged.push(text) } });
  const { url } = await world.serve(agent, { taskStore: { save: broken, load: broken, list: broken } });
  const client = await clientOf(url);
  const task = await send(client, message('hello'));
  expect(answerOf(task)).toBe('all the same');
  const modern = await rpc(url, 'GetTask', { id: 'x' }, { 'A2A-Version': '1.0' });
  const legacy = await rpc(url, 'tasks/get', { id: 'x' });
  for (const { error } of [modern, legacy]) expect(error).toMatchObject({ code: -32_603, message: 'Internal error.' });
  expect(logged.join()).toContain('hunter2');
});

test('options of the server and of listen() are checked', async () => {
  const wrong = (options: object) => options as never;
  const agent = world.agent([]);
  expect(() => agent.asA2aServer(wrong({ profil: 'reader' }))).toThrow('Did you mean "profile"?');
  const server = agent.asA2aServer();
  await expect(server.listen(wrong({ prot: 5 }))).rejects.toThrow(
    'listen() has no option "prot". Did you mean "port"?',
  );
  await expect(server.listen(wrong({ port: '80x' }))).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: 'port must be a whole number from 0 to 65535, got "80x", which is not a number.',
  });
  const port = Number(new URL((await server.listen()).url).port);
  await expect(server.listen({ port })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/^Cannot listen on 127.0.0.1 port \d+: the port is in use \(EADDRINUSE\)\./),
  });
});

test('a handler inside another server is reached at the URL in its card', async () => {
  const { fetch: serve } = world.agent(['embedded']).asA2aServer({ url: 'https://agents.example.com/helper' });
  const card = await serve(new Request('https://agents.example.com/helper/.well-known/agent-card.json'));
  const { supportedInterfaces } = (await card.json()) as { supportedInterfaces: { url: string }[] };
  const [rpcUrl, restUrl] = supportedInterfaces.map(({ url }) => url);
  expect(rpcUrl).toBe('https://agents.example.com/helper/a2a/jsonrpc');
  const sent = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] } };
  const response = await serve(
    new Request(`${restUrl}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'A2A-Version': '1.0' },
      body: JSON.stringify(sent),
    }),
  );
  expect(JSON.stringify(await response.json())).toContain('embedded');
  expect((await serve(new Request('https://agents.example.com/other'))).status).toBe(404);
});

test('options that contradict each other are refused', async () => {
  const agent = world.agent([]);
  const approvals = 'owner' as 'own';
  const refused = { code: 'CONFIG_INVALID', message: expect.stringContaining('one of caller, own') };
  expect(() => agent.asA2aServer({ approvals })).toThrow(expect.objectContaining(refused));
  const twice = agent.asA2aServer({ token: 'same', tokens: { same: 'reader' } });
  await expect(twice.listen()).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('keep it in one of them'),
  });
});

test('a server that was closed is not closed again with its agent', async () => {
  const agent = world.agent([]);
  const [first, second] = [agent.asA2aServer(), agent.asA2aServer()];
  const closed: string[] = [];
  for (const [name, server] of Object.entries({ first, second })) {
    const { close } = server;
    server.close = () => {
      closed.push(name);
      return close.call(server);
    };
  }
  await first.close();
  await agent.close();
  expect(closed).toEqual(['first', 'second']);
});

test.each(bindings)('a caller gets the code of a failed model call, the log has the details (%s)', async (binding) => {
  const lines: string[] = [];
  const logger = { ...silent, error: (line: string) => void lines.push(line) };
  const error = new Error('key sk-123 of org-AbC123dEf is refused by http://admin:hunter2@10.0.0.5/v1');
  const agent = world.agent([{ error }], { logger });
  const task = await send(await clientOf((await world.serve(agent)).url, { binding }), message('hello'));
  const neutral = 'The agent failed (MODEL_FAILED); its log says why.';
  expect([stateOf(task), statusText(task)]).toEqual(['TASK_STATE_FAILED', neutral]);
  expect(lines.join()).toContain('is refused by http://[redacted]@10.0.0.5/v1');
  for (const secret of ['sk-123', 'org-AbC123dEf', 'hunter2']) expect(lines.join()).not.toContain(secret);
});

test('requests after close() are refused, because the server was closed', async () => {
  const agent = world.agent([]);
  const server = agent.asA2aServer({ url: 'http://localhost' });
  await agent.close();
  const response = await server.fetch(new Request('http://localhost/', { method: 'POST', body: '{}' }));
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('was closed')]);
});
