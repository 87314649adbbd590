// A channel of Mattermost in which people approve calls. Posts by bots and webhooks do not count as answers.
import type { Chat, ChatReply, SentMessage } from './chat-desk.ts';
import { RestApi } from './rest.ts';

/** Where a gateway asks on Mattermost. */
export interface MattermostApprovals {
  /** The address of the server, such as https://chat.example.com. */
  url: string;
  /** The token of a bot account that is a member of the channel. */
  token: string;
  /** The id of the channel. */
  channel: string;
  /** The user names of those who may answer. Default: everybody who can write in the channel. */
  approvers?: readonly string[];
  /** How often replies are polled while a question is open, in milliseconds. Default 2,000. */
  pollMs?: number;
}

interface Post {
  id: string;
  user_id: string;
  create_at: number;
  delete_at?: number;
  root_id?: string;
  message: string;
  type?: string;
  props?: Record<string, unknown> | null;
}

interface User {
  id: string;
  username: string;
  is_bot?: boolean;
}

const PAGE = 200;

export function mattermostChat({ url, token, channel }: MattermostApprovals): Chat {
  /** The account of the gateway, as soon as it has posted: an account of a person is not marked as a bot. */
  let self: string | undefined;
  const api = new RestApi(`${url.replace(/\/+$/, '')}/api/v4`, `Bearer ${token}`);
  const post = async (message: string, root = '') => {
    const json = { channel_id: channel, message, root_id: root };
    const posted = await api.request<Post>({ method: 'POST', path: '/posts', json });
    self = posted.user_id;
    return posted;
  };
  return {
    name: 'Mattermost',
    maxLength: 16_000,
    async send(text): Promise<SentMessage> {
      const { id, create_at: at } = await post(text);
      return { id, at };
    },
    async find(text, before) {
      const { id: me } = await api.request<User>({ method: 'GET', path: '/users/me' });
      const path = `/channels/${encodeURIComponent(channel)}/posts?per_page=${PAGE}`;
      const { posts } = await api.request<{ posts: Record<string, Post> }>({ method: 'GET', path });
      const found = Object.values(posts).find(
        ({ user_id: user, message, create_at: at, delete_at: deleted }) =>
          user === me && message === text && at < before && !deleted,
      );
      if (found) self = me;
      return found && { id: found.id, at: found.create_at };
    },
    async edit(id, message) {
      await api.request({ method: 'PUT', path: `/posts/${id}/patch`, json: { message } });
    },
    async reply(to, text) {
      await post(text, to);
    },
    async replies(open) {
      const since = Math.min(...open.map(({ at }) => at));
      const path = `/channels/${encodeURIComponent(channel)}/posts?since=${since}`;
      const { posts } = await api.request<{ posts: Record<string, Post> }>({ method: 'GET', path });
      const roots = new Set(open.map(({ id }) => id));
      const replies = Object.values(posts)
        .filter(({ root_id: root = '', delete_at: deleted, type }) => roots.has(root) && !deleted && !type)
        .filter((each) => each.user_id !== self && !isFromProgram(each))
        .sort((one, other) => one.create_at - other.create_at);
      const people = await peopleOf(api, replies);
      return replies.flatMap(({ id, root_id: to = '', user_id: user, message: text }): ChatReply[] => {
        const who = people.get(user);
        return who === undefined ? [] : [{ id, to, who, text }];
      });
    },
    close: () => api.close(),
  };
}

/** The server sets these for bots and webhooks. */
function isFromProgram({ props }: Post): boolean {
  return ['from_bot', 'from_webhook'].some((name) => String(props?.[name]) === 'true');
}

/** User names by id, without bots. */
async function peopleOf(api: RestApi, posts: readonly Post[]): Promise<Map<string, string>> {
  const ids = [...new Set(posts.map(({ user_id: user }) => user))];
  if (ids.length === 0) return new Map();
  const users = await api.request<User[]>({ method: 'POST', path: '/users/ids', json: ids });
  return new Map(users.flatMap(({ id, username, is_bot: isBot }) => (isBot ? [] : [[id, username]])));
}
