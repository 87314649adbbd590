// /ask: a question where people cannot, or do not want to, mention the bot.
import { type Attachment, SlashCommandBuilder } from 'discord.js';
import { botMaySpeak } from '../access/bot-permissions.ts';
import type { GivenFile } from '../context/attachments.ts';
import { reasonOf } from '../conversation/failure-text.ts';
import { QUEUED } from '../conversation/queue-notices.ts';
import { overLimit } from '../conversation/rate-limits.ts';
import { buttons } from '../reply/buttons.ts';
import { shortened } from '../reply/texts.ts';
import { type ChatCommand, everywhere, hereOf, installed } from './command.ts';

export const askCommand: ChatCommand = {
  name: 'ask',
  isPublic: true,
  forMembers: true,
  answersItself: true,
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
    // another process that was faster may have used up the limit with this question
    if (limit !== undefined) return (await parts.claims.get(interaction.id)) ? undefined : limit.reason;
    const text = interaction.options.getString('question', true);
    const file = interaction.options.getAttachment('file');
    const isBusy = await parts.claims.isBusy(conversation);
    const claim = {
      id: interaction.id,
      kind: 'ask' as const,
      conversation,
      channel_id: channelId,
      guild_id: guildId,
      user_id: userId,
      request: JSON.stringify({ text, files: file ? [given(file)] : [] }),
    };
    if (!(await parts.claims.add(claim, 'asked'))) return undefined;
    // from here on it is a question like any other, which lasts longer than the interaction
    const reply = await interaction
      .reply({
        content: `> ${shortened(text)}\n${isBusy ? QUEUED : '-# …'}`,
        components: isBusy ? buttons(['stop'], interaction.id) : [],
        withResponse: true,
      })
      .catch((error) => parts.logger.warn('A command was not acknowledged', { claim: claim.id, ...reasonOf(error) }));
    const message = reply?.resource?.message;
    await parts.claims.enqueue(interaction.id, message ? [message.id] : []);
    queue.work(conversation);
    return undefined;
  },
};

/** As much of a file as is needed to read it later. */
function given({ id, name, url, size, contentType, description }: Attachment): GivenFile {
  return { id, name, url, size, contentType, description };
}
