// What was said while the socket was closed: the posts of all channels of the bot from a time on, in order.
import type { MattermostApi } from '../client/api.ts';
import type { ChannelRecord, PostRecord } from '../client/records.ts';
import { readCreatedSince } from '../tools/base/post-pages.ts';

/** The time of the last post the account can see, by Mattermost's clock. */
export async function lastPostTime(api: MattermostApi): Promise<number> {
  const channels = await api.list<ChannelRecord>('/users/me/channels');
  return Math.max(0, ...channels.map(({ last_post_at }) => last_post_at ?? 0));
}

/** Read by page: Mattermost's own `since` ends at 1,000 posts, and may then hide those after them. */
export async function postsFrom(api: MattermostApi, time: number): Promise<PostRecord[]> {
  const channels = await api.list<ChannelRecord>('/users/me/channels');
  const posts: PostRecord[] = [];
  for (const { id, last_post_at } of channels) {
    if ((last_post_at ?? 0) >= time) posts.push(...(await readCreatedSince(api, id, time - 1)));
  }
  return posts.sort((one, other) => (one.create_at ?? 0) - (other.create_at ?? 0));
}
