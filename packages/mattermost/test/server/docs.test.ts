// docs/mattermost.md matches the code: every variable with default and bounds, every tool with its capability.
import { readFileSync } from 'node:fs';
import { isMattermostError, type MattermostConfig, readConfig } from '@pocket-agent/mattermost';
import { expect, test } from 'vitest';
import { connect } from '../connect.ts';

const page = readFileSync(new URL('../../../../docs/mattermost.md', import.meta.url), 'utf8');
const VARIABLE = /\b(?:MATTERMOST|MCP)_[A-Z0-9]+(?:_[A-Z0-9]+)*\b/g;
const oauth = {
  MATTERMOST_URL: 'https://chat.example.com',
  MCP_TRANSPORT: 'http',
  MATTERMOST_AUTH_MODE: 'oauth_proxy',
  MATTERMOST_OAUTH_CLIENT_ID: 'an-application',
  MATTERMOST_OAUTH_CLIENT_SECRET: 'its-secret',
  MATTERMOST_OAUTH_MCP_PUBLIC_URL: 'https://mcp.example.com',
};
const plain = { MATTERMOST_URL: 'https://chat.example.com', MATTERMOST_TOKEN: 'a-token' };

/** The cells of the table below a heading, without its header row. */
function rowsOf(heading: string): string[][] {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(1).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const variables = rowsOf('Variables').map(([name = '', standard = '', text = '']) => ({
  name: unquoted(name),
  standard: unquoted(standard),
  bounds: /: (\d+) to (\d+)/.exec(text)?.slice(1).map(Number),
}));

function unquoted(cell: string): string {
  return cell.replaceAll('`', '');
}

function variablesRead(): string[] {
  const read = new Set<string>();
  const watched = new Proxy<Record<string, string>>(oauth, {
    get(target, name) {
      read.add(String(name));
      return target[String(name)];
    },
  });
  readConfig(watched);
  return [...read];
}

function read(environment: Record<string, string>): MattermostConfig | undefined {
  try {
    return readConfig(environment);
  } catch (error) {
    if (isMattermostError(error, 'CONFIG_INVALID')) return undefined;
    throw error;
  }
}

test('the table lists exactly the variables that are read', () => {
  const known = variablesRead().sort();
  expect(variables.map(({ name }) => name).sort()).toEqual(known);
  expect(known).toEqual(expect.arrayContaining([...new Set(page.match(VARIABLE))]));
});

test('documented defaults are the real defaults', () => {
  const documented = variables.filter(({ standard }) => standard !== '');
  expect(documented.length).toBeGreaterThan(15);
  for (const { name, standard } of documented) {
    const base = name.includes('OAUTH') ? oauth : plain;
    expect([name, read({ ...base, [name]: standard })]).toEqual([name, read(base)]);
  }
});

test('documented bounds are the real bounds', () => {
  const bounded = variables.filter(({ bounds }) => bounds);
  expect(bounded.length).toBeGreaterThan(5);
  for (const { name, bounds: [least = 0, most = 0] = [] } of bounded) {
    const isAccepted = [least - 1, least, most, most + 1].map(
      (value) => read({ ...plain, [name]: String(value) }) !== undefined,
    );
    expect([name, isAccepted]).toEqual([name, [false, true, true, false]]);
  }
});

test('the table lists every tool in order with its capability', async () => {
  const connection = await connect();
  const { tools } = await connection.client.listTools();
  await connection.close();
  const documented = rowsOf('Tools').map(([name = '', capability]) => [unquoted(name), capability]);
  expect(documented).toEqual(tools.map(({ name, _meta }) => [name, _meta?.capability]));
  expect(page).toContain(`${tools.length} tools`);
});

test('the table of more tools lists those of every group in order with group and capability', async () => {
  const environment = { MATTERMOST_TOOL_GROUPS: 'all' };
  const connection = await connect({ environment });
  const { tools } = await connection.client.listTools();
  await connection.close();
  const optional = tools.filter(({ _meta }) => _meta?.exposure === 'deferred');
  const rows = rowsOf('More tools');
  expect(rows.map(([name = '', , capability]) => [unquoted(name), capability])).toEqual(
    optional.map(({ name, _meta }) => [name, _meta?.capability]),
  );
  for (const group of new Set(rows.map(([, group = '']) => unquoted(group)))) {
    const { toolGroups } = readConfig({ ...plain, MATTERMOST_TOOL_GROUPS: group });
    expect(toolGroups).toEqual([group]);
  }
  expect(page).toContain(`and ${optional.length} more`);
});

test.each(['mattermost', 'mattermost-bot'])('each yes in docs/%s.md names a test', (name) => {
  const docs = new URL('../../../../docs/', import.meta.url);
  const [, comparison = ''] = readFileSync(new URL(`${name}.md`, docs), 'utf8').split('\n## Compared\n');
  const proofs = [...comparison.matchAll(/\[yes\]\((\S+) "([^"]+)"\)/g)];
  expect(proofs.length).toBe(comparison.match(/\| \[?yes\b.*\|.*\|$/gm)?.length);
  expect(proofs.length).toBeGreaterThan(10);
  const isTest = ([, file = '', title = '']: string[]) =>
    readFileSync(new URL(file, docs), 'utf8').includes(`'${title}'`);
  expect(proofs.filter((proof) => !isTest(proof)).map(([link]) => link)).toEqual([]);
});

test('client configurations are JSON, and those that start the server are valid', () => {
  const blocks = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = '']) => JSON.parse(json));
  const entries = blocks.map(({ mcpServers, servers }) => (mcpServers ?? servers).mattermost);
  expect(entries).toHaveLength(3);
  for (const { command, args, env } of entries.filter((entry) => 'command' in entry)) {
    expect([command, ...args]).toEqual(['npm', '--prefix', '/path/to/checkout', 'run', '--silent', 'mattermost']);
    expect(readConfig(env).transport).toBe('stdio');
  }
});
