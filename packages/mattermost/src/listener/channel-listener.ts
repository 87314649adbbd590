// Channels as resources that can be read and watched, for clients of both eras on both transports.
import {
  type AuthInfo,
  createMcpHandler,
  type JSONRPCMessage,
  type McpServer,
  type McpServerFactory,
  ResourceTemplate,
  readRequestBody,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Caller } from '../account/caller.ts';
import { hashOf } from '../auth/auth.ts';
import { errorText } from '../base/errors.ts';
import { parseObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { channelIdOf, readChannelResource, URI_TEMPLATE } from './channel-resource.ts';
import { ChannelFeed, type Watcher } from './feed.ts';
import { honoredPart, LISTEN, ListenEvents, urisOf } from './listen-request.ts';
import { Subscriptions } from './subscriptions.ts';

/** Does something as whoever asks. */
export type Acting = <Result>(
  authInfo: AuthInfo | undefined,
  work: (caller: Caller, token: string) => Promise<Result>,
) => Promise<Result>;

interface ListenerOptions {
  config: MattermostConfig;
  log: Log;
  /** Aborted when the server closes. */
  signal: AbortSignal;
  acting: Acting;
}

const MOST_LISTENING = 1000;
const LARGEST_REQUEST = 100_000;

const TEMPLATE = new ResourceTemplate(URI_TEMPLATE, { list: undefined });
const DESCRIBED = {
  title: 'Channel',
  description: 'The last messages of a channel; subscribe to be told when that changes',
  mimeType: 'application/json',
};

export class ChannelListener {
  readonly #options: ListenerOptions;
  readonly #feeds = new Map<string, ChannelFeed>();
  /** Ends each listening request of the newer era. */
  readonly #listening = new Set<() => void>();

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Before the server is connected. */
  extend(server: McpServer, { era, authInfo }: { era: 'legacy' | 'modern'; authInfo?: AuthInfo | undefined }): void {
    // in an older session the request says who asks, not whoever opened the session
    const asking = (context: ServerContext) => context.http?.authInfo ?? authInfo;
    server.server.registerCapabilities({ resources: { subscribe: true } });
    server.registerResource('channel', TEMPLATE, DESCRIBED, (uri, _variables, context) =>
      this.#options.acting(asking(context), (caller) =>
        readChannelResource(
          uri.href,
          caller.context(context.mcpReq.signal, () => {}),
        ),
      ),
    );
    if (era === 'legacy') this.#takeSubscriptions(server, asking);
  }

  /** Clients of the 2026 era over HTTP: the answer to a request to listen, undefined for any other request. */
  async listen(request: Request, authInfo: AuthInfo, factory: McpServerFactory): Promise<Response | undefined> {
    if (request.headers.get('mcp-method') !== LISTEN) return undefined;
    if (this.#listening.size >= MOST_LISTENING)
      return new Response('Too many listen; try again later', { status: 503 });
    const body = await readRequestBody(request, LARGEST_REQUEST);
    const message = body.tooLarge ? undefined : parseObject(body.text);
    if (message === undefined) return new Response('The request is no JSON, or too large', { status: 400 });
    const events = new ListenEvents();
    const end = () => {
      this.#listening.delete(end);
      subscriptions.clear();
      handler.close().catch((error) => this.#options.log.warning('listen_close_failed', { error: errorText(error) }));
    };
    const subscriptions = new Subscriptions((uri) =>
      this.#watch(authInfo, uri, { changed: () => events.publish({ kind: 'resource_updated', uri }), ended: end }),
    );
    const handler = createMcpHandler(factory, { legacy: 'reject', bus: events });
    events.onEnd = end;
    this.#listening.add(end);
    try {
      const honored = await honoredPart(message, (uri) => this.#tryTo(subscriptions.add(uri)));
      return await handler.fetch(request, { authInfo, parsedBody: honored });
    } finally {
      if (!events.isUsed) end(); // refused, or nothing to listen to
    }
  }

  /** Clients on stdio: what the newer era listens to is seen in its messages only. */
  onStdio(factory: McpServerFactory): { factory: McpServerFactory; onMessage(message: JSONRPCMessage): void } {
    let current: McpServer | undefined;
    const subscriptions = new Subscriptions((uri) =>
      this.#watch(undefined, uri, { changed: () => tell(current?.server, uri), ended: () => {} }),
    );
    return {
      factory: async (context) => {
        const server = await factory(context);
        if (context.era === 'modern' && 'registerTool' in server) current = server;
        return server;
      },
      onMessage: (message) => {
        if (!('method' in message)) return;
        if (message.method === LISTEN && 'id' in message) {
          for (const uri of urisOf(message)) void this.#tryTo(subscriptions.add(uri, message.id));
        } else if (message.method === 'notifications/cancelled') {
          const id = message.params?.requestId;
          if (typeof id === 'string' || typeof id === 'number') subscriptions.removeOwner(id);
        }
      },
    };
  }

  close(): void {
    for (const end of [...this.#listening]) end();
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
  }

  #takeSubscriptions({ server }: McpServer, asking: (context: ServerContext) => AuthInfo | undefined): void {
    const owners = new Map<string, Subscriptions>();
    const subscriptionsOf = (context: ServerContext) => {
      const authInfo = asking(context);
      const key = authInfo?.token ?? '';
      const known = owners.get(key);
      const subscriptions: Subscriptions =
        known ??
        new Subscriptions((uri) => {
          const ended = () => subscriptions.remove(uri); // so that it can be asked for again, with another token
          return this.#watch(authInfo, uri, { changed: () => tell(server, uri), ended });
        });
      owners.set(key, subscriptions);
      return subscriptions;
    };
    server.setRequestHandler('resources/subscribe', async ({ params }, context) => {
      await subscriptionsOf(context).add(params.uri);
      return {};
    });
    server.setRequestHandler('resources/unsubscribe', async ({ params }, context) => {
      subscriptionsOf(context).remove(params.uri);
      return {};
    });
    const { onclose } = server;
    server.onclose = () => {
      for (const subscriptions of owners.values()) subscriptions.clear();
      onclose?.();
    };
  }

  #watch(authInfo: AuthInfo | undefined, uri: string, watcher: Watcher): Promise<() => void> {
    return this.#options.acting(authInfo, async (caller, token) => {
      const channelId = channelIdOf(uri);
      return this.#feedOf(token, caller).watch(channelId, watcher);
    });
  }

  #feedOf(token: string, caller: Caller): ChannelFeed {
    const { config, log, signal } = this.#options;
    const key = hashOf(token);
    const known = this.#feeds.get(key);
    if (known) return known;
    const feed = new ChannelFeed({
      config,
      token,
      caller,
      log,
      signal,
      onIdle: () => {
        if (this.#feeds.get(key) === feed) this.#feeds.delete(key);
      },
    });
    this.#feeds.set(key, feed);
    return feed;
  }

  /** Whether it came to be. */
  async #tryTo(subscribed: Promise<void>): Promise<boolean> {
    try {
      await subscribed;
      return true;
    } catch (error) {
      this.#options.log.info('subscription_refused', { error: errorText(error).slice(0, 300) });
      return false;
    }
  }
}

function tell(server: McpServer['server'] | undefined, uri: string): void {
  server?.sendResourceUpdated({ uri }).catch(() => {}); // nobody is there
}
