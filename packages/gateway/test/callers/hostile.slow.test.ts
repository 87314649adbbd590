// Callers with a token who misuse it: floods, connections that never finish a request, and what belongs to other callers.
import { once } from 'node:events';
import { connect as connectTo, type Socket } from 'node:net';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { text } from '../../../pocket-agent/test/fixtures/programs/lives.ts';
import { atEnd, clientV2, connect, modern, rawRequest, served, textOf } from '../world.ts';

const readOnly = { readOnlyHint: true };
/** The share of one caller. */
const LIMIT = 250;

/** A server whose tool, resource and completion answer when the test says so. */
function slowServer() {
  const released = Promise.withResolvers<void>();
  let waiting = 0;
  const wait = async () => {
    waiting++;
    await released.promise;
    waiting--;
  };
  const make = () => {
    const server = new McpServer({ name: 'slow', version: '1.0.0' });
    server.registerTool('wait', { annotations: readOnly }, async () => {
      await wait();
      return text('waited');
    });
    server.registerResource('slow', 'slow://it', {}, async ({ href }) => {
      await wait();
      return { contents: [{ uri: href, text: 'read' }] };
    });
    const complete = async () => {
      await wait();
      return ['completed'];
    };
    server.registerResource(
      'any',
      new ResourceTemplate('any:///{name}', { list: undefined, complete: { name: complete } }),
      {},
      ({ href }) => ({ contents: [{ uri: href, text: '' }] }),
    );
    server.registerTool('quick', { annotations: readOnly }, () => text('at once'));
    return server;
  };
  return { make, release: () => released.resolve(), waiting: () => waiting };
}

test.each(['calls', 'reads', 'completions'])(
  'a flood of %s of one caller ends at its share, and others are served',
  async (kind) => {
    const slow = slowServer();
    const { url, caller } = await served({ mcpServers: { it: { server: slow.make } } });
    const ann = await clientV2(url, await caller('ann', { profile: 'admin' }), modern);
    const bob = await connect('SDK v1', url, await caller('bob', { profile: 'admin' }));
    await ann.listResources();
    const one = async () => {
      if (kind === 'reads') return JSON.stringify(await ann.readResource({ uri: 'slow://it' }));
      const ref = { type: 'ref/resource' as const, uri: 'any:///{name}' };
      if (kind === 'completions')
        return JSON.stringify(await ann.complete({ ref, argument: { name: 'name', value: '' } }));
      return JSON.stringify(await ann.callTool({ name: 'it__wait', arguments: {} }));
    };
    const answers = Array.from({ length: LIMIT + 30 }, () => one().catch((error: Error) => error.message));
    const refused = await Promise.all(answers.slice(LIMIT));
    await expect.poll(slow.waiting).toBe(LIMIT);
    expect(refused.filter((answer) => !answer.includes('the limit for one caller'))).toEqual([]);
    expect(textOf(await bob.call('it__quick'))).toBe('at once');
    slow.release();
    const given = await Promise.all(answers.slice(0, LIMIT));
    expect(given.filter((answer) => !/waited|read|completed/.test(answer))).toEqual([]);
    expect(await one()).toMatch(/waited|read|completed/);
  },
);

test('requests that never end do not keep others waiting, nor the gateway from closing', async () => {
  const { url, caller, gateway } = await served({ mcpServers: { it: { server: slowServer().make } } });
  const token = await caller('ann', { profile: 'admin' });
  const { hostname, port, host } = new URL(url);
  const begun = [
    `POST /mcp HTTP/1.1\r\nhost: ${host}\r\nx-slow: `,
    `POST /mcp HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"jsonrpc"`,
  ];
  const sockets: Socket[] = [];
  for (const start of begun)
    for (let count = 0; count < 100; count++) {
      const socket = connectTo(Number(port), hostname);
      socket.on('error', () => {}); // the gateway ends it
      socket.write(start);
      sockets.push(socket);
    }
  atEnd(() => sockets.forEach((socket) => void socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const client = await connect('SDK v2 in 2026', url, token);
  expect(textOf(await client.call('it__quick'))).toBe('at once');
  const ended = Promise.all(sockets.map((socket) => once(socket, 'close')));
  await gateway.close();
  await ended;
});

test('a large request without a valid token is refused before its body has arrived', async () => {
  const { url, caller } = await served({ mcpServers: { it: { server: slowServer().make } } });
  const token = await caller('ann', { profile: 'admin' });
  const { hostname, port, host } = new URL(url);
  const answerTo = async (headers: Record<string, string>, path = '/mcp') => {
    const socket = connectTo(Number(port), hostname);
    socket.on('error', () => {}); // the gateway closes it before all is sent
    atEnd(() => void socket.destroy());
    const lines = Object.entries({ host, 'content-type': 'application/json', ...headers }).map((line) =>
      line.join(': '),
    );
    socket.write([`POST ${path} HTTP/1.1`, ...lines, '', '1', '{', ''].join('\r\n')); // the beginning of a body, chunked or not
    const [data] = await once(socket, 'data');
    return String(data).split(' ')[1];
  };
  const [large, endless] = [{ 'content-length': '4000000' }, { 'transfer-encoding': 'chunked' }];
  const guessed = { authorization: 'Bearer pgw_guessed' };
  expect(await answerTo({ ...large, ...guessed })).toBe('401');
  expect(await answerTo({ ...endless, ...guessed })).toBe('401');
  expect(await answerTo(large)).toBe('401');
  expect(await answerTo({ ...large, authorization: `Bearer ${token}`, origin: 'https://evil.example' })).toBe('403');
  expect(await answerTo({ authorization: `Bearer ${'x'.repeat(100_000)}` })).toBe('431');
  expect(await answerTo(large, '/approvals')).toBe('413');
  // with a token, a large call is made
  const client = await connect('SDK v1', url, token);
  expect(textOf(await client.call('it__quick', { padding: 'x'.repeat(1_000_000) }))).toBe('at once');
});

test('what one caller was asked cannot be answered with the token of another', async () => {
  const asking = () => {
    const server = new McpServer({ name: 'asking', version: '1.0.0' });
    server.registerTool('ask', { annotations: readOnly }, async () => {
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
      const { content } = await server.server.elicitInput({ message: 'Who?', requestedSchema });
      return text(`hello ${content?.name}`);
    });
    return server;
  };
  const { url, caller } = await served({ mcpServers: { it: { server: asking } } });
  const [ann, bob] = [await caller('ann', { profile: 'admin' }), await caller('bob', { profile: 'admin' })];
  const send = (token: string, more: object = {}) =>
    rawRequest(url, token, { method: 'tools/call', params: { name: 'it__ask', arguments: {}, ...more } });
  const { requestState, inputRequests } = (await send(ann)).result ?? {};
  const [name = ''] = Object.keys(inputRequests ?? {});
  const answer = (given: string) => ({
    requestState,
    inputResponses: { [name]: { action: 'accept', content: { name: given } } },
  });
  expect((await send(bob, answer('Bob'))).error?.message).toBe('This request is unknown or expired: send it again');
  expect(JSON.stringify((await send(ann, answer('Ann'))).result)).toContain('hello Ann');
});
