// The public names of `@pocket-agent/gateway`.
export type { CallerSettings } from './callers/caller.ts';
export type { GatewayOAuthOptions } from './callers/oauth.ts';
export { GatewayState, type KnownCaller, openGatewayState } from './callers/state.ts';
export { Gateway, type GatewayListenOptions, type GatewayStdioOptions } from './gateway.ts';
export type { GatewayOptions } from './options.ts';
export type { GatewayServerEntry } from './sources/server-entry.ts';
