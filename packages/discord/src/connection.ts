// The connection to Discord: made, watched, and ended whether Discord answers or not.
import { Client, Events, GatewayIntentBits, Partials } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { loginFailed } from './discord-error.ts';
import { endingWith } from './ending.ts';
import type { BotOptions } from './options.ts';
import { tellWaiting } from './waiting.ts';
import { within } from './within.ts';

const DISCONNECT_MS = 1_000;

export class Connection {
  readonly client: Client;
  readonly #options: BotOptions;
  readonly #logger: Logger;
  readonly #ended = new AbortController();

  constructor(options: BotOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    const { ws, rest } = endingWith(this.#ended.signal, options.client);
    this.client = new Client({
      intents: [
        GatewayIntentBits.Guilds,
        GatewayIntentBits.GuildMessages,
        GatewayIntentBits.DirectMessages,
        GatewayIntentBits.MessageContent,
      ],
      partials: [Partials.Channel],
      // whatever a model writes, nobody is pinged by it
      allowedMentions: { parse: [], repliedUser: false },
      // a request whose answer does not come in time is sent again, and must not be a second message
      enforceNonce: true,
      ...options.client,
      ws,
      rest: { ...(options.apiUrl ? { api: options.apiUrl } : {}), ...rest },
    });
  }

  async open(): Promise<Client<true>> {
    const { client } = this;
    const { token, apiUrl } = this.#options;
    this.#tell();
    const stopTelling = tellWaiting(client.rest, this.#logger);
    this.#ended.signal.addEventListener('abort', stopTelling, { once: true });
    const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
    try {
      await client.login(token);
      return await ready;
    } catch (cause) {
      throw loginFailed(cause, apiUrl);
    } finally {
      stopTelling();
    }
  }

  /** A Discord that does not answer keeps nobody. `last` is what is still being said, which then ends by itself. */
  async end(last: Promise<unknown>): Promise<void> {
    await within(DISCONNECT_MS, last);
    this.#ended.abort();
    await within(DISCONNECT_MS, Promise.all([this.client.destroy(), last]));
  }

  #tell(): void {
    const { client } = this;
    const logger = this.#logger;
    const away = new Set<number>();
    client.on(Events.Error, (error) => logger.error('The connection to Discord failed', { reason: error.message }));
    client.on(Events.ShardError, (error, shard) =>
      logger.error('The connection to Discord failed', { shard, reason: error.message }),
    );
    client.on(Events.ShardReconnecting, (shard) => {
      // it tries twice a second
      const isKnown = away.has(shard) || this.#ended.signal.aborted;
      if (!isKnown) logger.warn('The connection to Discord is gone; trying to get it back', { shard });
      away.add(shard);
    });
    const isBack = (shard: number) => {
      if (away.delete(shard)) logger.info('The connection to Discord is back', { shard });
    };
    client.on(Events.ShardReady, isBack);
    client.on(Events.ShardResume, isBack);
  }
}
