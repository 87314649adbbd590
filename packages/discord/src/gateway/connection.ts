// The connection to Discord: made, watched, and ended whether Discord answers or not.
import { Client, Events, GatewayCloseCodes, GatewayIntentBits, Partials, RESTEvents } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { loginFailed } from '../base/discord-errors.ts';
import { DiscordBotError } from '../base/errors.ts';
import { within } from '../base/settles-within.ts';
import type { BotOptions } from '../config/options.ts';
import { endingWith } from './abortable-client.ts';
import { tellWaiting } from './connect-warnings.ts';

const DISCONNECT_MS = 1_000;
/** By the code that the gateway closes with. */
const LOST_FOR: Record<number, string> = {
  [GatewayCloseCodes.AuthenticationFailed]:
    'Discord no longer accepts the token of the bot. Copy the new one from the Developer Portal, and set DISCORD_TOKEN.',
  [GatewayCloseCodes.DisallowedIntents]:
    'Discord no longer lets the bot in: switch on "Message Content Intent" in the Developer Portal under Bot.',
};

export class Connection {
  readonly client: Client;
  readonly #options: BotOptions;
  readonly #logger: Logger;
  readonly #ended = new AbortController();
  readonly #lost = Promise.withResolvers<DiscordBotError>();

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

  /** Settles when Discord will not take the bot back: its token was reset, or an intent switched off. */
  get lost(): Promise<DiscordBotError> {
    return this.#lost.promise;
  }

  async open(): Promise<Client<true>> {
    const { client } = this;
    const { token, apiUrl } = this.#options;
    this.#tell();
    this.#keepToken();
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

  /** discord.js forgets its token with any 401, also with that of a proxy. Whether it is wrong the gateway says. */
  #keepToken(): void {
    const { rest } = this.client;
    rest.on(RESTEvents.Response, (_request, { status }) => {
      if (status === 401) setImmediate(() => rest.setToken(this.#options.token));
    });
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
    client.on(Events.ShardDisconnect, ({ code }, shard) => {
      if (this.#ended.signal.aborted) return;
      const reason = LOST_FOR[code] ?? `Discord closed the connection for good (${code}).`;
      logger.error('The connection to Discord is lost', { shard, reason });
      this.#lost.resolve(new DiscordBotError('LOGIN_FAILED', reason));
    });
    const isBack = (shard: number) => {
      if (away.delete(shard)) logger.info('The connection to Discord is back', { shard });
    };
    client.on(Events.ShardReady, isBack);
    client.on(Events.ShardResume, isBack);
  }
}
