// The state of a local Discord, and its events for the gateway and for tests.
import { type APIUser, ChannelType, type GatewayDispatchEvents } from 'discord-api-types/v10';
import { unknownChannel, unknownGuild, unknownMessage, unknownUser } from './api-error.ts';
import type {
  Channel,
  Guild,
  StoredCommand,
  StoredFile,
  StoredInteraction,
  StoredMessage,
  TypingRecord,
  UploadedFile,
} from './records.ts';
import { Snowflakes } from './snowflake.ts';

/** A gateway event; guild and channel decide who gets it. */
export interface Dispatch {
  event: GatewayDispatchEvents;
  data: object;
  guildId?: string | undefined;
  channel?: Channel | undefined;
}

/** A change that a person would see. */
export interface Sight {
  kind: 'message' | 'edit' | 'delete' | 'typing' | 'reaction' | 'modal' | 'failed';
  channel: Channel;
  message?: StoredMessage;
  user?: APIUser;
  interaction?: StoredInteraction;
}

interface WorldLimits {
  interactionTimeoutMs: number;
  interactionTokenMs: number;
  maxFileBytes: number;
  /** Whether people can install the app for themselves. */
  hasUserInstall: boolean;
}

export class World {
  readonly ids = new Snowflakes(() => this.now());
  readonly bot: APIUser;
  readonly limits: WorldLimits;
  readonly users = new Map<string, APIUser>();
  readonly guilds = new Map<string, Guild>();
  readonly channels = new Map<string, Channel>();
  readonly commands = new Map<string, StoredCommand>();
  readonly interactions = new Map<string, StoredInteraction>();
  readonly files = new Map<string, StoredFile>();
  readonly typing: TypingRecord[] = [];
  /** Users who have installed the app for themselves. */
  readonly installedBy = new Set<string>();
  /** Users who do not accept direct messages of the bot. */
  /** URLs that were fetched for previews, in order. */
  readonly previews: string[] = [];
  readonly closedDms = new Set<string>();
  /** Base URL of files; set when the server listens. */
  cdnUrl = '';
  /** Offset of this clock from the machine's. */
  aheadMs = 0;
  readonly #dispatchListeners = new Set<(dispatch: Dispatch) => void>();
  readonly #sightListeners = new Set<(sight: Sight) => void>();
  readonly #changeListeners = new Set<() => void>();

  constructor({ botName, limits }: { botName: string; limits: WorldLimits }) {
    this.limits = limits;
    this.bot = this.addUser({ name: botName, bot: true });
  }

  now(): number {
    return Date.now() + this.aheadMs;
  }

  addUser({ name, bot = false, globalName }: { name: string; bot?: boolean; globalName?: string }): APIUser {
    const user: APIUser = {
      id: this.ids.seeded(),
      username: name,
      discriminator: '0',
      global_name: globalName ?? null,
      avatar: null,
      bot,
    };
    this.users.set(user.id, user);
    return user;
  }

  user(id: string): APIUser {
    const user = this.users.get(id);
    if (!user) throw unknownUser();
    return user;
  }

  guild(id: string): Guild {
    const guild = this.guilds.get(id);
    if (!guild) throw unknownGuild();
    return guild;
  }

  guildOf(channel: Channel): Guild | undefined {
    return channel.guildId === undefined ? undefined : this.guild(channel.guildId);
  }

  channel(id: string): Channel {
    const channel = this.channels.get(id);
    if (!channel) throw unknownChannel();
    return channel;
  }

  /** Whether the bot is a member of the guild, or the channel is its direct messages with a person. */
  hasBot(channel: Channel): boolean {
    const guild = this.guildOf(channel);
    return guild ? guild.members.has(this.bot.id) : channel.people === undefined;
  }

  channelsOf(guild: Guild): Channel[] {
    return [...this.channels.values()].filter((channel) => channel.guildId === guild.id);
  }

  /** A message that exists and is not ephemeral. */
  message(channel: Channel, id: string): StoredMessage {
    const message = channel.messages.get(id);
    if (!message || message.deletedAt !== undefined || message.onlyFor !== undefined) throw unknownMessage();
    return message;
  }

  directChannel(user: APIUser): Channel {
    for (const channel of this.channels.values()) if (channel.recipient?.id === user.id) return channel;
    return this.addChannel({ type: ChannelType.DM, name: `@${user.username}`, recipient: user });
  }

  addChannel(details: Partial<Channel> & Pick<Channel, 'type' | 'name'>): Channel {
    const channel: Channel = {
      id: this.ids.seeded(),
      position: this.channels.size,
      topic: null,
      nsfw: false,
      overwrites: [],
      messages: new Map(),
      ...details,
    };
    this.channels.set(channel.id, channel);
    return channel;
  }

  addFile(file: UploadedFile): StoredFile {
    const stored = { ...file, id: this.ids.next() };
    this.files.set(stored.id, stored);
    return stored;
  }

  dispatch(dispatch: Dispatch): void {
    for (const listener of this.#dispatchListeners) listener(dispatch);
    this.changed();
  }

  show(sight: Sight): void {
    for (const listener of this.#sightListeners) listener(sight);
    this.changed();
  }

  changed(): void {
    for (const listener of [...this.#changeListeners]) listener();
  }

  onDispatch(listener: (dispatch: Dispatch) => void): () => void {
    return subscribe(this.#dispatchListeners, listener);
  }

  onSight(listener: (sight: Sight) => void): () => void {
    return subscribe(this.#sightListeners, listener);
  }

  onChange(listener: () => void): () => void {
    return subscribe(this.#changeListeners, listener);
  }
}

function subscribe<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
