// The `mcpServers` JSON: what is accepted, what is refused and in which words, and how variables are filled in.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is the syntax under test
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type McpConfig, PocketAgentClient } from 'pocket-agent';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { startLegacyHost } from '../fixtures/servers/http-hosts.ts';
import { fixture, folder, open, stdio, testClient, textOfResult } from '../fixtures/world.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const everything = fixture('../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js');

function refusal(config: unknown): string {
  try {
    new PocketAgentClient({ mcpConfig: config as McpConfig });
  } catch (error) {
    return String(error);
  }
  return 'accepted';
}

describe('a stdio entry', () => {
  test('passes command, args, env and cwd to the program, with environment variables expanded', async () => {
    const cwd = join(realpathSync(folder()), 'work');
    mkdirSync(cwd);
    vi.stubEnv('POCKET_TEST_FOLDER', cwd);
    vi.stubEnv('POCKET_TEST_TOKEN', 'top secret');
    const entry = {
      type: 'stdio',
      command: process.execPath,
      args: [everything, '${POCKET_TEST_TRANSPORT:-stdio}'],
      env: {
        PLAIN: 'as it is',
        FROM_NAME: '${POCKET_TEST_TOKEN}',
        FROM_ENV: 'Bearer ${env:POCKET_TEST_TOKEN}',
        FALLBACK: '${POCKET_TEST_MISSING:-plan B}',
        EMPTY: '${POCKET_TEST_MISSING:-}',
        OTHER: '${other:token} $HOME',
      },
      cwd: '${POCKET_TEST_FOLDER}',
    };
    const { client } = testClient({ mcpConfig: { mcpServers: { everything: entry } } });
    const env = JSON.parse(textOfResult(await client.callTool('get-env', {})));
    expect(env).toMatchObject({
      PLAIN: 'as it is',
      FROM_NAME: 'top secret',
      FROM_ENV: 'Bearer top secret',
      FALLBACK: 'plan B',
      EMPTY: '',
      OTHER: '${other:token} $HOME',
    });
    expect(env.PATH).toBe(process.env.PATH);
    expect(env.POCKET_TEST_TOKEN).toBeUndefined();
  });

  test('runs in its cwd', async () => {
    const cwd = realpathSync(folder());
    const program = `console.error('I am in ' + process.cwd()); process.exit(1)`;
    const entry = { command: process.execPath, args: ['-e', program], cwd };
    const { client, reasons } = testClient({ mcpConfig: { mcpServers: { there: entry } } });
    expect(await client.listTools()).toEqual([]);
    expect(reasons.join()).toContain(`I am in ${cwd}`);
  });

  test('that needs an unset variable fails with the name of the variable, and the other servers work', async () => {
    const mcpServers = {
      good: stdio('stdio-plain.ts'),
      bad: { command: 'node', env: { TOKEN: '${POCKET_TEST_MISSING}' } },
    };
    const { client, statuses, reasons, lines } = testClient({ mcpConfig: { mcpServers } });
    const tools = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain('good_echo');
    expect(tools.filter((tool) => tool.name.startsWith('bad_'))).toEqual([]);
    expect(statuses).toContain('bad: failed');
    const reason = 'MCP server "bad" needs the environment variable POCKET_TEST_MISSING, which is not set.';
    expect(reasons).toEqual([reason]);
    expect(client.status.get('bad')).toEqual({ status: 'failed', reason });
    expect(lines.join('\n')).toContain(reason);
  });

  test('that needs an input of VS Code fails with the name of the input and what to write instead', async () => {
    const mcpServers = {
      asks: { command: 'node', env: { TOKEN: '${input:api-key}' } },
      remote: { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer ${input:token}' } },
    };
    const { client, reasons } = testClient({ mcpConfig: { mcpServers } });
    expect(await client.listTools()).toEqual([]);
    const instead = `which only VS Code can fill in: write \${NAME}, and set the environment variable NAME.`;
    expect(reasons.toSorted()).toEqual([
      `MCP server "asks" needs \${input:api-key}, ${instead}`,
      `MCP server "remote" needs \${input:token}, ${instead}`,
    ]);
  });
});

describe('an HTTP entry', () => {
  test('passes url and headers on, with variables expanded', async () => {
    const host = await open(startLegacyHost());
    vi.stubEnv('POCKET_TEST_PORT', String(host.port));
    vi.stubEnv('POCKET_TEST_TOKEN', 'top secret');
    const entry = {
      type: 'http' as const,
      url: 'http://127.0.0.1:${POCKET_TEST_PORT}/mcp',
      headers: { Authorization: 'Bearer ${POCKET_TEST_TOKEN}', 'X-Region': '${POCKET_TEST_REGION:-eu}' },
    };
    const { client } = testClient({ mcpConfig: { mcpServers: { remote: entry } } });
    expect(textOfResult(await client.callTool('echo', { text: 'hi' }))).toBe('hi');
    for (const { headers } of host.seen) {
      expect(headers).toMatchObject({ authorization: 'Bearer top secret', 'x-region': 'eu' });
    }
    expect(host.seen.length).toBeGreaterThan(2);
  });

  test('with a user in its URL sends basic authentication', async () => {
    const host = await open(startLegacyHost());
    const url = host.url.replace('//', '//ada:top%20secret@');
    const { client } = testClient({ mcpConfig: { mcpServers: { remote: { url } } } });
    expect(textOfResult(await client.callTool('echo', { text: 'hi' }))).toBe('hi');
    const authorization = `Basic ${Buffer.from('ada:top secret').toString('base64')}`;
    for (const { headers } of host.seen) expect(headers).toMatchObject({ authorization });
    const headers = { Authorization: 'Bearer mine' };
    const other = testClient({ mcpConfig: { mcpServers: { remote: { url, headers } } } });
    await other.client.listTools();
    expect(host.seen.at(-1)?.headers.authorization).toBe('Bearer mine');
  });

  test('shows an invalid URL as written in the configuration, because a variable may hold a secret', async () => {
    vi.stubEnv('POCKET_TEST_URL', 'not a url');
    const mcpServers = { remote: { url: '${POCKET_TEST_URL}' } };
    const { client, reasons } = testClient({ mcpConfig: { mcpServers } });
    expect(await client.listTools()).toEqual([]);
    expect(reasons).toEqual([
      'MCP server "remote": url must be a whole address, got "${POCKET_TEST_URL}". It must begin with http:// or https://.',
    ]);
  });
});

test('a disabled server is neither checked nor connected', async () => {
  const mcpServers = { off: { disabled: true, command: '' }, on: stdio('stdio-plain.ts') };
  const { client, statuses } = testClient({ mcpConfig: { mcpServers } });
  expect(client.serverNames).toEqual(['on']);
  expect((await client.listTools()).map((tool) => tool.name)).toContain('echo');
  expect(statuses).toEqual(['on: connected']);
});

test("VS Code's `servers`, FastMCP's `transport` and keys of other hosts are accepted", () => {
  const config = {
    inputs: [{ id: 'token' }],
    servers: {
      local: { type: 'stdio', command: 'node', alwaysAllow: ['echo'], envFile: '.env', dev: { watch: 'src' } },
      remote: { transport: 'sse', url: 'http://localhost/sse', tools: ['*'], oauth: { clientId: 'a' }, gallery: true },
      cursor: { url: 'http://localhost/mcp', auth: { CLIENT_ID: 'a', CLIENT_SECRET: 'b' }, timeout: 60 },
    },
  };
  expect(new PocketAgentClient({ mcpConfig: config as unknown as McpConfig }).serverNames).toEqual([
    'local',
    'remote',
    'cursor',
  ]);
});

test('changing a config after it was passed has no effect', () => {
  const mcpServers: Record<string, { command: string }> = { one: { command: 'node' } };
  const client = new PocketAgentClient({ mcpConfig: { mcpServers } });
  mcpServers.two = { command: 'node' };
  expect(client.serverNames).toEqual(['one']);
});

test.each([
  [{}, 'mcpConfig needs an object "mcpServers" (or an McpServer); it has nothing.'],
  [{ weather: { command: 'node' } }, 'mcpConfig needs an object "mcpServers" (or an McpServer); it has weather.'],
  [{ mcpServers: { weather: 'node' } }, 'MCP server "weather" must be an object.'],
  [{ mcpServers: { weather: null } }, 'MCP server "weather" must be an object.'],
  [{ mcpServers: { weather: {} } }, 'needs a "command" (a program to start) or a "url" (a remote server)'],
  [
    { mcpServers: { weather: { comand: 'a', args: [] } } },
    '(a remote server). It has "comand". Did you mean "command"?',
  ],
  [{ mcpServers: { weather: { command: 'a', url: 'b' } } }, 'has both "command" and "url"; keep one'],
  [{ mcpServers: { weather: { command: '' } } }, 'command must be a non-empty string'],
  [{ mcpServers: { weather: { command: 'a', args: 'b' } } }, 'args must be a list'],
  [
    { mcpServers: { weather: { command: 'a', args: ['--port', 80] } } },
    '"weather": args.1 must be a string, got a number.',
  ],
  [
    { mcpServers: { weather: { command: 'a', env: { PORT: 80 } } } },
    '"weather": env.PORT must be a string, got a number.',
  ],
  [{ mcpServers: { weather: { command: 'a', cwd: 7 } } }, 'cwd must be a string'],
  [
    { mcpServers: { weather: { url: 'https://a.example', headers: { 'X-A': 1 } } } },
    'headers.X-A must be a string, got a number.',
  ],
  [
    { mcpServers: { weather: { url: 'https://a.example', headers: 'X-A: 1' } } },
    'headers must be an object of strings',
  ],
  [{ mcpServers: { weather: { url: 'http://x', type: 'ws' } } }, 'must be http, streamable-http or sse'],
  [{ mcpServers: { weather: { url: 7 } } }, 'MCP server "weather": url must be a string, got 7.'],
  [{ mcpServers: { weather: { server: {} } } }, 'server must be an McpServer or a function'],
  [
    { mcpServers: { weather: { command: 'a', timeoutMs: '60' } } },
    'timeoutMs must be a number greater than 0, got "60"',
  ],
])('the config %j is refused in clear words', (config, words) => {
  expect(refusal(config)).toContain(words);
});

test.each([
  ['mcp.json', 'mcpConfig must be an object with "mcpServers", not a string. From a file: JSON.parse('],
  [[], 'it is a list.'],
  [{ mcpServer: {} }, 'it has mcpServer. Did you mean "mcpServers"?'],
  [{ mcpServers: [{ command: 'node' }] }, 'mcpConfig needs an object "mcpServers"'],
])('the config %j, which has no table of servers, is refused', (config, words) => {
  expect(refusal(config)).toContain(words);
});

describe('a key of ours', () => {
  const ofEntry = (more: object) => refusal({ mcpServers: { weather: { command: 'node', ...more } } });

  test.each([
    [{ trusted: false }, 'trust'],
    [{ turst: false }, 'trust'],
    [{ header: {} }, 'headers'],
    [{ arg: [] }, 'args'],
    [{ capabilties: {} }, 'capabilities'],
    [{ timeoutMS: 60 }, 'timeoutMs'],
    [{ approval: true }, 'approvals'],
    [{ maxTimeout: 9 }, 'maxTimeoutMs'],
    [{ Disabled: true }, 'disabled'],
  ])('is not misspelt in silence: %j', (more, meant) => {
    const [key] = Object.keys(more);
    expect(ofEntry(more)).toBe(`PocketError: MCP server "weather" has no option "${key}". Did you mean "${meant}"?`);
  });

  test.each([
    [{ trust: 'false' }, 'trust must be true or false, without quotes, got "false".'],
    [{ trust: null }, 'trust must be true or false, without quotes, got null.'],
    [{ approvals: 'yes' }, 'approvals must be true or false'],
    [{ disabled: 'false' }, 'disabled must be true or false'],
    [{ capabilities: 'read' }, 'capabilities must be an object such as'],
    [{ capabilities: ['read'] }, 'capabilities must be an object such as'],
    [{ env: ['A=1'] }, 'env must be an object of strings, or a function that returns one, got a list.'],
    [
      { auth: { clientId: 'a' } },
      'auth must be what fileOAuth gives, a provider of the MCP SDK, or a function that returns one, got an object.',
    ],
    [{ fetch: 'node-fetch' }, 'fetch must be a function'],
  ])('is not of another kind: %j', (more, words) => {
    expect(ofEntry(more)).toContain(`PocketError: MCP server "weather": ${words}`);
  });

  test.each([
    [{ env: 'TOKEN=sk-123' }, 'env must be an object of strings, or a function that returns one, got a string.'],
    [{ env: { TOKEN: { is: 'sk-123' } } }, 'env.TOKEN must be a string, got an object.'],
    [{ args: ['--token', ['sk-123']] }, 'args.1 must be a string, got a list.'],
    [{ args: [null, 'sk-123'] }, 'args.0 must be a string, got null.'],
    [{ headers: { Authorization: ['Bearer sk-123'] } }, 'headers.Authorization must be a string, got a list.'],
  ])('is not shown where it may be a secret: %j', (more, words) => {
    expect(ofEntry(more)).toBe(`PocketError: MCP server "weather": ${words}`);
  });

  test('that is undefined counts as left out', () => {
    expect(ofEntry({ url: undefined, server: undefined, trust: undefined, disabled: undefined })).toBe('accepted');
  });
});

test.each([
  ['localhost:3000/mcp', 'Write http://localhost:3000/mcp.'],
  ['127.0.0.1:3000/mcp', 'Write http://127.0.0.1:3000/mcp.'],
  ['mcp.example.com/mcp', 'Write https://mcp.example.com/mcp.'],
  ['ws://example.com', 'It must begin with http:// or https://.'],
  ['', 'It must begin with http:// or https://.'],
])('the address "%s" is refused when the config is read', (url, advice) => {
  expect(refusal({ mcpServers: { weather: { url } } })).toBe(
    `PocketError: MCP server "weather": url must be a whole address, got "${url}". ${advice}`,
  );
});

test.each([
  ['serverUrl', 'url'],
  ['httpUrl', 'url'],
  ['cmd', 'command'],
])('what another host calls "%s" is "%s" here', (key, meant) => {
  expect(refusal({ mcpServers: { weather: { [key]: 'x' } } })).toContain(`It has "${key}". Did you mean "${meant}"?`);
});
