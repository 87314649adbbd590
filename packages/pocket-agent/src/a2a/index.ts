// The public names of `pocket-agent/a2a`. Importing this does not load the A2A SDK.
export { type RemoteAgentOptions, remoteAgent } from './remote-agent.ts';
export type { A2aListening, A2aServer } from './server.ts';
export type {
  A2aAccessOptions,
  A2aCaller,
  A2aListenOptions,
  A2aServerOptions,
  PushOptions,
} from './server-options.ts';
export type { AgentCard, AgentSkill } from './wire.ts';
