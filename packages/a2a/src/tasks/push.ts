// Push notifications: tells the webhooks of a task about its changes, with retries, through the guarded fetch.
import { randomUUID } from 'node:crypto';
import { RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { FetchError, type HttpFetch, isHost, makeFetch } from '@pocket-agent/http/fetch';
import { delay, errorText, fairEvictionKey, type Logger, retryAfterHeader } from '@pocket-agent/kit';
import { SIGNATURE_HEADER } from '../signing/notification-jwt.ts';
import { isOver, type PushConfig, type Task } from '../wire/task.ts';
import { type Call, type PushOptions, scopeOf } from './server-options.ts';
import { type SavedWebhooks, WebhookFiles } from './webhook-files.ts';

const MAX_PER_TASK = 10;
/** Characters of the JSON of one webhook. */
const MAX_WEBHOOK_LENGTH = 8_192;
const TIMEOUT_MS = 10_000;
/** Notifications that wait for one webhook. Each has the whole task, so that a later one makes up for one that was dropped. */
const MAX_WAITING = 10;
const MAX_RETRY_MS = 300_000;

export interface Notification {
  body: string;
  contentType: string;
}

interface PushNotificationsOptions extends PushOptions {
  logger: Logger;
  /** Number of ended tasks to keep the webhooks of. */
  maxTasks: number;
  /** `key` is the scope and the id of a task. */
  isRunning(key: string): boolean;
  /** The notification, in the protocol version of the client that added the webhook. */
  serialize(task: Task, version: string): Notification;
  /** The signature of a notification, if the server signs. */
  sign?(body: string, to: { issuer: string; audience: string }): Promise<string | undefined>;
}

interface Webhook {
  config: PushConfig;
  owner: string;
  version: string;
  /** The URL of this server for its caller. */
  issuer: string;
  /** The states of the task that it has not been told yet, the oldest first. */
  waiting: Task[];
  delivery: Promise<void> | undefined;
  /** It was told the end of the task, or could not be. */
  isDone: boolean;
}

export class PushNotifications {
  readonly #options: PushNotificationsOptions;
  readonly #fetch: HttpFetch;
  readonly #webhooks = new Map<string, Webhook[]>();
  readonly #deliveries = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #files: WebhookFiles | undefined;

  constructor(options: PushNotificationsOptions) {
    const { allowHosts = [] } = options;
    this.#options = options;
    this.#files = options.folder === undefined ? undefined : new WebhookFiles(options.folder, options.logger);
    this.#fetch = makeFetch({
      guard: 'public',
      allowHosts,
      redirects: 'refuse',
      timeoutMs: TIMEOUT_MS,
      maxBytes: 65_536,
    });
  }

  /** Throws for a config that is too long, and for a URL that can never be called. Its IP address is checked with each request. */
  check(config: PushConfig): void {
    const { url: text } = config;
    if (JSON.stringify(config).length > MAX_WEBHOOK_LENGTH)
      throw new RequestMalformedError(`A webhook must have at most ${MAX_WEBHOOK_LENGTH} characters of JSON.`);
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isKnown = url && this.#options.allowHosts?.some((host) => isHost(host, url));
    const isSafe = url?.protocol === 'https:' || (isKnown && url.protocol === 'http:');
    if (!isSafe || url?.username || url?.password)
      throw new RequestMalformedError('The url of a webhook must be an https URL without credentials.');
  }

  /** A config without an id replaces the one with the same URL and token. */
  add(call: Call, taskId: string, webhook: PushConfig): PushConfig {
    this.check(webhook);
    const key = scopeOf(call) + taskId;
    const webhooks = this.#webhooks.get(key) ?? [];
    const existing = webhooks.find(({ config }) => isSame(config, webhook));
    const config = { ...webhook, taskId, id: webhook.id || existing?.config.id || randomUUID() };
    if (existing) {
      // keep the object, so that pending notifications are delivered before new ones
      existing.config = config;
      existing.version = call.version;
      existing.issuer = call.address;
      void this.#save(call, taskId);
      return config;
    }
    if (webhooks.length >= MAX_PER_TASK)
      throw new RequestMalformedError(`A task has at most ${MAX_PER_TASK} webhooks.`);
    const { caller, version, address: issuer } = call;
    const added = { config, owner: caller.id, version, issuer, waiting: [], delivery: undefined, isDone: false };
    this.#webhooks.set(key, [...webhooks, added]);
    this.#makeRoom();
    void this.#save(call, taskId);
    return config;
  }

  /** Resolves when all webhooks are in the folder. */
  async saved(): Promise<void> {
    await this.#files?.settled();
  }

  /** The tasks with webhooks in the folder, which are registered again. Their calls have no request. */
  async restore(): Promise<{ call: Call; taskId: string }[]> {
    const saved = (await this.#files?.load()) ?? [];
    return saved.map(({ callerId, tenant, taskId, webhooks }) => {
      const call = restoredCall({ callerId, tenant, signal: this.#closing.signal });
      const restored = webhooks.map((webhook) => ({
        ...webhook,
        ...{ owner: callerId, waiting: [], delivery: undefined, isDone: false },
      }));
      this.#webhooks.set(scopeOf(call) + taskId, restored);
      return { call, taskId };
    });
  }

  /** Forgets all webhooks of a task that no longer exists. */
  forget(call: Call, taskId: string): void {
    this.#webhooks.delete(scopeOf(call) + taskId);
    void this.#save(call, taskId);
  }

  list(call: Call, taskId: string): PushConfig[] {
    return (this.#webhooks.get(scopeOf(call) + taskId) ?? []).map(({ config }) => config);
  }

  get(call: Call, taskId: string, id: string): PushConfig {
    const found = this.list(call, taskId).find((config) => config.id === id);
    if (!found) throw new TaskNotFoundError(`Task ${taskId} has no webhook ${id}.`);
    return found;
  }

  remove(call: Call, taskId: string, id: string): void {
    const key = scopeOf(call) + taskId;
    const all = this.#webhooks.get(key) ?? [];
    const remaining = all.filter(({ config }) => config.id !== id);
    for (const removed of all) if (!remaining.includes(removed)) removed.waiting = [];
    if (remaining.length > 0) this.#webhooks.set(key, remaining);
    else this.#webhooks.delete(key);
    void this.#save(call, taskId);
  }

  notify(call: Call, task: Task): void {
    for (const webhook of this.#webhooks.get(scopeOf(call) + task.id) ?? []) {
      webhook.waiting.push(task);
      if (webhook.waiting.length > MAX_WAITING) webhook.waiting.shift();
      if (webhook.delivery) continue;
      const delivery = this.#deliverAll(call, webhook).finally(() => {
        webhook.delivery = undefined;
        this.#deliveries.delete(delivery);
      });
      webhook.delivery = delivery;
      this.#deliveries.add(delivery);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the server was closed'));
    await Promise.all(this.#deliveries);
    await this.#files?.settled();
    this.#fetch.close();
  }

  /** One by one, in order. */
  async #deliverAll(call: Call, webhook: Webhook): Promise<void> {
    for (;;) {
      const task = webhook.waiting.shift();
      if (!task) return;
      await this.#deliver(webhook, task).catch((error) => this.#logFailure(webhook, task, error));
      if (!isOver(task.status.state) || this.#closing.signal.aborted) continue;
      webhook.isDone = true;
      void this.#save(call, task.id);
    }
  }

  /** Drops webhooks of ended tasks only. The number of running tasks has its own limit. */
  #makeRoom(): void {
    const { maxTasks, isRunning } = this.#options;
    if (this.#webhooks.size <= maxTasks) return;
    const ended = [...this.#webhooks].filter(([key]) => !isRunning(key));
    if (ended.length <= maxTasks) return;
    const oldest = fairEvictionKey(ended.map(([key, [first]]) => [key, first?.owner ?? ''] as const));
    if (oldest !== undefined) this.#webhooks.delete(oldest);
  }

  async #save(call: Call, taskId: string): Promise<void> {
    const webhooks = (this.#webhooks.get(scopeOf(call) + taskId) ?? []).filter(({ isDone }) => !isDone);
    const saved = webhooks.map(({ config, version, issuer }) => ({ config, version, issuer }));
    await this.#files?.save({ callerId: call.caller.id, tenant: call.tenant, taskId, webhooks: saved });
  }

  async #deliver({ config, version, issuer }: Webhook, task: Task): Promise<void> {
    const { maxTries = 3, retryDelayMs = 1_000, serialize, sign } = this.#options;
    const { signal } = this.#closing;
    signal.throwIfAborted();
    const { body, contentType } = serialize(task, version);
    const audience = new URL(config.url).origin;
    for (let tries = 1; ; tries++) {
      // signed again for each attempt, because a signature counts for a few minutes only
      const signature = await sign?.(body, { issuer, audience });
      const headers = { 'content-type': contentType, ...credentials(config, signature) };
      const problem = await this.#post(config.url, { method: 'POST', headers, body, signal });
      if (!problem) return;
      if (tries >= maxTries) throw new Error(problem.reason);
      const wait = Math.max(retryDelayMs * 2 ** (tries - 1), problem.retryAfterMs ?? 0);
      await delay(Math.min(wait, MAX_RETRY_MS), signal);
    }
  }

  /** Undefined if the webhook accepted it, otherwise the reason for a retry. Throws if a retry cannot help. */
  async #post(
    url: string,
    init: RequestInit,
  ): Promise<{ reason: string; retryAfterMs?: number | undefined } | undefined> {
    let response: Response;
    try {
      response = await this.#fetch(url, init);
    } catch (error) {
      init.signal?.throwIfAborted();
      if (error instanceof FetchError && error.code !== 'TIMEOUT') throw error;
      return { reason: errorText(error) };
    }
    await response.body?.cancel();
    if (response.ok) return undefined;
    const reason = `it answered ${response.status}`;
    if (response.status !== 429 && response.status < 500) throw new Error(reason);
    return { reason, retryAfterMs: retryAfterHeader(Object.fromEntries(response.headers)) };
  }

  /** Logs only the host: the path may contain a secret. */
  #logFailure({ config }: Webhook, task: Task, error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const reason = error instanceof FetchError ? error.code : errorText(error);
    const { host } = new URL(config.url);
    this.#options.logger.warn(`The webhook at ${host} did not get a notification of task ${task.id}: ${reason}`);
  }
}

/** The call of a webhook that was registered in another process. */
function restoredCall({
  callerId,
  tenant,
  signal,
}: Pick<SavedWebhooks, 'callerId' | 'tenant'> & { signal: AbortSignal }): Call {
  return {
    caller: { id: callerId },
    isAuthenticated: true,
    isOneOfMany: true,
    address: '',
    tenant,
    version: '1.0',
    extensions: [],
    traceparent: undefined,
    signal,
  };
}

function isSame(existing: PushConfig, { id, url, token }: PushConfig): boolean {
  return id ? existing.id === id : existing.url === url && existing.token === token;
}

/** Without credentials of its own, a webhook finds the signature in `Authorization`, as in the samples of the protocol. */
function credentials({ token, authentication }: PushConfig, signature: string | undefined): Record<string, string> {
  return {
    ...(signature ? { [SIGNATURE_HEADER]: signature, authorization: `Bearer ${signature}` } : {}),
    ...(token ? { 'x-a2a-notification-token': token } : {}),
    ...(authentication?.credentials ? { authorization: `${authentication.scheme} ${authentication.credentials}` } : {}),
  };
}
