// The environment variables of the server and the bot, and how they are read.
import { unknownVariables } from '@pocket-agent/kit';
import { z } from 'zod';
import { profiles } from '../base/access.ts';
import { logFormats, logLevels } from '../base/log.ts';
import { toolGroups } from '../base/tool-groups.ts';
import { channelEntries, teamEntries } from './access-lists.ts';
import type { ConfigProblems } from './problems.ts';
import {
  browserUrl,
  certificates,
  clientToken,
  clientTokens,
  flag,
  folders,
  integer,
  jsonList,
  list,
  matching,
  mattermostUrl,
  number,
  oneOf,
  required,
  secret,
  severalOf,
  text,
} from './schemas.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const authModes = ['static_token', 'client_token', 'oauth_proxy'] as const;
/** The Mattermost account of a call: one account for all clients, or the account of the client. */
export type AuthMode = (typeof authModes)[number];

const PREFIX = 'MATTERMOST_';
const MIN_SIGNING_KEY_LENGTH = 32;

const channelList = () => list().pipe(channelEntries).default([]);
const teamList = () => list().pipe(teamEntries).default([]);

export const serverVariables = {
  MATTERMOST_URL: mattermostUrl(),
  MATTERMOST_TOKEN: secret().optional(),
  MATTERMOST_AUTH_MODE: oneOf(authModes).optional(),
  MATTERMOST_ALLOW_HTTP_CLIENT_TOKENS: flag().default(false),
  MATTERMOST_PROFILE: oneOf(profiles).default('admin'),
  MATTERMOST_TOOL_GROUPS: severalOf(toolGroups).default([]),
  MATTERMOST_DEFAULT_TEAM: text().optional(),
  MATTERMOST_DEFAULT_TEAM_ID: text().optional(),
  MATTERMOST_READ_ALLOW_CHANNELS: channelList(),
  MATTERMOST_READ_DENY_CHANNELS: channelList(),
  MATTERMOST_READ_ALLOW_TEAMS: teamList(),
  MATTERMOST_READ_DENY_TEAMS: teamList(),
  MATTERMOST_WRITE_ALLOW_CHANNELS: channelList(),
  MATTERMOST_WRITE_DENY_CHANNELS: channelList(),
  MATTERMOST_WRITE_ALLOW_TEAMS: teamList(),
  MATTERMOST_WRITE_DENY_TEAMS: teamList(),
  MATTERMOST_FILE_ROOTS: folders().default([]),
  MATTERMOST_MAX_FILE_MB: integer(1, 10_000).default(100),
  MATTERMOST_TIMEOUT: number(1, 300).default(30),
  MATTERMOST_TRANSFER_TIMEOUT: number(1, 3600).default(300),
  MATTERMOST_MAX_RETRIES: integer(0, 10).default(3),
  MATTERMOST_MAX_CONNECTIONS: integer(1, 1000).default(20),
  MATTERMOST_KEEPALIVE_EXPIRY: number(1, 300).default(30),
  MATTERMOST_VERIFY_SSL: flag().default(true),
  MATTERMOST_EXTRA_CA_CERTS: certificates().optional(),
  MATTERMOST_API_VERSION: matching(/^v\d+$/, 'v4').default('v4'),
  MATTERMOST_LOG_LEVEL: oneOf(logLevels).default('info'),
  MATTERMOST_LOG_FORMAT: oneOf(logFormats).default('json'),
  MCP_TRANSPORT: oneOf(['stdio', 'http']).default('stdio'),
  MCP_HOST: text().default('127.0.0.1'),
  MCP_PORT: integer(0, 65_535).default(8000),
  MATTERMOST_HTTP_TOKEN: clientToken().optional(),
  MATTERMOST_HTTP_TOKENS: clientTokens().default([]),
  MATTERMOST_HTTP_ALLOWED_HOSTS: list().optional(),
  MATTERMOST_HTTP_ALLOWED_ORIGINS: list().optional(),
};

/** Read only with the auth mode oauth_proxy. */
export const oauthVariables = {
  MATTERMOST_OAUTH_CLIENT_ID: required('the id of the OAuth application in Mattermost'),
  MATTERMOST_OAUTH_CLIENT_TYPE: oneOf(['public', 'confidential']).default('confidential'),
  MATTERMOST_OAUTH_CLIENT_SECRET: secret().optional(),
  MATTERMOST_OAUTH_JWT_SIGNING_KEY: secret()
    .min(MIN_SIGNING_KEY_LENGTH, `must have at least ${MIN_SIGNING_KEY_LENGTH} characters`)
    .optional(),
  MATTERMOST_OAUTH_CALLBACK_PATH: matching(/^\//, '/oauth/callback/mm').default('/oauth/callback/mm'),
  MATTERMOST_OAUTH_MCP_PUBLIC_URL: browserUrl(),
  MATTERMOST_OAUTH_MATTERMOST_PUBLIC_URL: browserUrl().optional(),
  MATTERMOST_OAUTH_ALLOWED_REDIRECT_URIS: jsonList().default(['http://localhost:*', 'http://127.0.0.1:*']),
  MATTERMOST_OAUTH_REQUIRE_CONSENT: flag().default(true),
  MATTERMOST_OAUTH_FALLBACK_ACCESS_TOKEN_EXPIRY_SECONDS: integer(1, Number.MAX_SAFE_INTEGER).optional(),
};

/** Variables of mattermost-bot by option; the server accepts them too, because both may share a .env file. */
export const botVariables = {
  agent: 'MATTERMOST_BOT_AGENT',
  model: 'MATTERMOST_BOT_MODEL',
  profile: 'MATTERMOST_BOT_PROFILE',
  'default-capability': 'MATTERMOST_BOT_DEFAULT_CAPABILITY',
  stop: 'MATTERMOST_BOT_STOP',
  'allow-link-hosts': 'MATTERMOST_BOT_ALLOW_LINK_HOSTS',
  database: 'MATTERMOST_BOT_DATABASE',
  runs: 'MATTERMOST_BOT_RUNS',
  studio: 'MATTERMOST_BOT_STUDIO',
  callbacks: 'MATTERMOST_BOT_CALLBACKS',
  'callbacks-url': 'MATTERMOST_BOT_CALLBACKS_URL',
} as const;

/** A secret of the bot, which is no option, because other users of a machine can see those. */
export const botSecret = 'MATTERMOST_BOT_COMMAND_TOKEN';

export type Values<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** Variables with a problem are missing in the result. Empty variables count as not set. */
export function readVariables<Shape extends z.ZodRawShape>(
  shape: Shape,
  environment: Environment,
  problems: ConfigProblems,
): Partial<Values<Shape>> {
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(shape)) {
    const { success, data, error } = z.safeParse(schema, environment[name]?.trim() || undefined);
    if (success) values[name] = data;
    else for (const { message } of error.issues) problems.add(name, message);
  }
  return values as Partial<Values<Shape>>;
}

/** A misspelt variable would leave in force a default that may allow more. */
export function rejectUnknownVariables(environment: Environment, problems: ConfigProblems): void {
  const known = [
    ...Object.keys(serverVariables),
    ...Object.keys(oauthVariables),
    ...Object.values(botVariables),
    botSecret,
  ];
  for (const { name, meant } of unknownVariables(environment, { prefix: PREFIX, known }))
    problems.add(name, `unknown variable${meant ? ` (did you mean ${meant}?)` : '; remove it'}`);
}
