// Tools of the group `reading`: follow threads, read markers, acknowledgements.
import { z } from 'zod';
import type { ToolContext } from '../../account/account.ts';
import { isMattermostError, MattermostError } from '../../base/errors.ts';
import { path } from '../../client/path.ts';
import type { PostRecord, TeamRecord, ThreadRecord } from '../../client/records.ts';
import { changePost } from '../base/change-post.ts';
import { isoTime, omitEmpty } from '../base/compact.ts';
import { id, record } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';
import { explainUnsupported } from '../base/unsupported.ts';

const group = 'reading';
const tags = ['post', 'message'];
const ACKNOWLEDGEMENTS = { what: 'acknowledgements', version: '7.7', license: 'a Professional license' };

export const readingTools = [
  defineTool({
    name: 'update_thread',
    title: 'Follow or mark thread',
    description:
      'For this account: follow or leave a thread (following), mark it as read (read: true), or as unread from the given message on (read: false).',
    capability: 'write',
    effect: 'idempotent',
    tags,
    group,
    input: {
      post_id: id().describe('Any message of the thread'),
      following: z.boolean().optional(),
      read: z.boolean().optional(),
    },
    check({ following, read }) {
      if (following === undefined && read === undefined) return 'nothing to change; set following or read';
      return following === false && read !== undefined
        ? 'only followed threads can be marked; leave out following: false'
        : undefined;
    },
    output: record('root_id', 'ok', 'following', 'unread_replies', 'unread_mentions'),
    async run({ post_id, following, read }, context) {
      const { api } = context;
      await context.policy.requirePost(post_id, 'write');
      const post = await api.get<PostRecord>(path`/posts/${post_id}`);
      const root = post.root_id || post.id;
      const thread = path`/users/me/teams/${await teamOf(context, post)}/threads/${root}`;
      if (following === true) await api.put(`${thread}/following`);
      if (following === false) await api.delete(`${thread}/following`);
      const marked = read === undefined ? undefined : await markThread(context, { thread, post_id, read });
      const { unread_replies, unread_mentions } = marked ?? {};
      return { ok: true, root_id: root, ...definedOnly({ following, unread_replies, unread_mentions }) };
    },
  }),
  defineTool({
    name: 'mark_unread',
    title: 'Mark as unread',
    description:
      'Mark a channel as unread from a message on, for this account. For a reply use update_thread with read: false.',
    capability: 'write',
    effect: 'idempotent',
    tags: [...tags, 'channel'],
    group,
    input: { post_id: id() },
    output: record('channel_id', 'post_id', 'ok', 'last_viewed'),
    async run({ post_id }, context) {
      const { id: me } = await context.names.me();
      const { channel_id, last_viewed_at } = await changePost(context, post_id, ({ api }) =>
        api.post<{ channel_id?: string; last_viewed_at?: number }>(path`/users/${me}/posts/${post_id}/set_unread`, {
          collapsed_threads_supported: true,
        }),
      );
      return { ok: true, post_id, ...omitEmpty({ channel_id, last_viewed: isoTime(last_viewed_at) }) };
    },
  }),
  defineTool({
    name: 'acknowledge_message',
    title: 'Acknowledge message',
    description:
      'Acknowledge a message whose author asked for it (request_ack), or with acknowledged: false take that back within five minutes.',
    capability: 'write',
    effect: 'idempotent',
    tags,
    group,
    input: { post_id: id(), acknowledged: z.boolean().default(true) },
    output: record('post_id', 'ok', 'time'),
    async run({ post_id, acknowledged }, context) {
      const { id: me } = await context.names.me();
      const target = path`/users/${me}/posts/${post_id}/ack`;
      const saved = await explainUnsupported(
        ACKNOWLEDGEMENTS,
        changePost(
          context,
          post_id,
          ({ api }): Promise<{ acknowledged_at?: number }> => (acknowledged ? api.post(target) : api.delete(target)),
        ),
      );
      return { ok: true, post_id, ...omitEmpty({ time: isoTime(saved.acknowledged_at) }) };
    },
  }),
];

/** The team of the channel. Threads of direct and group channels belong to every team. */
async function teamOf({ api, names }: ToolContext, { channel_id }: PostRecord): Promise<string> {
  const { team_id } = await names.channel(channel_id ?? '');
  if (team_id) return team_id;
  const [team] = await api.list<TeamRecord>('/users/me/teams');
  if (team) return team.id;
  throw new MattermostError('ARGUMENTS_INVALID', 'This account is in no team, so it cannot follow threads.');
}

interface Mark {
  /** API path of the thread. */
  thread: string;
  post_id: string;
  read: boolean;
}

async function markThread({ api }: ToolContext, { thread, post_id, read }: Mark): Promise<ThreadRecord> {
  if (!read) return api.post(`${thread}${path`/set_unread/${post_id}`}`);
  try {
    return await api.put(`${thread}/read/${Date.now()}`);
  } catch (error) {
    if (!isMattermostError(error) || !error.errorId?.includes('thread_membership')) throw error;
    const text = 'This account does not follow that thread. Set following: true as well to mark it.';
    throw new MattermostError('ARGUMENTS_INVALID', text, { cause: error });
  }
}

function definedOnly(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
