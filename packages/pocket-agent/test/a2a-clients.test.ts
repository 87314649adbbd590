// Clients that send what the official SDK does not: trailing slashes, other content types, other versions.
import { afterEach, describe, expect, test } from 'vitest';
import { answerOf, bindings, clientOf, collect, message, send, World } from './fixtures/a2a-world.ts';

const world = new World();
afterEach(() => world.close());

describe.each(bindings)('a client that ends every path with a slash (%s)', (binding) => {
  test('reads the card, sends, streams and reads tasks', async () => {
    const { url } = await world.serve(world.agent(['first', 'second']), {}, { token: 'secret' });
    const client = await clientOf(url, { binding, token: 'secret', trailingSlash: true });
    const task = await send(client, message('hello'));
    expect(answerOf(task)).toBe('first');
    const seen = await collect(client.sendMessageStream(message('again')));
    expect(seen.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(await client.getTask({ id: task.id, tenant: '' }))).toBe('first');
  });
});

test('a trailing slash is ignored under the path of a mounted server, too', async () => {
  const server = await world.agent(['found']).asA2aServer({ url: 'https://example.com/helper/' });
  for (const path of ['/helper/a2a/rest/message:send/', '/a2a/rest/message:send/']) {
    const response = await server.fetch(
      new Request(`https://example.com${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({ message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }),
      }),
    );
    expect(response.status).toBe(200);
  }
});
