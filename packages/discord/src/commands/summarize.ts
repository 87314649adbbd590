// /summarize: summarizes messages of a channel. Stores nothing.
import { type Message, PermissionFlagsBits, SlashCommandBuilder, type SlashCommandStringOption } from 'discord.js';
import { dateRange } from '../base/date-range.ts';
import { oldestFirst } from '../base/message-order.ts';
import { untrusted } from '../context/untrusted.ts';
import { type ChatCommand, guildInstall, onlyGuilds } from './command.ts';
import { answerOnce } from './single-answer.ts';

const TASK =
  'Summarize the messages of a Discord channel as a short list. Name the authors, and add the link of the message to each point.';

export const summarizeCommand: ChatCommand = {
  name: 'summarize',
  needsAccess: true,
  definition: new SlashCommandBuilder()
    .setName('summarize')
    .setDescription('Summarize recent messages of this channel, or those of a date')
    .setContexts(onlyGuilds)
    .setIntegrationTypes(guildInstall)
    .addIntegerOption((option) =>
      option.setName('limit').setDescription('Number of messages').setMinValue(5).setMaxValue(100),
    )
    .addStringOption((option) => dateOption(option, 'after_date', 'From this day on'))
    .addStringOption((option) => dateOption(option, 'before_date', 'Before this day'))
    .addStringOption((option) => dateOption(option, 'around_date', 'Around noon of this day'))
    .addStringOption((option) => option.setName('steer').setDescription('Topic to focus on').setMaxLength(500))
    .toJSON(),
  async run(parts, interaction) {
    const { channel } = interaction;
    if (!channel || !interaction.memberPermissions?.has(PermissionFlagsBits.ReadMessageHistory)) {
      return 'You need the permission to read the history of this channel.';
    }
    const place = channel.isThread() ? channel.parent : channel;
    if (place && 'nsfw' in place && place.nsfw) return 'I do not summarize age-restricted channels.';
    const { bound, end } = dateRange({
      after: interaction.options.getString('after_date'),
      before: interaction.options.getString('before_date'),
      around: interaction.options.getString('around_date'),
    });
    const found = await channel.messages.fetch({ limit: interaction.options.getInteger('limit') ?? 25, ...bound });
    const lines = oldestFirst(found.values())
      .filter(({ createdTimestamp }) => createdTimestamp < end)
      .flatMap(lineOf);
    if (lines.length === 0) return 'There are no messages to summarize.';
    const steer = interaction.options.getString('steer');
    const text = [untrusted('messages', {}, lines.join('\n')), ...(steer === null ? [] : [`Focus on: ${steer}`])];
    return answerOnce(parts, interaction, { task: TASK, text: text.join('\n') });
  },
};

function dateOption(option: SlashCommandStringOption, name: string, what: string): SlashCommandStringOption {
  return option.setName(name).setDescription(`${what} (UTC), such as 2026-03-31`).setMaxLength(10);
}

function lineOf({ content, author, createdAt, url, system }: Message): string[] {
  if (system || content.trim() === '') return [];
  return [`[${createdAt.toISOString()}] ${author.username} (${url}): ${content}`];
}
