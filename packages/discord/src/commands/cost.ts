// /cost: today's spending, and the budgets.
import { SlashCommandBuilder } from 'discord.js';
import { lowerLimit, type Spent } from '../store/spending.ts';
import { type ChatCommand, commandPlace, everyInstall, everywhere } from './command.ts';

export const costCommand: ChatCommand = {
  name: 'cost',
  definition: new SlashCommandBuilder()
    .setName('cost')
    .setDescription("Show today's spending")
    .setContexts(everywhere)
    .setIntegrationTypes(everyInstall)
    .toJSON(),
  async run(parts, interaction) {
    const { guildId, userId, settings } = await commandPlace(parts, interaction);
    const { spending, options } = parts;
    const { userUsd, guildUsd } = settings.budget;
    const lines = [line('You', await spending.ofUser(userId), options.budget?.userUsd)];
    if (guildId !== null) {
      if (userUsd !== undefined)
        lines.push(line('You in this server', await spending.ofMember(guildId, userId), userUsd));
      const limit = lowerLimit(guildUsd, options.budget?.guildUsd);
      lines.push(line('This server', await spending.ofGuild(guildId), limit));
    }
    const unpriced = parts.models.unpriced(parts.models.allowed(settings)).map((name) => `\`${name}\``);
    if (unpriced.length > 0)
      lines.push(`-# The price of ${unpriced.join(', ')} is unknown, so its cost is not included.`);
    return ['Today (UTC):', ...lines].join('\n');
  },
};

function line(who: string, { costUsd, tokens, runs }: Spent, budget: number | undefined): string {
  const of = budget === undefined ? '' : ` of $${budget.toFixed(2)}`;
  return `**${who}**: $${costUsd.toFixed(4)}${of}, ${tokens} tokens, ${runs} ${runs === 1 ? 'answer' : 'answers'}`;
}
