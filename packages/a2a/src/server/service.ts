// The A2A service of one agent: tasks, conversations, webhooks, and the HTTP servers.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { A2AError } from '@a2a-js/sdk/errors';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { refuseUnreadable, startListening } from '@pocket-agent/http/mcp';
import { configError, errorText } from '@pocket-agent/kit';
import type { PocketAgent } from 'pocket-agent';
import { agentLabel, ConversationMemory, Conversations, cannotListen, isLocal } from 'pocket-agent/internal/serve';
import { signNotification } from '../signing/notification-jwt.ts';
import { CardSigner } from '../signing/sign-card.ts';
import { SigningKeys } from '../signing/signing-keys.ts';
import { DurableTasks } from '../tasks/durable-tasks.ts';
import { PushNotifications } from '../tasks/push.ts';
import type { A2aAccessOptions, A2aListening, A2aListenOptions, A2aServerOptions } from '../tasks/server-options.ts';
import { TaskMemory, type TaskRepository } from '../tasks/task-memory.ts';
import { type TaskService, Tasks } from '../tasks/tasks.ts';
import { CARD_PATH } from '../wire/agent-card.ts';
import { makeCard, makeExtendedCard } from './card.ts';
import { makeHandler } from './http-handler.ts';
import { A2aProtocol } from './request-handler.ts';
import { repositoryIn, serializeNotification } from './sdk-json.ts';

const MAX_BODY_BYTES = 4_194_304;

export class A2aService {
  readonly fetch = async (request: Request): Promise<Response> => {
    this.#fetch ??= this.#makeHandler('localhost', this.#options);
    return this.#fetch(request);
  };
  readonly #onError = (error: unknown) =>
    this.#agent.logger.error(`${this.#agent.name} as an A2A server: ${errorText(error)}`);
  readonly #agent: PocketAgent<unknown>;
  readonly #options: A2aServerOptions;
  readonly #conversations: Conversations;
  readonly #push: PushNotifications | undefined;
  readonly #tasks: TaskService;
  readonly #protocol: A2aProtocol;
  readonly #signer: CardSigner | undefined;
  readonly #listening = new Set<A2aListening>();
  #fetch: ((request: Request) => Promise<Response>) | undefined;

  constructor(agent: PocketAgent<unknown>, options: A2aServerOptions) {
    const { logger } = agent;
    const { taskStore, pushNotifications = {}, maxTasks = 1_000, maxConversations = 1_000, maxMemoryBytes } = options;
    this.#agent = agent;
    const keys = options.signing && new SigningKeys({ ...options.signing, logger });
    this.#signer = keys && new CardSigner(keys);
    this.#options = { ...options };
    this.#conversations = new Conversations({
      name: agent.name,
      store: options.conversations,
      maxConversations,
      memory: new ConversationMemory(maxMemoryBytes),
      outputSchema: agent.outputSchema,
      make: () => options.createAgent?.() ?? agent.fork(),
      onError: this.#onError,
    });
    this.#push = pushNotifications
      ? new PushNotifications({
          ...pushNotifications,
          logger,
          maxTasks,
          isRunning: (key) => this.#tasks.isRunning(key),
          serialize: serializeNotification,
          ...(keys ? { sign: async (body, to) => signNotification({ body, ...to }, await keys.current()) } : {}),
        })
      : undefined;
    const { durable } = options;
    const common = { ...options, agent, push: this.#push };
    let repository: Pick<TaskRepository, 'list'>;
    if (durable) {
      const tasks = new DurableTasks({ ...common, durable });
      tasks.restoreWebhooks().catch(this.#onError);
      repository = this.#tasks = tasks;
    } else {
      const stored = taskStore ? repositoryIn(taskStore) : new TaskMemory({ maxTasks, maxBytes: maxMemoryBytes });
      this.#tasks = new Tasks({ ...common, repository: stored, conversations: this.#conversations });
      repository = stored;
    }
    const card = () => makeCard(this.#cardSource('http://localhost', options));
    this.#protocol = new A2aProtocol({
      tasks: this.#tasks,
      repository,
      push: this.#push,
      card,
      onError: this.#onError,
    });
  }

  /** Serves HTTP until `close()`. These options take precedence over those of the constructor. */
  async listen(listenOptions: A2aListenOptions = {}): Promise<A2aListening> {
    const { host = '127.0.0.1', port = 0, ...access } = listenOptions;
    const options = { ...this.#options, ...access };
    if (!isLocal(host) && !hasCallers(options))
      this.#agent.logger.warn(`Without a token, everyone who can reach ${host} may use ${agentLabel(this.#agent)}.`);
    const shownHost = host.includes(':') ? `[${host}]` : host;
    await this.#signer?.published(); // throws for unusable keys
    const fetch = this.#makeHandler(shownHost, options);
    const onerror = (error: Error) => this.#agent.logger.debug(`A2A over HTTP: ${errorText(error)}`);
    const handle = toNodeHandler({ fetch }, { onerror, maxRequestBodySize: options.maxBodyBytes ?? MAX_BODY_BYTES });
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
    return listening;
  }

  /** Stops listening and ends all tasks; the agent stays open. */
  async close(): Promise<void> {
    await Promise.all([...this.#listening].map((server) => server.close()));
    await this.#tasks.close();
    await this.#push?.close();
    this.#conversations.close();
  }

  #makeHandler(host: string, options: A2aServerOptions): (request: Request) => Promise<Response> {
    const { maxBodyBytes = MAX_BODY_BYTES } = options;
    if (options.extendedCard !== undefined && !hasCallers(options))
      throw configError('"extendedCard" is for authenticated callers: give "token", "tokens" or "authenticate".');
    return makeHandler({
      ...options,
      host,
      protocol: this.#protocol,
      maxBodyBytes,
      signer: this.#signer,
      card: (base) => makeCard(this.#cardSource(base, options)),
      extendedCard: async (base, { caller }) => {
        try {
          return await makeExtendedCard(this.#cardSource(base, options), caller);
        } catch (error) {
          this.#onError(error);
          throw new A2AError('Internal error.');
        }
      },
    });
  }

  #cardSource(base: string, options: A2aServerOptions) {
    const hasTokens = options.token !== undefined || options.tokens !== undefined;
    return { ...options, agent: this.#agent, base, hasTokens };
  }
}

function hasCallers({ token, tokens, authenticate }: A2aAccessOptions): boolean {
  return token !== undefined || tokens !== undefined || authenticate !== undefined;
}
