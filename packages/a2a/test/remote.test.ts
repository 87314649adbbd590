import { TLSSocket } from 'node:tls';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { type RemoteAgentOptions, remoteAgent } from '@pocket-agent/a2a';
import { PocketAgent } from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { listenWithTlsOrNot } from '../../pocket-agent/test/fixtures/servers/tls-or-not.ts';
import { expectValidHistory, resultText, scriptedAgent, silent } from '../../pocket-agent/test/helpers.ts';
import { ForeignAgent, type Reply } from './fixtures/foreign-agent.ts';
import { World } from './fixtures/world.ts';

const world = new World();
afterEach(() => {
  vi.useRealTimers();
  return world.close();
});

async function foreign(...args: ConstructorParameters<typeof ForeignAgent>): Promise<ForeignAgent> {
  return world.keep(await new ForeignAgent(...args).start());
}

/** Calls the only tool of a remote agent as an agent would. */
async function call(options: RemoteAgentOptions, args: object = { message: 'hello' }, more: object = {}) {
  const source = world.keep(remoteAgent({ logger: silent, ...options }) as Required<ReturnType<typeof remoteAgent>>);
  const [found] = await source.listTools();
  const told: string[] = [];
  const context = {
    toolCallId: 'call-1',
    signal: new AbortController().signal,
    progress: ({ message = '' }) => void told.push(message),
    meta: {},
    ...more,
  };
  const again = (given = args) => source.callTool(found?.name ?? '', { ...given }, context);
  return { result: again(), again, told, source, found };
}

let clock = 0;

/** Makes a call with fake timers that advance 100 ms with every turn of the event loop. */
async function fastClockCall(options: RemoteAgentOptions) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  // the timeout of the call uses the same timers
  const { result } = await call({ timeoutMs: Number.MAX_SAFE_INTEGER, ...options });
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  result.then(end, end);
  while (!isOver) {
    vi.advanceTimersByTime(100);
    clock += 100;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { result };
}

const task = (state: string, more: object = {}) => ({ id: 't1', contextId: 'c1', status: { state, ...more } });
const ofTask = { taskId: 't1', contextId: 'c1' };
const messageOf = (text: string) => ({ message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] } });
const chunk = (text: string, more: object = {}) => ({
  artifactUpdate: { ...ofTask, artifact: { artifactId: 'a', parts: [{ text }] }, ...more },
});
const justSays =
  (text: string) =>
  (_params: object, reply: Reply): void => {
    reply.event(messageOf(text));
    reply.end();
  };
/** Its stream ends before the task does. */
const begins = {
  SendStreamingMessage: (_params: object, reply: Reply): void => {
    reply.event({ task: task('TASK_STATE_WORKING') });
    reply.end();
  },
};
const status = (state: string, more: object = {}) => ({ statusUpdate: { ...ofTask, status: { state, ...more } } });

test('a Pocket Agent behind A2A is a tool that keeps the conversation and reports progress', async () => {
  const model = new ScriptedModel(['the first answer', 'the second']);
  const poet = world.keep(
    new PocketAgent({ agentConfig: { llmModel: model, name: 'Poet', roleDescription: 'Writes verse' } }),
  );
  const { url } = await world.serve(poet, {}, { token: 'secret' });
  const say = (text: string) => ({ toolCalls: [{ name: 'Poet-message', arguments: { message: text } }] });
  const recorded = recordEvents();
  const { agent, model: own } = scriptedAgent([say('one'), say('two'), 'done'], {
    tools: [remoteAgent({ url, token: 'secret' })],
    hooks: recorded,
  });
  world.keep(agent);
  expect(await agent.run('go')).toBe('done');
  expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['the first answer', 'the second']);
  expect(model.calls.map(({ prompt }) => prompt.length)).toEqual([1, 3]);
  expect(own.calls[0]?.tools?.[0]).toMatchObject({ description: expect.stringContaining('Writes verse') });
  const progress = recorded.events.flatMap(({ type, data }) =>
    type === 'tool_progress' ? [Object(data).message] : [],
  );
  expect(progress.join('')).toContain('the first answer');
  expectValidHistory(agent);
});

test('its capability is delete unless configured', async () => {
  const { agent } = world.cleaner();
  const { url } = await world.serve(agent);
  const careful = world.agent([], { tools: [remoteAgent(url)] });
  expect((await careful.listTools()).map(({ capability }) => capability)).toEqual(['delete']);
  const told = world.agent([], { tools: [remoteAgent({ url, capability: 'read' })] });
  expect((await told.listTools()).map(({ capability, from }) => [capability, from])).toEqual([['read', 'config']]);
});

test('forks of an agent have their own conversations', async () => {
  const model = new ScriptedModel(['for one', 'for the other']);
  const poet = world.keep(new PocketAgent({ agentConfig: { llmModel: model, name: 'Poet' } }));
  const { url } = await world.serve(poet);
  const say = { toolCalls: [{ name: 'Poet-message', arguments: { message: 'hi' } }] };
  const { agent } = scriptedAgent([say, 'a', say, 'b'], { tools: [remoteAgent(url)] });
  world.keep(agent);
  await agent.run('x');
  const fork = world.keep(agent.fork());
  await fork.run('x');
  expect(model.calls.map(({ prompt }) => prompt.length)).toEqual([1, 1]);
});

test('a question is answered with its task id', async () => {
  const wanted = z.object({ count: z.int() });
  const server = () => {
    const made = new McpServer({ name: 'shop', version: '1' });
    made.registerTool('order', { description: 'Orders', inputSchema: z.object({}) }, (_args, { mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses, 'count', wanted);
      if (given) return { content: [{ type: 'text', text: `${given.count} ordered` }] };
      const ask = inputRequired.elicit({ message: 'How many?', requestedSchema: wanted });
      return inputRequired({ inputRequests: { count: ask } });
    });
    return made;
  };
  const shopper = world.agent([{ toolCalls: [{ name: 'order' }] }, 'ordered'], {
    mcpConfig: { mcpServers: { shop: { server } } },
  });
  const { result, again } = await call({ url: (await world.serve(shopper)).url });
  const asked = JSON.stringify((await result).content);
  const taskId = /taskId \\"([0-9a-f-]{36})/.exec(asked)?.[1];
  const answer = (args: object) => again({ message: '12', ...args });
  await expect(answer({ taskId: 'another' })).rejects.toThrow(/no task "another" that waits/);
  expect((await answer({ taskId })).content).toMatchObject([{ text: 'ordered' }]);
});

describe('a third-party agent', () => {
  test('may answer with a message instead of a task', async () => {
    const { url } = await foreign({
      SendStreamingMessage: justSays('just so'),
    });
    const { result, found } = await call({ url });
    expect(found?.name).toBe('Foreigner-message');
    expect(await result).toEqual({ content: [{ type: 'text', text: 'just so' }] });
  });

  test('returns its artifacts, not its status messages', async () => {
    const { url } = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: task('TASK_STATE_SUBMITTED') });
        reply.event(status('TASK_STATE_WORKING', messageOf('thinking')));
        reply.event(chunk('the '));
        reply.event(chunk('result', { append: true, lastChunk: true }));
        reply.event(status('TASK_STATE_COMPLETED', messageOf('All done!')));
        reply.end();
      },
    });
    const { result, told } = await call({ url });
    expect((await result).content).toEqual([{ type: 'text', text: 'the result' }]);
    expect(told).toEqual(['thinking', 'the ', 'result']);
  });

  test('is followed after its stream broke, and nothing is sent twice', async () => {
    const made = { artifacts: [{ artifactId: 'a', parts: [{ text: 'half ' }] }] };
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: task('TASK_STATE_WORKING') });
        reply.event(chunk('half '));
        setImmediate(() => reply.cut());
      },
      GetTask: (_params, reply) => reply.result({ ...task('TASK_STATE_WORKING'), ...made }),
      SubscribeToTask: (_params, reply) => {
        reply.event({ task: { ...task('TASK_STATE_WORKING'), ...made } });
        reply.event(chunk('and half', { append: true, lastChunk: true }));
        reply.event(status('TASK_STATE_COMPLETED'));
        reply.end();
      },
    });
    const { result } = await call({ url: agent.url });
    expect((await result).content).toEqual([{ type: 'text', text: 'half and half' }]);
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'GetTask', 'SubscribeToTask']);
  });

  test('is polled if it does not stream', async () => {
    let asked = 0;
    const agent = await foreign(
      {
        SendMessage: (_params, reply) => reply.result({ task: task('TASK_STATE_SUBMITTED') }),
        GetTask: (_params, reply) =>
          reply.result(
            ++asked < 2
              ? task('TASK_STATE_WORKING')
              : {
                  ...task('TASK_STATE_COMPLETED'),
                  artifacts: [{ artifactId: 'a', parts: [{ data: { answer: 42 } }] }],
                },
          ),
      },
      { capabilities: {} },
    );
    const { result } = await call({ url: agent.url });
    expect(await result).toEqual({
      content: [{ type: 'text', text: '{"answer":42}' }],
      structuredContent: { answer: 42 },
    });
    expect(agent.calls[0]?.params).toMatchObject({ configuration: { returnImmediately: true } });
  });

  test('that does not support subscribing is polled, too', async () => {
    const states = ['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];
    const agent = await foreign({
      ...begins,
      GetTask: (_params, reply) => reply.result(task(states.shift() ?? '', messageOf('done'))),
      SubscribeToTask: (_params, reply) => reply.error(-32_004, 'not here'),
    });
    const { result } = await fastClockCall({ url: agent.url });
    expect((await result).content).toEqual([{ type: 'text', text: 'done' }]);
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'GetTask', 'SubscribeToTask', 'GetTask']);
  });

  test('that is busy for a while keeps its task, and nothing is sent twice', async () => {
    let asked = 0;
    const agent = await foreign({
      ...begins,
      GetTask: (_params, reply) =>
        ++asked <= 8 ? reply.busy() : reply.result(task(asked < 11 ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED')),
      SubscribeToTask: (_params, reply) => reply.busy(),
    });
    const { result } = await fastClockCall({ url: agent.url });
    expect(await result).not.toHaveProperty('isError');
    expect(agent.methods().filter((method) => method.startsWith('Send'))).toHaveLength(1);
    expect(agent.methods().slice(-5)).toEqual(['GetTask', 'SubscribeToTask', 'GetTask', 'SubscribeToTask', 'GetTask']);
  });

  test('that is busy is asked again after Retry-After, at most a minute later', async () => {
    const asked: number[] = [];
    const waits = [20, 999_999_999];
    const { url } = await foreign({
      ...begins,
      GetTask: (_params, reply) => {
        asked.push(clock);
        const wait = waits.shift();
        if (wait === undefined) reply.result(task('TASK_STATE_COMPLETED'));
        else reply.busy(wait);
      },
    });
    await (await fastClockCall({ url })).result;
    const [first = 0, second = 0, third = 0] = asked;
    expect(second - first).toBeGreaterThanOrEqual(20_000);
    expect(third - second).toBeGreaterThanOrEqual(60_000);
  });

  test('that is busy until the call is aborted gets a cancel request', async () => {
    const controller = new AbortController();
    const cancelled: unknown[] = [];
    let asked = 0;
    const { url } = await foreign({
      ...begins,
      GetTask: (_params, reply) => {
        if (++asked === 2) controller.abort();
        reply.busy();
      },
      CancelTask: ({ id }, reply) => {
        cancelled.push(id);
        reply.result(task('TASK_STATE_CANCELED'));
      },
    });
    const { result, source } = await call({ url }, { message: 'x' }, { signal: controller.signal });
    await expect(result).rejects.toMatchObject({ code: 'ABORTED' });
    await source.close();
    expect(cancelled).toEqual(['t1']);
  });

  test('that is busy when it is sent an answer gets it later', async () => {
    const about = { question: 'q1', 'pocket-agent/approval': { tool: 'erase' } };
    let sent = 0;
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({
          task: task('TASK_STATE_INPUT_REQUIRED', { message: { ...messageOf('').message, parts: [{ data: about }] } }),
        });
        reply.end();
      },
      SendMessage: (_params, reply) =>
        ++sent === 1 ? reply.busy() : reply.result({ task: task('TASK_STATE_WORKING') }),
      GetTask: (_params, reply) => reply.result(task('TASK_STATE_COMPLETED', messageOf('gone on'))),
    });
    const { result } = await fastClockCall({ url: agent.url });
    expect((await result).content).toEqual([{ type: 'text', text: 'gone on' }]);
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'SendMessage', 'SendMessage', 'GetTask']);
  });

  test('that closes connections now and then is followed, however often it does', async () => {
    let asked = 0;
    const { url } = await foreign(
      {
        SendMessage: (_params, reply) => reply.result({ task: task('TASK_STATE_WORKING') }),
        GetTask: (_params, reply) => {
          if (++asked % 2 === 1) reply.cut();
          else reply.result(task(asked < 20 ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED', messageOf('at last')));
        },
      },
      { capabilities: {} },
    );
    const { result } = await fastClockCall({ url });
    expect((await result).content).toEqual([{ type: 'text', text: 'at last' }]);
  });

  test('that stays unreachable leaves a task with an unknown outcome', async () => {
    const { url } = await foreign({ ...begins, GetTask: (_params, reply) => reply.cut() });
    const { result } = await fastClockCall({ url });
    await expect(result).rejects.toMatchObject({
      code: 'TOOL_OUTCOME_UNKNOWN',
      message: expect.stringContaining('Task t1 was lost'),
    });
  });

  test('of version 0.3 gets messages of 0.3', async () => {
    const agent = await foreign(
      {
        'message/send': (_params, reply) =>
          reply.result({
            kind: 'task',
            id: 't1',
            contextId: 'c1',
            status: { state: 'completed' },
            artifacts: [{ artifactId: 'a', parts: [{ kind: 'text', text: 'as ever' }] }],
          }),
      },
      (url: string) => ({
        name: 'Elder',
        description: 'Speaks 0.3',
        version: '1',
        protocolVersion: '0.3.0',
        url: `${url}/rpc`,
        preferredTransport: 'JSONRPC',
        capabilities: {},
        defaultInputModes: ['text/plain'],
        defaultOutputModes: ['text/plain'],
        skills: [],
      }),
    );
    const { result, found } = await call({ url: agent.url });
    expect((await result).content).toEqual([{ type: 'text', text: 'as ever' }]);
    expect(found?.name).toBe('Elder-message');
    expect(agent.calls[0]?.params).toMatchObject({ message: { parts: [{ kind: 'text', text: 'hello' }] } });
  });

  test('is called with the exact URL, version and tenant of its card', async () => {
    const agent = await foreign({ SendStreamingMessage: justSays('x') }, (url: string) => ({
      name: 'Tenant',
      description: 'x',
      version: '1',
      supportedInterfaces: [
        { url: `${url}/grpc`, protocolBinding: 'GRPC', protocolVersion: '1.0' },
        { url: `${url}/old`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
        { url: `${url}/exact/path`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'acme' },
      ],
      capabilities: { streaming: true },
      skills: [],
    }));
    await (await call({ url: agent.url })).result;
    expect(agent.calls[0]?.headers['a2a-version']).toBe('1.0');
    expect(agent.calls[0]?.params.tenant).toBe('acme');
  });

  test('that requires a login or fails is reported', async () => {
    const answer = (state: string, text: string) => ({
      SendStreamingMessage: (_params: object, reply: Reply) => {
        reply.event({ task: task(state, messageOf(text)) });
        reply.end();
      },
    });
    const login = await foreign(answer('TASK_STATE_AUTH_REQUIRED', 'see https://login.example'));
    await expect((await call({ url: login.url })).result).rejects.toThrow(/wants you to log in.*login\.example/);
    const failed = await foreign(answer('TASK_STATE_FAILED', 'no paper'));
    expect(await (await call({ url: failed.url })).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('failed') }, { text: 'no paper' }],
    });
    const none = await foreign({ SendStreamingMessage: (_params, reply) => reply.error(-32_603, 'on fire') });
    await expect((await call({ url: none.url, name: 'None' })).result).rejects.toThrow(/None at 127.* on fire/);
  });

  test('cannot fill the memory of the caller', async () => {
    const { url } = await foreign({
      SendStreamingMessage: justSays('x'.repeat(5_000)),
    });
    const { content } = await (await call({ url, maxResultBytes: 1_000 })).result;
    expect(JSON.stringify(content).length).toBeLessThan(1_200);
    expect(JSON.stringify(content)).toContain('cut');
  });

  test('does not get credentials at other hosts that its card names', async () => {
    const other = await foreign({ SendStreamingMessage: justSays('x') });
    const { host } = new URL(other.url);
    const liar = await foreign(
      {},
      { supportedInterfaces: [{ url: other.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] },
    );
    await expect((await call({ url: liar.url, token: 'secret' })).result).rejects.toThrow();
    expect(other.calls).toEqual([]);
    await (await call({ url: liar.url, token: 'secret', allowHosts: [host] })).result;
    expect(other.calls[0]?.headers.authorization).toBe('Bearer secret');
  });

  test('does not get credentials over plain http if its URL is https', async () => {
    const heard: string[] = [];
    const server = await listenWithTlsOrNot(({ headers, socket }, response) => {
      const isSecure = socket instanceof TLSSocket;
      heard.push(`${isSecure ? 'https' : 'http'} ${headers.authorization}`);
      const plain = { url: `http://${headers.host}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' };
      if (isSecure) response.end(JSON.stringify({ name: 'Plain', supportedInterfaces: [plain], skills: [] }));
      else response.writeHead(401).end();
    });
    const { port } = world.keep(server);
    const { result } = await call({ url: `https://localhost:${port}`, token: 'secret' });
    await expect(result).rejects.toThrow(`http://localhost:${port} requires credentials (401), which go to the origin`);
    expect(heard).toEqual(['https Bearer secret', 'http undefined']);
  });

  test('gets a cancel request after an abort and after a timeout', async () => {
    const cancelled: string[] = [];
    const reached = Promise.withResolvers<void>();
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: task('TASK_STATE_WORKING') });
        reached.resolve();
      },
      CancelTask: ({ id }, reply) => {
        cancelled.push(String(id));
        reply.result(task('TASK_STATE_CANCELED'));
      },
    });
    const controller = new AbortController();
    const stopped = await call({ url: agent.url }, { message: 'x' }, { signal: controller.signal });
    stopped.result.catch(() => {});
    await reached.promise;
    controller.abort();
    await expect(stopped.result).rejects.toMatchObject({ code: 'ABORTED' });
    const late = await call({ url: agent.url, timeoutMs: 2_000 });
    await expect(late.result).rejects.toMatchObject({ code: 'TIMEOUT' });
    await Promise.all([stopped.source.close(), late.source.close()]);
    expect(cancelled).toEqual(['t1', 't1']);
  });

  test('that is unreachable has no tools, and runs continue without it', async () => {
    const warned: string[] = [];
    const gone = await foreign({});
    await gone.close();
    const logger = { ...silent, warn: (text: string) => void warned.push(text) };
    const { agent } = scriptedAgent(['alone'], { tools: [remoteAgent({ url: gone.url, logger })] });
    world.keep(agent);
    expect(await agent.run('x')).toBe('alone');
    expect(warned.join()).toMatch(/127\.0\.0\.1:\d+ did not answer: .*ECONNREFUSED/);
  });

  test('that has moved is found by its card', async () => {
    const other = await foreign({ SendStreamingMessage: justSays('over here') });
    const { host } = new URL(other.url);
    const places = ['http://127.0.0.1:9/rpc', other.url];
    const { url } = await foreign({}, () => ({
      name: 'Nomad',
      description: 'Moves',
      version: '1',
      supportedInterfaces: [{ url: places.shift(), protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { streaming: true },
      skills: [],
    }));
    const { result, again } = await call({ url, allowHosts: ['127.0.0.1:9', host] });
    await expect(result).rejects.toThrow(/did not answer/);
    expect((await again()).content).toEqual([{ type: 'text', text: 'over here' }]);
  });

  test('that refuses the token is reported without the token', async () => {
    const { url } = await world.serve(world.agent([]), {}, { token: 'right' });
    const warnings: string[] = [];
    const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
    const { result, again } = await call({ url, token: 'wrong-secret', logger });
    const error: Error = await result.then(
      () => new Error('was let in'),
      (reason) => reason,
    );
    expect(error.message).toMatch(/refused the credentials it was sent \(401\)\. It says: .*Invalid token\.$/);
    expect(error.message).not.toContain('wrong-secret');
    await expect(again()).rejects.toThrow('refused the credentials');
    expect(warnings).toEqual([error.message]);
    await expect((await call({ url })).result).rejects.toThrow(
      /requires credentials \(401\): set "token", "oauth" or "headers"\.$/,
    );
  });
});

test('an invalid URL is refused by the constructor', () => {
  expect(() => remoteAgent('not a url')).toThrow(/needs the address of an A2A agent/);
});

test.each([
  ['localhost:3000', 'got "localhost:3000". Write http://localhost:3000.'],
  ['agents.example.com', 'Write https://agents.example.com.'],
  ['ftp://agents.example.com', 'It must begin with http:// or https://.'],
  [{ name: 'nowhere' }, 'needs the address of an A2A agent'],
  [{ url: 7 }, 'remoteAgent.url must be a string, got 7.'],
  [{ url: 'http://localhost:3000', tokn: 'x' }, 'remoteAgent has no option "tokn". Did you mean "token"?'],
  [{ url: 'http://localhost:3000', capability: 'raed' }, 'remoteAgent.capability must be one of read, write,'],
  [{ url: 'http://localhost:3000', headers: { a: 1 } }, 'remoteAgent.headers.a must be a string, got a number.'],
  [{ url: 'http://localhost:3000', approvals: 'yes' }, 'remoteAgent.approvals must be true or false'],
])('the options %j are refused when they are given', (options, words) => {
  const make = () => remoteAgent(options as RemoteAgentOptions);
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(words) }));
});

test('a remote agent that is reachable again is used by the next run', async () => {
  const served = scriptedAgent([], { agentConfig: { name: 'Remote' } }).agent;
  const server = served.asA2aServer();
  const first = await server.listen();
  await first.close();
  const { agent, model } = scriptedAgent(['away', 'back'], {
    tools: [remoteAgent({ url: first.url, logger: silent })],
  });
  await agent.run('one');
  await server.listen({ port: Number(new URL(first.url).port) });
  await agent.run('two');
  await agent.close();
  await served.close();
  expect(model.calls.map(({ tools = [] }) => tools.length)).toEqual([0, 1]);
});

test('an image that is too large for an event is read with the task', async () => {
  class Painter extends PocketAgent<object> {
    override async run() {
      return { content: [{ type: 'image' as const, mimeType: 'image/png', data: 'A'.repeat(6_000_000) }] };
    }
  }
  const options = { agentConfig: { llmModel: new ScriptedModel([]), name: 'Painter' }, logger: silent };
  const { url } = await world.serve(world.keep(new Painter(options)));
  const { result } = await call({ url, maxResultBytes: 20_000_000 });
  const [image] = (await result).content;
  expect(image?.type === 'image' && image.data.length).toBe(6_000_000);
});
