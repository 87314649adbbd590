// A question outside of any conversation, counted like all others.
import type { CommandInteraction } from 'discord.js';
import { askOnce } from '../ask-once.ts';
import { UNTRUSTED_RULE } from '../context/untrusted.ts';
import { overLimit } from '../conversation/limits.ts';
import type { BotParts } from '../parts.ts';
import { hereOf } from './command.ts';

export async function answerOnce(
  parts: BotParts,
  interaction: CommandInteraction,
  { task, text }: { task: string; text: string },
): Promise<string> {
  const { conversation, settings, guildId, channelId, userId } = await hereOf(parts, interaction);
  const limit = await overLimit(parts, { guildId, channelId, userId });
  if (limit !== undefined) return limit.reason;
  const place = { conversation: `once:${userId}`, channel_id: channelId, guild_id: guildId, user_id: userId };
  await parts.claims.add({ id: interaction.id, kind: 'ask', request: null, ...place }, 'done');
  const { model } = await parts.history.preferences(conversation);
  return askOnce(parts, {
    model: parts.models.pick(model, settings),
    spender: { guildId, userId },
    signal: parts.closing,
    settings,
    systemPrompt: `${task} ${UNTRUSTED_RULE}`,
    text,
  });
}
