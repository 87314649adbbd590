// The bot: hears what is said in Mattermost, and lets an agent answer what is said to it.
import type { PocketAgent, PocketAgentOptions } from 'pocket-agent';
import { Caller, type ToolContext } from '../account/caller.ts';
import type { Profile } from '../base/access.ts';
import { errorText, isMattermostError, isPassing, MattermostError } from '../base/errors.ts';
import { parseObject } from '../base/json.ts';
import { createLog, type Log } from '../base/log.ts';
import { delay } from '../client/deadline.ts';
import { HttpPool } from '../client/http-pool.ts';
import type { PostRecord } from '../client/records.ts';
import { backoff } from '../client/retry.ts';
import { isTokenValid, MattermostSocket, type SocketEvent } from '../client/socket.ts';
import { type MattermostConfig, withCheckedLists } from '../config/config.ts';
import { AgentMaker } from './agent-maker.ts';
import { Conversation } from './conversation.ts';
import { checkLinkHosts, LinkHosts } from './link-hosts.ts';
import { lastPostTime, postsFrom } from './missed-posts.ts';
import { type Question, Questions } from './questions.ts';

export interface BotOptions {
  /** With the token of a bot account (static_token). */
  config: MattermostConfig;
  /**
   * The agent of a new conversation, closed when the conversation is. Options become an agent that has the tools of
   * Mattermost beside its own; an agent is used as it is.
   */
  agent: (conversation: ConversationInfo) => MadeAgent | Promise<MadeAgent>;
  /** What the tools of Mattermost may do; `none` leaves them out. Default reader. */
  profile?: Profile | 'none';
  /** Whose stop sign ends a run: that of whoever asked, or of everybody in the channel. Default asker. */
  mayStop?: 'asker' | 'everyone';
  /**
   * Hosts that links and pictures in answers may lead to, beside those people name in their questions: `example.com`,
   * `*.example.com`, or `*`. Others are shown as text, because Mattermost fetches previews without a click.
   */
  allowLinkHosts?: readonly string[];
  /** The shortest time between two edits of an answer. Default 1,000. */
  editMs?: number;
  log?: Log;
  /** The token is valid no longer: nothing will be answered any more. */
  onRefused?: () => void;
}

export type MadeAgent = PocketAgent<unknown> | PocketAgentOptions;

export interface ConversationInfo {
  channelId: string;
  /** The first message of the thread; undefined in a direct channel. */
  rootId: string | undefined;
  isDirect: boolean;
  /** Who began it. */
  username: string;
}

export interface MattermostBot {
  readonly username: string;
  /** Stops what runs, tells so in the channels, and leaves. */
  close(): Promise<void>;
}

const STOP_SIGNS = ['octagonal_sign', 'stop_sign', '🛑'];
const MOST_CONVERSATIONS = 500;
const FORGOTTEN_MS = 3_600_000;
const MOST_SEEN = 5000;
const CLOSING_MS = 10_000;
/** How long a post is tried to be read; the posts after it in its channel wait. */
const READING_MS = 3_600_000;

export async function createMattermostBot(options: BotOptions): Promise<MattermostBot> {
  const config = withCheckedLists(options.config);
  const { log = createLog({ level: config.logLevel, format: config.logFormat }) } = options;
  const { token } = config;
  checkLinkHosts(options.allowLinkHosts ?? []);
  if (config.authMode !== 'static_token' || token === undefined) {
    throw new MattermostError('CONFIG_INVALID', 'A bot needs MATTERMOST_AUTH_MODE=static_token and MATTERMOST_TOKEN.');
  }
  const pool = new HttpPool(config);
  const closing = new AbortController();
  let bot: Bot | undefined;
  const caller = new Caller({
    config,
    pool,
    token,
    log,
    signal: closing.signal,
    onRefused: () => void bot?.checkToken(),
  });
  const context = caller.context(closing.signal, () => {});
  try {
    const { id, username } = await context.names.me();
    const since = (await lastPostTime(context.api)) + 1;
    const me = { id, username: username ?? id };
    bot = new Bot({ options, context, pool, closing, log, token, me, since });
    return bot;
  } catch (error) {
    pool.close();
    throw error;
  }
}

interface BotParts {
  options: BotOptions;
  context: ToolContext;
  pool: HttpPool;
  closing: AbortController;
  log: Log;
  token: string;
  me: { id: string; username: string };
  since: number;
}

class Bot implements MattermostBot {
  readonly username: string;
  readonly #parts: BotParts;
  readonly #agents: AgentMaker;
  readonly #questions: Questions;
  readonly #socket: MattermostSocket;
  readonly #conversations = new Map<string, Conversation>();
  /** Posts that were looked at, the oldest first. */
  readonly #seen = new Set<string>();
  /** The posts of each channel are looked at one after the other. */
  readonly #reading = new Map<string, Promise<void>>();
  /** The time of the last post that was heard of; others of the same millisecond may not have been. */
  #since: number;
  /** What was said from then on may have been missed. */
  #missedSince: number | undefined;
  #isCatchingUp = false;
  #isChecking = false;
  #isRefused = false;
  #isClosed = false;

  constructor(parts: BotParts) {
    const { options, context, log, token, me, since } = parts;
    this.#parts = parts;
    this.username = me.username;
    this.#since = since;
    this.#agents = new AgentMaker(options, log);
    this.#questions = new Questions(context, me);
    this.#socket = new MattermostSocket({
      config: options.config,
      token,
      log,
      onEvent: (event) => this.#hear(event),
      onGap: () => {
        this.#missedSince ??= this.#since;
        void this.#catchUp();
      },
      isTokenValid: () => this.#isTokenValid(),
      onRefused: () => this.#refuse(),
    });
  }

  /** After a refusal: a token that is over ends the bot, which Mattermost does not tell an open socket. */
  async checkToken(): Promise<void> {
    if (this.#isChecking || this.#isRefused || this.#isClosed) return;
    this.#isChecking = true;
    const isValid = await this.#isTokenValid();
    this.#isChecking = false;
    if (!isValid) this.#refuse();
  }

  #isTokenValid(): Promise<boolean> {
    return isTokenValid(() => this.#parts.context.api.get('/users/me'));
  }

  #refuse(): void {
    if (this.#isRefused || this.#isClosed) return;
    this.#isRefused = true;
    this.#socket.close();
    const { log, options } = this.#parts;
    log.error('bot_refused', { reason: 'the token is not valid any more' });
    options.onRefused?.();
  }

  async close(): Promise<void> {
    const { closing, pool } = this.#parts;
    this.#isClosed = true;
    this.#socket.close();
    const conversations = [...this.#conversations.values()];
    this.#conversations.clear();
    const late = setTimeout(() => closing.abort(), CLOSING_MS);
    await Promise.allSettled(conversations.map((conversation) => conversation.close()));
    clearTimeout(late);
    closing.abort();
    this.#agents.close();
    pool.close();
  }

  #hear({ event, data }: SocketEvent): void {
    if (event === 'posted') {
      const post = parseObject(data.post);
      if (typeof post?.id === 'string') this.#take({ ...post, id: post.id });
    } else if (event === 'reaction_added') this.#stop(parseObject(data.reaction));
  }

  #take(post: PostRecord): void {
    this.#since = Math.max(this.#since, post.create_at ?? 0);
    if (this.#seen.has(post.id)) return;
    this.#seen.add(post.id);
    if (this.#seen.size > MOST_SEEN) this.#seen.delete(this.#seen.values().next().value ?? '');
    const channel = post.channel_id ?? '';
    const reading = (this.#reading.get(channel) ?? Promise.resolve()).then(() => this.#read(post));
    this.#reading.set(channel, reading);
    void reading.then(() => {
      if (this.#reading.get(channel) === reading) this.#reading.delete(channel);
    });
  }

  async #read(post: PostRecord): Promise<void> {
    const { log, closing, options } = this.#parts;
    const latest = Date.now() + READING_MS;
    for (let attempt = 0; !this.#isClosed; attempt++) {
      try {
        const question = await this.#questions.read(post);
        if (question && !this.#isClosed) this.#conversationOf(question).ask(question);
        return;
      } catch (error) {
        log.warning('post_not_read', { post_id: post.id, error: errorText(error).slice(0, 200) });
        if (!isPassing(error) || Date.now() > latest) return;
        await delay(backoff(attempt, options.config.backoffMs), closing.signal).catch(() => {}); // closing ends the loop
      }
    }
  }

  #stop(reaction: Record<string, unknown> | undefined): void {
    const { user_id: userId, post_id: postId, emoji_name: emoji } = reaction ?? {};
    if (typeof userId !== 'string' || typeof postId !== 'string' || !STOP_SIGNS.includes(String(emoji))) return;
    for (const conversation of this.#conversations.values()) {
      if (conversation.isAbout(postId)) conversation.stop(userId);
    }
  }

  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp) return;
    const { context, closing, log, options } = this.#parts;
    this.#isCatchingUp = true;
    for (let attempt = 0; this.#missedSince !== undefined && !closing.signal.aborted; attempt++) {
      const since = this.#missedSince;
      this.#missedSince = undefined;
      try {
        for (const post of await postsFrom(context.api, since)) this.#take(post);
      } catch (error) {
        if (this.#isRefused) break;
        this.#missedSince = since;
        log.warning('catch_up_failed', { code: isMattermostError(error) ? error.code : 'UNEXPECTED' });
        await delay(backoff(attempt, options.config.backoffMs), closing.signal).catch(() => {}); // closing ends the loop
      }
    }
    this.#isCatchingUp = false;
  }

  #conversationOf(question: Question): Conversation {
    const known = this.#conversations.get(question.conversation);
    if (known) return known;
    this.#forget();
    const { context, log, closing, options, me } = this.#parts;
    const { editMs = 1000, mayStop = 'asker', allowLinkHosts = [] } = options;
    const conversation = new Conversation({
      context,
      questions: this.#questions,
      log,
      editMs,
      signal: closing.signal,
      linkHosts: new LinkHosts(allowLinkHosts, options.config.url),
      makeAgent: ({ channelId, isDirect, rootId, username }) =>
        this.#agents.make({ channelId, isDirect, username, rootId: isDirect ? undefined : rootId }),
      typing: ({ channelId, rootId }) => this.#socket.send('user_typing', { channel_id: channelId, parent_id: rootId }),
      mayStop: ({ userId }, stopper) => stopper !== me.id && (mayStop === 'everyone' || stopper === userId),
    });
    this.#conversations.set(question.conversation, conversation);
    return conversation;
  }

  /** Conversations nobody goes on with; their threads can be read again when somebody does. */
  #forget(): void {
    const idle = [...this.#conversations].filter(([, { isIdle }]) => isIdle);
    idle.sort(([, one], [, other]) => one.lastUsed - other.lastUsed);
    for (const [key, conversation] of idle) {
      const isOld = Date.now() - conversation.lastUsed > FORGOTTEN_MS;
      if (!isOld && this.#conversations.size < MOST_CONVERSATIONS) return;
      this.#conversations.delete(key);
      conversation.close().catch((error) => this.#parts.log.warning('close_failed', { error: errorText(error) }));
    }
  }
}
