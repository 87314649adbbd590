// The public names of `@pocket-agent/gateway`.
export type { DiscordApprovals } from './approvals/discord.ts';
export type { MattermostApprovals } from './approvals/mattermost.ts';
export type { GatewayApprovals } from './approvals/options.ts';
export type { CallerSettings } from './callers/caller.ts';
export type { GatewayOAuthOptions } from './callers/oauth.ts';
export { openGatewayState } from './callers/open-state.ts';
export type {
  Count,
  GatewayState,
  GivenAnswer,
  KnownCaller,
  LoginKey,
  OpenQuestion,
} from './callers/state.ts';
export { Gateway, type GatewayListenOptions, type GatewayStdioOptions } from './gateway.ts';
export type { ServerLogin } from './logins/caller-login.ts';
export { type KnownLogin, loginsIn, removeLogins } from './logins/kept-logins.ts';
export type { GatewayOptions } from './options.ts';
export type { GatewayServerEntry } from './sources/server-entry.ts';
