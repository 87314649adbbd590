import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PocketAgent, PocketAgentClient } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { silent } from './helpers.ts';

// What went wrong must be said where somebody looks for it.

afterEach(() => vi.unstubAllEnvs());

test('a child that never answers is reported with what it wrote to stderr', async () => {
  const args = ['-e', 'console.error("no licence found"); setInterval(() => {}, 1000)'];
  const mcpConfig = { mcpServers: { mute: { command: process.execPath, args, connectTimeoutMs: 1_500 } } };
  const client = new PocketAgentClient({ mcpConfig, logger: silent });
  expect(await client.listTools()).toEqual([]);
  expect(client.status.get('mute')?.reason).toMatch(/1500 ms.*no licence found/);
  await client.close();
});

test('calling a tool of a server that is away tells why the server is away', async () => {
  const mcpConfig = { mcpServers: { gone: { url: 'http://127.0.0.1:9/mcp' } } };
  const client = new PocketAgentClient({ mcpConfig, logger: silent });
  await expect(client.callTool('anything', {})).rejects.toThrow(/"gone" is away: .*127\.0\.0\.1:9/);
  await client.close();
});

test('a child knows the way to the network, and nothing else of our environment', async () => {
  vi.stubEnv('HTTPS_PROXY', 'http://proxy.test:8080');
  vi.stubEnv('NODE_EXTRA_CA_CERTS', '/etc/ssl/own.pem');
  vi.stubEnv('OPENAI_API_KEY', 'sk-secret');
  const show = 'console.error(process.env.HTTPS_PROXY, process.env.NODE_EXTRA_CA_CERTS, process.env.OPENAI_API_KEY)';
  const mcpConfig = { mcpServers: { env: { command: process.execPath, args: ['-e', show] } } };
  const client = new PocketAgentClient({ mcpConfig, logger: silent });
  await client.listTools();
  expect(client.status.get('env')?.reason).toContain('http://proxy.test:8080 /etc/ssl/own.pem undefined');
  await client.close();
});

test('a port that is taken is said in our words', async () => {
  await using agent = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel([]) } });
  const server = await agent.asMcpServer();
  const { port } = new URL((await server.listen()).url);
  await expect(server.listen({ port: Number(port) })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `Cannot listen on 127.0.0.1 port ${port}: another program has it (EADDRINUSE). Choose another port; 0 takes one that is free.`,
  });
});

describe('a server that refuses a request without the right token', () => {
  const reasonOf = async (entry: object) => {
    await using agent = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel([]) } });
    const { url } = await (await agent.asMcpServer()).listen({ token: 'right' });
    const client = new PocketAgentClient({ mcpConfig: { mcpServers: { it: { url, ...entry } } }, logger: silent });
    await client.listTools();
    await client.close();
    return client.status.get('it')?.reason;
  };

  test('wants one where none was sent', async () => {
    expect(await reasonOf({})).toMatch(/wants a login: give its entry "auth" .* or an Authorization header\.$/);
  });

  test('has refused that of a provider', async () => {
    expect(await reasonOf({ auth: { token: async () => 'wrong' } })).toMatch(/refused the login that "auth"/);
  });

  test('has refused the one that was sent, in its own words, also where those hold a token of two letters', async () => {
    const reason = await reasonOf({ headers: { authorization: 'Bearer no' } });
    expect(reason).toBe(
      'MCP server "it" refused the Authorization header of its entry. It says: This token is not the one of this server.',
    );
  });
});

test('what a server says of a token it refused does not hold the token', async () => {
  const server = createServer((_request, response) => {
    const body = { error: 'invalid_token', error_description: 'I do not know my-secret.' };
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const headers = { Authorization: 'Bearer my-secret' };
  const client = new PocketAgentClient({ mcpConfig: { mcpServers: { it: { url, headers } } }, logger: silent });
  await client.listTools();
  expect(client.status.get('it')?.reason).toMatch(/It says: I do not know \[redacted\]\.$/);
  await client.close();
  server.closeAllConnections();
  server.close();
});
