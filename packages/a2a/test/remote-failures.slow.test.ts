// Remote agents that send too much, break the protocol, hang, or send files.
import type { CallToolResult } from '@modelcontextprotocol/client';
import { type RemoteAgentOptions, remoteAgent } from '@pocket-agent/a2a';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { readEvents } from '../src/client/event-reader.ts';
import { ForeignAgent, type Reply } from './fixtures/foreign-agent.ts';
import { World } from './fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

type Answers = ConstructorParameters<typeof ForeignAgent>[0];

async function foreign(answers: Answers, card: object = {}): Promise<ForeignAgent> {
  return world.keep(await new ForeignAgent(answers, card).start());
}

/** A call of the only tool of a remote agent. */
async function call(
  agent: ForeignAgent,
  options: Partial<RemoteAgentOptions> = {},
  signal = new AbortController().signal,
) {
  const given = { url: agent.url, logger: silent, ...options };
  const source = world.keep(remoteAgent(given) as Required<ReturnType<typeof remoteAgent>>);
  const [found] = await source.listTools();
  const context = { toolCallId: 'call-1', signal, progress: () => {}, meta: {} };
  return { source, result: source.callTool(found?.name ?? '', { message: 'hello' }, context) };
}

const ofTask = { taskId: 't1', contextId: 'c1' };
const task = (state: string, more: object = {}) => ({ id: 't1', contextId: 'c1', status: { state }, ...more });
const status = (state: string) => ({ statusUpdate: { ...ofTask, status: { state } } });
const chunk = (parts: object[], more: object = {}) => ({
  artifactUpdate: { ...ofTask, artifact: { artifactId: 'a', parts }, ...more },
});
const textOf = ({ content }: CallToolResult) =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');

const MEGABYTE = 1_000_000;
const LONG = 'x'.repeat(12 * MEGABYTE);

/** Streams 12 MB of text in events of `size` characters. */
const streams = (size: number) => async (_params: object, reply: Reply) => {
  reply.event({ task: task('TASK_STATE_WORKING') });
  for (let sent = 0; sent < LONG.length; sent += size) {
    reply.event(chunk([{ text: LONG.slice(0, size) }], { append: sent > 0 }));
    if (sent % MEGABYTE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  reply.event(status('TASK_STATE_COMPLETED'));
  reply.end();
};

describe('an answer of more than 250,000 values is refused', () => {
  const artifact = { artifactId: 'a', parts: [{ data: Array.from({ length: 250_001 }, () => ({})) }] };
  const TOO_MANY =
    'The A2A agent Foreigner broke the A2A protocol: it sent a message that exceeds the limit of 250000 values';

  test('as an event', async () => {
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: task('TASK_STATE_WORKING') });
        reply.event({ artifactUpdate: { ...ofTask, artifact } });
        reply.end();
      },
    });
    await expect((await call(agent)).result).rejects.toThrow(TOO_MANY);
  });

  test('as the answer of an agent that does not stream', async () => {
    const done = task('TASK_STATE_COMPLETED', { artifacts: [artifact] });
    const agent = await foreign(
      { SendMessage: (_params, reply) => reply.result({ task: done }) },
      { capabilities: { streaming: false } },
    );
    await expect((await call(agent)).result).rejects.toThrow(TOO_MANY);
  });
});

describe('an answer of 12 MB is cut at maxResultBytes', () => {
  const cut = (result: CallToolResult) => {
    expect(result.isError).toBeUndefined();
    expect(textOf(result)).toMatch(/^x{1000}\n?… \(cut: the answer is longer than 1000 bytes\)$/);
  };

  test.each([1_000_000, 10_000])('when it is streamed in events of %i bytes', async (size) => {
    const agent = await foreign({ SendStreamingMessage: streams(size) });
    cut(await (await call(agent, { maxResultBytes: 1_000 })).result);
    expect(agent.methods()).toEqual(['SendStreamingMessage']);
  });

  test('when it is one event', async () => {
    const agent = await foreign({ SendStreamingMessage: streams(LONG.length) });
    cut(await (await call(agent, { maxResultBytes: 1_000 })).result);
  });

  test('as the answer of an agent that does not stream', async () => {
    const done = task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text: LONG }] }] });
    const agent = await foreign(
      { SendMessage: (_params, reply) => reply.result({ task: done }) },
      { capabilities: { streaming: false } },
    );
    cut(await (await call(agent, { maxResultBytes: 1_000 })).result);
  });

  test('when it is written in escapes, without half a character', async () => {
    const text = JSON.stringify({
      task: task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text: 'TEXT' }] }] }),
    });
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        const long = '\\u0078\\"é😀'.repeat(1_000_000);
        reply.write(`data: {"jsonrpc":"2.0","id":1,"result":${text.replace('TEXT', long)}}\n\n`);
        reply.end();
      },
    });
    const result = await (await call(agent, { maxResultBytes: 1_000 })).result;
    expect(textOf(result)).toMatch(/^(x"é😀)+.{0,3}… \(cut: the answer is longer than 1000 bytes\)$/u);
  });

  test('but an error of that size is refused', async () => {
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) =>
        reply.raw(
          `{"error":{"code":-32603,"message":"no","data":[${'0,'.repeat(10 * MEGABYTE)}0]}}`,
          'application/json',
          500,
        ),
    });
    await expect((await call(agent)).result).rejects.toThrow('its response is too large');
  });

  test('but one of millions of parts is refused, and its task is not read again', async () => {
    const parts = `[${'{"text":""},'.repeat(2 * MEGABYTE)}{"text":""}]`;
    const done = JSON.stringify(task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts: [] }] }));
    const agent = await foreign(
      {
        SendMessage: (_params, reply) =>
          reply.raw(`{"jsonrpc":"2.0","id":1,"result":{"task":${done.replace('[]', parts)}}}`, 'application/json'),
      },
      { capabilities: { streaming: false } },
    );
    await expect((await call(agent)).result).rejects.toThrow('its response is too large');
    expect(agent.methods()).toEqual(['SendMessage']);
  });
});

describe('an event that never ends', () => {
  test('with only empty lines is aborted, and the task is read instead', async () => {
    const done = task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text: 'whole' }] }] });
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: task('TASK_STATE_WORKING') });
        reply.write('data:\n'.repeat(4_300_000));
      },
      GetTask: (_params, reply) => reply.result(done),
    });
    expect(textOf(await (await call(agent)).result)).toBe('whole');
  });

  test('costs no more time when it arrives in small pieces', async () => {
    const piece = Buffer.from('x'.repeat(20));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(Buffer.from('data: '));
        for (let count = 0; count < 200_000; count++) controller.enqueue(piece);
        controller.enqueue(Buffer.from('\n\n'));
        controller.close();
      },
    });
    const lengths: number[] = [];
    for await (const { data } of readEvents(body)) lengths.push(data.length);
    expect(lengths).toEqual([4_000_000]);
  });
});

describe('an agent that breaks the protocol is an error, and its task is canceled', () => {
  test.each<[string, string]>([
    ['an event that is not JSON', 'data: {"jsonrpc": "2.0", oops\n\n'],
    ['an event of another request', 'data: {"jsonrpc":"2.0","id":99,"result":{}}\n\n'],
    ['an event without a result', 'data: {"jsonrpc":"2.0","id":1}\n\n'],
  ])('%s', async (_what, garbage) => {
    const cancelled = Promise.withResolvers<void>();
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: task('TASK_STATE_WORKING') });
        reply.write(garbage);
      },
      GetTask: (_params, reply) => reply.result(task('TASK_STATE_WORKING')),
      CancelTask: (_params, reply) => {
        reply.result(task('TASK_STATE_CANCELED'));
        cancelled.resolve();
      },
    });
    const { result } = await call(agent);
    await expect(result).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      message: expect.stringMatching(/broke the A2A protocol/),
    });
    await cancelled.promise;
    expect(agent.methods()).not.toContain('GetTask');
  });

  test('a page in HTML', async () => {
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => reply.raw('<html>Please log in</html>', 'text/html'),
    });
    await expect((await call(agent)).result).rejects.toThrow(/its answer is text\/html, not JSON/);
    expect(agent.methods()).toEqual(['SendStreamingMessage']);
  });

  test('an error in the stream is reported with the message of the agent', async () => {
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: task('TASK_STATE_WORKING') });
        reply.write('data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"out of paper"}}\n\n');
        reply.end();
      },
      CancelTask: (_params, reply) => reply.result(task('TASK_STATE_CANCELED')),
    });
    await expect((await call(agent)).result).rejects.toThrow(/out of paper/);
  });

  test('nothing it sends is written to the console', async () => {
    const console_ = vi.spyOn(console, 'error').mockImplementation(() => {});
    const agent = await foreign(
      { undefined: (_params, reply) => reply.write('data: \u001b]52;c;evil\n\n') },
      (url: string) => ({
        name: 'Rest',
        description: 'x',
        version: '1',
        supportedInterfaces: [{ url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }],
        capabilities: { streaming: true },
        skills: [],
      }),
    );
    await expect((await call(agent)).result).rejects.toThrow(/broke the A2A protocol/);
    expect(console_).not.toHaveBeenCalled();
    console_.mockRestore();
  });
});

describe('an agent card that is too much work to read is refused, and the agent has no tool', () => {
  test.each([
    [250_001, /: its card is JSON that exceeds the limit of 250000 values/],
    [500_000, /agent 127\.0\.0\.1:\d+: its card is larger than 1000000 bytes\.$/],
  ])('with %i empty objects', async (count, reason) => {
    const agent = await foreign({}, { skills: Array.from({ length: count }, () => ({})) });
    const warnings: string[] = [];
    const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
    const source = world.keep(remoteAgent({ url: agent.url, logger }) as Required<ReturnType<typeof remoteAgent>>);
    expect(await source.listTools()).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(reason)]);
  });
});

describe('an agent whose card hangs', () => {
  test('does not delay runs, and its tool joins when the card arrives', async () => {
    const agent = await foreign({
      SendMessage: (_params, reply) => reply.result({ task: task('TASK_STATE_COMPLETED') }),
    });
    const release = agent.holdCard();
    const warnings: string[] = [];
    const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
    const source = world.keep(
      remoteAgent({ url: agent.url, logger, waitMs: 20 }) as Required<ReturnType<typeof remoteAgent>>,
    );
    expect(await source.listTools(undefined, 'ready')).toEqual([]);
    expect(await source.listTools(undefined, 'ready')).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(/^The A2A agent 127\.0\.0\.1:\d+ has not sent its card within 20 ms\..*"waitMs"/),
    ]);
    const { revision } = source;
    release();
    await vi.waitFor(() => expect(source.revision).toBeGreaterThan(revision ?? 0), {
      timeout: 5_000 * Number(process.env.TEST_PATIENCE),
    });
    expect(await source.listTools(undefined, 'ready')).toHaveLength(1);
  });
});

describe('an agent that keeps the stream open', () => {
  const done = task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }] });

  test.each([
    ['its first event', [{ task: done }]],
    [
      'a later event',
      [{ task: task('TASK_STATE_WORKING') }, chunk([{ text: 'done' }]), status('TASK_STATE_COMPLETED')],
    ],
  ])('after %s has completed the task delays no result', async (_what, events) => {
    const closed = Promise.withResolvers<void>();
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        for (const event of events) reply.event(event);
        reply.closed(() => closed.resolve());
      },
    });
    const { result } = await call(agent, { timeoutMs: 5_000 * Number(process.env.TEST_PATIENCE) });
    expect(textOf(await result)).toBe('done');
    await closed.promise;
    expect(agent.methods()).toEqual(['SendStreamingMessage']);
  });
});

describe('an agent that hangs', () => {
  const silentAgent = () => foreign({ SendStreamingMessage: () => {}, CancelTask: () => {} });

  test('before it names a task is abandoned after the timeout, and closing does not wait', async () => {
    const { result, source } = await call(await silentAgent(), { timeoutMs: 50 });
    const started = performance.now();
    await expect(result).rejects.toMatchObject({ code: 'TIMEOUT' });
    await source.close();
    expect(performance.now() - started).toBeLessThan(4_000);
  });

  test('when its task is canceled delays neither the abort nor closing', async () => {
    const reached = Promise.withResolvers<void>();
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: task('TASK_STATE_WORKING') });
        reached.resolve();
      },
      CancelTask: () => {},
    });
    const controller = new AbortController();
    const { result, source } = await call(agent, {}, controller.signal);
    result.catch(() => {});
    await reached.promise;
    const started = performance.now();
    controller.abort();
    await expect(result).rejects.toMatchObject({ code: 'ABORTED' });
    await source.close();
    expect(performance.now() - started).toBeLessThan(4_000);
  });
});

describe('a file', () => {
  const file = (text: string, more: object) => ({ raw: Buffer.from(text).toString('base64'), ...more });
  const sends = (...parts: object[]) => ({
    SendStreamingMessage: (_params: object, reply: Reply) => {
      reply.event({ task: task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts }] }) });
      reply.end();
    },
  });

  test('of text reaches the model as text, other files by name', async () => {
    const agent = await foreign(
      sends(
        file('hello', { filename: 'f.txt', mediaType: 'text/plain' }),
        file('<a/>', { filename: 'f.xml', mediaType: 'application/xml' }),
        file('grüße', { filename: 'notes' }),
        file('\0\u0001', { filename: 'f.bin' }),
        file('%PDF', { filename: 'f.pdf', mediaType: 'application/pdf' }),
      ),
    );
    const { content } = await (await call(agent)).result;
    expect(content.map((block) => (block.type === 'text' ? block.text : block.type))).toEqual([
      'f.txt:\nhello',
      'f.xml:\n<a/>',
      'notes:\ngrüße',
      '(f.bin)',
      '(f.pdf, application/pdf)',
    ]);
  });

  test('of 12 MB of text is cut', async () => {
    const agent = await foreign(sends(file(LONG, { filename: 'f.txt', mediaType: 'text/plain' })));
    const result = await (await call(agent, { maxResultBytes: 1_000 })).result;
    expect(textOf(result)).toMatch(/^f\.txt:\nx+… \(cut: the answer is longer than 1000 bytes\)$/);
  });
});

describe('messages name an agent as its card does', () => {
  test('when its task fails', async () => {
    const agent = await foreign({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: task('TASK_STATE_FAILED') });
        reply.end();
      },
    });
    const result = await (await call(agent)).result;
    expect(result.isError).toBe(true);
    expect(textOf(result)).toBe('The task of Foreigner failed.');
  });

  test('when it takes too long', async () => {
    const agent = await foreign({ SendStreamingMessage: () => {} });
    await expect((await call(agent, { timeoutMs: 50 })).result).rejects.toThrow('The message to Foreigner did not end');
  });
});
