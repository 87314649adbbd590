// Whom the operator of the bot serves at all; what admins of a guild set comes after it.
import type { BotOptions } from '../config/options.ts';

export const NOT_SERVED = 'Whoever runs this bot has not opened it here.';

export function isServed(
  { guilds, directMessages }: Pick<BotOptions, 'guilds' | 'directMessages'>,
  { guildId, userId }: { guildId: string | null; userId: string },
): boolean {
  const open = guildId === null ? directMessages : guilds;
  return open === undefined || open.includes(guildId ?? userId);
}
