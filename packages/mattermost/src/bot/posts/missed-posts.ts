// Posts missed while the WebSocket was closed: all posts in the channels of the bot since a time, in order.
import type { MattermostApi } from '../../client/api.ts';
import type { ChannelRecord, PostRecord } from '../../client/records.ts';
import { readCreatedSince } from '../../tools/base/post-pages.ts';

/** Time of the latest post the account can see, by Mattermost's clock. */
export async function latestPostTime(api: MattermostApi): Promise<number> {
  const channels = await api.list<ChannelRecord>('/users/me/channels');
  return Math.max(0, ...channels.map(({ last_post_at }) => last_post_at ?? 0));
}

/** Reads page by page, because Mattermost's `since` stops at 1,000 posts and may then hide later ones. */
export async function postsSince(api: MattermostApi, time: number): Promise<PostRecord[]> {
  const channels = await api.list<ChannelRecord>('/users/me/channels');
  const posts: PostRecord[] = [];
  for (const { id, last_post_at } of channels) {
    if ((last_post_at ?? 0) >= time) posts.push(...(await readCreatedSince(api, id, time - 1)));
  }
  return posts.sort((one, other) => (one.create_at ?? 0) - (other.create_at ?? 0));
}
