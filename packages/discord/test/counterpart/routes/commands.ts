// REST: application commands, global and per guild.
import {
  type APIApplicationCommand,
  ApplicationCommandType,
  type RESTPatchAPIApplicationCommandJSONBody,
  type RESTPostAPIApplicationCommandsJSONBody,
} from 'discord-api-types/v10';
import type { Call, Handler, Routes } from '../http/call.ts';
import { checkCommands } from '../rules/command-rules.ts';
import { missingAccess, unknownCommand } from '../state/api-error.ts';
import type { StoredCommand } from '../state/records.ts';
import type { World } from '../state/world.ts';

type NewCommand = RESTPostAPIApplicationCommandsJSONBody;

export function commandRoutes(world: World): Routes {
  return {
    ...routesAt(world, '/applications/:application/commands', () => undefined),
    ...routesAt(world, '/applications/:application/guilds/:guild/commands', (call) => {
      const id = call.param('guild');
      if (!world.guilds.get(id)?.members.has(world.bot.id)) throw missingAccess();
      return id;
    }),
  };
}

function routesAt(world: World, at: string, guildIdOf: (call: Call) => string | undefined): Record<string, Handler> {
  const all = (call: Call) => {
    const guildId = guildIdOf(call);
    return [...world.commands.values()].filter((command) => command.guildId === guildId);
  };
  const one = (call: Call): StoredCommand => {
    const found = all(call).find(({ json }) => json.id === call.param('command'));
    if (!found) throw unknownCommand();
    return found;
  };
  const sameAs = (command: NewCommand) => (stored: StoredCommand) =>
    stored.json.name === command.name && stored.json.type === (command.type ?? ApplicationCommandType.ChatInput);
  const store = (call: Call, command: NewCommand, id: string): APIApplicationCommand => {
    const guildId = guildIdOf(call);
    const json = commandJson(world, { command, id, guildId });
    world.commands.set(id, { json, ...(guildId !== undefined && { guildId }) });
    return json;
  };

  return {
    [`GET ${at}`]: (call) => all(call).map(({ json }) => json),
    [`PUT ${at}`]: (call) => {
      const commands = call.json<NewCommand[]>();
      checkCommands(commands);
      const before = all(call);
      for (const { json } of before) world.commands.delete(json.id);
      return commands.map((command) => store(call, command, before.find(sameAs(command))?.json.id ?? world.ids.next()));
    },
    [`POST ${at}`]: (call) => {
      const command = call.json<NewCommand>();
      checkCommands([command], { single: true });
      return store(call, command, all(call).find(sameAs(command))?.json.id ?? world.ids.next());
    },
    [`GET ${at}/:command`]: (call) => one(call).json,
    [`PATCH ${at}/:command`]: (call) => {
      const { json } = one(call);
      const command: NewCommand = Object({ ...json, ...call.json<RESTPatchAPIApplicationCommandJSONBody>() });
      checkCommands([command], { single: true });
      return store(call, command, json.id);
    },
    [`DELETE ${at}/:command`]: (call) => {
      world.commands.delete(one(call).json.id);
      return undefined;
    },
  };
}

function commandJson(
  world: World,
  { command, id, guildId }: { command: NewCommand; id: string; guildId: string | undefined },
): APIApplicationCommand {
  return {
    ...command,
    id,
    application_id: world.bot.id,
    version: world.ids.next(),
    type: command.type ?? ApplicationCommandType.ChatInput,
    description: 'description' in command ? (command.description ?? '') : '',
    default_member_permissions: command.default_member_permissions ?? null,
    nsfw: command.nsfw ?? false,
    ...(guildId !== undefined && { guild_id: guildId }),
  };
}
