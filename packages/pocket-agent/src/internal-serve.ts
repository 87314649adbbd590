// Names that the other packages of this repository share with the library. Not public: they may change in any release.

export { agentLabel } from './base/agent-label.ts';
export { bearerGate, cannotListen, isLocal, serveHttp } from './serve/http-server.ts';
export { inputOf, MAX_FILES, type SentFile } from './serve/message-files.ts';
export { type ResourceService, serveResources } from './serve/resources.ts';
export { RunLimit } from './serve/run-limit.ts';
export { ConversationMemory, Conversations, MAX_ID_LENGTH } from './serve/served-conversations.ts';
export { hasSeveralCallers } from './serve/server-options.ts';
