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

test('an error carries the HTTP status of its own request while another request is answered', async () => {
  const secondAnswered = Promise.withResolvers<void>();
  const client = new A2aClient({
    endpoint,
    authorization: { headers: {}, refused: (status) => new Error(`refused: ${status}`) },
    fetch: async (_url, init) => {
      const { id } = JSON.parse(String(init.body));
      const headers = { 'content-type': 'application/json' };
      if (id === 2) return new Response('{}', { status: 500, headers });
      const body = new ReadableStream({
        async start(controller) {
          await secondAnswered.promise;
          const answer = { jsonrpc: '2.0', id, error: { code: -32_603, message: 'out of paper' } };
          controller.enqueue(Buffer.from(JSON.stringify(answer)));
          controller.close();
        },
      });
      return new Response(body, { headers });
    },
    clean: (text) => text,
  });
  const { signal } = new AbortController();
  const first = client.getTask('a', signal);
  first.catch(() => {});
  await expect(client.getTask('b', signal)).rejects.toMatchObject({ statusCode: 500 });
  secondAnswered.resolve();
  await expect(first).rejects.toMatchObject({ statusCode: 200, message: expect.stringContaining('out of paper') });
});
