// An agent as an A2A server: on a port of its own, or as a handler inside another server.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { refuseUnreadable, startListening } from '@pocket-agent/http/mcp';
import { readProfile } from '../access/access.ts';
import { checkServedApprovals } from '../access/approval.ts';
import type { PocketAgent } from '../agent/agent.ts';
import { errorText } from '../kit/errors.ts';
import { cannotListen, isLocal } from '../serve/http-server.ts';
import { Conversations } from '../serve/served-conversations.ts';
import { makeCard } from './card.ts';
import { makeHandler } from './http-handler.ts';
import { PushNotifications } from './push.ts';
import { A2aProtocol, keepIn, serializeNotification } from './request-handler.ts';
import {
  type A2aAccessOptions,
  type A2aListenOptions,
  type A2aServerOptions,
  listenOptions,
  serverOptions,
} from './server-options.ts';
import { TaskMemory } from './task-memory.ts';
import { Tasks } from './tasks.ts';
import { type AgentCard, CARD_PATH } from './wire.ts';

export interface A2aListening {
  /** What others need to find the agent. */
  readonly url: string;
  readonly cardUrl: string;
  /** Stops listening. Tasks go on. */
  close(): Promise<void>;
}

export class A2aServer {
  /** Answers a request, for a server that has others to answer too. Tell it by `url` where it is. */
  readonly fetch = async (request: Request): Promise<Response> => {
    this.#fetch ??= this.#makeHandler('localhost', this.#options);
    return this.#fetch(request);
  };
  readonly #agent: PocketAgent<unknown>;
  readonly #options: A2aServerOptions;
  readonly #conversations: Conversations;
  readonly #push: PushNotifications | undefined;
  readonly #tasks: Tasks;
  readonly #protocol: A2aProtocol;
  readonly #listening = new Set<A2aListening>();
  #fetch: ((request: Request) => Promise<Response>) | undefined;

  readonly #open: Set<unknown>;

  /** It is in `open` until it is closed. */
  constructor(agent: PocketAgent<unknown>, options: A2aServerOptions, open: Set<{ close(): Promise<void> }>) {
    serverOptions.check(options);
    const { logger } = agent;
    const { taskStore, pushNotifications = {}, maxTasks = 1_000, maxConversations = 1_000 } = options;
    if (options.profile !== undefined) readProfile(options.profile);
    checkServedApprovals(options.approvals);
    this.#agent = agent;
    this.#open = open.add(this);
    this.#options = { ...options };
    const keeper = taskStore ? keepIn(taskStore) : new TaskMemory(maxTasks);
    const onError = (error: unknown) => logger.error(`${agent.name} as an A2A server: ${errorText(error)}`);
    this.#conversations = new Conversations({
      most: maxConversations,
      make: () => options.createAgent?.() ?? agent.fork(),
      onError,
    });
    this.#push = pushNotifications
      ? new PushNotifications({
          ...pushNotifications,
          logger,
          maxTasks,
          isRunning: (key) => this.#tasks.isRunning(key),
          serialize: serializeNotification,
        })
      : undefined;
    this.#tasks = new Tasks({ ...options, agent, keeper, conversations: this.#conversations, push: this.#push });
    const card = () => this.#card('http://localhost', options);
    this.#protocol = new A2aProtocol({ tasks: this.#tasks, keeper, push: this.#push, card, onError });
  }

  /** Serves HTTP until `close()`. What is given here goes before what the server was made with. */
  async listen(given: A2aListenOptions = {}): Promise<A2aListening> {
    listenOptions.check(given);
    const { host = '127.0.0.1', port = 0, ...access } = given;
    const options = { ...this.#options, ...access };
    if (!isLocal(host) && !hasCallers(options))
      this.#agent.logger.warn(`${this.#agent.name} listens on ${host} without a token: whoever gets there may use it.`);
    const shownHost = host.includes(':') ? `[${host}]` : host;
    const fetch = this.#makeHandler(shownHost, options);
    const onerror = (error: Error) => this.#agent.logger.debug(`A2A over HTTP: ${errorText(error)}`);
    const handle = toNodeHandler({ fetch }, { onerror, maxRequestBodySize: options.maxBodyBytes ?? 4_194_304 });
    const server = createServer((request, response) => {
      if (!refuseUnreadable(request, response)) void handle(request, response);
    });
    await startListening(server, host, port).catch((error) => {
      throw cannotListen(error);
    });
    server.on('error', onerror);
    const url = options.url?.replace(/\/$/, '') ?? `http://${shownHost}:${(server.address() as AddressInfo).port}`;
    const listening: A2aListening = {
      url,
      cardUrl: `${url}/${CARD_PATH}`,
      close: async () => {
        this.#listening.delete(listening);
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeAllConnections();
        await closed;
      },
    };
    this.#listening.add(listening);
    this.#open.add(this);
    return listening;
  }

  /** Ends all listening and all tasks; the agent itself stays. */
  async close(): Promise<void> {
    this.#open.delete(this);
    await Promise.all([...this.#listening].map((server) => server.close()));
    await this.#tasks.close();
    await this.#push?.close();
    this.#conversations.close();
  }

  #makeHandler(host: string, options: A2aServerOptions): (request: Request) => Promise<Response> {
    const { maxBodyBytes = 4_194_304 } = options;
    const card = (base: string) => this.#card(base, options);
    return makeHandler({ ...options, host, protocol: this.#protocol, maxBodyBytes, card });
  }

  #card(base: string, options: A2aServerOptions): Promise<AgentCard> {
    const hasTokens = options.token !== undefined || options.tokens !== undefined;
    return makeCard({ ...options, agent: this.#agent, base, hasTokens });
  }
}

function hasCallers({ token, tokens, authenticate }: A2aAccessOptions): boolean {
  return token !== undefined || tokens !== undefined || authenticate !== undefined;
}
