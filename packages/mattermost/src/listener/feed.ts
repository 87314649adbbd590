// Notifies watchers of changes in channels of one Mattermost account. The WebSocket is open while there are watchers.

import { errorText } from '@pocket-agent/kit';
import type { Account, ToolContext } from '../account/account.ts';
import { requireMember } from '../account/membership.ts';
import { isMattermostError, isTransient, MattermostError } from '../base/errors.ts';
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
  /** No more notifications: the account's token is no longer valid. */
  ended(): void;
}

interface WatchedChannel {
  /** Time of the last change that watchers were notified of, by Mattermost's clock. */
  since: number;
  /** Time of the last known change. */
  changedAt: number;
  watchers: Set<Watcher>;
  /** A pending notification; includes changes until it is sent. */
  notifying: Promise<void> | undefined;
}

interface FeedOptions {
  config: MattermostConfig;
  token: string;
  account: Account;
  log: Log;
  /** Aborted when the server closes. */
  signal: AbortSignal;
  /** Called when the last watcher has left. */
  onIdle(): void;
}

const POST_CHANGES = ['posted', 'post_edited', 'post_deleted'];
const REACTION_CHANGES = ['reaction_added', 'reaction_removed'];
const MAX_CHANNELS = 200;

export class ChannelFeed {
  readonly #options: FeedOptions;
  readonly #context: ToolContext;
  readonly #channels = new Map<string, WatchedChannel>();
  #socket: MattermostSocket | undefined;
  /** Watches that are being set up. */
  #pendingWatches = 0;
  /** Channels in which changes may have been missed. */
  readonly #catchUpQueue = new Set<string>();
  #isCatchingUp = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#context = options.account.context(options.signal, () => {});
  }

  /** Resolves with a function that ends the watch; rejects if the channel may not be read or sends no events. */
  async watch(channelId: string, watcher: Watcher): Promise<() => void> {
    const { policy, api } = this.#context;
    this.#pendingWatches++;
    try {
      await policy.requireChannel(channelId, 'read');
      const { last_post_at } = await api.get<ChannelRecord>(path`/channels/${channelId}`);
      await requireMember(api, channelId, 'Mattermost notifies only members of a channel of changes');
      if (!this.#channels.has(channelId) && this.#channels.size >= MAX_CHANNELS) {
        throw new MattermostError(
          'REFUSED',
          `Refused: at most ${MAX_CHANNELS} channels can be watched at the same time.`,
        );
      }
      const watched = this.#channels.get(channelId) ?? {
        since: last_post_at ?? 0,
        changedAt: last_post_at ?? 0,
        watchers: new Set(),
        notifying: undefined,
      };
      this.#channels.set(channelId, watched);
      watched.watchers.add(watcher);
      this.#socket ??= this.#open();
      return () => this.#leave(channelId, watcher);
    } finally {
      this.#pendingWatches--;
      this.#closeIfIdle();
    }
  }

  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
    this.#channels.clear();
    this.#catchUpQueue.clear();
  }

  #leave(channelId: string, watcher: Watcher): void {
    const watchers = this.#channels.get(channelId)?.watchers;
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#channels.delete(channelId);
    this.#closeIfIdle();
  }

  #closeIfIdle(): void {
    if (this.#channels.size > 0 || this.#pendingWatches > 0) return;
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
      onEvent: (event) => this.#handleEvent(event),
      onGap: () => this.#catchUp(this.#channels.keys()),
      isTokenValid: () => isTokenValid(() => api.get('/users/me')),
      onTokenRejected: () => {
        log.warning('socket_refused', { reason: 'the token is no longer valid' });
        const watchers = [...this.#channels.values()].flatMap((watched) => [...watched.watchers]);
        this.#channels.clear();
        this.#closeIfIdle();
        for (const watcher of watchers) watcher.ended();
      },
    });
  }

  #handleEvent({ event, data, broadcast }: SocketEvent): void {
    if (POST_CHANGES.includes(event)) {
      const post = parseObject(data.post);
      if (typeof post?.channel_id === 'string') this.#queueChange(post.channel_id, Number(post.update_at) || 0);
    } else if (REACTION_CHANGES.includes(event) && typeof broadcast.channel_id === 'string') {
      this.#queueChange(broadcast.channel_id, 0); // the event does not contain the new time of the post
    }
  }

  #queueChange(id: string, at: number): void {
    this.#handleChange(id, at).catch((error) => {
      this.#options.log.debug('update_not_sent', { channel_id: id, error: errorText(error) });
      this.#catchUp([id]);
    });
  }

  /** Checks the channels for missed changes; retries while Mattermost is unavailable. */
  #catchUp(ids: Iterable<string>): void {
    for (const id of ids) this.#catchUpQueue.add(id);
    if (!this.#isCatchingUp) void this.#runCatchUp();
  }

  async #runCatchUp(): Promise<void> {
    const { config, signal } = this.#options;
    this.#isCatchingUp = true;
    for (let attempt = 0; this.#catchUpQueue.size > 0; attempt++) {
      if (attempt > 0) await delay(backoff(attempt - 1, config.backoffMs), signal).catch(() => {}); // closing ends the loop
      for (const id of [...this.#catchUpQueue]) await this.#catchUpChannel(id);
    }
    this.#isCatchingUp = false;
  }

  async #catchUpChannel(id: string): Promise<void> {
    this.#catchUpQueue.delete(id);
    const watched = this.#channels.get(id);
    if (!watched) return;
    try {
      const { since } = watched;
      const list = await this.#context.api.get<PostListRecord>(path`/channels/${id}/posts`, { since });
      const posts = Object.values(list.posts ?? {});
      // an empty response may come from a stale cache
      const latest =
        posts.length === 0
          ? await newestPostTime(this.#context.api, id)
          : Math.max(...posts.map(({ update_at }) => update_at ?? 0));
      if (latest > watched.since) await this.#handleChange(id, latest);
    } catch (error) {
      const code = isMattermostError(error) ? error.code : 'UNEXPECTED';
      this.#options.log.warning('catch_up_failed', { channel_id: id, code });
      if (isTransient(error)) this.#catchUpQueue.add(id);
    }
  }

  /** Resolves when watchers were notified or may not be; rejects if that cannot be determined. */
  async #handleChange(id: string, at: number): Promise<void> {
    const watched = this.#channels.get(id);
    if (!watched) return;
    watched.changedAt = Math.max(watched.changedAt, at);
    watched.notifying ??= this.#notify(id, watched).finally(() => {
      watched.notifying = undefined;
    });
    await watched.notifying;
  }

  async #notify(id: string, watched: WatchedChannel): Promise<void> {
    // check again: a renamed channel can match other entries of the access lists
    const isReadable = await this.#isReadable(id);
    watched.since = watched.changedAt;
    if (isReadable) for (const watcher of watched.watchers) watcher.changed();
  }

  async #isReadable(id: string): Promise<boolean> {
    try {
      await this.#context.policy.requireChannel(id, 'read');
      return true;
    } catch (error) {
      if (isTransient(error)) throw error;
      this.#options.log.debug('update_withheld', { channel_id: id, error: errorText(error) });
      return false;
    }
  }
}
