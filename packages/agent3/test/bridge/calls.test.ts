import { expect, test } from 'vitest';
import type { CallProgress } from '../../src/base/calls.ts';
import { me, setUp } from '../fixtures/bridge-setup.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

test('an agent that answers with a message is called with one request', async () => {
  const agent = await startSdkAgent();
  const { say, directory } = setUp(agent);
  const response = await say('hello');
  expect(response).toMatchObject({
    success: true,
    result: { untrusted: true, text: 'you said: hello', truncated: false },
    metadata: { statusCode: 200, retryCount: 0 },
  });
  expect(response.task).toBeUndefined();
  expect(directory.records).toHaveLength(1);
  expect(response.receipt).toBe(`receipt-${directory.records[0]?.callId}`);
});

test('a task is followed by its stream, reported as progress, and assembled from chunks', async () => {
  const agent = await startSdkAgent();
  const { bridge } = setUp(agent);
  const progress: CallProgress[] = [];
  const options = { onProgress: (update: CallProgress) => void progress.push(update) };
  const response = await bridge.call({ agentId: 'echo', message: 'task' }, me, options);
  expect(response).toMatchObject({ success: true, result: { text: 'one two three' } });
  expect(progress).toContainEqual({ message: 'thinking', state: 'working' });
  expect(progress.filter(({ continues }) => continues !== undefined)).toEqual([
    { message: 'one ', state: 'working', continues: false },
    { message: 'two ', state: 'working', continues: true },
    { message: 'three', state: 'working', continues: true },
  ]);
  expect(progress.at(-1)?.state).toBe('completed');
});

test.each([
  ['an agent without streams', {}, undefined],
  ['a caller who wants no stream', { streaming: true }, false],
])('with %s, the task is polled until it ends', async (_case, capabilities, streaming) => {
  const agent = await startSdkAgent(capabilities);
  const { say } = setUp(agent);
  const response = await say('task', { metadata: { streaming } });
  expect(response).toMatchObject({ success: true, result: { text: 'one two three' } });
});

test('a question of the agent is a response that can be replied to', async () => {
  const agent = await startSdkAgent();
  const { bridge, say, directory } = setUp(agent);
  const asked = await say('ask for a pizza');
  expect(asked).toMatchObject({ success: true, task: { state: 'input-required', question: 'Which size?' } });
  const taskHandle = asked.task?.taskHandle ?? '';
  const replied = await bridge.task({ action: 'reply', taskHandle, message: 'task, large' }, me);
  expect(replied).toMatchObject({ success: true });
  expect(directory.records).toHaveLength(2);
  expect(agent.messageIds).toHaveLength(2);
});
