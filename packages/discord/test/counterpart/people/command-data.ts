// Typed command options in the form that Discord's client sends; refuses input that the client would not send.
import {
  type APIApplicationCommandOption,
  type APIUser,
  ApplicationCommandOptionType as Type,
} from 'discord-api-types/v10';
import type { Channel, StoredCommand, UploadedFile } from '../state/records.ts';
import { roleNamed } from '../state/seed.ts';
import { attachmentJson, channelJson, memberWithoutUser } from '../state/to-json.ts';
import type { World } from '../state/world.ts';

export type OptionValue = string | number | boolean | UploadedFile;

interface Typed {
  command: StoredCommand;
  /** The names of the group and subcommand, if any. */
  path: string[];
  options: Record<string, OptionValue>;
  channel: Channel;
  /** The option the cursor is in, for autocomplete. */
  focused?: string;
}

interface Resolved {
  users: Record<string, object>;
  members: Record<string, object>;
  roles: Record<string, object>;
  channels: Record<string, object>;
  attachments: Record<string, object>;
}

interface Filled {
  name: string;
  type: Type;
  value?: OptionValue;
  focused?: boolean;
  options?: Filled[];
}

export const nothingResolved = (): Resolved => ({ users: {}, members: {}, roles: {}, channels: {}, attachments: {} });

export function commandData(world: World, typed: Typed): object {
  const { command, path } = typed;
  const { json } = command;
  const resolved = nothingResolved();
  let declared: readonly APIApplicationCommandOption[] = json.options ?? [];
  const branches: APIApplicationCommandOption[] = [];
  for (const name of path) {
    const branch = declared.find((option) => option.name === name);
    if (!branch) throw new Error(`The command /${json.name} has no subcommand "${name}".`);
    branches.push(branch);
    declared = 'options' in branch ? (branch.options ?? []) : [];
  }
  if (declared.some(isBranch)) throw new Error(`The command /${[json.name, ...path].join(' ')} needs a subcommand.`);
  let options = fill(world, typed, { declared, resolved });
  for (const { name, type } of branches.reverse()) options = [{ name, type, options }];
  return {
    id: json.id,
    name: json.name,
    type: json.type,
    options,
    resolved,
    ...(command.guildId !== undefined && { guild_id: command.guildId }),
  };
}

const isBranch = ({ type }: APIApplicationCommandOption) => type === Type.Subcommand || type === Type.SubcommandGroup;

function fill(
  world: World,
  { command, options, channel, focused }: Typed,
  { declared, resolved }: { declared: readonly APIApplicationCommandOption[]; resolved: Resolved },
): Filled[] {
  for (const name of Object.keys(options)) {
    if (!declared.some((option) => option.name === name)) {
      throw new Error(`The command /${command.json.name} has no option "${name}".`);
    }
  }
  return declared.flatMap((option): Filled[] => {
    const { name, type } = option;
    const value = options[name];
    if (name === focused) return [{ name, type, value: value ?? '', focused: true }];
    if (value !== undefined) {
      if (focused === undefined) checkValue(option, value);
      return [{ name, type, value: resolve(world, { type, value, channel, resolved }) }];
    }
    if (option.required && focused === undefined) {
      throw new Error(`The command /${command.json.name} needs the option "${name}".`);
    }
    return [];
  });
}

/** The client does not send invalid values. */
function checkValue(option: APIApplicationCommandOption, value: OptionValue): void {
  const refuse = (why: string) => {
    throw new Error(
      `Discord's client would not send ${JSON.stringify(value)} for the option "${option.name}": ${why}.`,
    );
  };
  const numeric = option.type === Type.Integer || option.type === Type.Number;
  if (option.type === Type.String && typeof value !== 'string') refuse('it is not a text');
  if (option.type === Type.Boolean && typeof value !== 'boolean') refuse('it is neither true nor false');
  if (numeric && typeof value !== 'number') refuse('it is not a number');
  if (option.type === Type.Integer && !Number.isInteger(value)) refuse('it is not a whole number');
  const choices = 'choices' in option ? (option.choices ?? []) : [];
  if (choices.length > 0 && !choices.some((choice) => choice.value === value)) refuse('it is not one of the choices');
  const measured = typeof value === 'string' ? value.length : value;
  const least = 'min_value' in option ? option.min_value : 'min_length' in option ? option.min_length : undefined;
  const most = 'max_value' in option ? option.max_value : 'max_length' in option ? option.max_length : undefined;
  if (least !== undefined && Number(measured) < least) refuse(`it is below ${least}`);
  if (most !== undefined && Number(measured) > most) refuse(`it is above ${most}`);
}

interface Reference {
  type: Type;
  value: OptionValue;
  channel: Channel;
  resolved: Resolved;
}

/** Resolves a name or id; the bot gets the id and the resolved object. */
export function resolve(world: World, { type, value, channel, resolved }: Reference): OptionValue {
  const guild = world.guildOf(channel);
  if (type === Type.User || type === Type.Mentionable) {
    const user = [...world.users.values()].find(({ id, username }) => id === value || username === value);
    if (user) return resolveUser(world, { user, channel, resolved });
    if (type === Type.User) throw new Error(`Unknown user ${JSON.stringify(value)}.`);
  }
  if ((type === Type.Role || type === Type.Mentionable) && guild) {
    const role = roleNamed(guild, String(value));
    resolved.roles[role.id] = role;
    return role.id;
  }
  if (type === Type.Channel && guild) {
    const found = world.channelsOf(guild).find(({ id, name }) => id === value || name === value);
    if (!found) throw new Error(`Unknown channel ${JSON.stringify(value)} in "${guild.name}".`);
    resolved.channels[found.id] = { ...channelJson(world, found), permissions: '0' };
    return found.id;
  }
  if (type === Type.Attachment) {
    if (typeof value !== 'object') throw new Error('An attachment must be { name, contentType, bytes }.');
    const file = world.addFile(value);
    resolved.attachments[file.id] = attachmentJson(world, channel.id, file);
    return file.id;
  }
  return value;
}

export function resolveUser(
  world: World,
  { user, channel, resolved }: { user: APIUser; channel: Channel; resolved: Resolved },
): string {
  resolved.users[user.id] = user;
  const member = world.guildOf(channel)?.members.get(user.id);
  if (member) resolved.members[user.id] = { ...memberWithoutUser(member), permissions: '0' };
  return user.id;
}
