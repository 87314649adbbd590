// The settings of a guild as text for its admins, without secrets of MCP servers.
import { type Guild, RESTJSONErrorCodes } from 'discord.js';
import { hasErrorCode } from '../../base/discord-errors.ts';
import type { BotParts } from '../../conversation/parts.ts';
import type { GuildSettings } from '../../store/guild-settings.ts';

interface ShownSettings {
  guild: Guild | null;
  settings: GuildSettings;
}

export async function settingsText({ models: allModels, options }: BotParts, shown: ShownSettings): Promise<string> {
  const { channels, roles, profiles, profile, models, mcpServers, budget, scope, summaries } = shown.settings;
  const operatorBudget = options.budget ?? {};
  const unpriced = allModels.unpriced(allModels.allowed(shown.settings));
  const deleted = new Set([...models.filter((name) => !allModels.has(name)), ...(await deletedIds(shown))]);
  const labelled = (item: string, label: string) => (deleted.has(item) ? `${label} (deleted)` : label);
  const byRole = Object.entries(profiles).map(([role, name]) => `${labelled(role, `<@&${role}>`)} ${name}`);
  const servers = Object.entries(mcpServers).map(
    ([name, { url, login }]) => `${name} (${new URL(url).host}${login === undefined ? '' : ', each member logs in'})`,
  );
  const dollars = (value: number | undefined) => (value === undefined ? 'no limit' : `$${value.toFixed(2)}`);
  const hasBudget = budget.guildUsd !== undefined || budget.userUsd !== undefined;
  return [
    `**Channels**: ${joinOr(
      channels.map((id) => labelled(id, `<#${id}>`)),
      'all',
    )}`,
    `**Roles**: ${joinOr(
      roles.map((id) => labelled(id, `<@&${id}>`)),
      'all',
    )}`,
    `**Profiles**: ${[...byRole, `all others ${profile}`].join(', ')}`,
    `**Models**: ${joinOr(
      models.map((name) => labelled(name, `\`${name}\``)),
      'all',
    )}`,
    `**MCP servers**: ${joinOr(servers, 'none')}`,
    `**Daily budget**: ${dollars(budget.guildUsd)} for the server, ${dollars(budget.userUsd)} per member`,
    ...(operatorBudget.guildUsd === undefined && operatorBudget.userUsd === undefined
      ? []
      : [
          `**Budget of the operator**: ${dollars(operatorBudget.guildUsd)} per server, ${dollars(operatorBudget.userUsd)} per user`,
        ]),
    ...(hasBudget && unpriced.length > 0
      ? [`-# These models cannot be used with a budget, because their price is unknown: ${unpriced.join(', ')}`]
      : []),
    `**Conversations**: one per ${scope === 'user' ? 'member and channel' : 'channel'}; old messages are ${summaries ? 'summarized' : 'deleted'}`,
    ...(deleted.size > 0 ? ['-# Deleted entries stay on their list until you use `/setup clear`.'] : []),
  ].join('\n');
}

function joinOr(items: readonly string[], none: string): string {
  return items.join(', ') || none;
}

/** Ids of deleted channels and roles. Archived threads and channels the bot cannot see do not count. */
async function deletedIds({ guild, settings }: ShownSettings): Promise<string[]> {
  if (!guild) return [];
  const roles = [...settings.roles, ...Object.keys(settings.profiles)].filter((id) => !guild.roles.cache.has(id));
  const channels = settings.channels.map((id) =>
    guild.channels.fetch(id).then(
      () => [],
      (error) => (hasErrorCode(error, RESTJSONErrorCodes.UnknownChannel) ? id : []),
    ),
  );
  return [...roles, ...(await Promise.all(channels)).flat()];
}
