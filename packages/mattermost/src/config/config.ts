// The configuration of the server, read from environment variables; all problems are reported together.
import type { Profile } from '../base/access.ts';
import type { LogFormat, LogLevel } from '../base/log.ts';
import type { ToolGroup } from '../base/tool-groups.ts';
import { type AccessLists, accessLists } from './access-lists.ts';
import { ConfigProblems } from './problems.ts';
import type { ClientToken } from './schemas.ts';
import {
  type AuthMode,
  type Environment,
  oauthVariables,
  readVariables,
  rejectUnknownVariables,
  serverVariables,
  type Values,
} from './variables.ts';

/** The login at Mattermost for HTTP clients, with `oauth_proxy`. */
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

/** The settings of the server; `readConfig` reads them from environment variables. */
export interface MattermostConfig {
  url: string;
  apiPath: string;
  authMode: AuthMode;
  token: string | undefined;
  profile: Profile;
  /** Groups of tools that are listed to every client. */
  toolGroups: readonly ToolGroup[];
  /** The time limit for a request and its complete response. */
  timeoutMs: number;
  /** The time limit for the upload or download of a file. */
  transferTimeoutMs: number;
  maxRetries: number;
  /** Delay before the first retry; it doubles with every retry. */
  backoffMs: number;
  /** A longer Retry-After is reported to the caller instead of being waited for. */
  longestRetryWaitMs: number;
  maxConnections: number;
  keepAliveMs: number;
  /** Interval of WebSocket pings; a connection without a response is closed. */
  pingMs: number;
  verifyTls: boolean;
  /** PEM, in addition to the certificates Node trusts. */
  extraCaCerts: string | undefined;
  defaultTeam: string | undefined;
  fileRoots: readonly string[];
  maxFileBytes: number;
  read: AccessLists;
  /** In addition to the lists for reading. */
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

/** Throws one error that lists all problems. */
export function readConfig(environment: Environment): MattermostConfig {
  return configFrom(environment, new ConfigProblems());
}

/** `problems` may contain problems already; they are reported with the others. */
export function configFrom(environment: Environment, problems: ConfigProblems): MattermostConfig {
  const server = readVariables(serverVariables, environment, problems);
  const authMode = readAuthMode(server, problems);
  const oauth = authMode === 'oauth_proxy' ? readOAuth(environment, server.MATTERMOST_URL, problems) : undefined;
  checkTokens(server, authMode, problems);
  rejectUnknownVariables(environment, problems);
  problems.throwIfAny();
  // without problems every value is present
  return toConfig(server as ServerValues, authMode, oauth as OAuthValues | undefined);
}

/** Checks the access lists of a configuration that a program passes. */
export function withCheckedLists(config: MattermostConfig): MattermostConfig {
  const problems = new ConfigProblems();
  const check = (purpose: 'read' | 'write'): AccessLists => {
    const { success, data, error } = accessLists.safeParse(config[purpose]);
    if (success) return data;
    for (const { path, message } of error.issues) problems.add(`${purpose}.${String(path[0])}`, message);
    return config[purpose];
  };
  const checked = { ...config, read: check('read'), write: check('write') };
  problems.throwIfAny();
  return checked;
}

type ServerValues = Values<typeof serverVariables>;
type OAuthValues = Values<typeof oauthVariables>;

function readAuthMode(server: Partial<ServerValues>, problems: ConfigProblems): AuthMode {
  const mode = server.MATTERMOST_AUTH_MODE;
  if (!server.MATTERMOST_ALLOW_HTTP_CLIENT_TOKENS) return mode ?? 'static_token';
  if (mode !== undefined && mode !== 'client_token') {
    problems.add('MATTERMOST_ALLOW_HTTP_CLIENT_TOKENS', `contradicts MATTERMOST_AUTH_MODE=${mode}; remove it`);
  }
  return 'client_token';
}

function checkTokens(server: Partial<ServerValues>, authMode: AuthMode, problems: ConfigProblems): void {
  const transport = server.MCP_TRANSPORT ?? 'stdio';
  if (authMode !== 'static_token') {
    if (transport === 'stdio') {
      problems.add('MATTERMOST_AUTH_MODE', `${authMode} requires HTTP; start with --http or use static_token`);
    }
    return;
  }
  // `in`: a variable with a problem was reported before
  if ('MATTERMOST_TOKEN' in server && server.MATTERMOST_TOKEN === undefined) {
    const problem = 'is missing: the access token of a bot or a user; or choose another MATTERMOST_AUTH_MODE';
    problems.add('MATTERMOST_TOKEN', problem);
  }
  const { MATTERMOST_HTTP_TOKEN: single, MATTERMOST_HTTP_TOKENS: several } = server;
  const hasClientTokens = single !== undefined || !('MATTERMOST_HTTP_TOKEN' in server) || several?.length !== 0;
  if (transport === 'http' && !hasClientTokens) {
    const problem =
      'is missing: without a token for clients, anyone who reaches the server over HTTP could use MATTERMOST_TOKEN';
    problems.add('MATTERMOST_HTTP_TOKEN', problem);
  }
}

function readOAuth(
  environment: Environment,
  mattermostUrl: string | undefined,
  problems: ConfigProblems,
): Partial<OAuthValues> {
  const oauth = readVariables(oauthVariables, environment, problems);
  const isMissing = (name: keyof OAuthValues) => name in oauth && oauth[name] === undefined;
  const clientType = oauth.MATTERMOST_OAUTH_CLIENT_TYPE;
  if (clientType === 'confidential' && isMissing('MATTERMOST_OAUTH_CLIENT_SECRET')) {
    const problem = 'is missing; only a public client needs no secret (MATTERMOST_OAUTH_CLIENT_TYPE=public)';
    problems.add('MATTERMOST_OAUTH_CLIENT_SECRET', problem);
  }
  if (clientType === 'public' && isMissing('MATTERMOST_OAUTH_JWT_SIGNING_KEY')) {
    const problem = 'is missing: a long random string that encrypts the tokens of clients';
    problems.add('MATTERMOST_OAUTH_JWT_SIGNING_KEY', problem);
  }
  if (!isMissing('MATTERMOST_OAUTH_MATTERMOST_PUBLIC_URL')) return oauth;
  // the default must be usable in a browser too
  const { MATTERMOST_OAUTH_MATTERMOST_PUBLIC_URL } = oauthVariables;
  const fallback = { MATTERMOST_OAUTH_MATTERMOST_PUBLIC_URL: mattermostUrl };
  return { ...oauth, ...readVariables({ MATTERMOST_OAUTH_MATTERMOST_PUBLIC_URL }, fallback, problems) };
}

const SECOND = 1000;
const MEGABYTE = 1_000_000;

function toConfig(server: ServerValues, authMode: AuthMode, oauth: OAuthValues | undefined): MattermostConfig {
  const { MATTERMOST_URL: url, MATTERMOST_PROFILE: profile, MATTERMOST_HTTP_TOKEN: clientToken } = server;
  return {
    url,
    apiPath: `/api/${server.MATTERMOST_API_VERSION}`,
    authMode,
    token: server.MATTERMOST_TOKEN,
    profile,
    toolGroups: server.MATTERMOST_TOOL_GROUPS,
    timeoutMs: server.MATTERMOST_TIMEOUT * SECOND,
    transferTimeoutMs: server.MATTERMOST_TRANSFER_TIMEOUT * SECOND,
    maxRetries: server.MATTERMOST_MAX_RETRIES,
    backoffMs: 500,
    longestRetryWaitMs: 30 * SECOND,
    maxConnections: server.MATTERMOST_MAX_CONNECTIONS,
    keepAliveMs: server.MATTERMOST_KEEPALIVE_EXPIRY * SECOND,
    pingMs: 30 * SECOND,
    verifyTls: server.MATTERMOST_VERIFY_SSL,
    extraCaCerts: server.MATTERMOST_EXTRA_CA_CERTS,
    defaultTeam: server.MATTERMOST_DEFAULT_TEAM ?? server.MATTERMOST_DEFAULT_TEAM_ID,
    fileRoots: server.MATTERMOST_FILE_ROOTS,
    maxFileBytes: server.MATTERMOST_MAX_FILE_MB * MEGABYTE,
    read: listsFor(server, 'READ'),
    write: listsFor(server, 'WRITE'),
    logLevel: server.MATTERMOST_LOG_LEVEL,
    logFormat: server.MATTERMOST_LOG_FORMAT,
    transport: server.MCP_TRANSPORT,
    host: server.MCP_HOST,
    port: server.MCP_PORT,
    clientTokens: [
      ...(clientToken === undefined ? [] : [{ token: clientToken, profile }]),
      ...server.MATTERMOST_HTTP_TOKENS,
    ],
    allowedHosts: server.MATTERMOST_HTTP_ALLOWED_HOSTS,
    allowedOrigins: server.MATTERMOST_HTTP_ALLOWED_ORIGINS,
    oauth: oauth && toOAuthConfig(oauth, url),
  };
}

function listsFor(server: ServerValues, purpose: 'READ' | 'WRITE'): AccessLists {
  return {
    allowChannels: server[`MATTERMOST_${purpose}_ALLOW_CHANNELS`],
    denyChannels: server[`MATTERMOST_${purpose}_DENY_CHANNELS`],
    allowTeams: server[`MATTERMOST_${purpose}_ALLOW_TEAMS`],
    denyTeams: server[`MATTERMOST_${purpose}_DENY_TEAMS`],
  };
}

function toOAuthConfig(oauth: OAuthValues, mattermostUrl: string): OAuthConfig {
  return {
    clientId: oauth.MATTERMOST_OAUTH_CLIENT_ID,
    clientType: oauth.MATTERMOST_OAUTH_CLIENT_TYPE,
    clientSecret: oauth.MATTERMOST_OAUTH_CLIENT_SECRET,
    callbackPath: oauth.MATTERMOST_OAUTH_CALLBACK_PATH,
    jwtSigningKey: oauth.MATTERMOST_OAUTH_JWT_SIGNING_KEY,
    mcpPublicUrl: oauth.MATTERMOST_OAUTH_MCP_PUBLIC_URL,
    mattermostPublicUrl: oauth.MATTERMOST_OAUTH_MATTERMOST_PUBLIC_URL ?? mattermostUrl,
    allowedRedirectUris: oauth.MATTERMOST_OAUTH_ALLOWED_REDIRECT_URIS,
    requireConsent: oauth.MATTERMOST_OAUTH_REQUIRE_CONSENT,
    fallbackAccessTokenExpirySeconds: oauth.MATTERMOST_OAUTH_FALLBACK_ACCESS_TOKEN_EXPIRY_SECONDS,
  };
}
