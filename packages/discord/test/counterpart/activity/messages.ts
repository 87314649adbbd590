// Creates, changes and deletes messages for the bot, interactions and people.
import {
  type APIEmbed,
  type APIPoll,
  type APIUser,
  EmbedType,
  GatewayDispatchEvents,
  MessageFlags,
  MessageType,
  PollLayoutType,
  type RESTAPIMessageReference,
  type RESTAPIPoll,
} from 'discord-api-types/v10';
import { checkFiles, checkMessage, checkNotEmpty, type MessageBody } from '../rules/message-rules.ts';
import { invalidForm } from '../state/api-error.ts';
import type { Channel, StoredFile, StoredInteraction, StoredMessage, UploadedFile } from '../state/records.ts';
import { channelJson, messageEventJson, messageJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';
import { pingedBy } from './mentions.ts';
import { previewed } from './previews.ts';

interface NewMessage {
  channel: Channel;
  author: APIUser;
  body: MessageBody;
  files?: readonly UploadedFile[];
  interaction?: StoredInteraction;
  forwarded?: StoredMessage;
  /** Set by a deferred answer, which has no content yet. */
  loading?: boolean;
  type?: MessageType;
}

/** Discord says "a few minutes". */
const NONCE_MS = 180_000;

/** Flags that a sender may set. */
const SENDABLE =
  MessageFlags.SuppressEmbeds |
  MessageFlags.SuppressNotifications |
  MessageFlags.IsComponentsV2 |
  MessageFlags.IsVoiceMessage;

export function createMessage(world: World, draft: NewMessage): StoredMessage {
  const { channel, author, body, files = [], interaction, forwarded, loading = false } = draft;
  const again = repeated(world, draft);
  if (again) return again;
  checkMessage(body);
  checkFiles(files, world.limits.maxFileBytes);
  if (!loading) {
    const lists = [
      body.embeds,
      body.components,
      files,
      body.poll ? [body.poll] : [],
      body.sticker_ids,
      forwarded && [forwarded],
    ];
    checkNotEmpty({ content: body.content, lists });
  }
  const repliedTo = replyTarget(channel, body.message_reference);
  const ephemeral = interaction && ((body.flags ?? 0) & MessageFlags.Ephemeral) !== 0;
  const content = (body.content ?? '').trim();
  const now = world.now();
  const pinged = pingedBy(world, {
    channel,
    authorId: author.id,
    content,
    allowed: body.allowed_mentions,
    isAnswer: interaction !== undefined,
    repliedTo,
  });
  const message: StoredMessage = {
    id: world.ids.next(),
    channelId: channel.id,
    type: draft.type ?? (repliedTo ? MessageType.Reply : MessageType.Default),
    author,
    content,
    embeds: richEmbeds(body.embeds),
    components: body.components ?? [],
    files: files.map((file, index) => storedFile(world, file, body.attachments?.[index]?.description)),
    flags:
      ((body.flags ?? 0) & SENDABLE) | (loading ? MessageFlags.Loading : 0) | (ephemeral ? MessageFlags.Ephemeral : 0),
    createdAt: now,
    pinned: false,
    votes: new Map(),
    reactions: new Map(),
    pinged,
    mentioned: pinged,
    history: [],
    ...(body.nonce !== undefined && { nonce: body.nonce }),
    ...(body.poll && { poll: startedPoll(body.poll, now) }),
    ...(repliedTo && { replyTo: { messageId: repliedTo.id, channelId: repliedTo.channelId } }),
    ...(forwarded && { forwarded }),
    ...(interaction && { interaction }),
    ...(ephemeral && { onlyFor: interaction.user.id }),
  };
  remember(message);
  world.previews.push(...previewed(message));
  channel.messages.set(message.id, message);
  wakeThread(world, channel);
  tell(world, message, GatewayDispatchEvents.MessageCreate);
  world.show({ kind: 'message', channel, message });
  return message;
}

export function editMessage(
  world: World,
  message: StoredMessage,
  { body, files = [] }: { body: MessageBody; files?: readonly UploadedFile[] },
): StoredMessage {
  const merged = { ...body, flags: (body.flags ?? 0) | (message.flags & MessageFlags.IsComponentsV2) };
  checkMessage(merged);
  checkFiles(files, world.limits.maxFileBytes);
  const channel = world.channel(message.channelId);
  const kept = body.attachments
    ? message.files.filter((file) => body.attachments?.some(({ id }) => String(id) === file.id))
    : message.files;
  const fresh = files.map((file, index) => storedFile(world, file, body.attachments?.[index]?.description));
  const next = {
    content: body.content === undefined ? message.content : (body.content ?? '').trim(),
    embeds: body.embeds === undefined ? message.embeds : richEmbeds(body.embeds),
    components: body.components === undefined ? message.components : (body.components ?? []),
    files: [...kept, ...fresh],
  };
  const poll = body.poll ? startedPoll(body.poll, world.now()) : message.poll;
  checkNotEmpty({ content: next.content, lists: [next.embeds, next.components, next.files, poll ? [poll] : []] });
  Object.assign(message, next, { editedAt: world.now() });
  if (poll) message.poll = poll;
  // flags turn previews on or off; without flags they stay
  const cleared = MessageFlags.Loading | (body.flags == null ? 0 : MessageFlags.SuppressEmbeds);
  message.flags = (message.flags & ~cleared) | (merged.flags & SENDABLE);
  world.previews.push(...previewed(message));
  const repliedTo = message.replyTo && channel.messages.get(message.replyTo.messageId);
  message.mentioned = pingedBy(world, {
    channel,
    authorId: message.author.id,
    content: message.content,
    allowed: body.allowed_mentions,
    isAnswer: message.interaction !== undefined,
    repliedTo,
  });
  remember(message);
  tell(world, message, GatewayDispatchEvents.MessageUpdate);
  world.show({ kind: 'edit', channel, message });
  return message;
}

export function deleteMessage(world: World, message: StoredMessage): void {
  const channel = world.channel(message.channelId);
  message.deletedAt = world.now();
  if (!message.onlyFor) {
    world.dispatch({
      event: GatewayDispatchEvents.MessageDelete,
      data: {
        id: message.id,
        channel_id: channel.id,
        ...(channel.guildId !== undefined && { guild_id: channel.guildId }),
      },
      guildId: channel.guildId,
      channel,
    });
  }
  world.show({ kind: 'delete', channel, message });
}

/** Sends the new state over the gateway; an ephemeral message looks like a direct message, as with Discord. */
export function tell(world: World, message: StoredMessage, event: GatewayDispatchEvents): void {
  if (message.onlyFor !== undefined) {
    world.dispatch({ event, data: messageJson(world, message) });
    return;
  }
  const channel = world.channel(message.channelId);
  world.dispatch({ event, data: messageEventJson(world, message), guildId: channel.guildId, channel });
}

/** With `enforce_nonce` a message that is sent twice exists once, for some minutes. */
function repeated(world: World, { channel, author, body: { nonce, enforce_nonce } }: NewMessage) {
  if (!enforce_nonce || nonce === undefined) return undefined;
  const since = world.now() - NONCE_MS;
  return [...channel.messages.values()].find(
    (message) => message.nonce === nonce && message.author.id === author.id && message.createdAt > since,
  );
}

function replyTarget(channel: Channel, reference: RESTAPIMessageReference | undefined): StoredMessage | undefined {
  if (reference?.message_id === undefined) return undefined;
  const target = channel.messages.get(reference.message_id);
  if (target && target.deletedAt === undefined && !target.onlyFor) return target;
  if (reference.fail_if_not_exists === false) return undefined;
  throw invalidForm({ message_reference: 'REPLIES_UNKNOWN_MESSAGE: Unknown message' });
}

function remember(message: StoredMessage): void {
  const { content, embeds, components, files } = message;
  message.history.push({ at: message.editedAt ?? message.createdAt, content, embeds, components, files });
}

function richEmbeds(embeds: readonly APIEmbed[] | null | undefined): APIEmbed[] {
  return (embeds ?? []).map((embed) => ({ ...embed, type: EmbedType.Rich }));
}

function storedFile(world: World, file: UploadedFile, description: string | null | undefined): StoredFile {
  return world.addFile({ ...file, ...(description != null && { description }) });
}

function startedPoll(poll: RESTAPIPoll, now: number): APIPoll {
  return {
    question: poll.question,
    answers: poll.answers.map((answer, index) => ({ answer_id: index + 1, poll_media: answer.poll_media })),
    expiry: new Date(now + (poll.duration ?? 24) * 3_600_000).toISOString(),
    allow_multiselect: poll.allow_multiselect ?? false,
    layout_type: poll.layout_type ?? PollLayoutType.Default,
    results: { is_finalized: false, answer_counts: [] },
  };
}

function wakeThread(world: World, channel: Channel): void {
  if (!channel.thread?.archived) return;
  channel.thread.archived = false;
  world.dispatch({
    event: GatewayDispatchEvents.ThreadUpdate,
    data: channelJson(world, channel),
    guildId: channel.guildId,
    channel,
  });
}
