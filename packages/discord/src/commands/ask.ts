// /ask: a question where people cannot, or do not want to, mention the bot.
import { SlashCommandBuilder } from 'discord.js';
import { overLimit } from '../conversation/limits.ts';
import { shortened } from '../texts.ts';
import { type ChatCommand, everywhere, hereOf, installed } from './command.ts';

export const askCommand: ChatCommand = {
  name: 'ask',
  isPublic: true,
  forMembers: true,
  definition: new SlashCommandBuilder()
    .setName('ask')
    .setDescription('Asks me something')
    .setContexts(everywhere)
    .setIntegrationTypes(installed)
    .addStringOption((option) =>
      option.setName('question').setDescription('What you want to know').setRequired(true).setMaxLength(6000),
    )
    .toJSON(),
  async run(parts, interaction, queue) {
    const { conversation, guildId, channelId, userId, ...place } = await hereOf(parts, interaction);
    const limit = await overLimit(parts, { guildId, channelId, userId, ...place });
    if (limit !== undefined) return limit;
    const text = interaction.options.getString('question', true);
    // from here on it is a message like any other, which lasts longer than the interaction
    const { id: reply } = await interaction.editReply({ content: `> ${shortened(text)}\n-# …` });
    await parts.claims.add({
      id: interaction.id,
      kind: 'ask',
      conversation,
      channel_id: channelId,
      guild_id: guildId,
      user_id: userId,
      request: JSON.stringify({ text }),
      replies: [reply],
    });
    queue.work(conversation);
    return undefined;
  },
};
