// The public names of `@pocket-agent/mattermost`.
export { allows, type Capability, type Profile } from './access.ts';
export type { Gate } from './auth.ts';
export { type AccessLists, type AuthMode, type MattermostConfig, type OAuthConfig, readConfig } from './config.ts';
export { isMattermostError, MattermostError, type MattermostErrorCode } from './errors.ts';
export { createLog, type Log } from './log.ts';
export { type RunningServer, startHttp } from './serve.ts';
export { createMattermostServer, type MattermostServer, type MattermostServerOptions } from './server.ts';
