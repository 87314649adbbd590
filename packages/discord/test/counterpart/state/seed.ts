// The initial guilds, people and channels.
import { type APIRole, type APIUser, ChannelType, OverwriteType } from 'discord-api-types/v10';
import { type PermissionName, permissionBits, TEXT_PERMISSIONS } from './permissions.ts';
import type { Channel, Guild, Member } from './records.ts';
import type { World } from './world.ts';

export interface UserSeed {
  name: string;
  bot?: boolean;
  globalName?: string;
}

export interface ChannelSeed {
  name: string;
  type?: ChannelType;
  topic?: string;
  nsfw?: boolean;
  /** Permissions by the name of a role or user; `everyone` for all. */
  allow?: Record<string, PermissionName[]>;
  deny?: Record<string, PermissionName[]>;
}

interface RoleSeed {
  name: string;
  permissions?: PermissionName[];
  mentionable?: boolean;
}

export interface GuildSeed {
  name?: string;
  /** Names, or objects with details. */
  channels?: (string | ChannelSeed)[];
  roles?: RoleSeed[];
  /** Role names by member; all users are members by default. */
  members?: Record<string, string[]>;
  owner?: string;
  /** Permissions of @everyone. */
  everyone?: PermissionName[];
  /** Additional permissions of the bot; `absent` if it is not a member. */
  bot?: PermissionName[] | 'absent';
}

export const USUAL_USERS: UserSeed[] = [
  { name: 'owner' },
  { name: 'admin' },
  { name: 'ann' },
  { name: 'bob' },
  { name: 'otherbot', bot: true },
];

const USUAL_PERMISSIONS: PermissionName[] = [
  ...TEXT_PERMISSIONS,
  'SendMessagesInThreads',
  'CreatePublicThreads',
  'CreatePrivateThreads',
];

const NO_FLAGS: number = 0;

const USUAL_ROLES: RoleSeed[] = [
  { name: 'Admins', permissions: ['Administrator'] },
  { name: 'Helpers', mentionable: true },
];

export function addGuild(world: World, seed: GuildSeed = {}): Guild {
  const people = [...world.users.values()];
  const named = (name: string): APIUser => {
    const user = people.find(({ username }) => username === name);
    if (!user) throw new Error(`Unknown user "${name}"; add it to the option users.`);
    return user;
  };
  const id = world.ids.guild();
  const owner = seed.owner === undefined ? (people[1] ?? world.bot) : named(seed.owner);
  const guild: Guild = {
    id,
    name: seed.name ?? `Guild ${world.guilds.size + 1}`,
    ownerId: owner.id,
    roles: new Map(),
    members: new Map(),
  };
  const addRole = ({ name, permissions = [], mentionable = false }: RoleSeed, roleId = world.ids.seeded()): APIRole => {
    const role = roleJson({ id: roleId, name, permissions, mentionable, position: guild.roles.size });
    guild.roles.set(role.id, role);
    return role;
  };
  addRole({ name: '@everyone', permissions: seed.everyone ?? USUAL_PERMISSIONS }, id);
  const botPermissions = seed.bot === 'absent' ? undefined : (seed.bot ?? []);
  const botRole = botPermissions && addRole({ name: world.bot.username, permissions: botPermissions });
  for (const role of seed.roles ?? USUAL_ROLES) addRole(role);

  const members =
    seed.members ?? Object.fromEntries(people.map(({ username }) => [username, usualRoles(guild, username)]));
  for (const name of new Set([owner.username, ...Object.keys(members)])) {
    if (named(name).id === world.bot.id) continue;
    addMember(
      guild,
      named(name),
      (members[name] ?? []).map((role) => roleNamed(guild, role).id),
    );
  }
  if (botRole) addMember(guild, world.bot, [botRole.id]);
  world.guilds.set(id, guild);
  for (const channel of seed.channels ?? ['general', 'random']) addGuildChannel(world, guild, channel);
  return guild;
}

export function addGuildChannel(world: World, guild: Guild, seed: string | ChannelSeed): Channel {
  const details = typeof seed === 'string' ? { name: seed } : seed;
  const { name, type = ChannelType.GuildText, topic = null, nsfw = false, allow = {}, deny = {} } = details;
  const overwrites = [...new Set([...Object.keys(allow), ...Object.keys(deny)])].map((target) => ({
    ...overwriteTarget(guild, target),
    allow: String(permissionBits(allow[target] ?? [])),
    deny: String(permissionBits(deny[target] ?? [])),
  }));
  return world.addChannel({ guildId: guild.id, name, type, topic, nsfw, overwrites });
}

export function addMember(guild: Guild, user: APIUser, roles: string[] = []): Member {
  const member = { user, nick: null, roles, joinedAt: new Date(0).toISOString() };
  guild.members.set(user.id, member);
  return member;
}

export function roleNamed(guild: Guild, name: string): APIRole {
  for (const role of guild.roles.values()) if (role.name === name || role.id === name) return role;
  throw new Error(`The guild "${guild.name}" has no role "${name}".`);
}

function overwriteTarget(guild: Guild, name: string): { id: string; type: OverwriteType } {
  if (name === 'everyone') return { id: guild.id, type: OverwriteType.Role };
  for (const { user } of guild.members.values()) {
    if (user.username === name) return { id: user.id, type: OverwriteType.Member };
  }
  return { id: roleNamed(guild, name).id, type: OverwriteType.Role };
}

function usualRoles(guild: Guild, userName: string): string[] {
  const hasAdmins = [...guild.roles.values()].some(({ name }) => name === 'Admins');
  return userName === 'admin' && hasAdmins ? ['Admins'] : [];
}

function roleJson(role: {
  id: string;
  name: string;
  permissions: PermissionName[];
  mentionable: boolean;
  position: number;
}): APIRole {
  return {
    ...role,
    permissions: String(permissionBits(role.permissions)),
    color: 0,
    colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
    hoist: false,
    managed: false,
    flags: NO_FLAGS,
  };
}
