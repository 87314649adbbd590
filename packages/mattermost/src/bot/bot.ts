// The bot: listens to events of Mattermost and lets an agent answer the messages addressed to it.

import { dropOldest, errorText, KeyedQueue } from '@pocket-agent/kit';
import { Account, type ToolContext } from '../account/account.ts';
import { isMattermostError, isTransient, MattermostError } from '../base/errors.ts';
import { parseObject } from '../base/json.ts';
import { createLog, type Log } from '../base/log.ts';
import { delay } from '../client/deadline.ts';
import { HttpPool } from '../client/http-pool.ts';
import type { PostRecord } from '../client/records.ts';
import { backoff } from '../client/retry.ts';
import { isTokenValid, MattermostSocket, type SocketEvent } from '../client/socket.ts';
import { withCheckedLists } from '../config/config.ts';
import { AgentFactory } from './agent-factory.ts';
import { type BotCallbacks, openCallbacks } from './callbacks/bot-callbacks.ts';
import { Conversation, type CreatedAgent } from './conversation.ts';
import { Conversations } from './conversations.ts';
import type { DurableAnswersOptions } from './durable/bot-runs.ts';
import { DurableAnswers, mayAskLater, unreadSince } from './durable/durable-answers.ts';
import type { BotOptions, MattermostBot } from './options.ts';
import { checkLinkHosts, LinkHosts } from './posts/link-hosts.ts';
import { latestPostTime, postsSince } from './posts/missed-posts.ts';
import { type Question, Questions } from './posts/questions.ts';
import { answerMemoryCommand } from './text/memory-command.ts';

const STOP_SIGNS = ['octagonal_sign', 'stop_sign', '🛑'];
const MAX_SEEN_POSTS = 5000;
const CLOSE_TIMEOUT_MS = 10_000;
/** How long reading a post is retried; later posts of the channel wait. */
const POST_RETRY_MS = 3_600_000;

/** Connects to Mattermost and lets an agent answer the messages addressed to it. */
export async function createMattermostBot(options: BotOptions): Promise<MattermostBot> {
  const config = withCheckedLists(options.config);
  const { log = createLog({ level: config.logLevel, format: config.logFormat }) } = options;
  const { token } = config;
  checkLinkHosts(options.allowLinkHosts ?? []);
  checkAgent(options);
  if (config.authMode !== 'static_token' || token === undefined) {
    throw new MattermostError('CONFIG_INVALID', 'A bot needs MATTERMOST_AUTH_MODE=static_token and MATTERMOST_TOKEN.');
  }
  const pool = new HttpPool(config);
  const closing = new AbortController();
  let bot: Bot | undefined;
  let callbacks: BotCallbacks | undefined;
  /** Clicks wait for it, because Mattermost can reach the bot before it has read its runs. */
  const recovered = Promise.withResolvers<Bot>();
  recovered.promise.catch(() => {});
  const account = new Account({
    config,
    pool,
    token,
    log,
    signal: closing.signal,
    onTokenRejected: () => void bot?.checkToken(),
  });
  const context = account.context(closing.signal, () => {});
  try {
    const { id, username } = await context.names.me();
    const latest = (await latestPostTime(context.api)) + 1;
    const since = options.durable
      ? await unreadSince({ api: context.api, runs: options.durable.runs, me: id, latest })
      : latest;
    const me = { id, username: username ?? id };
    callbacks =
      options.callbacks &&
      (await openCallbacks({
        ...{ options: options.callbacks, context, log, me: id, token },
        decide: async (...click) => (await recovered.promise).decide(...click),
      }));
    bot = new Bot({ options, context, pool, closing, log, token, me, since, callbacks });
    await bot.recover();
    recovered.resolve(bot);
    return bot;
  } catch (error) {
    recovered.reject(error);
    await (bot ?? callbacks)?.close();
    pool.close();
    throw error;
  }
}

function checkAgent({ agent, durable }: BotOptions): void {
  if ((agent === undefined) === (durable === undefined))
    throw new MattermostError('CONFIG_INVALID', 'A bot needs either agent or durable: { runs, agent }.');
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
  callbacks: BotCallbacks | undefined;
}

class Bot implements MattermostBot {
  readonly username: string;
  readonly #parts: BotParts;
  readonly #agents: AgentFactory;
  readonly #questions: Questions;
  readonly #socket: MattermostSocket;
  readonly #conversations: Conversations;
  readonly #durable: DurableAnswers | undefined;
  /** Ids of processed posts, oldest first. */
  readonly #seen = new Set<string>();
  /** Reads the posts of one channel one after the other. */
  readonly #reading = new KeyedQueue();
  /** Time of the last known post; other posts of the same millisecond may be missing. */
  #since: number;
  /** Posts from this time on may have been missed. */
  #missedSince: number | undefined;
  #isCatchingUp = false;
  #isChecking = false;
  #isRefused = false;
  #isClosed = false;

  constructor(parts: BotParts) {
    const { options, context, log, token, me, since, callbacks } = parts;
    this.#parts = parts;
    this.username = me.username;
    this.#since = since;
    this.#agents = new AgentFactory(options, log);
    this.#questions = new Questions({ context, me, log, settings: callbacks?.settings });
    this.#conversations = new Conversations({ log, create: (question) => this.#newConversation(question) });
    this.#durable = options.durable && this.#durableAnswers(options.durable);
    this.#socket = new MattermostSocket({
      config: options.config,
      token,
      log,
      onEvent: (event) => this.#handleEvent(event),
      onGap: () => {
        this.#missedSince ??= this.#since;
        void this.#catchUp();
      },
      isTokenValid: () => this.#isTokenValid(),
      onTokenRejected: () => this.#handleInvalidToken(),
    });
  }

  /** Continues the unfinished answers of an earlier process, and reads the posts that it missed. */
  async recover(): Promise<void> {
    if (!this.#durable) return;
    await this.#durable.recover();
    this.#missedSince = Math.min(this.#missedSince ?? this.#parts.since, this.#parts.since);
    void this.#catchUp();
  }

  /** Stops the bot if its token is no longer valid; Mattermost does not close an open socket in that case. */
  async checkToken(): Promise<void> {
    if (this.#isChecking || this.#isRefused || this.#isClosed) return;
    this.#isChecking = true;
    const isValid = await this.#isTokenValid();
    this.#isChecking = false;
    if (!isValid) this.#handleInvalidToken();
  }

  #isTokenValid(): Promise<boolean> {
    return isTokenValid(() => this.#parts.context.api.get('/users/me'));
  }

  #handleInvalidToken(): void {
    if (this.#isRefused || this.#isClosed) return;
    this.#isRefused = true;
    this.#socket.close();
    const { log, options } = this.#parts;
    log.error('bot_refused', { reason: 'the token is no longer valid' });
    options.onRefused?.();
  }

  /** Answers an approval by a button; undefined if the question is not open. */
  async decide(question: string, userId: string, isAllowed: boolean): Promise<string | undefined> {
    return this.#durable?.decide(question, userId, isAllowed);
  }

  async close(): Promise<void> {
    const { closing, pool, callbacks } = this.#parts;
    this.#isClosed = true;
    this.#socket.close();
    const timeout = setTimeout(() => closing.abort(), CLOSE_TIMEOUT_MS);
    await Promise.allSettled([this.#conversations.close(), this.#durable?.close(), callbacks?.close()]);
    clearTimeout(timeout);
    closing.abort();
    this.#agents.close();
    pool.close();
  }

  #handleEvent({ event, data }: SocketEvent): void {
    if (event === 'posted') {
      const post = parseObject(data.post);
      if (typeof post?.id === 'string') this.#queuePost({ ...post, id: post.id });
    } else if (event === 'reaction_added') this.#readReaction(parseObject(data.reaction));
  }

  #queuePost(post: PostRecord): void {
    this.#since = Math.max(this.#since, post.create_at ?? 0);
    if (this.#seen.has(post.id)) return;
    this.#seen.add(post.id);
    dropOldest(this.#seen, MAX_SEEN_POSTS);
    void this.#reading.run(post.channel_id ?? '', () => this.#readPost(post));
  }

  async #readPost(post: PostRecord): Promise<void> {
    const { log } = this.#parts;
    const deadline = Date.now() + POST_RETRY_MS;
    for (let attempt = 0; !this.#isClosed; attempt++) {
      try {
        const question = await this.#questions.read(post);
        if (!question || this.#isClosed) return;
        if (this.#durable) await this.#durable.ask(question, post.create_at ?? 0);
        else this.#conversations.ask(question);
        return;
      } catch (error) {
        log.warning('post_not_read', { post_id: post.id, error: errorText(error).slice(0, 200) });
        const isWorthwhile = this.#durable ? mayAskLater(error) : isTransient(error);
        if (!isWorthwhile || Date.now() > deadline) return;
        await this.#pause(attempt);
      }
    }
  }

  #readReaction(reaction: Record<string, unknown> | undefined): void {
    const { user_id: userId, post_id: postId, emoji_name: emoji } = reaction ?? {};
    if (typeof userId !== 'string' || typeof postId !== 'string') return;
    void this.#durable?.react(userId, postId, String(emoji));
    if (STOP_SIGNS.includes(String(emoji))) this.#conversations.stop(userId, postId);
  }

  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp) return;
    const { context, closing, log } = this.#parts;
    this.#isCatchingUp = true;
    for (let attempt = 0; this.#missedSince !== undefined && !closing.signal.aborted; attempt++) {
      const since = this.#missedSince;
      this.#missedSince = undefined;
      try {
        for (const post of await postsSince(context.api, since)) this.#queuePost(post);
        await this.#durable?.readReactions();
      } catch (error) {
        if (this.#isRefused) break;
        this.#missedSince = since;
        log.warning('catch_up_failed', { code: isMattermostError(error) ? error.code : 'UNEXPECTED' });
        await this.#pause(attempt);
      }
    }
    this.#isCatchingUp = false;
  }

  /** Waits before the next attempt; also ends when the bot closes, which ends the loops. */
  async #pause(attempt: number): Promise<void> {
    const { closing, options } = this.#parts;
    await delay(backoff(attempt, options.config.backoffMs), closing.signal).catch(() => {});
  }

  #newConversation(question: Question): Conversation {
    const { closing, options } = this.#parts;
    return new Conversation({
      ...this.#shared,
      signal: closing.signal,
      linkHosts: new LinkHosts(options.allowLinkHosts ?? [], options.config.url),
      createAgent: (first) => this.#createAgent(first),
      watcher: options.watch?.({ id: question.conversation, agent: this.username }),
    });
  }

  #durableAnswers(durable: DurableAnswersOptions): DurableAnswers {
    const { options, me, since, callbacks } = this.#parts;
    const { allowLinkHosts = [] } = options;
    const place = { me: me.id, since, buttons: callbacks?.buttons };
    return new DurableAnswers({ ...this.#shared, ...place, durable, allowLinkHosts, stopSigns: STOP_SIGNS });
  }

  /** Options of both kinds of answers. */
  get #shared() {
    const { context, log, options, me } = this.#parts;
    const memory = options.conversations?.memory;
    const { editMs = 1000, mayStop = 'asker' } = options;
    return {
      context,
      questions: this.#questions,
      log,
      editMs,
      command: async (question: Question) => memory && answerMemoryCommand(memory, question),
      typing: ({ channelId, rootId }: Question) =>
        this.#socket.send('user_typing', { channel_id: channelId, parent_id: rootId }),
      mayStop: ({ userId }: Question, stopper: string) =>
        stopper !== me.id && (mayStop === 'everyone' || stopper === userId),
    };
  }

  async #createAgent({ channelId, isDirect, rootId, username, conversation }: Question): Promise<CreatedAgent> {
    const { options, me } = this.#parts;
    const agent = await this.#agents.create({ channelId, isDirect, username, rootId: isDirect ? undefined : rootId });
    const saved = options.conversations?.forOwner(`mattermost/${me.id}`);
    if (!saved) return { agent, isContinued: false };
    try {
      const isContinued = (await saved.get(conversation)) !== undefined;
      await saved.attach(conversation, agent);
      return { agent, isContinued };
    } catch (error) {
      await agent.close();
      throw error;
    }
  }
}
