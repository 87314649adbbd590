// Converts records to Discord's JSON.
import {
  type APIApplication,
  type APIAttachment,
  type APIGuildMember,
  type APIMessage,
  type APIReaction,
  type APIUser,
  ApplicationFlags,
  MessageReferenceType,
} from 'discord-api-types/v10';
import { can } from './permissions.ts';
import type { Channel, Guild, Member, StoredFile, StoredMessage } from './records.ts';
import type { World } from './world.ts';

const NO_FLAGS: number = 0;

export function memberJson(member: Member): APIGuildMember {
  const { user, nick, roles, joinedAt } = member;
  return {
    user,
    nick,
    roles,
    joined_at: joinedAt,
    avatar: null,
    premium_since: null,
    deaf: false,
    mute: false,
    flags: NO_FLAGS,
  };
}

/** A member without its user, for places where the user is separate. */
export function memberWithoutUser(member: Member): Omit<APIGuildMember, 'user'> {
  const { user: _, ...rest } = memberJson(member);
  return rest;
}

export function applicationJson(world: World): Partial<APIApplication> {
  return {
    id: world.bot.id,
    name: world.bot.username,
    description: '',
    icon: null,
    bot: world.bot,
    bot_public: false,
    bot_require_code_grant: false,
    verify_key: '',
    team: null,
    integration_types_config: { 0: {}, ...(world.limits.hasUserInstall && { 1: {} }) },
    flags: ApplicationFlags.GatewayMessageContent | ApplicationFlags.GatewayGuildMembers,
  };
}

export function channelJson(world: World, channel: Channel): object {
  const { id, type, name, thread } = channel;
  const last = [...channel.messages.keys()].at(-1) ?? null;
  if (channel.people) return { id, type, name, last_message_id: last, recipients: channel.people, flags: 0 };
  if (channel.recipient) return { id, type, last_message_id: last, recipients: [channel.recipient], flags: 0 };
  const common = {
    id,
    type,
    name,
    guild_id: channel.guildId,
    parent_id: channel.parentId ?? null,
    last_message_id: last,
    rate_limit_per_user: 0,
    flags: 0,
  };
  if (!thread) {
    const { position, topic, nsfw, overwrites } = channel;
    return { ...common, position, topic, nsfw, permission_overwrites: overwrites };
  }
  return {
    ...common,
    owner_id: thread.ownerId,
    message_count: channel.messages.size,
    total_message_sent: channel.messages.size,
    member_count: thread.members.size,
    thread_metadata: {
      archived: thread.archived,
      locked: thread.locked,
      invitable: thread.invitable,
      auto_archive_duration: thread.autoArchiveMinutes,
      archive_timestamp: thread.archivedAt,
      create_timestamp: thread.archivedAt,
    },
    ...(thread.members.has(world.bot.id) && { member: threadMemberJson(channel, world.bot.id) }),
  };
}

export function threadMemberJson(thread: Channel, userId: string): object {
  return { id: thread.id, user_id: userId, join_timestamp: thread.thread?.archivedAt, flags: 0 };
}

export function guildJson(guild: Guild): object {
  return {
    id: guild.id,
    name: guild.name,
    owner_id: guild.ownerId,
    icon: null,
    splash: null,
    banner: null,
    description: null,
    roles: [...guild.roles.values()],
    emojis: [],
    stickers: [],
    features: [],
    afk_channel_id: null,
    afk_timeout: 300,
    system_channel_id: null,
    system_channel_flags: 0,
    rules_channel_id: null,
    public_updates_channel_id: null,
    safety_alerts_channel_id: null,
    application_id: null,
    verification_level: 0,
    default_message_notifications: 0,
    explicit_content_filter: 0,
    mfa_level: 0,
    nsfw_level: 0,
    premium_tier: 0,
    premium_subscription_count: 0,
    premium_progress_bar_enabled: false,
    preferred_locale: 'en-US',
    vanity_url_code: null,
  };
}

/** GUILD_CREATE: everything that the bot can see in a guild. */
export function wholeGuildJson(world: World, guild: Guild, { members }: { members: Member[] }): object {
  const visible = world
    .channelsOf(guild)
    .filter((channel) => can(world, { userId: world.bot.id, channel, permission: 'ViewChannel' }));
  return {
    ...guildJson(guild),
    joined_at: guild.members.get(world.bot.id)?.joinedAt,
    large: false,
    unavailable: false,
    member_count: guild.members.size,
    members: members.map(memberJson),
    channels: visible.filter(({ thread }) => !thread).map((channel) => channelJson(world, channel)),
    threads: visible.filter(({ thread }) => thread && !thread.archived).map((channel) => channelJson(world, channel)),
    voice_states: [],
    presences: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  };
}

export function attachmentJson(world: World, channelId: string, file: StoredFile): APIAttachment {
  const url = `${world.cdnUrl}/attachments/${channelId}/${file.id}/${encodeURIComponent(file.name)}`;
  return {
    id: file.id,
    filename: file.name,
    size: file.bytes.length,
    url,
    proxy_url: url,
    // Discord omits it for unknown files
    ...(file.contentType !== '' && { content_type: file.contentType }),
    ...(file.description !== undefined && { description: file.description }),
  };
}

/** The emoji of a reaction: `👍`, or `name:id` for one of a guild. */
export function emojiJson(emoji: string): { id: string | null; name: string } {
  const [name = emoji, id = null] = emoji.split(':');
  return { id, name };
}

function reactionJson(world: World, emoji: string, userIds: Set<string>): APIReaction {
  return {
    emoji: emojiJson(emoji),
    count: userIds.size,
    count_details: { burst: 0, normal: userIds.size },
    me: userIds.has(world.bot.id),
    me_burst: false,
    burst_colors: [],
  };
}

/** The message for all readers; `nested` omits the replied-to message. */
export function messageJson(world: World, message: StoredMessage, { nested = false } = {}): APIMessage {
  const channel = world.channel(message.channelId);
  const { interaction, replyTo } = message;
  const replied = replyTo && world.channels.get(replyTo.channelId)?.messages.get(replyTo.messageId);
  const started = world.channels.get(message.id);
  return {
    id: message.id,
    channel_id: message.channelId,
    type: message.type,
    author: message.author,
    content: message.content,
    timestamp: new Date(message.createdAt).toISOString(),
    edited_timestamp: message.editedAt === undefined ? null : new Date(message.editedAt).toISOString(),
    tts: false,
    mention_everyone: message.mentioned.everyone,
    mentions: message.mentioned.users.map((id) => world.user(id)),
    mention_roles: message.mentioned.roles,
    attachments: message.files.map((file) => attachmentJson(world, message.channelId, file)),
    embeds: message.embeds,
    components: message.components,
    reactions: [...message.reactions].map(([emoji, userIds]) => reactionJson(world, emoji, userIds)),
    pinned: message.pinned,
    flags: message.flags,
    ...(message.nonce !== undefined && { nonce: message.nonce }),
    ...(message.poll && { poll: message.poll }),
    ...(started?.thread && { thread: Object(channelJson(world, started)) }),
    ...(replyTo && {
      message_reference: {
        type: 0,
        message_id: replyTo.messageId,
        channel_id: replyTo.channelId,
        ...(channel.guildId !== undefined && { guild_id: channel.guildId }),
      },
    }),
    ...(replyTo &&
      !nested && {
        referenced_message:
          replied && replied.deletedAt === undefined ? messageJson(world, replied, { nested: true }) : null,
      }),
    ...(message.forwarded && forwardJson(world, message.forwarded)),
    ...(interaction && {
      application_id: world.bot.id,
      webhook_id: world.bot.id,
      interaction_metadata: Object({
        id: interaction.id,
        type: interaction.type,
        user: interaction.user,
        authorizing_integration_owners: {},
      }),
    }),
  };
}

/** A forward has no own text but a copy of the message without its author. */
function forwardJson(
  world: World,
  message: StoredMessage,
): Pick<APIMessage, 'message_reference' | 'message_snapshots'> {
  const { author: _, id, channel_id, ...snapshot } = messageJson(world, message, { nested: true });
  return {
    message_reference: { type: MessageReferenceType.Forward, message_id: id, channel_id },
    message_snapshots: [{ message: snapshot }],
  };
}

/** The fields that the gateway adds: guild, and members of the users. */
export function messageEventJson(world: World, message: StoredMessage): APIMessage & { mentions: APIUser[] } {
  const channel = world.channel(message.channelId);
  const guild = world.guildOf(channel);
  const json = { ...messageJson(world, message), channel_type: channel.type };
  if (!guild) return json;
  const author = guild.members.get(message.author.id);
  return {
    ...json,
    ...{ guild_id: guild.id, ...(author && { member: memberWithoutUser(author) }) },
    mentions: json.mentions.map((user) => {
      const member = guild.members.get(user.id);
      return member ? { ...user, member: memberWithoutUser(member) } : user;
    }),
  };
}
