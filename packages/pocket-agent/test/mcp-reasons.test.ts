import { PocketAgent, PocketAgentClient } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, expect, test, vi } from 'vitest';
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
    message: expect.stringContaining(`port ${port}`),
  });
});
