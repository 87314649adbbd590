// An agent as an A2A server: on its own port, or as a handler inside another server.
import { PocketAgent } from 'pocket-agent';
import { closedError, closedResponse } from 'pocket-agent/internal';
import {
  type A2aListening,
  type A2aListenOptions,
  type A2aServerOptions,
  checkServerOptions,
  listenOptions,
} from '../tasks/server-options.ts';
import type { A2aService } from './service.ts';

export class A2aServer {
  readonly #agent: PocketAgent<unknown>;
  readonly #options: A2aServerOptions;
  #leaveAgent: () => void;
  #service: Promise<A2aService> | undefined;
  #isClosed = false;

  /** The server closes with its agent. */
  constructor(agent: PocketAgent<unknown>, options: A2aServerOptions) {
    checkServerOptions(options);
    this.#agent = agent;
    this.#options = options;
    this.#leaveAgent = agent.closeTogether(this);
  }

  /** Handles one request, for an HTTP server that has other routes too. Set `url` to its address. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const service = await this.#load();
    return this.#isClosed ? closedResponse(this.#agent.name) : service.fetch(request);
  };

  /**
   * Serves HTTP until `close()`. Throws if the model cannot be used, such as without a key; with `durable` only the workers
   * need it. These options take precedence over those of the server.
   */
  async listen(options: A2aListenOptions = {}): Promise<A2aListening> {
    listenOptions.check(options);
    this.#leaveAgent = this.#agent.closeTogether(this);
    this.#isClosed = false;
    if (!this.#options.durable) await this.#agent.languageModel();
    const service = await this.#load();
    if (this.#isClosed) throw closedError(this.#agent.name);
    const listening = await service.listen(options);
    if (!this.#isClosed) return listening;
    await listening.close();
    throw closedError(this.#agent.name);
  }

  /** Stops listening and ends all tasks; the agent stays open. `listen()` serves it again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#leaveAgent();
    await (await this.#service)?.close();
  }

  /** The A2A SDK takes 200 ms to load, so it is loaded with the first request. */
  #load(): Promise<A2aService> {
    this.#service ??= import('./service.ts').then(({ A2aService }) => new A2aService(this.#agent, this.#options));
    return this.#service;
  }
}

declare module 'pocket-agent' {
  interface PocketAgent<Answer> {
    /** This agent as an A2A server. Importing `@pocket-agent/a2a` adds this method. */
    asA2aServer(options?: A2aServerOptions): A2aServer;
  }
}

PocketAgent.prototype.asA2aServer = function asA2aServer(this: PocketAgent<unknown>, options = {}): A2aServer {
  return new A2aServer(this, options);
};
