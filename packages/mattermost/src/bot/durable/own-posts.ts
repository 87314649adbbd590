// The posts that an earlier process of the bot wrote for a question.
import type { MattermostApi } from '../../client/api.ts';
import { path } from '../../client/path.ts';
import type { PostListRecord, PostRecord } from '../../client/records.ts';
import { ANSWER_PROP, type WrittenPost } from '../posts/answer-post.ts';
import type { Question } from '../posts/questions.ts';

/** Posts of an answer have keys that begin with it. The same in every process, so that none writes a post again. */
export function pendingIdOf({ postId }: Pick<Question, 'postId'>): string {
  return `answer-${postId}`;
}

const MAX_POSTS = 200;

export class OwnPosts {
  readonly #byKey: ReadonlyMap<string, PostRecord>;

  constructor(byKey: ReadonlyMap<string, PostRecord> = new Map()) {
    this.#byKey = byKey;
  }

  /** Other accounts can copy props, so only posts of the bot, `me`, count. */
  static async read(api: MattermostApi, { rootId, channelId, postId }: Question, me: string): Promise<OwnPosts> {
    const { posts } = await (rootId === ''
      ? api.get<PostListRecord>(path`/channels/${channelId}/posts`, {
          after: postId,
          per_page: MAX_POSTS,
          skipFetchThreads: true,
        })
      : api.get<PostListRecord>(path`/posts/${rootId}/thread`));
    const own = Object.values(posts ?? {}).filter(({ user_id, delete_at }) => user_id === me && !delete_at);
    return new OwnPosts(new Map(own.map((post) => [String(post.props?.[ANSWER_PROP]), post])));
  }

  get(key: string): WrittenPost | undefined {
    const post = this.#byKey.get(key);
    return post && { id: post.id, message: post.message ?? '' };
  }

  /** The parts of an answer, in order. */
  parts(pendingId: string): WrittenPost[] {
    const parts: WrittenPost[] = [];
    for (let part = this.get(`${pendingId}:0`); part; part = this.get(`${pendingId}:${parts.length}`)) parts.push(part);
    return parts;
  }
}
