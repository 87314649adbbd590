// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how variables are written
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type McpServerEntry, PocketAgent, PocketAgentClient } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { silent } from '../helpers.ts';

// Why a server is unavailable: the reason says what to do.

afterEach(() => vi.unstubAllEnvs());

test('a child that never answers is reported with its stderr', async () => {
  const args = ['-e', 'console.error("no licence found"); setInterval(() => {}, 1000)'];
  const mcpConfig = { mcpServers: { mute: { command: process.execPath, args, connectTimeoutMs: 1_500 } } };
  const client = new PocketAgentClient({ mcpConfig, logger: silent });
  expect(await client.listTools()).toEqual([]);
  expect(client.status.get('mute')?.reason).toMatch(/1500 ms.*no licence found/);
  await client.close();
});

test('calling a tool of a server that is unavailable says why the server is unavailable', async () => {
  const mcpConfig = { mcpServers: { gone: { url: 'http://127.0.0.1:9/mcp' } } };
  const client = new PocketAgentClient({ mcpConfig, logger: silent });
  await expect(client.callTool('anything', {})).rejects.toThrow(/"gone" is unavailable: .*127\.0\.0\.1:9/);
  await client.close();
});

test('a child gets the proxy and certificate variables, and nothing else of our environment', async () => {
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

test('a port in use is an error that says how to choose another one', async () => {
  await using agent = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel([]) } });
  const server = agent.asMcpServer();
  const { port } = new URL((await server.listen()).url);
  await expect(server.listen({ port: Number(port) })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `Cannot listen on 127.0.0.1 port ${port}: the port is in use (EADDRINUSE). Choose another port; 0 takes one that is free.`,
  });
});

describe('a server that refuses a request without the right token', () => {
  const refusalOf = async (entry: object) => {
    await using agent = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel([]) } });
    const { url } = await agent.asMcpServer().listen({ token: 'right' });
    const client = new PocketAgentClient({ mcpConfig: { mcpServers: { it: { url, ...entry } } }, logger: silent });
    await client.listTools();
    await client.close();
    return client.status.get('it')?.reason;
  };

  test('is reported with how to send one, if none was sent', async () => {
    expect(await refusalOf({})).toMatch(
      /requires a login: set "auth" .* or headers: { Authorization: … } in its entry\.$/,
    );
  });

  test('is reported with the provider, if it refused its token', async () => {
    expect(await refusalOf({ auth: { token: async () => 'wrong' } })).toMatch(/refused the login that "auth"/);
  });

  test('is reported with its own message, even if the token has two letters', async () => {
    const reason = await refusalOf({ headers: { authorization: 'Bearer no' } });
    expect(reason).toBe('MCP server "it" refused the Authorization header of its entry. It says: Invalid token.');
  });
});

test('the message of a server that refuses a token is shown without the token', async () => {
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

/** Why a server with this entry is away. */
async function reasonOf(entry: McpServerEntry): Promise<string> {
  const client = new PocketAgentClient({ mcpConfig: { mcpServers: { it: entry } }, logger: silent });
  await client.listTools();
  await client.close();
  return client.status.get('it')?.reason ?? 'it is not away';
}

describe('a program', () => {
  const node = process.execPath;

  test('that cannot find a file is reported with the line that says so', async () => {
    const reason = await reasonOf({ command: node, args: ['/no/such/nope.js'] });
    expect(reason).toMatch(/It said: Error: Cannot find module '\/no\/such\/nope\.js'$/);
  });

  test('that prints an error and a hint is reported with both', async () => {
    const program =
      'console.error("loading\\nConfigError: no licence\\n    at load\\nSet LICENCE.\\n"); process.exit(1)';
    const reason = await reasonOf({ command: node, args: ['-e', program] });
    expect(reason).toMatch(/It said: ConfigError: no licence \/ Set LICENCE\.$/);
  });

  test('that prints no error is reported with its last lines', async () => {
    const program = 'console.error("one\\ntwo\\n\\nthree\\nfour\\n"); process.exit(1)';
    expect(await reasonOf({ command: node, args: ['-e', program] })).toMatch(
      /Its stderr ends with: two \/ three \/ four$/,
    );
  });

  test('with its arguments in "command" is reported with where they belong', async () => {
    expect(await reasonOf({ command: 'node server.js --port 1' })).toMatch(
      /"node server\.js --port 1" is not a program .* "command": "node", "args": \["server\.js","--port","1"\]\.$/,
    );
  });

  test('whose cwd does not exist is reported with the folder', async () => {
    expect(await reasonOf({ command: node, cwd: '/no/such/folder' })).toMatch(
      /its "cwd" \/no\/such\/folder is not a folder/,
    );
  });

  test('that prints text and never answers is reported with the option for the timeout, and what stdout is for', async () => {
    const program = 'console.log("Listening on port 3000"); setInterval(() => {}, 1000)';
    const reason = await reasonOf({ command: node, args: ['-e', program], connectTimeoutMs: 500 });
    expect(reason).toMatch(
      /did not answer within 500 ms \("connectTimeoutMs" of its entry\)\. .*stdout; other text is ignored/,
    );
    expect(reason).not.toContain('..');
  });
});

describe('an address', () => {
  /** Something that listens and is no MCP server. */
  async function listening(answer: RequestListener): Promise<string> {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test.each([undefined, 'http', 'sse'])('with a wrong path is reported with its 404 (type %s)', async (type) => {
    const url = await listening((_request, response) => void response.writeHead(404).end('nothing here'));
    const reason = await reasonOf({ url: `${url}/`, ...(type ? { type } : {}) });
    expect(reason).toContain(`at ${url}/: it answered 404. Is "/" the path of its MCP endpoint?`);
    expect(reason).not.toContain('SSE');
  });

  test('that serves a web page and accepts no messages is reported with its answer', async () => {
    const url = await listening((request, response) => {
      if (request.method === 'POST') response.writeHead(405).end('Read only');
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works!</h1>');
    });
    expect(await reasonOf({ url })).toMatch(/: it answered 405 \(Read only\)\. .* Most servers have it at \/mcp\.$/);
  });

  test('where nothing listens is reported without the name of our request', async () => {
    const reason = await reasonOf({ url: 'http://127.0.0.1:9/mcp' });
    expect(reason).toBe(
      'Could not reach MCP server "it" at http://127.0.0.1:9/mcp: fetch failed: connect ECONNREFUSED 127.0.0.1:9',
    );
  });

  test('that never answers is reported with the option for the timeout', async () => {
    const url = await listening(() => {});
    expect(await reasonOf({ url, connectTimeoutMs: 300 })).toMatch(
      /did not end within 300 ms\. If it needs longer, raise "connectTimeoutMs" of its entry\.$/,
    );
  });

  test('that contains a variable is checked after the variable is expanded', async () => {
    vi.stubEnv('POCKET_TEST_HOST', 'localhost:3000');
    const reason = await reasonOf({ url: '${POCKET_TEST_HOST}/mcp' });
    expect(reason).toBe(
      'MCP server "it": url must be a whole address, got "${POCKET_TEST_HOST}/mcp". It must begin with http:// or https://.',
    );
  });
});
