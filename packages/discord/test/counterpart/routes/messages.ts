// REST: messages, pins, polls and typing.
import { GatewayDispatchEvents, MessageFlags } from 'discord-api-types/v10';
import { createMessage, deleteMessage, editMessage, tell } from '../activity/messages.ts';
import { startTyping } from '../activity/typing.ts';
import type { Call, Routes } from '../http/call.ts';
import type { MessageBody } from '../rules/message-rules.ts';
import {
  archivedThread,
  cannotReachUser,
  cannotReplyUnread,
  invalidForm,
  othersMessage,
  tooManyPins,
  unknownMessage,
} from '../state/api-error.ts';
import { can, demand, sendPermission } from '../state/permissions.ts';
import type { Channel, StoredMessage } from '../state/records.ts';
import { messageJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';

const PINS = 50;

export function messageRoutes(world: World): Routes {
  const channelOf = (call: Call) => world.channel(call.param('channel'));
  const messageOf = (call: Call) => world.message(channelOf(call), call.param('message'));
  const ownMessageOf = (call: Call) => {
    const message = messageOf(call);
    if (message.author.id !== world.bot.id) throw othersMessage();
    return message;
  };

  return {
    'GET /channels/:channel/messages': (call) => {
      const channel = channelOf(call);
      demand(world, channel, 'ReadMessageHistory');
      return page(channel, call.query).map((message) => messageJson(world, message));
    },
    'GET /channels/:channel/messages/:message': (call) => {
      demand(world, channelOf(call), 'ReadMessageHistory');
      return messageJson(world, messageOf(call));
    },
    'POST /channels/:channel/messages': (call) => {
      const channel = channelOf(call);
      const body = call.json<MessageBody>();
      demandSending(world, { channel, body, files: call.files.length });
      return messageJson(world, createMessage(world, { channel, author: world.bot, body, files: call.files }));
    },
    'PATCH /channels/:channel/messages/:message': (call) => {
      demand(world, channelOf(call));
      if (channelOf(call).thread?.archived) throw archivedThread();
      const message = ownMessageOf(call);
      return messageJson(world, editMessage(world, message, { body: call.json(), files: call.files }));
    },
    'DELETE /channels/:channel/messages/:message': (call) => {
      const channel = channelOf(call);
      const message = messageOf(call);
      const own = message.author.id === world.bot.id;
      demand(world, channel, ...(own ? [] : (['ManageMessages'] as const)));
      deleteMessage(world, message);
      return undefined;
    },
    'POST /channels/:channel/messages/bulk-delete': (call) => {
      const channel = channelOf(call);
      demand(world, channel, 'ManageMessages');
      for (const id of call.json<{ messages: string[] }>().messages) deleteMessage(world, world.message(channel, id));
      return undefined;
    },
    'POST /channels/:channel/typing': (call) => {
      const channel = channelOf(call);
      demand(world, channel, sendPermission(channel));
      startTyping(world, channel, world.bot);
      return undefined;
    },
    'GET /channels/:channel/messages/pins': (call) => ({
      items: pinned(channelOf(call)).map((message) => ({
        pinned_at: new Date(message.createdAt).toISOString(),
        message: messageJson(world, message),
      })),
      has_more: false,
    }),
    'PUT /channels/:channel/messages/pins/:message': (call) => {
      demand(world, channelOf(call), 'PinMessages');
      if (pinned(channelOf(call)).length >= PINS) throw tooManyPins();
      return setPinned(world, messageOf(call), true);
    },
    'DELETE /channels/:channel/messages/pins/:message': (call) => {
      demand(world, channelOf(call), 'PinMessages');
      return setPinned(world, messageOf(call), false);
    },
    'POST /channels/:channel/polls/:message/expire': (call) => {
      const message = ownMessageOf(call);
      if (!message.poll) throw unknownMessage();
      message.poll = { ...message.poll, results: { is_finalized: true, answer_counts: counts(world, message) } };
      tell(world, message, GatewayDispatchEvents.MessageUpdate);
      return messageJson(world, message);
    },
    'GET /channels/:channel/polls/:message/answers/:answer': (call) => ({
      users: [...(messageOf(call).votes.get(Number(call.param('answer'))) ?? [])].map((id) => world.user(id)),
    }),
  };
}

function demandSending(
  world: World,
  { channel, body, files }: { channel: Channel; body: MessageBody; files: number },
): void {
  demand(world, channel, sendPermission(channel));
  if (channel.thread?.locked) throw archivedThread();
  if (channel.recipient && world.closedDms.has(channel.recipient.id)) throw cannotReachUser();
  if (files > 0) demand(world, channel, 'AttachFiles');
  if (body.embeds?.length) demand(world, channel, 'EmbedLinks');
  if (body.poll) demand(world, channel, 'SendPolls');
  if (((body.flags ?? 0) & MessageFlags.Ephemeral) !== 0) {
    throw invalidForm({ flags: 'MESSAGE_FLAGS_INVALID: Only answers to interactions can be ephemeral.' });
  }
  const mayRead = can(world, { userId: world.bot.id, channel, permission: 'ReadMessageHistory' });
  if (body.message_reference && !mayRead) throw cannotReplyUnread();
}

const visible = (channel: Channel) =>
  [...channel.messages.values()].filter((message) => message.deletedAt === undefined && !message.onlyFor);

const pinned = (channel: Channel) => visible(channel).filter((message) => message.pinned);

/** Newest first, as Discord lists them. */
function page(channel: Channel, query: URLSearchParams): StoredMessage[] {
  const limit = Number(query.get('limit') ?? 50);
  if (!(limit >= 1 && limit <= 100)) {
    throw invalidForm({ limit: 'NUMBER_TYPE_MAX: int value should be between 1 and 100.' });
  }
  const bound = (name: string) => (query.has(name) ? BigInt(query.get(name) ?? 0) : undefined);
  const [before, after, around] = [bound('before'), bound('after'), bound('around')];
  const all = visible(channel).reverse();
  if (around !== undefined) {
    const middle = all.findIndex(({ id }) => BigInt(id) <= around);
    const start = Math.max(0, (middle < 0 ? all.length : middle) - Math.floor(limit / 2));
    return all.slice(start, start + limit);
  }
  if (after !== undefined) return all.filter(({ id }) => BigInt(id) > after).slice(-limit);
  return all.filter(({ id }) => before === undefined || BigInt(id) < before).slice(0, limit);
}

function setPinned(world: World, message: StoredMessage, to: boolean): undefined {
  message.pinned = to;
  tell(world, message, GatewayDispatchEvents.MessageUpdate);
}

function counts(world: World, { votes }: StoredMessage) {
  return [...votes].map(([id, users]) => ({ id, count: users.size, me_voted: users.has(world.bot.id) }));
}
