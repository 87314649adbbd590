// The teams of this account, and its joined channels with their unread counts.
import type { ToolContext } from '../../account/account.ts';
import { isMattermostError } from '../../base/errors.ts';
import { path } from '../../client/path.ts';
import type { ChannelRecord, MemberRecord, TeamRecord } from '../../client/records.ts';

/** Teams of this account that may be read. */
export async function readMyTeams({ api, policy }: ToolContext): Promise<TeamRecord[]> {
  const teams = await api.list<TeamRecord>('/users/me/teams');
  const isReadable = await Promise.all(
    teams.map(async ({ id }) => {
      try {
        await policy.requireTeam(id, 'read');
        return true;
      } catch (error) {
        if (isMattermostError(error, 'REFUSED')) return false;
        throw error;
      }
    }),
  );
  return teams.filter((_, index) => isReadable[index]);
}

export interface MyChannel {
  channel: ChannelRecord;
  /** Undefined if Mattermost has no membership record; counts as nothing unread. */
  member: MemberRecord | undefined;
}

export async function readMyChannels({ api, names, policy }: ToolContext, team: string): Promise<MyChannel[]> {
  const [channels, members] = await Promise.all([
    api.list<ChannelRecord>(path`/users/me/teams/${team}/channels`),
    api.list<MemberRecord>(path`/users/me/teams/${team}/channels/members`),
  ]);
  names.rememberChannels(channels);
  const memberOf = new Map(members.map((member) => [member.channel_id, member]));
  const readable = await policy.filterReadable(channels, ({ id }) => id);
  return readable.map((channel) => ({ channel, member: memberOf.get(channel.id) }));
}

interface UnreadCounts {
  unread_msg_count: number;
  mention_count: number;
  unread_msg_count_root: number;
  mention_count_root: number;
  isUnread: boolean;
}

/** With collapsed threads, replies do not count as unread in the channel. */
export function unreadCounts({ channel, member }: MyChannel, collapsedThreads: boolean): UnreadCounts {
  const counts = {
    unread_msg_count: member ? remaining(channel.total_msg_count, member.msg_count) : 0,
    mention_count: member?.mention_count ?? 0,
    unread_msg_count_root: member ? remaining(channel.total_msg_count_root, member.msg_count_root) : 0,
    mention_count_root: member?.mention_count_root ?? 0,
  };
  const isUnread = collapsedThreads
    ? counts.unread_msg_count_root + counts.mention_count_root > 0
    : counts.unread_msg_count + counts.mention_count > 0;
  return { ...counts, isUnread };
}

/** Never negative, although the counters of Mattermost can drift. */
function remaining(total: number | null | undefined, seen: number | null | undefined): number {
  return Math.max(0, (total ?? 0) - (seen ?? 0));
}
