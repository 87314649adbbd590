// Changes who and what is there while a bot looks on: people, guilds, channels and roles come and go.
import { type APIUser, GatewayDispatchEvents } from 'discord-api-types/v10';
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

  /** Somebody new, in all guilds unless they are named. */
  addUser(seed: UserSeed, guilds: Guild[] = [...this.#world.guilds.values()]): APIUser {
    const user = this.#world.addUser(seed);
    for (const guild of guilds) {
      const data = { ...memberJson(addMember(guild, user)), guild_id: guild.id };
      this.#world.dispatch({ event: GatewayDispatchEvents.GuildMemberAdd, data, guildId: guild.id });
    }
    return user;
  }

  /** A person who takes no direct messages from the bot (50007), or does again. */
  closeDms(user: { id: string }, closed = true): void {
    if (closed) this.#world.closedDms.add(user.id);
    else this.#world.closedDms.delete(user.id);
  }

  /** The addresses of all files stop working, as those of Discord do after a while. */
  expireFiles(): void {
    this.#world.files.clear();
  }

  /** Time goes by here, for what is forgotten after a while: nonces, and the tokens of interactions. */
  pass(ms: number): void {
    this.#world.aheadMs += ms;
  }

  /** The bot is invited to one more guild. */
  addGuild(seed?: GuildSeed): Guild {
    const guild = addGuild(this.#world, seed);
    this.#world.dispatch({ event: GatewayDispatchEvents.GuildCreate, data: {}, guildId: guild.id });
    return guild;
  }

  /** The bot is thrown out. */
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

  /** A thread that nobody wrote in for long is archived. */
  archive(thread: Channel): void {
    changeThread(this.#world, thread, { archived: true });
  }

  /** Gives a member exactly these roles, by name. */
  setRoles(guild: Guild, user: { id: string }, roles: string[]): void {
    const member = guild.members.get(user.id);
    if (!member) throw new Error(`There is no such member in "${guild.name}".`);
    setRoles(this.#world, guild, { member, roles: roles.map((role) => roleNamed(guild, role).id) });
  }
}
