// Access lists: which channels and teams may be read or written.
import { z } from 'zod';

/** Channels and teams by id or name; a channel also as `team/channel`, or `@direct` and `@group` for all of a kind. */
export interface AccessLists {
  allowChannels: readonly string[];
  denyChannels: readonly string[];
  allowTeams: readonly string[];
  denyTeams: readonly string[];
}

/** Entries that can never match are rejected: such a deny list would protect nothing. */
const entry = (pattern: RegExp, description: string) =>
  z
    .string()
    .refine((text) => pattern.test(normalize(text)), { error: ({ input }) => `"${input}" is not a ${description}` })
    .transform(normalize);

export const channelEntries = z.array(
  entry(
    /^(@direct|@group|([a-z0-9][a-z0-9_-]{0,63}\/)?[a-z0-9][a-z0-9_-]{0,63})$/,
    'channel: use its name as in URLs (town-square), team/name, its id, @direct or @group',
  ),
);
export const teamEntries = z.array(
  entry(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'team: use its name as in URLs (main), or its id'),
);

export const accessLists = z.object({
  allowChannels: channelEntries,
  denyChannels: channelEntries,
  allowTeams: teamEntries,
  denyTeams: teamEntries,
});

function normalize(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^[#~]/, '')
    .replace(/ *\/ */, '/');
}
