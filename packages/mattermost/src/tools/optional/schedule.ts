// Tools of the group `schedule`: reminders and messages that Mattermost posts later.
import { z } from 'zod';
import type { ToolContext } from '../../account/account.ts';
import { MattermostError } from '../../base/errors.ts';
import { path } from '../../client/path.ts';
import type { ScheduledPostRecord, TeamRecord } from '../../client/records.ts';
import { type Compact, isoTime, omitEmpty, truncateText } from '../base/compact.ts';
import { findRoot, requireAttachable } from '../base/outgoing-post.ts';
import { checkFuture, full, id, listOf, message, record, time, toMilliseconds } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';
import { explainUnsupported } from '../base/unsupported.ts';

const group = 'schedule';
const REMINDERS = { what: 'reminders', version: '7.2' };
const SCHEDULED = { what: 'scheduled messages', version: '10.3', license: 'a Professional license' };
const MAX_SHOWN = 1000;

const scheduled = record('id', 'time', 'repeats', 'channel', 'channel_id', 'root_id', 'message', 'error');

export const scheduleTools = [
  defineTool({
    name: 'set_reminder',
    title: 'Set reminder',
    description: 'Have Mattermost remind this account of a message at a time. It cannot list or remove reminders.',
    capability: 'write',
    effect: 'idempotent',
    tags: ['post', 'message'],
    group,
    input: { post_id: id(), time: time() },
    check: ({ time }) => checkFuture('time', time),
    output: record('post_id', 'ok', 'time'),
    async run({ post_id, time }, { api, names, policy }) {
      await policy.requirePost(post_id, 'read');
      await api.get(path`/posts/${post_id}`); // otherwise a missing post looks like one that may not be read
      const { id: me } = await names.me();
      const target_time = Math.ceil(toMilliseconds(time) / 1000);
      await explainUnsupported(REMINDERS, api.post(path`/users/${me}/posts/${post_id}/reminder`, { target_time }));
      return { ok: true, post_id, ...omitEmpty({ time: isoTime(target_time * 1000) }) };
    },
  }),
  defineTool({
    name: 'schedule_message',
    title: 'Schedule message',
    description: 'Have Mattermost post a message of this account at a time, to a channel or a thread (root_id).',
    capability: 'write',
    effect: 'additive',
    tags: ['message'],
    group,
    input: {
      channel_id: id(),
      message: message(),
      time: time(),
      root_id: id().optional(),
      file_ids: z.array(id()).max(10).optional().describe('Ids from upload_file'),
    },
    check: ({ message, file_ids, time }) =>
      message.trim() === '' && !file_ids?.length
        ? 'message is empty; write a message, or add file_ids'
        : checkFuture('time', time),
    output: scheduled,
    async run({ channel_id, message, time, root_id, file_ids }, context) {
      await context.policy.requireChannel(channel_id, 'write');
      for (const file of file_ids ?? []) await requireAttachable(context, file);
      const root = root_id === undefined ? undefined : await findRoot(context, root_id, channel_id);
      const body = {
        ...{ channel_id, message, scheduled_at: toMilliseconds(time) },
        ...(root ? { root_id: root } : {}),
        ...(file_ids ? { file_ids } : {}),
      };
      const created = await explainUnsupported(
        SCHEDULED,
        context.api.post<ScheduledPostRecord>('/posts/schedule', body),
      );
      return presentScheduled(context, created);
    },
  }),
  defineTool({
    name: 'list_scheduled_messages',
    title: 'List scheduled messages',
    description: 'List the messages this account scheduled in a team and in direct channels, the next one first.',
    capability: 'read',
    effect: 'read',
    tags: ['message'],
    group,
    hasTeam: true,
    input: { full: full() },
    output: listOf('messages', scheduled),
    async run({ team_id, full }, context) {
      const team = await context.team(team_id);
      await context.policy.requireTeamNotDenied(team);
      const found = await readScheduled(context, [team]);
      const readable = await context.policy.filterReadable(found, ({ channel_id }) => channel_id);
      readable.sort((one, other) => (one.scheduled_at ?? 0) - (other.scheduled_at ?? 0));
      return {
        messages: full ? readable : await Promise.all(readable.map((one) => presentScheduled(context, one))),
      };
    },
  }),
  defineTool({
    name: 'update_scheduled_message',
    title: 'Change scheduled message',
    description: 'Change the text or the time of a scheduled message.',
    capability: 'write',
    effect: 'idempotent',
    tags: ['message'],
    group,
    input: { scheduled_id: id(), message: message().optional(), time: time().optional() },
    check({ message, time }) {
      if (message === undefined && time === undefined) return 'nothing to change; set message or time';
      return checkFuture('time', time);
    },
    output: scheduled,
    async run({ scheduled_id, message, time }, context) {
      const found = await findScheduled(context, scheduled_id);
      const { id, channel_id, user_id, root_id, type, file_ids, props, priority, repeat_type, repeat_timezone } = found;
      const body = {
        ...{ id, channel_id, user_id, root_id, type, file_ids, props, priority, repeat_type, repeat_timezone },
        message: message ?? found.message,
        scheduled_at: time === undefined ? found.scheduled_at : toMilliseconds(time),
      };
      const changed = await context.api.put<ScheduledPostRecord>(path`/posts/schedule/${scheduled_id}`, body);
      return presentScheduled(context, changed);
    },
  }),
  defineTool({
    name: 'delete_scheduled_message',
    title: 'Delete scheduled message',
    description: 'Delete a scheduled message before it is posted.',
    capability: 'delete',
    effect: 'destructive',
    tags: ['message'],
    group,
    input: { scheduled_id: id() },
    output: record('scheduled_id', 'ok'),
    async run({ scheduled_id }, context) {
      await findScheduled(context, scheduled_id);
      await context.api.delete(path`/posts/schedule/${scheduled_id}`);
      return { ok: true, scheduled_id };
    },
  }),
];

/** Messages by team; those in direct channels have a key of their own. */
type ScheduledLists = Record<string, ScheduledPostRecord[] | null>;

async function readScheduled({ api }: ToolContext, teams: readonly string[]): Promise<ScheduledPostRecord[]> {
  const read = (team: string) =>
    api.get<ScheduledLists>(path`/posts/scheduled/team/${team}`, { includeDirectChannels: true });
  const lists = await explainUnsupported(SCHEDULED, Promise.all(teams.map(read)));
  const all = lists.flatMap((list) => Object.values(list).flatMap((posts) => posts ?? []));
  return [...new Map(all.map((post) => [post.id, post])).values()];
}

/** Mattermost has no way to read one scheduled message, and changes need all its fields. */
async function findScheduled(context: ToolContext, id: string): Promise<ScheduledPostRecord> {
  const teams = await context.api.list<TeamRecord>('/users/me/teams');
  const all = await readScheduled(
    context,
    teams.map((team) => team.id),
  );
  const found = all.find((post) => post.id === id);
  if (!found) {
    const text = `Resource not found: this account has no scheduled message ${id}. Get valid ids from list_scheduled_messages.`;
    throw new MattermostError('NOT_FOUND', text);
  }
  await context.policy.requireChannel(found.channel_id ?? '', 'write');
  return found;
}

async function presentScheduled({ names }: ToolContext, post: ScheduledPostRecord): Promise<Compact> {
  const { id, channel_id, root_id, error_code, repeat_type: repeats } = post;
  const channel = (await names.labels([channel_id])).get(channel_id ?? '');
  return {
    ...omitEmpty({ id, time: isoTime(post.scheduled_at), repeats, channel, channel_id, root_id }),
    message: truncateText(post.message ?? '', MAX_SHOWN),
    ...omitEmpty({ error: error_code, files: post.file_ids }),
  };
}
