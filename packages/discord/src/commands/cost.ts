// /cost: what was spent today, and what may be.
import { SlashCommandBuilder } from 'discord.js';
import { leastBudget, type Spent } from '../conversation/spending.ts';
import { type ChatCommand, everywhere, hereOf, installed } from './command.ts';

export const costCommand: ChatCommand = {
  name: 'cost',
  definition: new SlashCommandBuilder()
    .setName('cost')
    .setDescription('What was spent today')
    .setContexts(everywhere)
    .setIntegrationTypes(installed)
    .toJSON(),
  async run(parts, interaction) {
    const { guildId, userId, settings } = await hereOf(parts, interaction);
    const { userUsd, guildUsd } = leastBudget(settings.budget, parts.options.budget);
    const lines = [line('You', await parts.spending.ofUser(userId), userUsd)];
    if (guildId !== null) {
      const spent = await parts.spending.ofGuild(guildId);
      lines.push(line('This server', spent, guildUsd));
    }
    return ['Today (UTC):', ...lines].join('\n');
  },
};

function line(who: string, { costUsd, tokens, runs }: Spent, budget: number | undefined): string {
  const of = budget === undefined ? '' : ` of $${budget.toFixed(2)}`;
  return `**${who}**: $${costUsd.toFixed(4)}${of}, ${tokens} tokens, ${runs} answers`;
}
