// What was said while nobody listened: the posts of all channels of the bot since a time, in order.
import type { MattermostApi } from '../client/api.ts';
import { path } from '../client/path.ts';
import type { ChannelRecord, PostListRecord, PostRecord } from '../client/records.ts';
import { postsOf } from '../tools/present.ts';

/** The time of the last post the account can see, by Mattermost's clock. */
export async function lastPostTime(api: MattermostApi): Promise<number> {
  const channels = await api.list<ChannelRecord>('/users/me/channels');
  return Math.max(0, ...channels.map(({ last_post_at }) => last_post_at ?? 0));
}

export async function postsSince(api: MattermostApi, since: number): Promise<PostRecord[]> {
  const channels = await api.list<ChannelRecord>('/users/me/channels');
  const posts: PostRecord[] = [];
  for (const { id, last_post_at } of channels) {
    if ((last_post_at ?? 0) <= since) continue;
    const list = await api.get<PostListRecord>(path`/channels/${id}/posts`, { since });
    posts.push(...postsOf(list).filter(({ create_at }) => (create_at ?? 0) > since));
  }
  return posts.sort((one, other) => (one.create_at ?? 0) - (other.create_at ?? 0));
}
