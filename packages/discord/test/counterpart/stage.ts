// Changes people, guilds, channels and roles while a bot is connected.
import { type APIUser, ChannelType, GatewayDispatchEvents } from 'discord-api-types/v10';
import { changeThread } from './activity/threads.ts';
import { removeChannel, setRoles } from './routes/guilds.ts';
import type { Channel, Guild } from './state/records.ts';
import {
  addGuild,
  addGuildChannel,
  addMember,
  type ChannelSeed,
  type GuildSeed,
  roleNamed,
  type UserSeed,
} from './state/seed.ts';
import { channelJson, memberJson } from './state/to-json.ts';
import type { World } from './state/world.ts';

export class Stage {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** Adds a user to all guilds, or to the named ones. */
  addUser(seed: UserSeed, guilds: Guild[] = [...this.#world.guilds.values()]): APIUser {
    const user = this.#world.addUser(seed);
    for (const guild of guilds) {
      const data = { ...memberJson(addMember(guild, user)), guild_id: guild.id };
      this.#world.dispatch({ event: GatewayDispatchEvents.GuildMemberAdd, data, guildId: guild.id });
    }
    return user;
  }

  /** A member leaves, or is removed. */
  removeMember(guild: Guild, { id }: { id: string }): void {
    guild.members.delete(id);
    const data = { guild_id: guild.id, user: this.#world.user(id) };
    this.#world.dispatch({ event: GatewayDispatchEvents.GuildMemberRemove, data, guildId: guild.id });
  }

  /** A person installs the app for themselves, to use its commands everywhere. */
  install({ id }: { id: string }): void {
    this.#world.installedBy.add(id);
  }

  /** A group of people without the bot. */
  addGroup(name: string, people: { user: APIUser }[]): Channel {
    return this.#world.addChannel({ type: ChannelType.GroupDM, name, people: people.map(({ user }) => user) });
  }

  /** Turns direct messages of the bot to a person off (50007) or on. */
  closeDms(user: { id: string }, closed = true): void {
    if (closed) this.#world.closedDms.add(user.id);
    else this.#world.closedDms.delete(user.id);
  }

  /** Expires the URLs of all files, as Discord does after a while. */
  expireFiles(): void {
    this.#world.files.clear();
  }

  /** Advances the clock: nonces and interaction tokens expire. */
  pass(ms: number): void {
    this.#world.aheadMs += ms;
  }

  /** Adds the bot to another guild. */
  addGuild(seed?: GuildSeed): Guild {
    const guild = addGuild(this.#world, seed);
    this.#world.dispatch({ event: GatewayDispatchEvents.GuildCreate, data: {}, guildId: guild.id });
    return guild;
  }

  /** Removes the bot from a guild. */
  removeGuild(guild: Guild): void {
    this.#world.dispatch({ event: GatewayDispatchEvents.GuildDelete, data: { id: guild.id }, guildId: guild.id });
    this.#world.guilds.delete(guild.id);
    for (const channel of this.#world.channelsOf(guild)) this.#world.channels.delete(channel.id);
  }

  addChannel(guild: Guild, seed: string | ChannelSeed): Channel {
    const channel = addGuildChannel(this.#world, guild, seed);
    const data = channelJson(this.#world, channel);
    this.#world.dispatch({ event: GatewayDispatchEvents.ChannelCreate, data, guildId: guild.id, channel });
    return channel;
  }

  removeChannel(channel: Channel): void {
    removeChannel(this.#world, channel.id);
  }

  /** Archives a thread. */
  archive(thread: Channel): void {
    changeThread(this.#world, thread, { archived: true });
  }

  /** Gives a member exactly these roles, by name. */
  setRoles(guild: Guild, user: { id: string }, roles: string[]): void {
    const member = guild.members.get(user.id);
    if (!member) throw new Error(`The guild "${guild.name}" has no such member.`);
    setRoles(this.#world, guild, { member, roles: roles.map((role) => roleNamed(guild, role).id) });
  }
}
