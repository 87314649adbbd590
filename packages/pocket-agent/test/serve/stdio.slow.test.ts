// An agent served on stdio: a process that its client starts, talks to and ends, and that takes its children along.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, type TestContext, test } from 'vitest';
import { stdio } from '../fixtures/world.ts';
import { clientKinds, connect, textOf } from './clients.ts';

const servedAgent = stdio('served-agent.ts');

describe.concurrent.each(clientKinds)('with %s', (kind) => {
  test('a connection is a conversation, reports progress and can be cancelled', async ({ expect }) => {
    const talker = await connect(kind, servedAgent);
    try {
      expect(await talker.toolNames()).toEqual(['Tester-message']);
      await talker.say('one');
      expect(textOf(await talker.say('two'))).toBe('one + two');
      expect(textOf(await talker.say('other', { contextId: 'another-client' }))).toBe('other');
      const controller = new AbortController();
      const asked = (message: string | undefined) => {
        if (message === 'Tester finished a step') controller.abort(new Error('never mind'));
      };
      const said = talker.say('shout and think', { signal: controller.signal, onProgress: asked });
      await expect(said).rejects.toThrow();
      await expect.poll(async () => textOf(await talker.say('stopped?', { contextId: 'judge' }))).toBe('1 stopped');
    } finally {
      await talker.close();
    }
  });
});

interface Message {
  id?: number;
  method?: string;
  params?: { message: string; progress: number };
  result?: { content?: { text: string }[] };
}

/** Speaks the 2025 protocol with a bare process, so that everything it writes can be seen. */
function startRaw({ onTestFinished }: TestContext) {
  const child = spawn(servedAgent.command, servedAgent.args);
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM'); // and not SIGKILL, which would leave its child behind
    await once(child, 'exit');
  });
  const lines: string[] = [];
  let noise = '';
  child.stderr.on('data', (chunk) => {
    noise += chunk;
  });
  const waiting = new Map<number, (message: Message) => void>();
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line);
    const message: Message = JSON.parse(line);
    if (message.id !== undefined) waiting.get(message.id)?.(message);
  });
  let ids = 0;
  const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const send = async (method: string, params: object) => {
    const answer = Promise.withResolvers<Message>();
    const id = ++ids;
    waiting.set(id, answer.resolve);
    write({ id, method, params });
    return answer.promise;
  };
  return {
    child,
    lines,
    noise: () => noise,
    async open() {
      const clientInfo = { name: 'raw', version: '1' };
      await send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
      write({ method: 'notifications/initialized' });
    },
    async say(message: string) {
      const _meta = { progressToken: 'raw' };
      const answer = await send('tools/call', { name: 'Tester-message', arguments: { message }, _meta });
      return answer.result?.content?.[0]?.text ?? '';
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function childPid(raw: ReturnType<typeof startRaw>): Promise<number> {
  await raw.open();
  const pid = Number(/pid=(\d+)/.exec(await raw.say('pid'))?.[1]);
  expect(isAlive(pid)).toBe(true);
  return pid;
}

describe.concurrent('a process', () => {
  test('writes nothing but the protocol to stdout, whatever its tools print', async (context) => {
    const raw = startRaw(context);
    await raw.open();
    expect(await raw.say('shout')).toContain('shouted');
    const messages: Message[] = raw.lines.map((line) => JSON.parse(line));
    expect(messages.map(({ params }) => params?.message)).toEqual([
      undefined,
      'Tester calls shout',
      'Tester: shout done',
      'Tester finished a step',
      'Tester finished a step',
      undefined,
    ]);
    expect(messages.flatMap(({ params }) => params?.progress ?? [])).toEqual([1, 2, 3, 4]);
    // stderr is another pipe, which may be read later than stdout
    for (const way of ['log', 'info', 'debug']) await context.expect.poll(raw.noise).toContain(`noise by ${way}`);
  });

  test('ends with its children when its client closes stdin', async (context) => {
    const raw = startRaw(context);
    const pid = await childPid(raw);
    raw.child.stdin.end();
    const [code] = await once(raw.child, 'exit');
    expect(code).toBe(0);
    await context.expect.poll(raw.noise).toContain('served');
    expect(isAlive(pid)).toBe(false);
  });

  test.for(['SIGTERM', 'SIGINT'] as const)(
    'ends with its children on %s, in the middle of a run',
    async (signal, context) => {
      const raw = startRaw(context);
      const pid = await childPid(raw);
      void raw.say('think');
      raw.child.kill(signal);
      const [, endedBy] = await once(raw.child, 'exit');
      expect(endedBy).toBe(signal);
      expect(isAlive(pid)).toBe(false);
    },
  );
});
