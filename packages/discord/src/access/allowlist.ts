// The guilds and users that the operator serves. Settings of guild admins apply on top.
import type { BotOptions } from '../config/options.ts';

export const NOT_SERVED = 'The operator of this bot does not allow it here.';

export function isServed(
  { guilds, directMessages }: Pick<BotOptions, 'guilds' | 'directMessages'>,
  { guildId, userId }: { guildId: string | null; userId: string },
): boolean {
  const open = guildId === null ? directMessages : guilds;
  return open === undefined || open.includes(guildId ?? userId);
}
