// What the server is made from: environment variables, a .env file and the command line, checked all at once.
import { type Profile, profiles } from '../base/access.ts';
import { MattermostError } from '../base/errors.ts';
import { type LogFormat, type LogLevel, logFormats, logLevels } from '../base/log.ts';
import { Settings } from './settings.ts';

export const authModes = ['static_token', 'client_token', 'oauth_proxy'] as const;
export type AuthMode = (typeof authModes)[number];

/** Channels and teams by id or name; a channel also as `team/channel`, or `@direct` and `@group` for all of a kind. */
export interface AccessLists {
  allowChannels: readonly string[];
  denyChannels: readonly string[];
  allowTeams: readonly string[];
  denyTeams: readonly string[];
}

/** A token that clients of our own HTTP endpoint show. */
export interface ClientToken {
  token: string;
  profile: Profile;
}

export interface OAuthConfig {
  clientId: string;
  clientType: 'public' | 'confidential';
  clientSecret: string | undefined;
  callbackPath: string;
  jwtSigningKey: string | undefined;
  mcpPublicUrl: string;
  mattermostPublicUrl: string;
  allowedRedirectUris: readonly string[];
  requireConsent: boolean;
  fallbackAccessTokenExpirySeconds: number | undefined;
}

export interface MattermostConfig {
  url: string;
  apiPath: string;
  authMode: AuthMode;
  token: string | undefined;
  profile: Profile;
  /** For one request and its whole answer. */
  timeoutMs: number;
  /** For one file, up or down. */
  transferTimeoutMs: number;
  maxRetries: number;
  /** The wait before the first repetition; it doubles. */
  backoffMs: number;
  /** Who is told to wait longer is told so instead. */
  longestRetryWaitMs: number;
  maxConnections: number;
  keepAliveMs: number;
  /** A WebSocket that is silent this long after a ping is given up. */
  pingMs: number;
  verifyTls: boolean;
  /** PEM text, beside the certificates Node trusts. */
  extraCaCerts: string | undefined;
  defaultTeam: string | undefined;
  fileRoots: readonly string[];
  maxFileBytes: number;
  read: AccessLists;
  /** Beside those for reading. */
  write: AccessLists;
  logLevel: LogLevel;
  logFormat: LogFormat;
  transport: 'stdio' | 'http';
  host: string;
  port: number;
  clientTokens: readonly ClientToken[];
  allowedHosts: readonly string[] | undefined;
  allowedOrigins: readonly string[] | undefined;
  oauth: OAuthConfig | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Throws one error that names every fault. */
export function readConfig(environment: Environment): MattermostConfig {
  return configFrom(new Settings(environment));
}

/** Of settings that may have faults already, which are told with the rest. */
export function configFrom(settings: Settings): MattermostConfig {
  const config = readAll(settings);
  checkTogether(settings, config);
  settings.refuseUnknown('MATTERMOST_', knownNames());
  refuseFaults(settings.faults);
  return config;
}

/** For a configuration that a program has put together: its lists are read as those of variables are. */
export function withCheckedLists(config: MattermostConfig): MattermostConfig {
  const faults: string[] = [];
  const check = (purpose: 'read' | 'write') =>
    checkLists(config[purpose], (list, why) => faults.push(`${purpose}.${list}: ${why}.`));
  const checked = { ...config, read: check('read'), write: check('write') };
  refuseFaults(faults);
  return checked;
}

function refuseFaults(faults: readonly string[]): void {
  if (faults.length === 0) return;
  const list = faults.map((fault) => `\n- ${fault}`).join('');
  throw new MattermostError('CONFIG_INVALID', `The configuration cannot be used:${list}`);
}

/** Those of the command mattermost-bot may stand beside ours, as in a .env file for both. */
export const botVariables = {
  agent: 'MATTERMOST_BOT_AGENT',
  model: 'MATTERMOST_BOT_MODEL',
  profile: 'MATTERMOST_BOT_PROFILE',
  'default-capability': 'MATTERMOST_BOT_DEFAULT_CAPABILITY',
  stop: 'MATTERMOST_BOT_STOP',
  'allow-link-hosts': 'MATTERMOST_BOT_ALLOW_LINK_HOSTS',
} as const;

/** Every name that is read when nothing is set. */
function knownNames(): string[] {
  const nothing = new Settings({});
  readAll(nothing);
  readOAuth(nothing, '');
  return [...nothing.names, ...Object.values(botVariables)];
}

function readAll(settings: Settings): MattermostConfig {
  const authMode = readAuthMode(settings);
  const transport = settings.oneOf('MCP_TRANSPORT', ['stdio', 'http'] as const, 'stdio');
  const profile = settings.oneOf('MATTERMOST_PROFILE', profiles, 'admin');
  const url = settings.url('MATTERMOST_URL', 'such as https://chat.example.com');
  return {
    url,
    apiPath: `/api/${settings.matching('MATTERMOST_API_VERSION', /^v\d+$/, 'v4')}`,
    authMode,
    token: settings.secret('MATTERMOST_TOKEN'),
    profile,
    timeoutMs: settings.number('MATTERMOST_TIMEOUT', { least: 1, most: 300, otherwise: 30 }) * 1000,
    transferTimeoutMs: settings.number('MATTERMOST_TRANSFER_TIMEOUT', { least: 1, most: 3600, otherwise: 300 }) * 1000,
    maxRetries: settings.integer('MATTERMOST_MAX_RETRIES', { least: 0, most: 10, otherwise: 3 }),
    backoffMs: 500,
    longestRetryWaitMs: 30_000,
    maxConnections: settings.integer('MATTERMOST_MAX_CONNECTIONS', { least: 1, most: 1000, otherwise: 20 }),
    keepAliveMs: settings.number('MATTERMOST_KEEPALIVE_EXPIRY', { least: 1, most: 300, otherwise: 30 }) * 1000,
    pingMs: 30_000,
    verifyTls: settings.boolean('MATTERMOST_VERIFY_SSL', true),
    extraCaCerts: settings.certificates('MATTERMOST_EXTRA_CA_CERTS'),
    defaultTeam: settings.text('MATTERMOST_DEFAULT_TEAM') ?? settings.text('MATTERMOST_DEFAULT_TEAM_ID'),
    fileRoots: settings.folders('MATTERMOST_FILE_ROOTS'),
    maxFileBytes: settings.integer('MATTERMOST_MAX_FILE_MB', { least: 1, most: 10_000, otherwise: 100 }) * 1_000_000,
    read: readLists(settings, 'READ'),
    write: readLists(settings, 'WRITE'),
    logLevel: settings.oneOf('MATTERMOST_LOG_LEVEL', logLevels, 'info'),
    logFormat: settings.oneOf('MATTERMOST_LOG_FORMAT', logFormats, 'json'),
    transport,
    host: settings.text('MCP_HOST') ?? '127.0.0.1',
    port: settings.integer('MCP_PORT', { least: 0, most: 65_535, otherwise: 8000 }),
    clientTokens: readClientTokens(settings, profile),
    allowedHosts: settings.optionalList('MATTERMOST_HTTP_ALLOWED_HOSTS'),
    allowedOrigins: settings.optionalList('MATTERMOST_HTTP_ALLOWED_ORIGINS'),
    oauth: authMode === 'oauth_proxy' ? readOAuth(settings, url) : undefined,
  };
}

function readAuthMode(settings: Settings): AuthMode {
  const mode = settings.oneOf('MATTERMOST_AUTH_MODE', authModes, 'static_token');
  if (!settings.boolean('MATTERMOST_ALLOW_HTTP_CLIENT_TOKENS', false)) return mode;
  if (settings.text('MATTERMOST_AUTH_MODE') !== undefined && mode !== 'client_token') {
    settings.fault('MATTERMOST_ALLOW_HTTP_CLIENT_TOKENS', `contradicts MATTERMOST_AUTH_MODE=${mode}; remove it`);
  }
  return 'client_token';
}

function readLists(settings: Settings, purpose: 'READ' | 'WRITE'): AccessLists {
  const variable = (list: string) => `MATTERMOST_${purpose}_${list.replace(/[A-Z]/, '_$&').toUpperCase()}`;
  const lists = mapLists((list) => settings.list(variable(list)));
  return checkLists(lists, (list, why) => settings.fault(variable(list), why));
}

const TEAM_ENTRY = {
  pattern: /^[a-z0-9][a-z0-9_-]{0,63}$/,
  what: 'team: give its name as in addresses (main), or its id',
};
const CHANNEL_ENTRY = {
  pattern: /^(@direct|@group|([a-z0-9][a-z0-9_-]{0,63}\/)?[a-z0-9][a-z0-9_-]{0,63})$/,
  what: 'channel: give its name as in addresses (town-square), team/name, its id, @direct or @group',
};

/** As Mattermost writes them. An entry that can match nothing would leave open what it was to close. */
function checkLists(lists: AccessLists, fault: (list: string, why: string) => void): AccessLists {
  return mapLists((list) => {
    const { pattern, what } = list.endsWith('Teams') ? TEAM_ENTRY : CHANNEL_ENTRY;
    return lists[list].map((given) => {
      const entry = given
        .trim()
        .toLowerCase()
        .replace(/^[#~]/, '')
        .replace(/ *\/ */, '/');
      if (!pattern.test(entry)) fault(list, `"${given}" is no ${what}`);
      return entry;
    });
  });
}

function mapLists(entriesOf: (list: keyof AccessLists) => string[]): AccessLists {
  return {
    allowChannels: entriesOf('allowChannels'),
    denyChannels: entriesOf('denyChannels'),
    allowTeams: entriesOf('allowTeams'),
    denyTeams: entriesOf('denyTeams'),
  };
}

const SHORTEST_CLIENT_TOKEN = 16;

/** `MATTERMOST_HTTP_TOKEN=secret` and `MATTERMOST_HTTP_TOKENS=reader=secret1,writer=secret2`. */
function readClientTokens(settings: Settings, profile: Profile): ClientToken[] {
  const single = settings.secret('MATTERMOST_HTTP_TOKEN');
  const tokens: ClientToken[] = single === undefined ? [] : [{ token: single, profile }];
  settings.list('MATTERMOST_HTTP_TOKENS').forEach((entry, index) => {
    const [name = '', ...rest] = entry.split('=');
    const found = profiles.find((candidate) => candidate === name);
    if (found && rest.length > 0) tokens.push({ token: rest.join('='), profile: found });
    else {
      settings.fault('MATTERMOST_HTTP_TOKENS', `entry ${index + 1} must be profile=token, with ${profiles.join(', ')}`);
    }
  });
  if (tokens.some(({ token }) => token.length < SHORTEST_CLIENT_TOKEN)) {
    settings.fault('MATTERMOST_HTTP_TOKEN(S)', `a token must have at least ${SHORTEST_CLIENT_TOKEN} characters`);
  }
  return tokens;
}

function checkTogether(settings: Settings, config: MattermostConfig): void {
  if (config.authMode === 'static_token') {
    if (config.token === undefined) {
      settings.fault(
        'MATTERMOST_TOKEN',
        'is missing: the access token of a bot or a person, or choose another MATTERMOST_AUTH_MODE',
      );
    }
    // of entries that cannot be used it has been told
    const hasTokens = config.clientTokens.length > 0 || settings.list('MATTERMOST_HTTP_TOKENS').length > 0;
    if (config.transport === 'http' && !hasTokens) {
      settings.fault(
        'MATTERMOST_HTTP_TOKEN',
        'is missing: over HTTP everybody who reaches the server would act with MATTERMOST_TOKEN; set a token that clients must show',
      );
    }
  } else if (config.transport === 'stdio') {
    settings.fault('MATTERMOST_AUTH_MODE', `${config.authMode} needs HTTP; start with --http or use static_token`);
  }
}

const SHORTEST_SIGNING_KEY = 32;

function readOAuth(settings: Settings, mattermostUrl: string): OAuthConfig {
  const clientType = settings.oneOf(
    'MATTERMOST_OAUTH_CLIENT_TYPE',
    ['public', 'confidential'] as const,
    'confidential',
  );
  const clientSecret = settings.secret('MATTERMOST_OAUTH_CLIENT_SECRET');
  const jwtSigningKey = settings.secret('MATTERMOST_OAUTH_JWT_SIGNING_KEY');
  if (clientType === 'confidential' && clientSecret === undefined) {
    settings.fault(
      'MATTERMOST_OAUTH_CLIENT_SECRET',
      'is missing; a public client needs none (MATTERMOST_OAUTH_CLIENT_TYPE=public)',
    );
  }
  if (clientType === 'public' && jwtSigningKey === undefined) {
    settings.fault(
      'MATTERMOST_OAUTH_JWT_SIGNING_KEY',
      'is missing: a long random text that a public client signs with',
    );
  }
  if (jwtSigningKey !== undefined && jwtSigningKey.length < SHORTEST_SIGNING_KEY) {
    settings.fault('MATTERMOST_OAUTH_JWT_SIGNING_KEY', `must have at least ${SHORTEST_SIGNING_KEY} characters`);
  }
  return {
    clientId: settings.required('MATTERMOST_OAUTH_CLIENT_ID', 'the id of the OAuth application in Mattermost'),
    clientType,
    clientSecret,
    callbackPath: settings.matching('MATTERMOST_OAUTH_CALLBACK_PATH', /^\//, '/oauth/callback/mm'),
    jwtSigningKey,
    mcpPublicUrl: settings.browserUrl('MATTERMOST_OAUTH_MCP_PUBLIC_URL'),
    mattermostPublicUrl: settings.browserUrl('MATTERMOST_OAUTH_MATTERMOST_PUBLIC_URL', mattermostUrl),
    allowedRedirectUris: settings.jsonList('MATTERMOST_OAUTH_ALLOWED_REDIRECT_URIS', [
      'http://localhost:*',
      'http://127.0.0.1:*',
    ]),
    requireConsent: settings.boolean('MATTERMOST_OAUTH_REQUIRE_CONSENT', true),
    fallbackAccessTokenExpirySeconds: settings.optionalInteger('MATTERMOST_OAUTH_FALLBACK_ACCESS_TOKEN_EXPIRY_SECONDS'),
  };
}
