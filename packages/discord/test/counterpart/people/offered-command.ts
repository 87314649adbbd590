// Which commands Discord's client offers to a user in a channel.
import {
  type APIUser,
  type ApplicationCommandType,
  ApplicationIntegrationType,
  PermissionFlagsBits,
} from 'discord-api-types/v10';
import { contextOf } from '../activity/interactions.ts';
import { channelPermissions } from '../state/permissions.ts';
import type { Channel, StoredCommand } from '../state/records.ts';
import type { World } from '../state/world.ts';

/** A command of the guild hides a global one of the same name. */
export function offeredCommand(
  world: World,
  { user, name, channel, type }: { user: APIUser; name: string; channel: Channel; type: ApplicationCommandType },
): StoredCommand {
  const direct = channel.guildId === undefined;
  const context = contextOf(channel);
  const installs = [
    ...(world.hasBot(channel) ? [ApplicationIntegrationType.GuildInstall] : []),
    ...(world.installedBy.has(user.id) ? [ApplicationIntegrationType.UserInstall] : []),
  ];
  const offered = [...world.commands.values()].filter(({ guildId, json }) => {
    const here = guildId === undefined || guildId === channel.guildId;
    const types = json.integration_types ?? [ApplicationIntegrationType.GuildInstall];
    if (!types.some((each) => installs.includes(each))) return false;
    return json.name === name && json.type === type && here && (json.contexts?.includes(context) ?? true);
  });
  const command = offered.find(({ guildId }) => guildId !== undefined) ?? offered[0];
  const place = direct ? 'direct messages' : `#${channel.name}`;
  if (!command) throw new Error(`No command "${name}" is offered in ${place}.`);
  const needed = PermissionFlagsBits.UseApplicationCommands | (direct ? 0n : demandedBy(command));
  if ((channelPermissions(world, channel, user.id) & needed) !== needed) {
    throw new Error(`${user.username} is not offered the command "${name}" in ${place}.`);
  }
  return command;
}

/** Permissions `0` reserve a command for administrators. */
function demandedBy({ json }: StoredCommand): bigint {
  if (json.default_member_permissions === null) return 0n;
  return BigInt(json.default_member_permissions) || PermissionFlagsBits.Administrator;
}
