// A channel of Discord in which people approve calls. Messages by bots and webhooks do not count as answers.
import type { Chat, SentMessage } from './chat-desk.ts';
import { RestApi } from './rest.ts';

/** Where a gateway asks on Discord. */
export interface DiscordApprovals {
  /** The token of a bot that can read and write in the channel. */
  token: string;
  /** The id of the channel. */
  channel: string;
  /** The ids of the users who may answer. Default: everybody who can write in the channel. */
  approvers?: readonly string[];
  /** How often replies are polled while a question is open, in milliseconds. Default 2,000. */
  pollMs?: number;
  /** The address of the REST API. Default https://discord.com/api/v10. */
  url?: string;
}

interface Message {
  id: string;
  timestamp: string;
  content: string;
  author: { id: string; bot?: boolean };
  webhook_id?: string;
  message_reference?: { message_id?: string };
}

const PAGE = 100;

export function discordChat({ token, channel, url = 'https://discord.com/api/v10' }: DiscordApprovals): Chat {
  const api = new RestApi(url, `Bot ${token}`);
  const path = `/channels/${encodeURIComponent(channel)}/messages`;
  // mentions inside a quoted call must not notify people
  const withoutMentions = (content: string) => ({ content, allowed_mentions: { parse: [] } });
  /** The newest message that was read. */
  let read = 0n;
  return {
    name: 'Discord',
    maxLength: 2_000,
    async send(text): Promise<SentMessage> {
      const { id, timestamp } = await api.request<Message>({ method: 'POST', path, json: withoutMentions(text) });
      return { id, at: Date.parse(timestamp) };
    },
    async find(text, before) {
      const { id: me } = await api.request<{ id: string }>({ method: 'GET', path: '/users/@me' });
      const messages = await api.request<Message[]>({ method: 'GET', path: `${path}?limit=${PAGE}` });
      const found = messages.find(
        ({ author, content, timestamp }) => author.id === me && content === text && Date.parse(timestamp) < before,
      );
      return found && { id: found.id, at: Date.parse(found.timestamp) };
    },
    async edit(id, text) {
      await api.request({ method: 'PATCH', path: `${path}/${id}`, json: withoutMentions(text) });
    },
    async reply(to, text) {
      const reference = { message_reference: { message_id: to, fail_if_not_exists: false } };
      await api.request({ method: 'POST', path, json: { ...withoutMentions(text), ...reference } });
    },
    async replies(open) {
      const oldest = open.map(({ id }) => BigInt(id)).reduce((one, other) => (one < other ? one : other));
      const after = read > oldest ? read : oldest;
      const messages = await api.request<Message[]>({ method: 'GET', path: `${path}?after=${after}&limit=${PAGE}` });
      messages.sort((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
      const last = messages.at(-1);
      if (last) read = BigInt(last.id);
      return messages.flatMap(({ id, author, content: text, message_reference: reference, webhook_id: webhook }) => {
        const to = reference?.message_id;
        return author.bot || webhook !== undefined || to === undefined ? [] : [{ id, to, who: author.id, text }];
      });
    },
    close: () => api.close(),
  };
}
