// A task that continues after its server was killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TaskState } from '@a2a-js/sdk';
import { afterEach, expect, test } from 'vitest';
import { newFile } from '../../runs/test/agents.ts';
import { answerOf, clientOf, message, send, World } from './fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

const program = fileURLToPath(new URL('fixtures/durable-program.ts', import.meta.url));

async function startServer(file: string): Promise<{ url: string; child: ChildProcess }> {
  const args = ['-C', 'pocket-agent/source', program, JSON.stringify({ file })];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  world.keep({ close: () => child.kill('SIGKILL') });
  const [line] = await once(child.stdout, 'data');
  return { url: String(line).trim(), child };
}

test('a question that was asked before kill -9 is answered after the restart, and the task continues', async () => {
  const file = newFile();
  const first = await startServer(file);
  const asked = await send(await clientOf(first.url), message('Refund order 17'));
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  const ended = once(first.child, 'exit');
  first.child.kill('SIGKILL');
  await ended;

  const second = await startServer(file);
  const client = await clientOf(second.url);
  const { id, contextId } = asked;
  const found = await client.getTask({ id, tenant: '', historyLength: undefined });
  expect([found.status?.state, found.contextId]).toEqual([TaskState.TASK_STATE_INPUT_REQUIRED, contextId]);
  expect(found.status?.message?.parts).toEqual(asked.status?.message?.parts);
  const done = await send(client, message('yes', { taskId: id }));
  expect([done.status?.state, answerOf(done)]).toEqual([TaskState.TASK_STATE_COMPLETED, 'Order 17 is refunded.']);
  expect(readFileSync(`${file}.effects`, 'utf8')).toBe('{"order":17}\n');
});
