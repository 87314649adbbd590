import { A2aClient, type Endpoint } from '@pocket-agent/a2a/client';
import { expect, onTestFinished, test } from 'vitest';

const endpoint: Endpoint = {
  url: new URL('https://agent.test/a2a'),
  binding: 'JSONRPC',
  version: '1.0',
  dialect: '1.0',
};

/** A client of an agent that answers every request with this stream of events. */
function clientOf(body: string): A2aClient {
  const headers = { 'content-type': 'text/event-stream' };
  return new A2aClient({
    endpoint,
    authorization: { headers: {}, refused: (status) => new Error(`refused: ${status}`) },
    fetch: async () => new Response(body, { headers }),
    clean: (text) => text,
  });
}

test('a long burst of events does not block the event loop', async () => {
  const statusUpdate = { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };
  const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { statusUpdate } })}\n\n`;
  const count = 10_000;
  let updates = 0;
  let ranInBetween = false;
  const watch = () => {
    ranInBetween ||= updates > 0 && updates < count;
    watching = setImmediate(watch);
  };
  let watching = setImmediate(watch);
  onTestFinished(() => clearImmediate(watching));
  for await (const { kind } of clientOf(event.repeat(count)).subscribe('t', AbortSignal.timeout(60_000)))
    if (kind === 'status') updates++;
  expect(updates).toBe(count);
  expect(ranInBetween).toBe(true);
});
