// Finds the posts addressed to the bot: mentions, direct messages, and replies in threads it has posted in.
import type { ToolContext } from '../../account/account.ts';
import { AsyncCache } from '../../base/cache.ts';
import { isMattermostError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import { path } from '../../client/path.ts';
import type { PostListRecord, PostRecord, UserRecord } from '../../client/records.ts';
import { orderedPosts } from '../../tools/base/present.ts';
import type { ChannelSettings } from '../callbacks/channel-settings.ts';
import { withoutCode } from '../text/code-spans.ts';
import { ANSWER_PROP } from './answer-post.ts';
import { type Summarize, summaryOf } from './thread-summary.ts';

/** A post that the bot answers. */
export interface Question {
  postId: string;
  channelId: string;
  /** Key of the conversation: the thread, or the direct channel. */
  conversation: string;
  isDirect: boolean;
  /** First post of the thread of the answer; empty outside threads. */
  rootId: string;
  userId: string;
  username: string;
  text: string;
  /** Ids of files. */
  attachments: readonly string[];
}

const MAX_EARLIER_POSTS = 30;
/** The most that Mattermost allows in a post. */
const MAX_ATTACHMENTS = 10;
const MAX_EARLIER_LENGTH = 2000;

interface QuestionsOptions {
  context: ToolContext;
  me: { id: string; username: string };
  log: Log;
  settings: ChannelSettings | undefined;
}

export class Questions {
  readonly #context: ToolContext;
  readonly #me: { id: string; username: string };
  readonly #log: Log;
  readonly #settings: ChannelSettings | undefined;
  readonly #mention: RegExp;
  readonly #users = new AsyncCache<UserRecord>({ maxEntries: 2000, ttlMs: 600_000 });
  readonly #joinedThreads = new AsyncCache<boolean>({ maxEntries: 5000, ttlMs: 3_600_000 });

  constructor({ context, me, log, settings }: QuestionsOptions) {
    this.#context = context;
    this.#me = me;
    this.#log = log;
    this.#settings = settings;
    const name = me.username.replace(/[.\\+*?[^\]$(){}=!<>|:-]/g, '\\$&');
    this.#mention = new RegExp(`(?<![\\w@./-])@${name}(?![\\w-]|\\.\\w)`, 'i');
  }

  /** Returns undefined for posts of bots and webhooks and for posts not addressed to the bot. */
  async read(post: PostRecord): Promise<Question | undefined> {
    const { id, user_id: userId, channel_id: channelId, props } = post;
    if (!userId || !channelId || post.type || post.delete_at) return undefined;
    if (userId === this.#me.id) {
      // posts written by tools of the bot count too
      this.#joinedThreads.set(post.root_id || id, Promise.resolve(true));
      return undefined;
    }
    // another instance of this bot may use a personal account
    if (isTrue(props?.from_bot) || isTrue(props?.from_webhook) || props?.[ANSWER_PROP]) return undefined;
    const { type } = await this.#context.names.channel(channelId);
    const isDirect = type === 'D';
    const message = post.message ?? '';
    const rootId = post.root_id || (isDirect ? '' : id);
    const isMentioned = this.#mention.test(withoutCode(message));
    const answers = this.#settings?.get(channelId).answers ?? 'mentions';
    if (answers === 'none') return undefined;
    const isAddressed = isDirect || isMentioned || answers === 'all';
    if (!isAddressed && !(post.root_id && (await this.#hasPostedIn(post.root_id)))) return undefined;
    const user = await this.#users.get(userId, () => this.#context.api.get(path`/users/${userId}`));
    if (user.is_bot || !(await this.#mayAnswer(channelId))) return undefined;
    if (rootId) this.#joinedThreads.set(rootId, Promise.resolve(true));
    const text = message.replace(this.#mention, '').trim() || message;
    const username = user.username ?? userId;
    const conversation = isDirect ? channelId : rootId;
    const attachments = (post.file_ids ?? []).slice(0, MAX_ATTACHMENTS);
    return { postId: id, channelId, conversation, isDirect, rootId, userId, username, text, attachments };
  }

  /** What an agent without history reads before its first question: instructions of the channel, and earlier messages. */
  async earlier(question: Question, summarize?: Summarize): Promise<string> {
    const instructions = this.#settings?.get(question.channelId).instructions;
    const lines = await this.#earlierLines(question);
    const older = lines.slice(0, -MAX_EARLIER_POSTS);
    const recent = lines.slice(-MAX_EARLIER_POSTS);
    return [
      ...(instructions ? [`Instructions of the administrators of this channel:\n${instructions}`] : []),
      ...(older.length > 0 ? [await summaryOf(older, { summarize, log: this.#log })] : []),
      ...(recent.length > 0 ? [`Earlier messages:\n${recent.join('\n')}`] : []),
    ].join('\n\n');
  }

  /** The whole thread, or the latest messages of the direct channel, oldest first. */
  async #earlierLines({ postId, channelId, isDirect, rootId }: Question): Promise<string[]> {
    if (!isDirect && rootId === postId) return [];
    const { api, names } = this.#context;
    const list = isDirect
      ? await api.get<PostListRecord>(path`/channels/${channelId}/posts`, {
          before: postId,
          per_page: MAX_EARLIER_POSTS,
        })
      : await api.get<PostListRecord>(path`/posts/${rootId}/thread`);
    const posts = (isDirect ? orderedPosts(list) : Object.values(list.posts ?? {}))
      .filter((post) => post.id !== postId && !post.type && !post.delete_at && post.message)
      .sort((one, other) => (one.create_at ?? 0) - (other.create_at ?? 0));
    const users = await names.users(posts.map(({ user_id }) => user_id));
    return posts.map(({ user_id, message }) => {
      const name = user_id === this.#me.id ? 'you' : (users.get(user_id ?? '') ?? 'unknown');
      return `${name}: ${(message ?? '').slice(0, MAX_EARLIER_LENGTH)}`;
    });
  }

  #hasPostedIn(rootId: string): Promise<boolean> {
    return this.#joinedThreads.get(rootId, async () => {
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

function isTrue(value: unknown): boolean {
  return value === true || value === 'true';
}
