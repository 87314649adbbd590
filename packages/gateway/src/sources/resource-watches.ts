// The resources of one server that clients watch. Each is subscribed to once for each connection, and again after a loss.
import { type Client, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import { errorText, type Logger } from '@pocket-agent/kit';
import type { PocketAgentClient } from 'pocket-agent';
import { inRun, type RunContext } from 'pocket-agent/internal/gate';
import { WatchStream } from './watch-stream.ts';

/** Below the time after which an unused connection is closed. */
const KEEP_MS = 60_000;
const RETRY_MS = 2_000;
/** Resources of the server that one caller watches. */
const MAX_OWN = 100;

interface WatchesOptions {
  server: string;
  client: PocketAgentClient;
  logger: Logger;
  /** All callers have one connection. */
  isShared: boolean;
}

interface Watch {
  uri: string;
  /** The caller who watches. */
  run: RunContext;
  clients: number;
  /** The session that it is subscribed in. */
  sdk?: Client | undefined;
  end?: (() => Promise<unknown>) | undefined;
  /** The attempt to subscribe that is under way. */
  attempt?: Promise<void> | undefined;
}

export class ResourceWatches {
  readonly #options: WatchesOptions;
  /** Watches by connection and address. */
  readonly #watches = new Map<string, Watch>();
  /** The streams of connections of the 2026 era. */
  readonly #streams = new WeakMap<Client, WatchStream>();
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  has(uri: string, caller: string | undefined): boolean {
    return this.#watches.has(this.#key(uri, caller));
  }

  /** Another client watches a resource as the caller of this run. Returns a function that stops this. */
  async add(uri: string, run: RunContext): Promise<() => void> {
    const key = this.#key(uri, run.policy.caller);
    if (!this.#watches.has(key) && this.#countOf(run.policy.caller) >= MAX_OWN)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidRequest,
        `At most ${MAX_OWN} resources of a server can be watched`,
      );
    const watch = this.#watches.get(key) ?? { uri, run, clients: 0 };
    this.#watches.set(key, watch);
    watch.clients++;
    this.#timer ??= setInterval(() => this.renew(), KEEP_MS).unref();
    const end = () => this.#remove(key, watch);
    try {
      await this.#subscribe(watch);
      return end;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Subscribes again where the connection is another one, and keeps connections open. */
  renew(): void {
    const { server, logger } = this.#options;
    for (const watch of this.#watches.values())
      this.#subscribe(watch).catch((error) => {
        logger.debug(`watching ${watch.uri} of ${server}: ${errorText(error)}`);
        this.#renewSoon();
      });
  }

  close(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    this.#watches.clear();
  }

  #renewSoon(): void {
    if (this.#watches.size === 0) return;
    const retry = () => {
      this.#retry = undefined;
      this.renew();
    };
    this.#retry ??= setTimeout(retry, RETRY_MS).unref();
  }

  #countOf(caller: string | undefined): number {
    return [...this.#watches.values()].filter(({ run }) => run.policy.caller === caller).length;
  }

  #key(uri: string, caller = ''): string {
    return `${this.#options.isShared ? '' : caller} ${uri}`;
  }

  #remove(key: string, watch: Watch): void {
    if (--watch.clients > 0 || this.#watches.get(key) !== watch) return;
    this.#watches.delete(key);
    watch.end?.().catch(() => {}); // the connection is gone, and the subscription with it
  }

  #subscribe(watch: Watch): Promise<void> {
    const { client, server } = this.#options;
    const subscribe = async (sdk: Client) => {
      if (watch.sdk === sdk) return;
      watch.end = await this.#subscribeIn(sdk, watch.uri);
      watch.sdk = sdk;
    };
    watch.attempt ??= inRun(watch.run, () => client.request(server, subscribe)).finally(() => {
      watch.attempt = undefined;
      if (watch.clients === 0) watch.end?.().catch(() => {}); // its result is no longer needed
    });
    return watch.attempt;
  }

  async #subscribeIn(sdk: Client, uri: string): Promise<() => Promise<unknown>> {
    if (!sdk.getServerCapabilities()?.resources?.subscribe)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The server of ${uri} does not announce its changes`);
    if (sdk.getProtocolEra() === 'modern') {
      const stream = this.#streams.get(sdk) ?? new WatchStream(sdk, () => this.#loseStream(sdk));
      this.#streams.set(sdk, stream);
      return stream.add(uri);
    }
    await sdk.subscribeResource({ uri });
    return () => sdk.unsubscribeResource({ uri });
  }

  #loseStream(sdk: Client): void {
    this.#streams.delete(sdk);
    for (const watch of this.#watches.values()) if (watch.sdk === sdk) watch.sdk = undefined;
    this.#renewSoon();
  }
}
