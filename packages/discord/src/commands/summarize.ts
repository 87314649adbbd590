// /summarize: what was said in a channel lately. Nothing is kept of it.
import { type Message, PermissionFlagsBits, SlashCommandBuilder, type SlashCommandStringOption } from 'discord.js';
import { oldestFirst } from '../base/message-order.ts';
import { untrusted } from '../context/untrusted.ts';
import { type ChatCommand, installed, onlyGuilds } from './command.ts';
import { spanOf } from './date-range.ts';
import { answerOnce } from './single-answer.ts';

const TASK =
  'Sum up what people wrote in a Discord channel as a short list. Name who said what, and put the link of a message behind what you take from it.';

export const summarizeCommand: ChatCommand = {
  name: 'summarize',
  forMembers: true,
  definition: new SlashCommandBuilder()
    .setName('summarize')
    .setDescription('Sums up messages of this channel, the last ones or those of some days')
    .setContexts(onlyGuilds)
    .setIntegrationTypes(installed)
    .addIntegerOption((option) =>
      option.setName('limit').setDescription('How many messages').setMinValue(5).setMaxValue(100),
    )
    .addStringOption((option) => dateOption(option, 'after_date', 'Only from this day on'))
    .addStringOption((option) => dateOption(option, 'before_date', 'Only from before this day'))
    .addStringOption((option) => dateOption(option, 'around_date', 'Those around noon of this day'))
    .addStringOption((option) => option.setName('steer').setDescription('What to look for').setMaxLength(500))
    .toJSON(),
  async run(parts, interaction) {
    const { channel } = interaction;
    if (!channel || !interaction.memberPermissions?.has(PermissionFlagsBits.ReadMessageHistory)) {
      return 'You cannot read the history of this channel.';
    }
    const place = channel.isThread() ? channel.parent : channel;
    if (place && 'nsfw' in place && place.nsfw) return 'I do not sum up channels that are marked as NSFW.';
    const { bound, end } = spanOf({
      after: interaction.options.getString('after_date'),
      before: interaction.options.getString('before_date'),
      around: interaction.options.getString('around_date'),
    });
    const found = await channel.messages.fetch({ limit: interaction.options.getInteger('limit') ?? 25, ...bound });
    const lines = oldestFirst(found.values())
      .filter(({ createdTimestamp }) => createdTimestamp < end)
      .flatMap(lineOf);
    if (lines.length === 0) return 'There is nothing to sum up here.';
    const steer = interaction.options.getString('steer');
    const text = [untrusted('messages', {}, lines.join('\n')), ...(steer === null ? [] : [`Look for: ${steer}`])];
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
