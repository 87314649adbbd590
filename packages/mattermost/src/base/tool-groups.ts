// Groups of tools that few agents need. They are listed only on request, so that the list of tools stays short.

export const toolGroups = [
  'channels',
  'reading',
  'status',
  'schedule',
  'people',
  'emoji',
  'sidebar',
  'commands',
] as const;
/** A group of tools that is listed only on request. */
export type ToolGroup = (typeof toolGroups)[number];
