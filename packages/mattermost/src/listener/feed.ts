// What changes in the channels somebody watches, for one Mattermost account. The socket is open while anybody watches.
import type { Caller, ToolContext } from '../account/caller.ts';
import { requireMember } from '../account/membership.ts';
import { errorText, isMattermostError, isPassing, MattermostError } from '../base/errors.ts';
import { parseObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { delay } from '../client/deadline.ts';
import { path } from '../client/path.ts';
import type { ChannelRecord, PostListRecord } from '../client/records.ts';
import { backoff } from '../client/retry.ts';
import { isTokenValid, MattermostSocket, type SocketEvent } from '../client/socket.ts';
import type { MattermostConfig } from '../config/config.ts';
import { newestPostTime } from '../tools/base/post-pages.ts';

export interface Watcher {
  changed(): void;
  /** Nothing will be told any more: the account's token is over. */
  ended(): void;
}

interface Watched {
  /** The time of the last change that was told, by Mattermost's clock. */
  since: number;
  /** That of the last one that is known. */
  changedAt: number;
  watchers: Set<Watcher>;
  /** Under way, and takes along what changes until then. */
  telling: Promise<void> | undefined;
}

interface FeedOptions {
  config: MattermostConfig;
  token: string;
  caller: Caller;
  log: Log;
  /** Aborted when the server closes. */
  signal: AbortSignal;
  /** Nobody watches any more. */
  onIdle(): void;
}

const POST_CHANGES = ['posted', 'post_edited', 'post_deleted'];
const REACTION_CHANGES = ['reaction_added', 'reaction_removed'];
const MOST_CHANNELS = 200;

export class ChannelFeed {
  readonly #options: FeedOptions;
  readonly #context: ToolContext;
  readonly #channels = new Map<string, Watched>();
  #socket: MattermostSocket | undefined;
  /** Watchers that are being let in. */
  #arriving = 0;
  /** Channels in which something may have been missed. */
  readonly #missed = new Set<string>();
  #isCatchingUp = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#context = options.caller.context(options.signal, () => {});
  }

  /** Resolves with what ends it; rejects when the channel may not be read, or nothing would be heard from it. */
  async watch(channelId: string, watcher: Watcher): Promise<() => void> {
    const { policy, api } = this.#context;
    this.#arriving++;
    try {
      await policy.requireChannel(channelId, 'read');
      const { last_post_at } = await api.get<ChannelRecord>(path`/channels/${channelId}`);
      await requireMember(api, channelId, 'Mattermost tells only the members of a channel what changes in it');
      if (!this.#channels.has(channelId) && this.#channels.size >= MOST_CHANNELS) {
        throw new MattermostError('REFUSED', `Refused: at most ${MOST_CHANNELS} channels can be watched at a time.`);
      }
      const watched = this.#channels.get(channelId) ?? {
        since: last_post_at ?? 0,
        changedAt: last_post_at ?? 0,
        watchers: new Set(),
        telling: undefined,
      };
      this.#channels.set(channelId, watched);
      watched.watchers.add(watcher);
      this.#socket ??= this.#open();
      return () => this.#leave(channelId, watcher);
    } finally {
      this.#arriving--;
      this.#rest();
    }
  }

  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
    this.#channels.clear();
    this.#missed.clear();
  }

  #leave(channelId: string, watcher: Watcher): void {
    const watchers = this.#channels.get(channelId)?.watchers;
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#channels.delete(channelId);
    this.#rest();
  }

  #rest(): void {
    if (this.#channels.size > 0 || this.#arriving > 0) return;
    this.close();
    this.#options.onIdle();
  }

  #open(): MattermostSocket {
    const { config, token, log } = this.#options;
    const { api } = this.#context;
    return new MattermostSocket({
      config,
      token,
      log,
      onEvent: (event) => this.#hear(event),
      onGap: () => this.#catchUp(this.#channels.keys()),
      isTokenValid: () => isTokenValid(() => api.get('/users/me')),
      onRefused: () => {
        log.warning('socket_refused', { reason: 'the token is not valid any more' });
        const watchers = [...this.#channels.values()].flatMap((watched) => [...watched.watchers]);
        this.#channels.clear();
        this.#rest();
        for (const watcher of watchers) watcher.ended();
      },
    });
  }

  #hear({ event, data, broadcast }: SocketEvent): void {
    if (POST_CHANGES.includes(event)) {
      const post = parseObject(data.post);
      if (typeof post?.channel_id === 'string') this.#heard(post.channel_id, Number(post.update_at) || 0);
    } else if (REACTION_CHANGES.includes(event) && typeof broadcast.channel_id === 'string') {
      this.#heard(broadcast.channel_id, 0); // which time its post has now, it does not say
    }
  }

  #heard(id: string, at: number): void {
    this.#changed(id, at).catch((error) => {
      this.#options.log.debug('update_not_told', { channel_id: id, error: errorText(error) });
      this.#catchUp([id]);
    });
  }

  /** Asks each channel what has changed since that was last told, again and again while Mattermost cannot say. */
  #catchUp(ids: Iterable<string>): void {
    for (const id of ids) this.#missed.add(id);
    if (!this.#isCatchingUp) void this.#askAll();
  }

  async #askAll(): Promise<void> {
    const { config, signal } = this.#options;
    this.#isCatchingUp = true;
    for (let attempt = 0; this.#missed.size > 0; attempt++) {
      if (attempt > 0) await delay(backoff(attempt - 1, config.backoffMs), signal).catch(() => {}); // closing ends the loop
      for (const id of [...this.#missed]) await this.#ask(id);
    }
    this.#isCatchingUp = false;
  }

  async #ask(id: string): Promise<void> {
    this.#missed.delete(id);
    const watched = this.#channels.get(id);
    if (!watched) return;
    try {
      const { since } = watched;
      const list = await this.#context.api.get<PostListRecord>(path`/channels/${id}/posts`, { since });
      const posts = Object.values(list.posts ?? {});
      // an empty answer may come from a cache that is behind
      const latest =
        posts.length === 0
          ? await newestPostTime(this.#context.api, id)
          : Math.max(...posts.map(({ update_at }) => update_at ?? 0));
      if (latest > watched.since) await this.#changed(id, latest);
    } catch (error) {
      const code = isMattermostError(error) ? error.code : 'UNEXPECTED';
      this.#options.log.warning('catch_up_failed', { channel_id: id, code });
      if (isPassing(error)) this.#missed.add(id);
    }
  }

  /** Resolves when the watchers know of it, or may not; rejects while that cannot be found out. */
  async #changed(id: string, at: number): Promise<void> {
    const watched = this.#channels.get(id);
    if (!watched) return;
    watched.changedAt = Math.max(watched.changedAt, at);
    watched.telling ??= this.#tell(id, watched).finally(() => {
      watched.telling = undefined;
    });
    await watched.telling;
  }

  async #tell(id: string, watched: Watched): Promise<void> {
    // a channel may have been renamed, and be another one to the lists
    const isReadable = await this.#isReadable(id);
    watched.since = watched.changedAt;
    if (isReadable) for (const watcher of watched.watchers) watcher.changed();
  }

  async #isReadable(id: string): Promise<boolean> {
    try {
      await this.#context.policy.requireChannel(id, 'read');
      return true;
    } catch (error) {
      if (isPassing(error)) throw error;
      this.#options.log.debug('update_withheld', { channel_id: id, error: errorText(error) });
      return false;
    }
  }
}
