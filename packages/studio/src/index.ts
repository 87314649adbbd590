// The public names of @pocket-agent/studio.
export type { AttachedGateway } from './state/gateways.ts';
export { openStudio, type Studio, type StudioOptions } from './studio.ts';
