// Whether the author of a schedule may still ask in its channel.
import { isServed } from '../access/allowlist.ts';
import { botCanSend, memberCanSend } from '../access/channel-permissions.ts';
import { channelIdsOf, isAllowed } from '../access/profile.ts';
import type { BotParts } from '../conversation/parts.ts';
import { InteractionChannel } from '../reply/interaction-channel.ts';
import type { Question } from './answer.ts';

export async function mayAskStill(parts: BotParts, { claim, source }: Question): Promise<boolean> {
  const { id, guild_id: guildId, user_id: userId } = claim;
  const { channel, member } = source;
  const settings = await parts.settings.get(guildId);
  if (channel instanceof InteractionChannel) return false;
  const mayAskHere = channel.isDMBased()
    ? guildId === null
    : member !== null &&
      memberCanSend(channel, member) &&
      isAllowed(settings, { channelIds: channelIdsOf(channel), member });
  if (mayAskHere && isServed(parts.options, { guildId, userId }) && botCanSend(channel)) return true;
  parts.logger.info('A scheduled prompt was skipped: its author or the bot may not write there', { claim: id });
  return false;
}
