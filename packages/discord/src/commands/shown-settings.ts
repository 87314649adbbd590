// The settings of a guild as its admins read them; secrets of MCP servers are never shown.
import type { DailyBudget } from '../conversation/spending.ts';
import type { GuildSettings } from '../settings/settings.ts';

interface OfTheOperator {
  budget: DailyBudget | undefined;
  /** Models that may be chosen and whose price nobody knows. */
  unpriced: readonly string[];
}

export function shownSettings(settings: GuildSettings, { budget: own = {}, unpriced }: OfTheOperator): string {
  const { channels, roles, profiles, profile, models, mcpServers, budget, scope, summaries } = settings;
  const byRole = Object.entries(profiles).map(([role, name]) => `<@&${role}> ${name}`);
  const servers = Object.entries(mcpServers).map(([name, { url }]) => `${name} (${new URL(url).host})`);
  const dollars = (value: number | undefined) => (value === undefined ? 'no limit' : `$${value.toFixed(2)}`);
  const hasBudget = budget.guildUsd !== undefined || budget.userUsd !== undefined;
  return [
    `**Channels**: ${listed(
      channels.map((id) => `<#${id}>`),
      'all',
    )}`,
    `**Roles**: ${listed(
      roles.map((id) => `<@&${id}>`),
      'all',
    )}`,
    `**Profiles**: ${[...byRole, `everybody else ${profile}`].join(', ')}`,
    `**Models**: ${listed(
      models.map((name) => `\`${name}\``),
      'all',
    )}`,
    `**MCP servers**: ${listed(servers, 'none')}`,
    `**Budget a day**: ${dollars(budget.guildUsd)} for all, ${dollars(budget.userUsd)} for each person`,
    ...(own.guildUsd === undefined && own.userUsd === undefined
      ? []
      : [`**The operator's**: ${dollars(own.guildUsd)} for each server, ${dollars(own.userUsd)} for each person`]),
    ...(hasBudget && unpriced.length > 0
      ? [`-# With a budget these models answer nothing, because nobody knows their price: ${unpriced.join(', ')}`]
      : []),
    `**Conversations**: one for each ${scope === 'user' ? 'person in a channel' : 'channel'}; what no longer fits is ${summaries ? 'summed up' : 'forgotten'}`,
  ].join('\n');
}

function listed(items: readonly string[], none: string): string {
  return items.join(', ') || none;
}
