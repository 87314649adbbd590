// The public names of `@pocket-agent/a2a`. Importing it adds `asA2aServer()` to agents; the A2A SDK is loaded with its first use.

export type {
  DurableTasksOptions,
  TaskRun,
  TaskRunAnswer,
  TaskRunEvent,
  TaskRunQuestion,
  TaskRuns,
} from 'pocket-agent';
export type { DeviceLogin } from './client/oauth-tokens.ts';
export { remoteAgent } from './remote/remote-agent.ts';
export type { LoginStore, RemoteAgentOptions, RemoteOAuth } from './remote/remote-agent-options.ts';
export { A2aServer } from './server/server.ts';
export { generateSigningKey, type SigningKey } from './signing/signing-key.ts';
export type { KeyList, SigningOptions } from './signing/signing-keys.ts';
export { askCaller } from './tasks/ask-caller.ts';
export { type SentArtifact, sendArtifact } from './tasks/sent-artifacts.ts';
export type {
  A2aAccessOptions,
  A2aCaller,
  A2aListening,
  A2aListenOptions,
  A2aServerOptions,
  PushOptions,
} from './tasks/server-options.ts';
export type { AgentCard, AgentExtension, AgentSkill } from './wire/agent-card.ts';
