// What a server may send at most: over HTTP, however it is packed, and over stdio.
import type { ServerResponse } from 'node:http';
import { brotliCompressSync, constants } from 'node:zlib';
import { fileOAuth, type McpServerEntry } from 'pocket-agent';
import { describe, expect, test } from 'vitest';
import { listen, startOldSseHost } from '../../fixtures/servers/http-hosts.ts';
import { type Answer, json, listing, plainHost } from '../../fixtures/servers/plain-host.ts';
import { eventually, folder, open, stdio, testClient, textOfResult } from '../../fixtures/world.ts';

const LIMIT = 'it sent a message that exceeds the limit of 10 MB';
const SIZE = 10 * 1_024 * 1_024; // of the text alone, so that the message is longer

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const large = 'x'.repeat(SIZE);
const answerOf = (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`;
const END = '"}]}}';

/** Compressed bodies of this file by their beginning: most tests send the same. */
const compressed = new Map<string, Buffer>();

function packed(response: ServerResponse, type: string, [before, after]: readonly [string, string]): void {
  response.setHeader('mcp-session-id', 'the-session');
  response.setHeader('content-type', type);
  response.setHeader('content-encoding', 'br');
  const body = compressed.get(before) ?? brotliCompressSync(before + large + after, quality);
  compressed.set(before, body);
  response.end(body);
}

const asJson: Answer = (response, id) => packed(response, 'application/json', [answerOf(id), END]);
const asEvent: Answer = (response, id) =>
  packed(response, 'text/event-stream', [`data: ${answerOf(id)}`, `${END}\n\n`]);
/** With an id, from which a client would take the stream up again. */
const asResumable: Answer = (response, id) =>
  packed(response, 'text/event-stream', [`id: 1\ndata:\n\nid: 2\ndata: ${answerOf(id)}`, `${END}\n\n`]);

const harmless = listing({ annotations: { readOnlyHint: true } });

async function clientOf(answers: Record<string, Answer>, entry: Partial<McpServerEntry> = {}) {
  const host = await open(plainHost(answers));
  return { host, ...testClient({ mcpConfig: { mcpServers: { it: { url: host.url, ...entry } as McpServerEntry } } }) };
}

const foreign = { fetch: (url: string | URL, init?: RequestInit) => globalThis.fetch(url, init) };

/** Each test sends more than 10 MB, some of them twice. */
const ways: [string, Partial<McpServerEntry>][] = [
  ['a fetch of the entry', foreign],
  ['our own fetch', {}],
];
const forms: [string, Answer][] = [
  ['an event', asEvent],
  ['JSON', asJson],
  ['an event of a stream that can be resumed', asResumable],
];

describe.each(ways)('with %s an answer of more than 10 MB after decompression', (_what, entry) => {
  test.each(forms)('as %s fails the call and names the server and the limit', async (_form, answer) => {
    const { client, host } = await clientOf({ 'tools/list': harmless, 'tools/call': answer }, entry);
    await expect(client.callTool('it', {})).rejects.toMatchObject({
      code: 'MCP_REQUEST_FAILED',
      message: `The connection to MCP server "it" was lost: ${LIMIT}`,
    });
    // once more, since the tool is harmless
    expect(host.seen.filter(({ method }) => method === 'tools/call')).toHaveLength(2);
  });

  test('leaves the outcome unknown for a call that may have had an effect', async () => {
    const { client } = await clientOf({ 'tools/call': asJson }, entry);
    await expect(client.callTool('it', {})).rejects.toMatchObject({
      code: 'TOOL_OUTCOME_UNKNOWN',
      cause: { message: LIMIT },
    });
  });

  test('in the list of tools makes the server unavailable', async () => {
    const { client, reasons } = await clientOf({ 'tools/list': asJson }, entry);
    expect(await client.listTools()).toEqual([]);
    expect(reasons.at(-1)).toBe(`MCP server "it" did not list its tools: ${LIMIT}`);
  });

  test('in the answer to the first request makes the server unavailable', async () => {
    const { client, reasons } = await clientOf({ initialize: asJson }, entry);
    expect(await client.listTools()).toEqual([]);
    expect(reasons.at(-1)).toMatch(/^Could not reach MCP server "it" at .*limit of 10 MB/);
  });
});

test.each(['\r', '\r\n', '\n'])(
  'a stream may be longer than the limit for one message, with lines that end with %j',
  async (end) => {
    const log = { method: 'notifications/message', params: { level: 'debug', data: 'x'.repeat(4 * 1_024 * 1_024) } };
    const answer: Answer = (response, id) => {
      const messages = [log, log, log, { id, result: { content: [{ type: 'text', text: 'done' }] } }];
      response.setHeader('content-type', 'text/event-stream');
      const events = messages.map((each) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...each })}${end}${end}`);
      response.end(`${events.join('')}: end${end}`); // the SDK reads a CR when another line has come
    };
    const { client } = await clientOf({ 'tools/call': answer });
    expect(textOfResult(await client.callTool('it', {}))).toBe('done');
  },
);

test('an event of the old SSE transport is limited too', async () => {
  const host = await open(startOldSseHost());
  const proxy = await open(
    listen(undefined, async (request, response, body) => {
      if (request.method === 'POST') {
        const sent = await fetch(`http://127.0.0.1:${host.port}${request.url}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        return response.writeHead(sent.status).end(await sent.text());
      }
      const stream = await fetch(`http://127.0.0.1:${host.port}${request.url}`);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write((await stream.body?.getReader().read())?.value);
      return response.write(`data: {"text":"${large}`);
    }),
  );
  const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: { url: proxy.url, type: 'sse' } } } });
  expect(await client.listTools()).toEqual([]);
  expect(reasons.join()).toContain('limit of 10 MB');
});

test('metadata for a login is limited too', async () => {
  const host = await open(
    listen(undefined, (request, response) => {
      if (request.method === 'POST') return response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return packed(response, 'application/json', ['{"resource":"', '"}']);
    }),
  );
  const auth = fileOAuth({
    file: `${folder()}/tokens.json`,
    redirectUrl: 'http://localhost:1/callback',
    authorize: () => new Promise(() => {}),
  });
  const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url, auth } } } });
  await client.listTools();
  await eventually(() => expect(reasons.join()).toContain('limit of 10 MB'));
});

test('a server that broke the limit is used again', async () => {
  let calls = 0;
  const answer: Answer = (response, id) =>
    ++calls < 3 ? asJson(response, id) : json({ result: { content: [] } })(response, id);
  const { client } = await clientOf({ 'tools/list': harmless, 'tools/call': answer });
  await expect(client.callTool('it', {})).rejects.toThrow(LIMIT);
  expect(await client.callTool('it', {})).toEqual({ content: [] });
});

test('a message that is too long for stdio fails with an error that says so', async () => {
  const { client } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-odd.ts', 'huge') } } });
  const reason = 'it wrote a message to stdout that exceeds the limit of 10 MB';
  await expect(client.callTool('huge', {})).rejects.toThrow(`The connection to MCP server "it" was lost: ${reason}`);
  await expect(client.callTool('huge_write', {})).rejects.toMatchObject({
    code: 'TOOL_OUTCOME_UNKNOWN',
    cause: { message: reason },
  });
});
