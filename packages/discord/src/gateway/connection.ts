// The connection to Discord: opens it, logs its state, and closes it even if Discord does not answer.
import { onAbort, settlesWithin } from '@pocket-agent/kit';
import { Client, Events, GatewayCloseCodes, GatewayIntentBits, Partials, RESTEvents } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { loginError } from '../base/discord-errors.ts';
import { DiscordBotError } from '../base/errors.ts';
import type { BotOptions } from '../config/options.ts';
import { abortableOptions } from './abortable-client.ts';
import { warnWhileConnecting } from './connect-warnings.ts';

const DISCONNECT_MS = 1_000;
/** Why Discord disconnects, by its close code. */
const DISCONNECT_REASONS: Record<number, string> = {
  [GatewayCloseCodes.AuthenticationFailed]:
    'Discord no longer accepts the token of the bot. Copy the new one from the Developer Portal and set DISCORD_TOKEN.',
  [GatewayCloseCodes.DisallowedIntents]:
    'Discord no longer accepts the bot: turn on "Message Content Intent" in the Developer Portal under Bot.',
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
    const { ws, rest } = abortableOptions(this.#ended.signal, options.client);
    this.client = new Client({
      intents: [
        GatewayIntentBits.Guilds,
        GatewayIntentBits.GuildMessages,
        GatewayIntentBits.DirectMessages,
        GatewayIntentBits.MessageContent,
      ],
      partials: [Partials.Channel],
      // text of a model must never ping anyone
      allowedMentions: { parse: [], repliedUser: false },
      // discord.js repeats a request that timed out; the nonce prevents a second message
      enforceNonce: true,
      ...options.client,
      ws,
      rest: { ...(options.apiUrl ? { api: options.apiUrl } : {}), ...rest },
    });
  }

  /** Resolves when Discord refuses to reconnect: the token was reset or an intent was turned off. */
  get lost(): Promise<DiscordBotError> {
    return this.#lost.promise;
  }

  async open(): Promise<Client<true>> {
    const { client } = this;
    const { token, apiUrl } = this.#options;
    this.#logConnection();
    this.#keepToken();
    const stopWarnings = warnWhileConnecting(client.rest, this.#logger);
    onAbort(this.#ended.signal, stopWarnings);
    const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
    try {
      await client.login(token);
      return await ready;
    } catch (cause) {
      throw loginError(cause, apiUrl);
    } finally {
      stopWarnings();
    }
  }

  /** Closes the connection within two seconds. `last` are requests in progress, which then fail. */
  async close(last: Promise<unknown>): Promise<void> {
    await settlesWithin(DISCONNECT_MS, last);
    this.#ended.abort();
    await settlesWithin(DISCONNECT_MS, Promise.all([this.client.destroy(), last]));
  }

  /** discord.js drops its token after any 401, even from a proxy. Only the gateway knows if it is invalid. */
  #keepToken(): void {
    const { rest } = this.client;
    rest.on(RESTEvents.Response, (_request, { status }) => {
      if (status === 401) setImmediate(() => rest.setToken(this.#options.token));
    });
  }

  #logConnection(): void {
    const { client } = this;
    const logger = this.#logger;
    const disconnected = new Set<number>();
    client.on(Events.Error, (error) => logger.error('Connection to Discord failed', { reason: error.message }));
    client.on(Events.ShardError, (error, shard) =>
      logger.error('Connection to Discord failed', { shard, reason: error.message }),
    );
    client.on(Events.ShardReconnecting, (shard) => {
      // discord.js retries twice a second; log only the first time
      const isLogged = disconnected.has(shard) || this.#ended.signal.aborted;
      if (!isLogged) logger.warn('Connection to Discord lost; reconnecting', { shard });
      disconnected.add(shard);
    });
    client.on(Events.ShardDisconnect, ({ code }, shard) => {
      if (this.#ended.signal.aborted) return;
      const reason = DISCONNECT_REASONS[code] ?? `Discord closed the connection with code ${code}.`;
      logger.error('Discord closed the connection for good', { shard, reason });
      this.#lost.resolve(new DiscordBotError('LOGIN_FAILED', reason));
    });
    const onReconnect = (shard: number) => {
      if (disconnected.delete(shard)) logger.info('Connection to Discord restored', { shard });
    };
    client.on(Events.ShardReady, onReconnect);
    client.on(Events.ShardResume, onReconnect);
  }
}
