// A server of the 2025 era may write the answer to a call as a stream of events, in every way a stream can be written.
import type { ServerResponse } from 'node:http';
import { SERVER_INFO_META_KEY } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { listen, refuse } from '../../fixtures/servers/http-hosts.ts';
import { eventually, open, testClient, textOfResult } from '../../fixtures/world.ts';

interface Call {
  id: number;
  progressToken: string;
  response: ServerResponse;
  answer: string;
}

const event = (message: object) => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const progress = (progressToken: string) =>
  event({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } });

/** How each tool writes its answer. */
const tools: Record<string, (call: Call) => void> = {
  at_once: ({ response, answer }) => response.end(answer),
  without_event: ({ response, answer }) => response.end(answer.replace('event: message\n', '')),
  in_pieces({ response, answer }) {
    const bytes = Buffer.from(answer);
    const middle = bytes.indexOf('é') + 1; // within a character
    response.write(bytes.subarray(0, middle));
    setTimeout(() => response.end(bytes.subarray(middle)), 20);
  },
  after_progress({ response, answer, progressToken }) {
    response.write(progress(progressToken));
    setTimeout(() => response.end(answer), 20);
  },
  with_progress: ({ response, answer, progressToken }) => response.end(progress(progressToken) + answer),
  after_ping({ response, answer, id }) {
    response.write(event({ id, method: 'ping' })); // ids of a server are its own
    setTimeout(() => response.end(answer), 20);
  },
  before_log({ response, answer }) {
    response.write(answer);
    const params = { level: 'info', data: 'afterwards' };
    setTimeout(() => response.end(event({ method: 'notifications/message', params })), 20);
  },
  left_open: ({ response, answer }) => response.write(answer),
  cut_off({ response }) {
    response.write('id: 7\nretry: 10\ndata: \n\n');
    setTimeout(() => response.destroy(), 20);
  },
  without_end({ response, progressToken }) {
    response.write(`id: 8\nretry: 1\n${progress(progressToken)}`);
  },
  without_answer: ({ response }) => response.end(': nothing\n\n'),
  garbled: ({ response, answer }) => response.end(`data: {"jsonrpc"\n\n${answer}`),
  well_signed: ({ response, answer }) => response.end(signed(answer, { name: 'streams', version: '1' })),
  badly_signed: ({ response, answer }) => response.end(signed(answer, { name: 5 })),
  signed_by_list: ({ response, answer }) => response.end(answer.replace('"result":{', '"result":{"_meta":[],')),
};

const signed = (answer: string, by: object) =>
  answer.replace('"result":{', `"result":{"_meta":{"${SERVER_INFO_META_KEY}":${JSON.stringify(by)}},`);

const results: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, logging: {} },
    serverInfo: { name: 'streams', version: '1' },
  },
  'tools/list': { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) },
};

async function connect({ isDeaf = false } = {}) {
  const streams = new Set<ServerResponse>();
  const cancelled: unknown[] = [];
  let resumed = '';
  const host = await open(
    listen(undefined, (request, response, body) => {
      if (request.headers['last-event-id'] === '7') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(resumed);
        return;
      }
      if (request.method !== 'POST') return refuse(response, 405, 'POST only');
      const { id, method, params } = body as { id?: number; method: string; params: Record<string, never> };
      if (method === 'notifications/cancelled') {
        cancelled.push(params.requestId);
        if (isDeaf) return;
      }
      if (id === undefined) return void response.writeHead(202).end();
      if (method !== 'tools/call') {
        const answer = results[method] ? { result: results[method] } : { error: { code: -32_601, message: 'unknown' } };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
        return;
      }
      const { name, _meta } = params as unknown as { name: string; _meta: { progressToken: string } };
      const answer = event({ id, result: { content: [{ type: 'text', text: `é ${name}` }] } });
      if (name === 'cut_off') resumed = answer;
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).flushHeaders();
      streams.add(response);
      response.once('close', () => streams.delete(response));
      tools[name]?.({ id, progressToken: _meta.progressToken, response, answer });
    }),
  );
  const told: number[] = [];
  const logs: unknown[] = [];
  const { client } = testClient({
    mcpConfig: { mcpServers: { streams: { url: host.url } } },
    progressHandler: (update) => void told.push(update.progress),
    logHandler: ({ data }) => void logs.push(data),
  });
  const call = async (name: string) => textOfResult(await client.callTool(name, {}));
  return { host, client, call, streams, cancelled, told, logs };
}

test.each(['at_once', 'without_event', 'in_pieces', 'after_ping', 'left_open', 'cut_off', 'garbled'])(
  'an answer that comes %s is delivered once and completely',
  async (name) => {
    const { call } = await connect();
    expect(await Promise.all([call(name), call('at_once')])).toEqual([`é ${name}`, 'é at_once']);
  },
);

test.each(['after_progress', 'with_progress'])('progress of a call that answers %s is delivered', async (name) => {
  const { call, told } = await connect();
  expect(await call(name)).toBe(`é ${name}`);
  expect(told).toEqual([1]);
});

test('the server info in the result of a call is kept if it is valid', async () => {
  const { client } = await connect();
  const by = { name: 'streams', version: '1' };
  expect(await client.callTool('well_signed', {})).toMatchObject({ _meta: { [SERVER_INFO_META_KEY]: by } });
  expect((await client.callTool('badly_signed', {}))._meta).toEqual({});
  // the SDK drops an event that is not valid JSON-RPC, so the stream ends without an answer
  await expect(client.callTool('signed_by_list', {})).rejects.toMatchObject({ code: 'TOOL_OUTCOME_UNKNOWN' });
});

test('a stream that ends without an answer fails the call', async () => {
  const { call } = await connect();
  await expect(call('without_answer')).rejects.toThrow('was lost while "without_answer" ran');
});

test('messages that a server sends after its answer are delivered', async () => {
  const { call, logs } = await connect();
  expect(await call('before_log')).toBe('é before_log');
  await eventually(() => expect(logs).toEqual(['afterwards']));
});

test('a stream that continues after its answer keeps nothing in memory', async () => {
  const { call, streams } = await connect();
  await call('left_open');
  const before = process.memoryUsage().arrayBuffers;
  const [stream] = streams;
  // on a slow machine the client closes the stream before all is written
  const closed = new Promise((resolve) => stream?.once('close', resolve));
  for (let count = 0; count < 300; count++) {
    const written = new Promise((resolve) => stream?.write(`: ${'x'.repeat(100_000)}\n\n`, resolve));
    await Promise.race([written, closed]);
  }
  // what is only left to be collected goes away with the calls that follow
  await eventually(async () => {
    expect(await call('at_once')).toBe('é at_once');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(15_000_000);
  });
});

test('closing the client ends a stream that its server has left open', async () => {
  const { client, call, streams } = await connect();
  await call('left_open');
  expect(streams.size).toBe(1);
  await client.close();
  await eventually(() => expect(streams.size).toBe(0));
});

/** A call that is given up as soon as its stream has begun. */
async function giveUp({ client, told }: Awaited<ReturnType<typeof connect>>): Promise<void> {
  const before = told.length;
  const controller = new AbortController();
  const call = client.callTool('without_end', {}, { signal: controller.signal });
  const refused = expect(call).rejects.toThrow('enough');
  await eventually(() => expect(told).toHaveLength(before + 1));
  controller.abort(new Error('enough'));
  await refused;
}

test('the stream of a cancelled call is closed, and not resumed', async () => {
  const world = await connect();
  for (let count = 0; count < 3; count++) await giveUp(world);
  await eventually(() => expect(world.streams.size).toBe(0));
  expect(world.cancelled).toHaveLength(3);
  await new Promise((resolve) => setTimeout(resolve, 100)); // the server asked for 1 ms between
  expect(world.host.seen.filter((seen) => seen.headers['last-event-id'] !== undefined)).toEqual([]);
  expect(await world.call('at_once')).toBe('é at_once');
});

test('a server that does not answer a cancellation keeps no connection open', async () => {
  const world = await connect({ isDeaf: true });
  await giveUp(world);
  expect(world.streams.size).toBe(1);
  await eventually(() => expect(world.streams.size).toBe(0), 10_000);
  expect(world.cancelled).toHaveLength(1);
});
