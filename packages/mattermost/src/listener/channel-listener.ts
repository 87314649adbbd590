// Channels as MCP resources to read and subscribe to, for both protocol versions on both transports.
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
import { errorText, sha256 } from '@pocket-agent/kit';
import type { Account } from '../account/account.ts';
import { parseObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { readChannelResource, requireChannelId, URI_TEMPLATE } from './channel-resource.ts';
import { ChannelFeed, type Watcher } from './feed.ts';
import { type ReadAs, registerListResources } from './list-resources.ts';
import { keepGrantedUris, LISTEN, ListenEvents, requestedUris } from './listen-request.ts';
import { Subscriptions } from './subscriptions.ts';

/** Runs `work` with the account of a request. */
export type RunAs = <Result>(
  authInfo: AuthInfo | undefined,
  work: (account: Account, token: string) => Promise<Result>,
) => Promise<Result>;

interface ListenerOptions {
  config: MattermostConfig;
  log: Log;
  /** Aborted when the server closes. */
  signal: AbortSignal;
  runAs: RunAs;
}

const MAX_LISTENERS = 1000;
const MAX_REQUEST_BYTES = 100_000;

const TEMPLATE = new ResourceTemplate(URI_TEMPLATE, { list: undefined });
const RESOURCE_INFO = {
  title: 'Channel',
  description: 'The latest messages of a channel; subscribe to be notified of changes',
  mimeType: 'application/json',
};

export class ChannelListener {
  readonly #options: ListenerOptions;
  readonly #feeds = new Map<string, ChannelFeed>();
  /** Functions that end the open listen requests (2026 protocol). */
  readonly #openListens = new Set<() => void>();

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Registers the resources; call before the server is connected. */
  extend(server: McpServer, { era, authInfo }: { era: 'legacy' | 'modern'; authInfo?: AuthInfo | undefined }): void {
    // in a session of the 2025 protocol each request has its own authentication
    const authInfoOf = (context: ServerContext) => context.http?.authInfo ?? authInfo;
    server.server.registerCapabilities({ resources: { subscribe: true } });
    const readAs: ReadAs = (context, read) =>
      this.#options.runAs(authInfoOf(context), (account) => read(account.context(context.mcpReq.signal, () => {})));
    server.registerResource('channel', TEMPLATE, RESOURCE_INFO, (uri, _variables, context) =>
      readAs(context, (toolContext) => readChannelResource(uri.href, toolContext)),
    );
    registerListResources(server, readAs);
    if (era === 'legacy') this.#handleSubscriptions(server, authInfoOf);
  }

  /** Answers a listen request of the 2026 protocol over HTTP; undefined for other requests. */
  async listen(request: Request, authInfo: AuthInfo, factory: McpServerFactory): Promise<Response | undefined> {
    if (request.headers.get('mcp-method') !== LISTEN) return undefined;
    if (this.#openListens.size >= MAX_LISTENERS)
      return new Response('Too many open listen requests; try again later', { status: 503 });
    const body = await readRequestBody(request, MAX_REQUEST_BYTES);
    const message = body.tooLarge ? undefined : parseObject(body.text);
    if (message === undefined) return new Response('The request is not JSON or is too large', { status: 400 });
    const events = new ListenEvents();
    const end = () => {
      this.#openListens.delete(end);
      subscriptions.clear();
      handler.close().catch((error) => this.#options.log.warning('listen_close_failed', { error: errorText(error) }));
    };
    const subscriptions = new Subscriptions((uri) =>
      this.#watch(authInfo, uri, { changed: () => events.publish({ kind: 'resource_updated', uri }), ended: end }),
    );
    const handler = createMcpHandler(factory, { legacy: 'reject', bus: events });
    events.onEnd = end;
    this.#openListens.add(end);
    try {
      const granted = await keepGrantedUris(message, (uri) => this.#isGranted(subscriptions.add(uri)));
      return await handler.fetch(request, { authInfo, parsedBody: granted });
    } finally {
      if (!events.isUsed) end(); // refused, or nothing granted
    }
  }

  /** For stdio: listen requests of the 2026 protocol are only visible in the messages themselves. */
  onStdio(factory: McpServerFactory): { factory: McpServerFactory; onMessage(message: JSONRPCMessage): void } {
    let current: McpServer | undefined;
    const subscriptions = new Subscriptions((uri) =>
      this.#watch(undefined, uri, { changed: () => notifyUpdated(current?.server, uri), ended: () => {} }),
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
          for (const uri of requestedUris(message)) void this.#isGranted(subscriptions.add(uri, message.id));
        } else if (message.method === 'notifications/cancelled') {
          const id = message.params?.requestId;
          if (typeof id === 'string' || typeof id === 'number') subscriptions.removeOwner(id);
        }
      },
    };
  }

  close(): void {
    for (const end of [...this.#openListens]) end();
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
  }

  #handleSubscriptions({ server }: McpServer, authInfoOf: (context: ServerContext) => AuthInfo | undefined): void {
    const owners = new Map<string, Subscriptions>();
    const subscriptionsFor = (context: ServerContext) => {
      const authInfo = authInfoOf(context);
      const key = authInfo?.token ?? '';
      const existing = owners.get(key);
      const subscriptions: Subscriptions =
        existing ??
        new Subscriptions((uri) => {
          const ended = () => subscriptions.remove(uri); // allows a new subscription with another token
          return this.#watch(authInfo, uri, { changed: () => notifyUpdated(server, uri), ended });
        });
      owners.set(key, subscriptions);
      return subscriptions;
    };
    server.setRequestHandler('resources/subscribe', async ({ params }, context) => {
      await subscriptionsFor(context).add(params.uri);
      return {};
    });
    server.setRequestHandler('resources/unsubscribe', async ({ params }, context) => {
      subscriptionsFor(context).remove(params.uri);
      return {};
    });
    const { onclose } = server;
    server.onclose = () => {
      for (const subscriptions of owners.values()) subscriptions.clear();
      onclose?.();
    };
  }

  #watch(authInfo: AuthInfo | undefined, uri: string, watcher: Watcher): Promise<() => void> {
    return this.#options.runAs(authInfo, async (account, token) => {
      const channelId = requireChannelId(uri);
      return this.#feedFor(token, account).watch(channelId, watcher);
    });
  }

  #feedFor(token: string, account: Account): ChannelFeed {
    const { config, log, signal } = this.#options;
    const key = sha256(token);
    const existing = this.#feeds.get(key);
    if (existing) return existing;
    const feed = new ChannelFeed({
      config,
      token,
      account,
      log,
      signal,
      onIdle: () => {
        if (this.#feeds.get(key) === feed) this.#feeds.delete(key);
      },
    });
    this.#feeds.set(key, feed);
    return feed;
  }

  /** Returns false if the subscription was refused. */
  async #isGranted(subscribed: Promise<void>): Promise<boolean> {
    try {
      await subscribed;
      return true;
    } catch (error) {
      this.#options.log.info('subscription_refused', { error: errorText(error).slice(0, 300) });
      return false;
    }
  }
}

function notifyUpdated(server: McpServer['server'] | undefined, uri: string): void {
  server?.sendResourceUpdated({ uri }).catch(() => {}); // the client has disconnected
}
