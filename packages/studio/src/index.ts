// The public names of @pocket-agent/studio.
export type { AttachedProgram } from './state/attached-programs.ts';
export type { AttachedGateway } from './state/gateways.ts';
export type { WatchedConversation, Watcher } from './state/watched-chat.ts';
export {
  openStudio,
  openStudioAddress,
  type Studio,
  type StudioAddress,
  type StudioAddressOptions,
  type StudioOptions,
} from './studio.ts';
