// Which messages are for the bot: mentions of its name, direct messages, and replies in threads it takes part in.
import type { ToolContext } from '../account/caller.ts';
import { isMattermostError } from '../base/errors.ts';
import { Memory } from '../base/memory.ts';
import { path } from '../client/path.ts';
import type { PostListRecord, PostRecord, UserRecord } from '../client/records.ts';
import { postsOf } from '../tools/base/present.ts';
import { ANSWER_PROP } from './answer-post.ts';
import { withoutCode } from './text/code-spans.ts';

/** Something the bot is asked. */
export interface Question {
  postId: string;
  channelId: string;
  /** One conversation for each thread, and for each direct channel. */
  conversation: string;
  isDirect: boolean;
  /** The message whose thread the answer goes to; empty for none. */
  rootId: string;
  userId: string;
  username: string;
  text: string;
}

const MOST_EARLIER = 30;
const LONGEST_EARLIER = 2000;

export class Questions {
  readonly #context: ToolContext;
  readonly #me: { id: string; username: string };
  readonly #mention: RegExp;
  readonly #users = new Memory<UserRecord>({ most: 2000, ms: 600_000 });
  readonly #threads = new Memory<boolean>({ most: 5000, ms: 3_600_000 });

  constructor(context: ToolContext, me: { id: string; username: string }) {
    this.#context = context;
    this.#me = me;
    const name = me.username.replace(/[.\\+*?[^\]$(){}=!<>|:-]/g, '\\$&');
    this.#mention = new RegExp(`(?<![\\w@./-])@${name}(?![\\w-]|\\.\\w)`, 'i');
  }

  /** Undefined for what the bot leaves alone: its own words, those of other bots, and what is not said to it. */
  async read(post: PostRecord): Promise<Question | undefined> {
    const { id, user_id: userId, channel_id: channelId, props } = post;
    if (!userId || !channelId || post.type || post.delete_at) return undefined;
    if (userId === this.#me.id) {
      // also what a tool wrote makes the bot a part of the thread
      this.#threads.set(post.root_id || id, Promise.resolve(true));
      return undefined;
    }
    // a bot of ours may have the account of a person
    if (isSet(props?.from_bot) || isSet(props?.from_webhook) || props?.[ANSWER_PROP]) return undefined;
    const { type } = await this.#context.names.channel(channelId);
    const isDirect = type === 'D';
    const message = post.message ?? '';
    const rootId = post.root_id || (isDirect ? '' : id);
    const isMentioned = this.#mention.test(withoutCode(message));
    if (!isDirect && !isMentioned && !(post.root_id && (await this.#takesPart(post.root_id)))) return undefined;
    const user = await this.#users.get(userId, () => this.#context.api.get(path`/users/${userId}`));
    if (user.is_bot || !(await this.#mayAnswer(channelId))) return undefined;
    if (rootId) this.#threads.set(rootId, Promise.resolve(true));
    const text = message.replace(this.#mention, '').trim() || message;
    const username = user.username ?? userId;
    const conversation = isDirect ? channelId : rootId;
    return { postId: id, channelId, conversation, isDirect, rootId, userId, username, text };
  }

  /** What was said before in the thread or the direct channel, for a bot that begins in the middle. */
  async earlier({ postId, channelId, isDirect, rootId }: Question): Promise<string> {
    if (!isDirect && rootId === postId) return '';
    const { api, names } = this.#context;
    const list = isDirect
      ? await api.get<PostListRecord>(path`/channels/${channelId}/posts`, { before: postId, per_page: MOST_EARLIER })
      : await api.get<PostListRecord>(path`/posts/${rootId}/thread`);
    const posts = (isDirect ? postsOf(list) : Object.values(list.posts ?? {}))
      .filter((post) => post.id !== postId && !post.type && !post.delete_at && post.message)
      .sort((one, other) => (one.create_at ?? 0) - (other.create_at ?? 0))
      .slice(-MOST_EARLIER);
    const users = await names.users(posts.map(({ user_id }) => user_id));
    const lines = posts.map(({ user_id, message }) => {
      const name = user_id === this.#me.id ? 'you' : (users.get(user_id ?? '') ?? 'somebody');
      return `${name}: ${(message ?? '').slice(0, LONGEST_EARLIER)}`;
    });
    return lines.join('\n');
  }

  #takesPart(rootId: string): Promise<boolean> {
    return this.#threads.get(rootId, async () => {
      const { posts } = await this.#context.api.get<PostListRecord>(path`/posts/${rootId}/thread`);
      return Object.values(posts ?? {}).some(({ user_id }) => user_id === this.#me.id);
    });
  }

  async #mayAnswer(channelId: string): Promise<boolean> {
    try {
      await this.#context.policy.requireChannel(channelId, 'write');
      return true;
    } catch (error) {
      if (isMattermostError(error, 'REFUSED')) return false;
      throw error;
    }
  }
}

function isSet(value: unknown): boolean {
  return value === true || value === 'true';
}
