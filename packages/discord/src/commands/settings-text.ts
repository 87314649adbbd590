// The settings of a guild as its admins read them; secrets of MCP servers are never shown.
import { type Guild, RESTJSONErrorCodes } from 'discord.js';
import { isCode } from '../base/discord-errors.ts';
import type { BotParts } from '../conversation/parts.ts';
import type { GuildSettings } from '../store/guild-settings.ts';

interface Decided {
  guild: Guild | null;
  settings: GuildSettings;
}

export async function shownSettings({ models: all, options }: BotParts, decided: Decided): Promise<string> {
  const { channels, roles, profiles, profile, models, mcpServers, budget, scope, summaries } = decided.settings;
  const own = options.budget ?? {};
  const unpriced = all.unpriced(all.allowed(decided.settings));
  const gone = new Set([...models.filter((name) => !all.has(name)), ...(await goneFrom(decided))]);
  const named = (item: string, shown: string) => (gone.has(item) ? `${shown} (gone)` : shown);
  const byRole = Object.entries(profiles).map(([role, name]) => `${named(role, `<@&${role}>`)} ${name}`);
  const servers = Object.entries(mcpServers).map(([name, { url }]) => `${name} (${new URL(url).host})`);
  const dollars = (value: number | undefined) => (value === undefined ? 'no limit' : `$${value.toFixed(2)}`);
  const hasBudget = budget.guildUsd !== undefined || budget.userUsd !== undefined;
  return [
    `**Channels**: ${listed(
      channels.map((id) => named(id, `<#${id}>`)),
      'all',
    )}`,
    `**Roles**: ${listed(
      roles.map((id) => named(id, `<@&${id}>`)),
      'all',
    )}`,
    `**Profiles**: ${[...byRole, `everybody else ${profile}`].join(', ')}`,
    `**Models**: ${listed(
      models.map((name) => named(name, `\`${name}\``)),
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
    ...(gone.size > 0
      ? ['-# What is gone stays on its list, and nothing takes its place. `/setup clear` empties a list.']
      : []),
  ].join('\n');
}

function listed(items: readonly string[], none: string): string {
  return items.join(', ') || none;
}

/** Ids of channels and roles that were deleted. Old threads, and what the bot may not see, are there. */
async function goneFrom({ guild, settings }: Decided): Promise<string[]> {
  if (!guild) return [];
  const roles = [...settings.roles, ...Object.keys(settings.profiles)].filter((id) => !guild.roles.cache.has(id));
  const channels = settings.channels.map((id) =>
    guild.channels.fetch(id).then(
      () => [],
      (error) => (isCode(error, RESTJSONErrorCodes.UnknownChannel) ? id : []),
    ),
  );
  return [...roles, ...(await Promise.all(channels)).flat()];
}
