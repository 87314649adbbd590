// Tools for channel membership: join, leave, mark as read, list and add members.
import type { ToolContext } from '../../account/account.ts';
import { requireMember } from '../../account/membership.ts';
import { path } from '../../client/path.ts';
import type { MemberRecord } from '../../client/records.ts';
import { pageEnd, readPage } from '../base/paging.ts';
import { presentMembers } from '../base/present.ts';
import { full, id, page, pageOf, perPage, record } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';

const member = record('user_id', 'username', 'roles', 'channel_id');
const done = record('channel_id', 'ok');

export const channelMemberTools = [
  defineTool({
    name: 'join_channel',
    title: 'Join channel',
    description: 'Join a public channel with this account.',
    capability: 'write',
    effect: 'idempotent',
    tags: ['channel'],
    input: { channel_id: id(), full: full() },
    output: member,
    async run({ channel_id, full }, context) {
      await context.policy.requireChannel(channel_id, 'write');
      return addMember(context, { channel_id, user_id: (await context.names.me()).id, full });
    },
  }),
  defineTool({
    name: 'leave_channel',
    title: 'Leave channel',
    description: 'Leave a channel with this account.',
    capability: 'write',
    effect: 'idempotent',
    tags: ['channel'],
    input: { channel_id: id() },
    output: done,
    async run({ channel_id }, context) {
      await context.policy.requireChannel(channel_id, 'write');
      const me = await context.names.me();
      await context.api.delete(path`/channels/${channel_id}/members/${me.id}`);
      return { ok: true, channel_id };
    },
  }),
  defineTool({
    name: 'mark_channel_viewed',
    title: 'Mark channel as read',
    description:
      'Mark a channel as read for this account. Reading tools never do this; post_message does, in its channel.',
    capability: 'write',
    effect: 'additive',
    tags: ['channel'],
    input: { channel_id: id() },
    output: done,
    async run({ channel_id }, context) {
      await context.policy.requireChannel(channel_id, 'write');
      await requireMember(context.api, channel_id, 'only members of a channel can mark it as read');
      await context.api.post('/channels/members/me/view', { channel_id });
      return { ok: true, channel_id };
    },
  }),
  defineTool({
    name: 'get_channel_members',
    title: 'List channel members',
    description: 'List the members of a channel.',
    capability: 'read',
    effect: 'read',
    tags: ['channel', 'user'],
    input: { channel_id: id(), page: page(), per_page: perPage(), full: full() },
    output: pageOf('members', member),
    async run({ channel_id, page, per_page, full }, context) {
      await context.policy.requireChannel(channel_id, 'read');
      const { items, isTruncated } = await readPage({
        page,
        per_page,
        read: (page, per_page) =>
          context.api.list<MemberRecord>(path`/channels/${channel_id}/members`, { page, per_page }),
      });
      return { members: await presentMembers(context, items, full), ...pageEnd({ isTruncated }, { page: page + 1 }) };
    },
  }),
  defineTool({
    name: 'add_user_to_channel',
    title: 'Add user to channel',
    description: 'Add a user to a channel.',
    capability: 'write',
    effect: 'idempotent',
    tags: ['channel', 'user'],
    input: { channel_id: id(), user_id: id(), full: full() },
    output: member,
    async run(args, context) {
      await context.policy.requireChannel(args.channel_id, 'write');
      return addMember(context, args);
    },
  }),
];

async function addMember(
  context: ToolContext,
  { channel_id, user_id, full }: { channel_id: string; user_id: string; full: boolean },
): Promise<object> {
  const added = await context.api.post<MemberRecord>(path`/channels/${channel_id}/members`, { user_id });
  const [presented = {}] = await presentMembers(context, [added], full);
  return presented;
}
