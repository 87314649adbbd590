// The options of a gateway.
import {
  configError,
  isRecord,
  type Logger,
  nullable,
  type OptionRule,
  OptionSet,
  oneOf,
  stringRule,
} from '@pocket-agent/kit';
import type { AccessOptions, Profile, ToolSource } from 'pocket-agent';
import { readProfile } from 'pocket-agent/internal';
import { accessOptions } from 'pocket-agent/internal/gate';
import { checkApprovals, type GatewayApprovals } from './approvals/options.ts';
import { type CallerSettings, checkSettings, profileNamed } from './callers/caller.ts';
import { checkOAuthOptions, type GatewayOAuthOptions } from './callers/oauth.ts';
import type { GatewayState } from './callers/state.ts';
import { checkLoginKey, readLogin } from './logins/logins.ts';
import { checkServerNames } from './sources/names.ts';
import type { GatewayServerEntry } from './sources/server-entry.ts';

/** The servers behind a gateway, its callers, and what each of them may do. */
export interface GatewayOptions {
  /** The name that clients and the audit see. Default `gateway`. */
  name?: string;
  /** MCP servers, as in Claude Desktop and Cursor. Each caller has its own connection unless an entry says `shared`. */
  mcpServers?: Readonly<Record<string, GatewayServerEntry>>;
  /** Other sources of tools by name: tool folders, remote agents. The gateway does not close them. */
  sources?: Readonly<Record<string, ToolSource>>;
  /** Profiles by name, besides reader, writer, manager and admin. */
  profiles?: Readonly<Record<string, Profile>>;
  /** Which calls need approval, how long approvals last, where the audit is written. Profiles belong to callers. */
  access?: Omit<AccessOptions, 'profile' | 'filter' | 'independent'>;
  /** Who is asked for approvals, if a client cannot ask its user. Default: such calls are denied. */
  approvals?: GatewayApprovals;
  /** US dollars for a call of a tool, by name; `*` matches any characters, and the first match counts. For `usdPerDay`. */
  prices?: Readonly<Record<string, number>>;
  /** prefixed: `server__tool`. plain: tools keep their names, with one server only. Default prefixed. */
  names?: 'prefixed' | 'plain';
  /** For callers with `expose: 'code'`: `codeMode()` of `@pocket-agent/code-mode`. */
  codeMode?: ToolSource;
  /** Callers with access tokens of an external issuer, over HTTP. */
  oauth?: GatewayOAuthOptions;
  /** Callers and their limits: what `openGatewayState()` returns. Needed to listen for HTTP without `oauth`. */
  state?: GatewayState;
  /** Encrypts the logins of callers at servers with `login`: at least 32 characters, the same in all processes. */
  loginKey?: string;
  logger?: Logger;
}

const dollars: OptionRule = {
  expected: 'a number of US dollars, 0 or more',
  accepts: (value) => typeof value === 'number' && value >= 0 && Number.isFinite(value),
};

const gatewayOptions = new OptionSet<GatewayOptions>('A gateway', {
  name: stringRule,
  mcpServers: nullable('an object of servers by name', isRecord),
  sources: nullable('an object of sources by name', isRecord),
  profiles: nullable('an object of profiles by name', isRecord),
  access: nullable('an object', isRecord),
  approvals: nullable('an object with endpoint, mattermost or discord', isRecord),
  prices: { expected: 'an object of US dollars by tool', accepts: isRecord, part: dollars },
  names: oneOf('prefixed', 'plain'),
  oauth: nullable('an object with issuer, audience and scopes', isRecord),
  codeMode: true,
  loginKey: { ...stringRule, isSecret: true },
  state: true,
  logger: true,
});

const accessRules = new OptionSet<AccessOptions>('access', accessOptions);

export function checkGatewayOptions(options: GatewayOptions): void {
  gatewayOptions.check(options);
  const { mcpServers = {}, sources = {}, profiles = {}, access = {}, names } = options;
  accessRules.check(access);
  for (const profile of Object.values(profiles)) readProfile(profile);
  const { oauth, state, codeMode, approvals, loginKey } = options;
  if (loginKey !== undefined) checkLoginKey(loginKey);
  for (const [name, entry] of Object.entries(mcpServers)) checkLogin(name, entry, state && loginKey);
  if (approvals) checkApprovals(approvals, state !== undefined);
  if (oauth) checkOAuthOptions(oauth);
  for (const settings of Object.values(oauth?.scopes ?? {})) {
    checkSettings(settings);
    profileNamed(settings.profile, profiles);
    checkExposure(settings, codeMode);
    const { callsPerDay, callsPerMinute, usdPerDay } = settings;
    if (!state && (callsPerDay ?? callsPerMinute ?? usdPerDay) !== undefined)
      throw configError('Limits of callers need state, from openGatewayState(): calls are counted there.');
  }
  for (const key of ['profile', 'filter', 'independent'])
    if (key in access) throw configError(`access of a gateway has no option "${key}": each caller has a profile.`);
  const all = [...Object.keys(mcpServers), ...Object.keys(sources)];
  checkServerNames(all);
  if (names === 'plain' && all.length > 1)
    throw configError('names: "plain" needs a gateway with one server: tools of several may have the same name.');
}

function checkLogin(name: string, entry: GatewayServerEntry, key: string | undefined): void {
  if (!readLogin(name, entry.login)) return;
  const server = `MCP server "${name}" has "login"`;
  if (!('url' in entry) || entry.auth)
    throw configError(`${server}, which is for servers with a url and without auth.`);
  if (key === undefined)
    throw configError(
      `${server}: the gateway needs state and loginKey (the command: --http, and POCKET_AGENT_GATEWAY_LOGIN_KEY).`,
    );
}

/** Code needs a sandbox. */
export function checkExposure({ expose }: Pick<CallerSettings, 'expose'>, codeMode: ToolSource | undefined): void {
  if (expose === 'code' && !codeMode)
    throw configError(
      'expose: "code" needs codeMode in the options of the gateway: codeMode() of @pocket-agent/code-mode, and the package quickjs-wasi.',
    );
}
