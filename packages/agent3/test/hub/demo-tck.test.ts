import { afterAll, beforeAll, expect, test } from 'vitest';
import { scenarioPrefixes } from '../../../../conformance/a2a-tck-executor.ts';
import { startTckServer, type TckServer } from '../../../../conformance/a2a-tck-server.ts';

let server: TckServer;
beforeAll(async () => {
  server = await startTckServer({ waitMs: 100 });
});
afterAll(() => server.close());

// biome-ignore lint/suspicious/noExplicitAny: answers are plain JSON that tests look into
type Answer = any;

function post(path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
  return fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function rpc(method: string, params: object): Promise<Answer> {
  return (await post('/a2a/jsonrpc', { jsonrpc: '2.0', id: 1, method, params })).json();
}

function messageOf(messageId: string, more: object = {}) {
  return { messageId, role: 'ROLE_USER', parts: [{ text: 'x' }], ...more };
}

async function send(messageId: string, more: object = {}): Promise<Answer> {
  return (await rpc('SendMessage', { message: messageOf(messageId), ...more })).result;
}

async function stream(path: string, body: object): Promise<Answer[]> {
  const text = await (await post(path, body)).text();
  return text.split('\n').flatMap((line) => (line.startsWith('data:') ? [JSON.parse(line.slice(5))] : []));
}

const outcomes: Record<string, object> = {
  'tck-complete-task': {
    task: { status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'Hello from TCK' }] } } },
  },
  'tck-delayed-complete': { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
  'tck-artifact-text': { task: { artifacts: [{ parts: [{ text: 'Generated text content' }] }] } },
  'tck-artifact-file': { task: { artifacts: [{ parts: [{ raw: 'dGNr', filename: 'output.txt' }] }] } },
  'tck-artifact-file-url': { task: { artifacts: [{ parts: [{ url: 'https://example.com/output.txt' }] }] } },
  'tck-artifact-data': { task: { artifacts: [{ parts: [{ data: { key: 'value', count: 42 } }] }] } },
  'tck-message-response': { message: { role: 'ROLE_AGENT', parts: [{ text: 'Direct message response' }] } },
  'tck-input-required': { task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } },
  'tck-reject-task': { task: { status: { state: 'TASK_STATE_REJECTED' } } },
  'tck-stream-001': { task: { artifacts: [{ parts: [{ text: 'Stream hello from TCK' }] }] } },
  'tck-stream-002': { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
  'tck-stream-003': { task: { artifacts: [{ parts: [{ text: 'Stream task lifecycle' }] }] } },
  'tck-stream-ordering-001': { task: { artifacts: [{ parts: [{ text: 'Ordered output' }] }] } },
  'tck-stream-artifact-text': { task: { artifacts: [{ parts: [{ text: 'Streamed text content' }] }] } },
  'tck-stream-artifact-file': { task: { artifacts: [{ parts: [{ filename: 'output.txt' }] }] } },
  'tck-stream-artifact-chunked': { task: { artifacts: [{ parts: [{ text: 'chunk-1 ' }, { text: 'chunk-2' }] }] } },
  'test-resubscribe-message-id': { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
};

test('every scenario of the kit has the expected outcome over JSON-RPC and REST', async () => {
  expect(Object.keys(outcomes).sort()).toEqual([...scenarioPrefixes].sort());
  for (const [prefix, outcome] of Object.entries(outcomes)) {
    expect(await send(`${prefix}-1`), prefix).toMatchObject(outcome);
    const rest = await post('/a2a/rest/message:send', { message: messageOf(`${prefix}-2`) });
    expect(await rest.json(), prefix).toMatchObject(outcome);
  }
});

test('a stream has the task, its work, the chunks and its end, in this order', async () => {
  const events = await stream('/a2a/rest/message:stream', { message: messageOf('tck-stream-artifact-chunked-1') });
  expect(events).toMatchObject([
    { task: { status: { state: 'TASK_STATE_SUBMITTED' } } },
    { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } },
    { artifactUpdate: { artifact: { parts: [{ text: 'chunk-1 ' }] } } },
    { artifactUpdate: { append: true, lastChunk: true, artifact: { parts: [{ text: 'chunk-2' }] } } },
    { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } },
  ]);
});

test('a working task returns immediately on request and can be subscribed to until its end', async () => {
  const { task } = await send('test-resubscribe-message-id-1', { configuration: { returnImmediately: true } });
  expect(task.status.state).not.toBe('TASK_STATE_COMPLETED');
  const events = await stream(`/a2a/rest/tasks/${task.id}:subscribe`, {});
  expect(events.at(0)).toHaveProperty('task.id', task.id);
  expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
});

test('a task that waits for input is continued or canceled', async () => {
  const { task } = await send('tck-input-required-1');
  const { id, contextId } = task;
  const message = messageOf('tck-complete-task-9', { taskId: id, contextId });
  expect((await rpc('SendMessage', { message })).result.task).toMatchObject({
    id,
    status: { state: 'TASK_STATE_COMPLETED' },
  });
  const { task: other } = await send('tck-input-required-2');
  expect((await rpc('CancelTask', { id: other.id })).result.status.state).toBe('TASK_STATE_CANCELED');
});
