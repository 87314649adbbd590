// The configuration: defaults and error messages.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMattermostServer, MattermostError, readConfig } from '@pocket-agent/mattermost';
import { createMattermostBot } from '@pocket-agent/mattermost/bot';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'mattermost-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const TOKEN = 'planted-secret-token-1234';
const usable = { MATTERMOST_URL: 'https://chat.example.com', MATTERMOST_TOKEN: TOKEN };
const http = { ...usable, MCP_TRANSPORT: 'http', MATTERMOST_HTTP_TOKEN: 'a-client-token-of-its-own' };

test('two variables are enough', () => {
  expect(readConfig(usable)).toMatchObject({
    url: 'https://chat.example.com',
    apiPath: '/api/v4',
    authMode: 'static_token',
    profile: 'admin',
    timeoutMs: 30_000,
    maxRetries: 3,
    verifyTls: true,
    transport: 'stdio',
    host: '127.0.0.1',
    port: 8000,
    fileRoots: [],
    logLevel: 'info',
    logFormat: 'json',
  });
});

test.each(['/api/v4', '/api/v4/', '/sub/api/v4'])('the API path at the end of the URL (%s) is removed', (path) => {
  const { url } = readConfig({ ...usable, MATTERMOST_URL: `https://chat.example.com${path}` });
  expect(url).toBe(`https://chat.example.com${path.startsWith('/sub') ? '/sub' : ''}`);
});

test('every setting can be changed', () => {
  const config = readConfig({
    ...usable,
    MATTERMOST_URL: 'https://chat.example.com/sub/path//',
    MATTERMOST_PROFILE: 'Writer',
    MATTERMOST_TIMEOUT: '5',
    MATTERMOST_MAX_RETRIES: '0',
    MATTERMOST_VERIFY_SSL: 'false',
    MATTERMOST_LOG_LEVEL: 'WARNING',
    MATTERMOST_LOG_FORMAT: 'text',
    MATTERMOST_DEFAULT_TEAM_ID: 'main',
    MATTERMOST_FILE_ROOTS: folder,
    MATTERMOST_MAX_FILE_MB: '7',
    MATTERMOST_READ_DENY_CHANNELS: 'one, main/two ,',
    MATTERMOST_WRITE_ALLOW_TEAMS: 'main',
    MCP_TRANSPORT: 'http',
    MCP_PORT: '0',
    MATTERMOST_HTTP_TOKENS: 'reader=aaaaaaaaaaaaaaaa,writer=bbbbbbbbbbbbbbbb=',
    MATTERMOST_HTTP_ALLOWED_HOSTS: 'mcp.example.com',
  });
  expect(config).toMatchObject({
    url: 'https://chat.example.com/sub/path',
    profile: 'writer',
    timeoutMs: 5000,
    maxRetries: 0,
    verifyTls: false,
    logLevel: 'warning',
    logFormat: 'text',
    defaultTeam: 'main',
    fileRoots: [folder],
    maxFileBytes: 7_000_000,
    read: { denyChannels: ['one', 'main/two'], allowChannels: [] },
    write: { allowTeams: ['main'] },
    port: 0,
    clientTokens: [
      { token: 'aaaaaaaaaaaaaaaa', profile: 'reader' },
      { token: 'bbbbbbbbbbbbbbbb=', profile: 'writer' },
    ],
    allowedHosts: ['mcp.example.com'],
  });
});

writeFileSync(join(folder, 'no-certificate.pem'), 'hello');

test.each([
  [{}, 'MATTERMOST_URL is missing'],
  [{}, 'MATTERMOST_TOKEN is missing'],
  [{ ...usable, MATTERMOST_URL: 'chat.example.com' }, 'not an http or https URL'],
  [{ ...usable, MATTERMOST_URL: 'ftp://chat.example.com' }, 'not an http or https URL'],
  [{ ...usable, MATTERMOST_URL: 'https://user:pass@chat.example.com' }, 'user name or password'],
  [{ ...usable, MATTERMOST_URL: 'https://chat.example.com/?x=1' }, 'without ? or #'],
  [{ ...usable, MATTERMOST_TOKEN: `${TOKEN} two` }, 'MATTERMOST_TOKEN: contains spaces'],
  [{ ...usable, MATTERMOST_TIMEOUT: '0' }, 'MATTERMOST_TIMEOUT: is "0", but must be a number from 1 to 300'],
  [{ ...usable, MATTERMOST_TIMEOUT: 'soon' }, 'MATTERMOST_TIMEOUT'],
  [{ ...usable, MATTERMOST_MAX_RETRIES: '1.5' }, 'whole number'],
  [{ ...usable, MATTERMOST_VERIFY_SSL: 'maybe' }, 'true or false'],
  [{ ...usable, MATTERMOST_PROFILE: 'boss' }, 'reader, writer, manager, admin'],
  [{ ...usable, MATTERMOST_EXTRA_CA_CERTS: '/nowhere.pem' }, 'MATTERMOST_EXTRA_CA_CERTS'],
  [{ ...usable, MATTERMOST_EXTRA_CA_CERTS: join(folder, 'no-certificate.pem') }, 'not a readable PEM'],
  [{ ...usable, MATTERMOST_FILE_ROOTS: '/nowhere-at-all' }, '"/nowhere-at-all" is not a folder'],
  [{ ...usable, MCP_PORT: 'eighty' }, 'MCP_PORT'],
  [{ ...usable, MCP_TRANSPORT: 'pigeon' }, 'stdio, http'],
  [
    { ...usable, MATTERMOST_PROFIL: 'reader' },
    'MATTERMOST_PROFIL: unknown variable (did you mean MATTERMOST_PROFILE?)',
  ],
  [{ ...usable, MATTERMOST_DENY_READ_CHANNELS: 'hr' }, 'MATTERMOST_DENY_READ_CHANNELS: unknown variable'],
  [
    { ...usable, MATTERMOST_READ_DENY_CHANNELS: 'one, Private Room' },
    'MATTERMOST_READ_DENY_CHANNELS: "Private Room" is not a channel: use its name as in URLs (town-square), team/name, its id, @direct or @group.',
  ],
  [{ ...usable, MATTERMOST_READ_ALLOW_CHANNELS: '@dm' }, 'MATTERMOST_READ_ALLOW_CHANNELS: "@dm" is not a channel'],
  [{ ...usable, MATTERMOST_WRITE_DENY_CHANNELS: 'a/b/c' }, 'MATTERMOST_WRITE_DENY_CHANNELS: "a/b/c" is not a channel'],
  [
    { ...usable, MATTERMOST_WRITE_ALLOW_CHANNELS: '"one"' },
    'MATTERMOST_WRITE_ALLOW_CHANNELS: ""one"" is not a channel',
  ],
  [{ ...usable, MATTERMOST_READ_DENY_TEAMS: 'Main Team' }, 'MATTERMOST_READ_DENY_TEAMS: "Main Team" is not a team'],
  [{ ...usable, MATTERMOST_READ_ALLOW_TEAMS: '@direct' }, 'MATTERMOST_READ_ALLOW_TEAMS: "@direct" is not a team'],
  [{ ...usable, MATTERMOST_WRITE_DENY_TEAMS: 'main/one' }, 'MATTERMOST_WRITE_DENY_TEAMS: "main/one" is not a team'],
  [
    { ...usable, MATTERMOST_WRITE_ALLOW_TEAMS: 'main;other' },
    'MATTERMOST_WRITE_ALLOW_TEAMS: "main;other" is not a team',
  ],
  [{ ...usable, MATTERMOST_BOT_PROFIL: 'reader' }, 'did you mean MATTERMOST_BOT_PROFILE?'],
  [{ ...usable, MATTERMOST_WEATHER: TOKEN }, 'MATTERMOST_WEATHER: unknown variable; remove it'],
  [{ ...usable, MCP_TRANSPORT: 'http' }, 'MATTERMOST_HTTP_TOKEN is missing'],
  [{ ...http, MATTERMOST_HTTP_TOKEN: 'short' }, 'at least 16 characters'],
  [{ ...http, MATTERMOST_HTTP_TOKENS: 'boss=aaaaaaaaaaaaaaaa' }, 'entry 1 must be profile=token'],
  [{ ...usable, MATTERMOST_AUTH_MODE: 'client_token' }, 'requires HTTP'],
  [{ ...usable, MATTERMOST_AUTH_MODE: 'oauth_proxy', MATTERMOST_ALLOW_HTTP_CLIENT_TOKENS: 'true' }, 'contradicts'],
  [{ ...http, MATTERMOST_AUTH_MODE: 'oauth_proxy' }, 'MATTERMOST_OAUTH_CLIENT_ID is missing'],
  [{ ...http, MATTERMOST_AUTH_MODE: 'oauth_proxy' }, 'MATTERMOST_OAUTH_CLIENT_SECRET is missing'],
  [
    { ...http, MATTERMOST_AUTH_MODE: 'oauth_proxy', MATTERMOST_OAUTH_CLIENT_TYPE: 'public' },
    'JWT_SIGNING_KEY is missing',
  ],
  [
    { ...http, MATTERMOST_AUTH_MODE: 'oauth_proxy', MATTERMOST_OAUTH_MCP_PUBLIC_URL: 'http://mcp.example.com' },
    'https',
  ],
])('%j is rejected: %s', (environment, expected) => {
  const failure = catchError(() => readConfig(environment));
  expect(failure).toMatchObject({ code: 'CONFIG_INVALID' });
  expect(failure.message).toContain(expected);
  expect(failure.message).not.toContain(TOKEN);
});

test('variables of the bot, of OAuth, of a Kubernetes service named mattermost and empty variables are accepted', () => {
  const others = {
    MATTERMOST_BOT_AGENT: 'agent.json',
    MATTERMOST_BOT_MODEL: 'demo',
    MATTERMOST_BOT_PROFILE: 'writer',
    MATTERMOST_BOT_STOP: 'everyone',
    MATTERMOST_OAUTH_CLIENT_ID: 'an-application',
    MATTERMOST_DEFAULT_TEAM: 'main',
    MATTERMOST_DEFAULT_TEAM_ID: 'main',
    MATTERMOST_SERVICE_HOST: '10.0.0.7',
    MATTERMOST_SERVICE_PORT_HTTP: '8065',
    MATTERMOST_PORT: 'tcp://10.0.0.7:8065',
    MATTERMOST_PORT_8065_TCP_ADDR: '10.0.0.7',
    MATTERMOST_PROFIL: '',
  };
  expect(readConfig({ ...usable, ...others })).toEqual(readConfig({ ...usable, MATTERMOST_DEFAULT_TEAM: 'main' }));
  expect(() => readConfig({ ...usable, MATTERMOST_PORT: '8000' })).toThrow('MATTERMOST_PORT: unknown variable');
});

test('access lists ignore case', () => {
  const { read, write } = readConfig({
    ...usable,
    MATTERMOST_READ_DENY_CHANNELS: 'One, #Two, ~THREE, Main / Four, @Direct, @GROUP',
    MATTERMOST_WRITE_ALLOW_TEAMS: 'Main,OTHER',
  });
  expect(read.denyChannels).toEqual(['one', 'two', 'three', 'main/four', '@direct', '@group']);
  expect(write.allowTeams).toEqual(['main', 'other']);
});

test('access lists passed by a program are checked like those of variables', async () => {
  const none = { allowChannels: [], denyChannels: [], allowTeams: [], denyTeams: [] };
  const read = { ...none, denyChannels: ['Private Room'] };
  const config = { ...readConfig(usable), read, write: { ...none, allowTeams: ['a b'] } };
  const failure = catchError(() => createMattermostServer(config));
  expect(failure).toMatchObject({ code: 'CONFIG_INVALID' });
  expect(failure.message).toMatch(
    /\n- read\.denyChannels: "Private Room" is not a channel.*\n- write\.allowTeams: "a b" is not a/,
  );
  const agent = () => ({ agentConfig: { llmModel: 'demo' } });
  await expect(createMattermostBot({ config, agent })).rejects.toThrow(failure.message);
});

test('an invalid token entry is reported once', () => {
  const environment = { ...usable, MCP_TRANSPORT: 'http', MATTERMOST_HTTP_TOKENS: 'boss=aaaaaaaaaaaaaaaa' };
  expect(catchError(() => readConfig(environment)).message.split('\n- ')).toHaveLength(2);
  expect(() => readConfig({ ...environment, MATTERMOST_HTTP_TOKENS: ',' })).toThrow('MATTERMOST_HTTP_TOKEN is missing');
});

test('all errors are reported together', () => {
  const { message } = catchError(() => readConfig({ MATTERMOST_TIMEOUT: 'x', MCP_PORT: 'y', MATTERMOST_PROFILE: 'z' }));
  expect(message.split('\n- ')).toHaveLength(6);
});

function catchError(run: () => unknown): MattermostError {
  try {
    run();
  } catch (error) {
    if (error instanceof MattermostError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown');
}
