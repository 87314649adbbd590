// /ask: a question where people cannot, or do not want to, mention the bot.
import { type Attachment, SlashCommandBuilder } from 'discord.js';
import { botMaySpeak } from '../access/permissions.ts';
import type { GivenFile } from '../context/attachments.ts';
import { overLimit } from '../conversation/limits.ts';
import { QUEUED } from '../conversation/notices.ts';
import { buttons } from '../reply/buttons.ts';
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
    .addAttachmentOption((option) => option.setName('file').setDescription('A picture, a text or a PDF to look at'))
    .toJSON(),
  async run(parts, interaction, queue) {
    const { conversation, guildId, channelId, userId, ...place } = await hereOf(parts, interaction);
    // the answer is a message of its own, which the command alone does not allow
    if (guildId !== null && (!interaction.channel || !botMaySpeak(interaction.channel))) {
      return 'I may not write in this channel. Ask me elsewhere, or ask its moderators to let me in.';
    }
    const limit = await overLimit(parts, { guildId, channelId, userId, ...place });
    if (limit !== undefined) return limit.reason;
    const text = interaction.options.getString('question', true);
    const file = interaction.options.getAttachment('file');
    // from here on it is a message like any other, which lasts longer than the interaction
    const isBusy = await parts.claims.isBusy(conversation);
    const { id: reply } = await interaction.editReply({
      content: `> ${shortened(text)}\n${isBusy ? QUEUED : '-# …'}`,
      components: isBusy ? buttons(['stop'], interaction.id) : [],
    });
    await parts.claims.add({
      id: interaction.id,
      kind: 'ask',
      conversation,
      channel_id: channelId,
      guild_id: guildId,
      user_id: userId,
      request: JSON.stringify({ text, files: file ? [given(file)] : [] }),
      replies: [reply],
    });
    queue.work(conversation);
    return undefined;
  },
};

/** As much of a file as is needed to read it later. */
function given({ id, name, url, size, contentType, description }: Attachment): GivenFile {
  return { id, name, url, size, contentType, description };
}
