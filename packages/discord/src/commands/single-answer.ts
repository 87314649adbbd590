// Answers a command with one model call outside of any conversation; it counts against limits and budgets.
import type { CommandInteraction } from 'discord.js';
import { contextTokens, seesImages } from '../config/models.ts';
import { type AttachedFile, readAttachments } from '../context/attachments.ts';
import { UNTRUSTED_RULE } from '../context/untrusted.ts';
import { askOnce } from '../conversation/ask-once.ts';
import type { BotParts } from '../conversation/parts.ts';
import { exceededLimit } from '../conversation/rate-limits.ts';
import { commandPlace } from './command.ts';

export async function answerOnce(
  parts: BotParts,
  interaction: CommandInteraction,
  { task, text, files = [] }: { task: string; text: string; files?: readonly AttachedFile[] },
): Promise<string> {
  const { conversation, settings, guildId, channelId, userId } = await commandPlace(parts, interaction);
  const limit = await exceededLimit(parts, { guildId, channelId, userId });
  if (limit !== undefined) return limit.reason;
  const place = { conversation: `once:${userId}`, channel_id: channelId, guild_id: guildId, user_id: userId };
  await parts.claims.add({ id: interaction.id, kind: 'ask', request: null, ...place }, 'done');
  const { model: modelName } = await parts.history.preferences(conversation);
  const model = parts.models.pick(modelName, settings);
  const { fetch, logger, closing: signal } = parts;
  const readOptions = { fetch, logger, signal, seesImages: seesImages(model), contextTokens: contextTokens(model) };
  const { blocks, images } = await readAttachments(files, readOptions);
  return askOnce(parts, {
    model,
    spender: { guildId, userId },
    signal,
    settings,
    systemPrompt: `${task} ${UNTRUSTED_RULE}`,
    text: [text, ...blocks].join('\n'),
    images,
  });
}
