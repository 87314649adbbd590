// The public names of @pocket-agent/studio.
export { openStudio, type Studio, type StudioOptions } from './studio.ts';
