// The public names of `@pocket-agent/mattermost`.

export type { Gate } from './auth/auth.ts';
export { allows, type Capability, type Profile } from './base/access.ts';
export { isMattermostError, MattermostError, type MattermostErrorCode } from './base/errors.ts';
export { createLog, type Log } from './base/log.ts';
export type { ToolGroup } from './base/tool-groups.ts';
export type { AccessLists } from './config/access-lists.ts';
export { type MattermostConfig, type OAuthConfig, readConfig } from './config/config.ts';
export type { AuthMode } from './config/variables.ts';
export { type RunningServer, startHttp } from './server/serve.ts';
export { createMattermostServer, type MattermostServer, type MattermostServerOptions } from './server/server.ts';
