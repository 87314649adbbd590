// A person: writes, reacts, and uses commands, buttons, menus and modals.
import {
  AllowedMentionsTypes,
  type APIUser,
  ApplicationCommandType,
  ButtonStyle,
  ComponentType,
  GatewayDispatchEvents,
  InteractionType,
} from 'discord-api-types/v10';
import { startInteraction } from '../activity/interactions.ts';
import { createMessage, deleteMessage, editMessage } from '../activity/messages.ts';
import { addReaction, removeReaction } from '../activity/reactions.ts';
import { joinThread, startThread } from '../activity/threads.ts';
import { startTyping } from '../activity/typing.ts';
import { flatten, isSelect, type WireComponent } from '../rules/component-rules.ts';
import { can, sendPermission } from '../state/permissions.ts';
import type { Channel, StoredCommand, StoredMessage, UploadedFile } from '../state/records.ts';
import { messageJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';
import { commandData, nothingResolved, type OptionValue, resolveUser } from './command-data.ts';
import { pickedValues, submittedModal } from './component-data.ts';
import { offeredCommand } from './offered-command.ts';
import { Used } from './used.ts';

/** A channel, its id, or its name; `Guild 2/general` when several guilds have one of that name. */
export type ChannelRef = string | Channel;

export interface Said {
  replyTo?: StoredMessage;
  /** Whether the reply notifies the author, like the switch in Discord's client. */
  pingReply?: boolean;
  attachments?: UploadedFile[];
}

interface CommandUse {
  channel: ChannelRef;
  options?: Record<string, OptionValue>;
}

const EVERYBODY = [AllowedMentionsTypes.User, AllowedMentionsTypes.Role, AllowedMentionsTypes.Everyone];

export class Person {
  readonly user: APIUser;
  readonly #world: World;
  readonly #find: (ref: ChannelRef) => Channel;

  constructor(world: World, user: APIUser, find: (ref: ChannelRef) => Channel) {
    this.#world = world;
    this.user = user;
    this.#find = find;
  }

  get id(): string {
    return this.user.id;
  }

  /** The mention of this person in a text. */
  get mention(): string {
    return `<@${this.user.id}>`;
  }

  /** The direct messages with the bot. */
  get dm(): Channel {
    return this.#world.directChannel(this.user);
  }

  say(where: ChannelRef, text: string, { replyTo, pingReply = true, attachments = [] }: Said = {}): StoredMessage {
    const channel = this.#enter(where);
    if (!can(this.#world, { userId: this.id, channel, permission: sendPermission(channel) })) {
      throw new Error(`${this.user.username} cannot send messages in #${channel.name}.`);
    }
    channel.thread?.members.add(this.id);
    return createMessage(this.#world, {
      channel,
      author: this.user,
      files: attachments,
      body: {
        content: text,
        ...(replyTo && { message_reference: { message_id: replyTo.id } }),
        allowed_mentions: { parse: EVERYBODY, replied_user: pingReply },
      },
    });
  }

  forward(message: StoredMessage, where: ChannelRef): StoredMessage {
    return createMessage(this.#world, {
      channel: this.#enter(where),
      author: this.user,
      forwarded: message,
      body: {},
    });
  }

  edit(message: StoredMessage, text: string): StoredMessage {
    return editMessage(this.#world, this.#own(message), { body: { content: text } });
  }

  delete(message: StoredMessage): void {
    deleteMessage(this.#world, this.#own(message));
  }

  startTyping(where: ChannelRef): void {
    startTyping(this.#world, this.#enter(where), this.user);
  }

  react(message: StoredMessage, emoji: string): void {
    addReaction(this.#world, { message, user: this.user, emoji });
  }

  unreact(message: StoredMessage, emoji: string): void {
    removeReaction(this.#world, { message, user: this.user, emoji });
  }

  vote(message: StoredMessage, answerId: number): void {
    if (!message.poll?.answers.some((answer) => answer.answer_id === answerId)) {
      throw new Error(`The poll has no answer ${answerId}.`);
    }
    const channel = this.#enter(message.channelId);
    message.votes.set(answerId, (message.votes.get(answerId) ?? new Set()).add(this.id));
    this.#world.dispatch({
      event: GatewayDispatchEvents.MessagePollVoteAdd,
      data: {
        user_id: this.id,
        channel_id: channel.id,
        message_id: message.id,
        answer_id: answerId,
        guild_id: channel.guildId,
      },
      guildId: channel.guildId,
      channel,
    });
  }

  /** Starts a thread in a channel, or under a message. */
  thread(under: ChannelRef | StoredMessage, name: string, { isPrivate = false } = {}): Channel {
    const from = typeof under === 'object' && 'author' in under ? under : undefined;
    const parent = this.#enter(typeof under === 'object' && 'author' in under ? under.channelId : under);
    return startThread(this.#world, { parent, name, ownerId: this.id, isPrivate, ...(from && { from }) });
  }

  /** Adds a user to a thread, by default the bot. */
  invite(thread: Channel, user: APIUser = this.#world.bot): void {
    joinThread(this.#world, this.#enter(thread), user.id);
  }

  /** `/ask`, `/setup channels add`: the names of subcommands follow after spaces. */
  command(line: string, { channel: where, options = {} }: CommandUse): Used {
    const { channel, command, path } = this.#commandLine(line, where);
    const data = commandData(this.#world, { command, path, options, channel });
    return this.#start({ type: InteractionType.ApplicationCommand, channel, data, commandName: `/${line}` });
  }

  /** Types into one option and requests autocomplete. */
  complete(line: string, { channel: where, options = {}, focused }: CommandUse & { focused: string }): Used {
    const { channel, command, path } = this.#commandLine(line, where);
    const data = commandData(this.#world, { command, path, options, channel, focused });
    const type = InteractionType.ApplicationCommandAutocomplete;
    return this.#start({ type, channel, data, commandName: `/${line}` });
  }

  /** A command from the menu of a message. */
  messageCommand(name: string, message: StoredMessage): Used {
    const channel = this.#enter(message.channelId);
    const { json } = this.#offered(name, channel, ApplicationCommandType.Message);
    const resolved = { messages: { [message.id]: messageJson(this.#world, message) } };
    const data = { id: json.id, name, type: json.type, target_id: message.id, resolved };
    return this.#start({ type: InteractionType.ApplicationCommand, channel, data, commandName: name });
  }

  /** A command from the menu of a user. */
  userCommand(name: string, target: Person, where: ChannelRef): Used {
    const channel = this.#enter(where);
    const { json } = this.#offered(name, channel, ApplicationCommandType.User);
    const resolved = nothingResolved();
    resolveUser(this.#world, { user: target.user, channel, resolved });
    const data = { id: json.id, name, type: json.type, target_id: target.id, resolved };
    return this.#start({ type: InteractionType.ApplicationCommand, channel, data, commandName: name });
  }

  /** By the text on the button or by its custom id. */
  click(message: StoredMessage, button: string): Used {
    const component = this.#component(message, {
      fits: ({ type, label, custom_id }) => type === ComponentType.Button && (label === button || custom_id === button),
      named: `button "${button}"`,
    });
    if (component.style === ButtonStyle.Link) throw new Error(`The button "${button}" is a link.`);
    return this.#use(message, { component_type: component.type, custom_id: component.custom_id });
  }

  /** By the custom id of the menu; values of a text menu, else names or ids of users, roles or channels. */
  pick(message: StoredMessage, menu: string, values: string[]): Used {
    const select = this.#component(message, {
      fits: (component) => isSelect(component) && component.custom_id === menu,
      named: `menu "${menu}"`,
    });
    const channel = this.#enter(message.channelId);
    const picked = pickedValues(this.#world, { select, values, channel });
    return this.#use(message, { component_type: select.type, custom_id: menu, ...picked });
  }

  /** Fills the modal that came back from `used` and sends it. */
  async submit(used: Used, fields: Record<string, string | string[]>): Promise<Used> {
    const modal = await used.modal();
    const { channel, source } = used.interaction;
    const data = submittedModal(modal, fields);
    return this.#start({ type: InteractionType.ModalSubmit, channel, data, source });
  }

  /** Ephemeral messages for this person, in all channels or one. */
  ephemeral(where?: ChannelRef): StoredMessage[] {
    const channels = where === undefined ? [...this.#world.channels.values()] : [this.#find(where)];
    return channels.flatMap(({ messages }) => [...messages.values()].filter(({ onlyFor }) => onlyFor === this.id));
  }

  #start(start: Omit<Parameters<typeof startInteraction>[1], 'user'>): Used {
    return new Used(this.#world, startInteraction(this.#world, { ...start, user: this.user }));
  }

  #use(message: StoredMessage, data: object): Used {
    const channel = this.#enter(message.channelId);
    return this.#start({ type: InteractionType.MessageComponent, channel, data, source: message });
  }

  #enter(where: ChannelRef): Channel {
    const channel = this.#find(where);
    if (!can(this.#world, { userId: this.id, channel, permission: 'ViewChannel' })) {
      throw new Error(`${this.user.username} cannot see #${channel.name}.`);
    }
    return channel;
  }

  #own(message: StoredMessage): StoredMessage {
    if (message.author.id === this.id) return message;
    throw new Error(`${this.user.username} is not the author of that message.`);
  }

  #component(
    message: StoredMessage,
    { fits, named }: { fits: (component: WireComponent) => boolean; named: string },
  ): WireComponent {
    const seen = message.deletedAt === undefined && (message.onlyFor ?? this.id) === this.id;
    const components: WireComponent[] = message.components;
    const component = seen ? flatten(components).find(fits) : undefined;
    if (!component) throw new Error(`${this.user.username} sees no ${named} on the message "${message.content}".`);
    if (component.disabled) throw new Error(`The ${named} is disabled.`);
    return component;
  }

  #offered(name: string, channel: Channel, type: ApplicationCommandType): StoredCommand {
    return offeredCommand(this.#world, { user: this.user, name, channel, type });
  }

  #commandLine(line: string, where: ChannelRef): { channel: Channel; command: StoredCommand; path: string[] } {
    const channel = this.#enter(where);
    const [name = '', ...path] = line.replace(/^\//, '').split(' ');
    return { channel, command: this.#offered(name, channel, ApplicationCommandType.ChatInput), path };
  }
}
