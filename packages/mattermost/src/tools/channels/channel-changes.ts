// Tools that change a channel: texts and name; archive, restore, members (group `channels`).
import { z } from 'zod';
import { path } from '../../client/path.ts';
import type { ChannelRecord, MemberRecord } from '../../client/records.ts';
import { presentChannel, presentMembers } from '../base/present.ts';
import { channelName, full, id, record } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';
import { channel } from './channels.ts';

const group = 'channels';

export const channelChangeTools = [
  defineTool({
    name: 'update_channel',
    title: 'Change channel',
    description:
      'Change the header, purpose, display name or name in URLs of a channel. Other fields stay. Direct and group channels have only a header.',
    capability: 'write',
    effect: 'idempotent',
    tags: ['channel'],
    input: {
      channel_id: id(),
      display_name: z.string().trim().min(1).max(64).optional(),
      name: channelName().optional(),
      purpose: z.string().max(250).optional(),
      header: z.string().max(1024).optional().describe('Markdown'),
      full: full(),
    },
    check: ({ display_name, name, purpose, header }) =>
      (display_name ?? name ?? purpose ?? header) === undefined
        ? 'nothing to change; set header, purpose, display_name or name'
        : undefined,
    output: channel,
    async run({ channel_id, full, ...changes }, context) {
      await context.policy.requireChannel(channel_id, 'write');
      const changed = await context.api.put<ChannelRecord>(path`/channels/${channel_id}/patch`, changes);
      context.names.rememberChannels([changed]);
      return presentChannel(context, changed, full);
    },
  }),
  defineTool({
    name: 'archive_channel',
    title: 'Archive channel',
    description: 'Archive a channel for everyone. It can still be read; restore_channel needs a team administrator.',
    capability: 'delete',
    effect: 'destructive',
    tags: ['channel'],
    group,
    input: { channel_id: id() },
    output: record('channel_id', 'ok'),
    async run({ channel_id }, context) {
      await context.policy.requireChannel(channel_id, 'write');
      await context.api.delete(path`/channels/${channel_id}`);
      return { ok: true, channel_id };
    },
  }),
  defineTool({
    name: 'restore_channel',
    title: 'Restore channel',
    description: 'Restore an archived channel. search_channels with archived: "only" finds archived channels.',
    capability: 'create',
    effect: 'additive',
    tags: ['channel'],
    group,
    input: { channel_id: id(), full: full() },
    output: channel,
    async run({ channel_id, full }, context) {
      await context.policy.requireChannel(channel_id, 'write');
      const restored = await context.api.post<ChannelRecord>(path`/channels/${channel_id}/restore`);
      context.names.rememberChannels([restored]);
      return presentChannel(context, restored, full);
    },
  }),
  defineTool({
    name: 'remove_user_from_channel',
    title: 'Remove user from channel',
    description: 'Remove another user from a channel; for this account use leave_channel.',
    capability: 'delete',
    effect: 'destructive',
    tags: ['channel', 'user'],
    group,
    input: { channel_id: id(), user_id: id() },
    output: record('channel_id', 'user_id', 'ok'),
    async run({ channel_id, user_id }, context) {
      await context.policy.requireChannel(channel_id, 'write');
      await context.api.delete(path`/channels/${channel_id}/members/${user_id}`);
      return { ok: true, channel_id, user_id };
    },
  }),
  defineTool({
    name: 'add_user_to_team',
    title: 'Add user to team',
    description: 'Add a user to a team; the user can then join its public channels.',
    capability: 'create',
    effect: 'idempotent',
    tags: ['team', 'user'],
    group,
    hasTeam: true,
    input: { user_id: id(), full: full() },
    output: record('user_id', 'username', 'roles', 'team_id'),
    async run({ team_id, user_id, full }, context) {
      const team = await context.team(team_id);
      await context.policy.requireTeam(team, 'write');
      const added = await context.api.post<MemberRecord>(path`/teams/${team}/members`, { team_id: team, user_id });
      const [presented = {}] = await presentMembers(context, [added], full);
      return presented;
    },
  }),
];
