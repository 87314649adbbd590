// /summarize: what was said in a channel lately. Nothing is kept of it.
import { type Message, PermissionFlagsBits, SlashCommandBuilder } from 'discord.js';
import { untrusted } from '../context/untrusted.ts';
import { type ChatCommand, installed, onlyGuilds } from './command.ts';
import { answerOnce } from './once.ts';

const TASK =
  'Sum up what people wrote in a Discord channel as a short list. Name who said what, and put the link of a message behind what you take from it.';

export const summarizeCommand: ChatCommand = {
  name: 'summarize',
  forMembers: true,
  definition: new SlashCommandBuilder()
    .setName('summarize')
    .setDescription('Sums up the last messages of this channel')
    .setContexts(onlyGuilds)
    .setIntegrationTypes(installed)
    .addIntegerOption((option) =>
      option.setName('limit').setDescription('How many messages').setMinValue(5).setMaxValue(100),
    )
    .addStringOption((option) => option.setName('steer').setDescription('What to look for').setMaxLength(500))
    .toJSON(),
  async run(parts, interaction) {
    const { channel } = interaction;
    if (!channel || !interaction.memberPermissions?.has(PermissionFlagsBits.ReadMessageHistory)) {
      return 'You cannot read the history of this channel.';
    }
    if ('nsfw' in channel && channel.nsfw) return 'I do not sum up channels that are marked as NSFW.';
    const found = await channel.messages.fetch({ limit: interaction.options.getInteger('limit') ?? 25 });
    const lines = [...found.values()].reverse().flatMap(lineOf);
    if (lines.length === 0) return 'There is nothing to sum up here.';
    const steer = interaction.options.getString('steer');
    const text = [untrusted('messages', {}, lines.join('\n')), ...(steer === null ? [] : [`Look for: ${steer}`])];
    return answerOnce(parts, interaction, { task: TASK, text: text.join('\n') });
  },
};

function lineOf({ content, author, createdAt, url, system }: Message): string[] {
  if (system || content.trim() === '') return [];
  return [`[${createdAt.toISOString()}] ${author.username} (${url}): ${content}`];
}
