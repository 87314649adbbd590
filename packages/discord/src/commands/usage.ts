// /usage: tokens and dollars of the last days, as a chart.
import { AttachmentBuilder, SlashCommandBuilder } from 'discord.js';
import { usageChart } from '../reply/usage-chart.ts';
import type { SpentDay } from '../store/spending.ts';
import { type ChatCommand, type CommandAnswer, commandPlace, everyInstall, everywhere } from './command.ts';

const DEFAULT_DAYS = 14;
const MAX_DAYS = 90;

export const usageCommand: ChatCommand = {
  name: 'usage',
  definition: new SlashCommandBuilder()
    .setName('usage')
    .setDescription('Show a chart of what answers used and cost')
    .setContexts(everywhere)
    .setIntegrationTypes(everyInstall)
    .addStringOption((option) =>
      option
        .setName('of')
        .setDescription('Whose; your own by default')
        .addChoices({ name: 'me', value: 'me' }, { name: 'this server', value: 'server' }),
    )
    .addIntegerOption((option) =>
      option
        .setName('days')
        .setDescription(`How many days; ${DEFAULT_DAYS} by default`)
        .setMinValue(2)
        .setMaxValue(MAX_DAYS),
    )
    .toJSON(),
  async run(parts, interaction) {
    const { guildId, userId } = await commandPlace(parts, interaction);
    const isOfServer = interaction.options.getString('of') === 'server';
    if (isOfServer && guildId === null) return 'There is no server here. Leave out `of` to see your own usage.';
    const days = interaction.options.getInteger('days') ?? DEFAULT_DAYS;
    const spender = isOfServer && guildId !== null ? { guildId } : { userId };
    return answer(await parts.spending.history(spender, days), isOfServer ? 'This server' : 'You');
  },
};

function answer(days: readonly SpentDay[], who: string): CommandAnswer {
  const sum = (key: 'costUsd' | 'tokens' | 'runs') => days.reduce((total, day) => total + day[key], 0);
  const [costUsd, tokens, runs] = [sum('costUsd'), sum('tokens'), sum('runs')];
  const text = `**${who}**, last ${days.length} days (UTC): $${costUsd.toFixed(4)}, ${tokens} tokens, ${runs} ${runs === 1 ? 'answer' : 'answers'}`;
  if (tokens === 0) return text;
  // without prices the cost is zero
  const key = costUsd > 0 ? 'costUsd' : 'tokens';
  const png = usageChart(
    days.map((day) => ({ day: day.day, value: day[key] })),
    costUsd > 0 ? dollars : short,
  );
  const shown = days.filter((day) => day.tokens > 0).slice(-10);
  const description = shown.map((day) => `${day.day}: $${day.costUsd.toFixed(4)}, ${day.tokens} tokens`).join('; ');
  const chart = new AttachmentBuilder(png, { name: 'usage.png', description });
  return { content: `${text}\n-# The bars are ${costUsd > 0 ? 'dollars' : 'tokens'} per day.`, files: [chart] };
}

function dollars(value: number): string {
  return `$${value >= 100 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(2) : value.toFixed(4)}`;
}

function short(value: number): string {
  if (value >= 1_000_000) return `${Number((value / 1_000_000).toFixed(1))}M`;
  return value >= 1_000 ? `${Number((value / 1_000).toFixed(1))}k` : String(Number(value.toFixed(1)));
}
