// An agent served by `asMcpServer().fetch` inside web frameworks, as its clients meet it.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve as serveHono } from '@hono/node-server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import express from 'express';
import { Hono } from 'hono';
import type { AgentServer, AgentServerOptions } from 'pocket-agent';
import { afterEach, describe, expect, test } from 'vitest';
import { scriptedAgent, silent } from '../helpers.ts';
import { clientKinds, connect, textOf } from './clients.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function served(options: AgentServerOptions = {}): AgentServer {
  const { agent } = scriptedAgent([({ prompt }) => `${prompt.length} messages`, 'again']);
  cleanUps.push(() => agent.close());
  return agent.asMcpServer(options);
}

const frameworks: Record<string, (server: AgentServer) => Server> = {
  Hono: (server) => {
    const app = new Hono().all('/agents/tester', (context) => server.fetch(context.req.raw));
    return serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server;
  },
  Express: (server) => {
    const app = express().all('/agents/tester', toNodeHandler(server));
    return createServer(app).listen(0, '127.0.0.1');
  },
};

/** Returns the URL of the agent. */
async function mount(framework: string, server: AgentServer): Promise<string> {
  const http = frameworks[framework]?.(server);
  if (!http) throw new Error(`There is no framework ${framework}.`);
  if (!http.listening) await once(http, 'listening');
  cleanUps.push(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/agents/tester`;
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'tests', version: '1' } },
};

function post(url: string, body: string | ReadableStream, headers: Record<string, string> = {}): Request {
  const accept = 'application/json, text/event-stream';
  const all = { 'content-type': 'application/json', accept, ...headers };
  return new Request(url, { method: 'POST', headers: all, body, duplex: 'half' } as RequestInit);
}

describe.each(Object.keys(frameworks))('mounted in %s', (framework) => {
  test.each(clientKinds)('an agent answers %s', async (kind) => {
    const url = await mount(framework, served({ token: 'secret' }));
    const client = await connect(kind, { url, token: 'secret' });
    cleanUps.push(() => client.close());
    expect(await client.toolNames()).toEqual(['Tester-message']);
    expect(textOf(await client.say('Hello'))).toBe('1 messages');
  });
});

test('a request without the token is refused', async () => {
  const response = await served({ token: 'secret' }).fetch(post('http://localhost/mcp', JSON.stringify(initialize)));
  expect(response.status).toBe(401);
});

test('an unset token is an error, not an open server', () => {
  const token = undefined as unknown as string;
  expect(() => served({ token })).toThrow('The "token" of the server is undefined');
});

test('a public host name is refused unless it is allowed', async () => {
  const request = () => post('https://agents.example/mcp', JSON.stringify(initialize));
  const refused = await served().fetch(request());
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('not in allowedHosts')]);
  expect((await served({ allowedHosts: ['agents.example'] }).fetch(request())).status).toBe(200);
});

test('a public host name without a token is reported', async () => {
  const lines: string[] = [];
  const logger = { ...silent, warn: (line: string) => void lines.push(line) };
  const { agent } = scriptedAgent([], { logger });
  cleanUps.push(() => agent.close());
  const url = 'https://agents.example/mcp';
  await agent.asMcpServer({ allowedHosts: ['agents.example'] }).fetch(post(url, JSON.stringify(initialize)));
  expect(lines).toEqual([expect.stringContaining('Without a token, everyone who can reach this server may use ')]);
});

test('a web page of another origin is refused', async () => {
  const request = post('http://localhost/mcp', JSON.stringify(initialize), { origin: 'https://evil.example' });
  const response = await served().fetch(request);
  expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('not in allowedOrigins')]);
});

test('a body without a length is read only up to the limit', async () => {
  let sent = 0;
  const endless = new ReadableStream({
    pull(controller) {
      sent += 1_000;
      controller.enqueue(new Uint8Array(1_000).fill(0x20));
    },
  });
  const response = await served({ maxRequestBodySize: 10_000 }).fetch(post('http://localhost/mcp', endless));
  expect([response.status, await response.text()]).toEqual([413, expect.stringContaining('10000 bytes')]);
  expect(sent).toBeLessThan(20_000);
});

const closed = {
  jsonrpc: '2.0',
  error: { code: -32_000, message: expect.stringMatching(/^The server of \S+ was closed/) },
  id: null,
};

test('close() ends the sessions, and later requests are told so', async () => {
  const server = served();
  const body = JSON.stringify(initialize);
  const first = await server.fetch(post('http://localhost/mcp', body));
  const session = first.headers.get('mcp-session-id') ?? '';
  await first.text();
  await server.close();
  const later = await server.fetch(post('http://localhost/mcp', body, { 'mcp-session-id': session }));
  expect([later.status, await later.json()]).toEqual([503, closed]);
  await expect(server.createServer()).rejects.toThrow('was closed');
});

test('a server that was closed before its first request, or with its agent, answers that it was closed', async () => {
  const { agent } = scriptedAgent([]);
  const [unused, ofAgent] = [agent.asMcpServer(), agent.asMcpServer()];
  await unused.close();
  await agent.close();
  for (const server of [unused, ofAgent]) {
    const response = await server.fetch(post('http://localhost/mcp', JSON.stringify(initialize)));
    expect([response.status, await response.json()]).toEqual([503, closed]);
  }
});

test('conversations per token need a token', async () => {
  const request = post('http://localhost/mcp', JSON.stringify(initialize));
  await expect(served({ conversation: 'per-token' }).fetch(request)).rejects.toThrow('"per-token" needs "token"');
});
