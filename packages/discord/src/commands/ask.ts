// /ask: asks a question without a mention.
import {
  type Attachment,
  ChannelType,
  type ChatInputCommandInteraction,
  type Message,
  PermissionFlagsBits,
  SlashCommandBuilder,
  type ThreadChannel,
} from 'discord.js';
import { botCan, botCanSend } from '../access/channel-permissions.ts';
import type { AttachedFile } from '../context/attachments.ts';
import { failureFields } from '../conversation/failure-text.ts';
import type { BotParts } from '../conversation/parts.ts';
import { QUEUED_TEXT } from '../conversation/queue-notices.ts';
import { exceededLimit } from '../conversation/rate-limits.ts';
import { buttons } from '../reply/buttons.ts';
import { quoted } from '../reply/texts.ts';
import { conversationKey } from '../store/conversation-key.ts';
import { type ChatCommand, commandPlace, everyInstall, everywhere } from './command.ts';

/** The limit of Discord. */
const MAX_THREAD_NAME = 100;

export const askCommand: ChatCommand = {
  name: 'ask',
  isPublic: true,
  needsAccess: true,
  repliesItself: true,
  definition: new SlashCommandBuilder()
    .setName('ask')
    .setDescription('Ask me a question')
    .setContexts(everywhere)
    .setIntegrationTypes(everyInstall)
    .addStringOption((option) =>
      option.setName('question').setDescription('Your question').setRequired(true).setMaxLength(6000),
    )
    .addAttachmentOption((option) => option.setName('file').setDescription('An image, a text file or a PDF'))
    .addBooleanOption((option) => option.setName('thread').setDescription('Answer in a new thread'))
    .toJSON(),
  async run(parts, interaction, queue) {
    const { conversation, guildId, channelId, userId, ...place } = await commandPlace(parts, interaction);
    // a server can install the commands without the bot
    const isMember = interaction.guildId === null || interaction.inCachedGuild();
    const isRemote = place.isRemote || !isMember;
    // the answer is a separate message, which needs the permission to send
    if (!isRemote && guildId !== null && (!interaction.channel || !botCanSend(interaction.channel))) {
      return 'I am not allowed to send messages in this channel. Ask me elsewhere, or ask a moderator to give me access.';
    }
    const wantsThread = interaction.options.getBoolean('thread') === true;
    if (wantsThread && !canStartThread(interaction)) {
      return 'I cannot start a thread here. Ask without `thread`, or ask a moderator to let me create public threads.';
    }
    const limit = await exceededLimit(parts, { guildId, channelId, userId, ...place });
    // another process may have used up the limit with this same question
    if (limit !== undefined) return (await parts.claims.get(interaction.id)) ? undefined : limit.reason;
    const text = interaction.options.getString('question', true);
    const file = interaction.options.getAttachment('file');
    const isBusy = !wantsThread && (await parts.claims.isBusy(conversation));
    const claim = {
      id: interaction.id,
      kind: 'ask' as const,
      conversation,
      channel_id: channelId,
      guild_id: guildId,
      user_id: userId,
      request: JSON.stringify({
        text,
        files: file ? [fileReference(file)] : [],
        ...(isRemote ? { token: interaction.token } : {}),
      }),
    };
    if (!(await parts.claims.add(claim, 'asked'))) return undefined;
    // from here on the question is queued like a message and outlives the interaction
    const reply = await interaction
      .reply({
        content: `> ${quoted(text)}\n${isBusy ? QUEUED_TEXT : '-# …'}`,
        components: isBusy ? buttons(['stop'], interaction.id) : [],
        withResponse: true,
      })
      .catch((error) =>
        parts.logger.warn('Acknowledging a command failed', { claim: claim.id, ...failureFields(error) }),
      );
    const message = reply?.resource?.message;
    const thread = wantsThread && message ? await startThread(parts, message, text) : undefined;
    if (thread) {
      const inThread = conversationKey({ guildId, channelId: thread.id, userId }, place.settings.scope);
      await parts.claims.enqueueIn(interaction.id, { channelId: thread.id, conversation: inThread });
      queue.process(inThread);
      return undefined;
    }
    await parts.claims.enqueue(interaction.id, message ? [message.id] : []);
    queue.process(conversation);
    return undefined;
  },
};

function canStartThread({ channel }: ChatInputCommandInteraction): boolean {
  if (channel?.type !== ChannelType.GuildText && channel?.type !== ChannelType.GuildAnnouncement) return false;
  return botCan(channel, PermissionFlagsBits.CreatePublicThreads, PermissionFlagsBits.SendMessagesInThreads);
}

/** Undefined if Discord refuses it: then the answer is shown in the channel. */
async function startThread({ logger }: BotParts, message: Message, text: string): Promise<ThreadChannel | undefined> {
  const name = text.replace(/\s+/g, ' ').trim().slice(0, MAX_THREAD_NAME).toWellFormed();
  try {
    const thread = await message.startThread({ name });
    await message.edit({ content: `> ${quoted(text)}\n-# I answer in the thread.`, components: [] });
    return thread;
  } catch (error) {
    logger.warn('Starting a thread failed', { claim: message.id, ...failureFields(error) });
    return undefined;
  }
}

/** The data needed to read a file later. */
function fileReference({ id, name, url, size, contentType, description }: Attachment): AttachedFile {
  return { id, name, url, size, contentType, description };
}
