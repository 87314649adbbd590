// What changes in the channels somebody watches, for one Mattermost account. The socket is open while anybody watches.
import type { Caller, ToolContext } from '../caller.ts';
import { path } from '../client/path.ts';
import type { ChannelRecord, PostListRecord } from '../client/records.ts';
import type { MattermostConfig } from '../config.ts';
import { errorText, isMattermostError, MattermostError } from '../errors.ts';
import { parseObject } from '../json.ts';
import type { Log } from '../log.ts';
import { isTokenValid, MattermostSocket, type SocketEvent } from './socket.ts';

export interface Watcher {
  changed(): void;
  /** Nothing will be told any more: the account's token is over. */
  ended(): void;
}

interface Watched {
  /** The time of the last change that is known, by Mattermost's clock. */
  since: number;
  watchers: Set<Watcher>;
  isTelling: boolean;
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

const CHANGES = ['posted', 'post_edited', 'post_deleted'];
const MOST_CHANNELS = 200;

export class ChannelFeed {
  readonly #options: FeedOptions;
  readonly #context: ToolContext;
  readonly #channels = new Map<string, Watched>();
  #socket: MattermostSocket | undefined;
  /** Watchers that are being let in. */
  #arriving = 0;
  #caughtUp = Promise.resolve();

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#context = options.caller.context(options.signal, () => {});
  }

  /** Resolves with what ends it; rejects when the channel may not be read. */
  async watch(channelId: string, watcher: Watcher): Promise<() => void> {
    const { policy, api } = this.#context;
    this.#arriving++;
    try {
      await policy.requireChannel(channelId, 'read');
      const { last_post_at } = await api.get<ChannelRecord>(path`/channels/${channelId}`);
      if (!this.#channels.has(channelId) && this.#channels.size >= MOST_CHANNELS) {
        throw new MattermostError('REFUSED', `Refused: at most ${MOST_CHANNELS} channels can be watched at a time.`);
      }
      const watched = this.#channels.get(channelId) ?? {
        since: last_post_at ?? 0,
        watchers: new Set(),
        isTelling: false,
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
      onGap: () => this.#catchUp(),
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

  #hear({ event, data }: SocketEvent): void {
    if (!CHANGES.includes(event)) return;
    const post = parseObject(data.post);
    if (typeof post?.channel_id === 'string') this.#changed(post.channel_id, Number(post.update_at) || 0);
  }

  /** Asks each channel what has changed since we last heard of it; one round after the other. */
  #catchUp(): void {
    this.#caughtUp = this.#caughtUp.then(() => this.#askAll());
  }

  async #askAll(): Promise<void> {
    for (const [id, watched] of [...this.#channels]) {
      try {
        const { since } = watched;
        const list = await this.#context.api.get<PostListRecord>(path`/channels/${id}/posts`, { since });
        const latest = Math.max(0, ...Object.values(list.posts ?? {}).map(({ update_at }) => update_at ?? 0));
        if (latest > watched.since) this.#changed(id, latest);
      } catch (error) {
        const code = isMattermostError(error) ? error.code : 'UNEXPECTED';
        this.#options.log.warning('catch_up_failed', { channel_id: id, code });
      }
    }
  }

  #changed(id: string, at: number): void {
    const watched = this.#channels.get(id);
    if (!watched) return;
    watched.since = Math.max(watched.since, at);
    if (watched.isTelling) return;
    watched.isTelling = true;
    // a channel may have been renamed, and be another one to the lists
    this.#context.policy
      .requireChannel(id, 'read')
      .then(() => {
        for (const watcher of watched.watchers) watcher.changed();
      })
      .catch((error) => this.#options.log.debug('update_withheld', { channel_id: id, error: errorText(error) }))
      .finally(() => {
        watched.isTelling = false;
      });
  }
}
