// Push notifications: tells the webhooks of a task about its changes, with retries, through the guarded fetch.
import { randomUUID } from 'node:crypto';
import { RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { FetchError, type HttpFetch, isHost, makeFetch } from '@pocket-agent/http/fetch';
import { delay, errorText, fairEvictionKey, KeyedQueue, type Logger } from '@pocket-agent/kit';
import type { PushConfig, Task } from '../wire/task.ts';
import { type Call, type PushOptions, scopeOf } from './server-options.ts';

const MAX_PER_TASK = 10;
/** Characters of the JSON of one webhook. */
const MAX_WEBHOOK_LENGTH = 8_192;
const TIMEOUT_MS = 10_000;

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
}

interface Webhook {
  config: PushConfig;
  owner: string;
  version: string;
}

export class PushNotifications {
  readonly #options: PushNotificationsOptions;
  readonly #fetch: HttpFetch;
  readonly #webhooks = new Map<string, Webhook[]>();
  /** Notifications of one webhook are delivered one by one, in order. */
  readonly #deliveries = new KeyedQueue<Webhook>();
  readonly #closing = new AbortController();

  constructor(options: PushNotificationsOptions) {
    const { allowHosts = [] } = options;
    this.#options = options;
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
      return config;
    }
    if (webhooks.length >= MAX_PER_TASK)
      throw new RequestMalformedError(`A task has at most ${MAX_PER_TASK} webhooks.`);
    this.#webhooks.set(key, [...webhooks, { config, owner: call.caller.id, version: call.version }]);
    this.#makeRoom();
    return config;
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
    const remaining = (this.#webhooks.get(key) ?? []).filter(({ config }) => config.id !== id);
    if (remaining.length > 0) this.#webhooks.set(key, remaining);
    else this.#webhooks.delete(key);
  }

  notify(call: Call, task: Task): void {
    for (const webhook of this.#webhooks.get(scopeOf(call) + task.id) ?? [])
      void this.#deliveries.run(webhook, () =>
        this.#deliver(webhook, task).catch((error) => this.#logFailure(webhook, task, error)),
      );
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the server was closed'));
    await this.#deliveries.idle();
    this.#fetch.close();
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

  async #deliver({ config, version }: Webhook, task: Task): Promise<void> {
    const { maxTries = 3, retryDelayMs = 1_000 } = this.#options;
    const { signal } = this.#closing;
    const { body, contentType } = this.#options.serialize(task, version);
    const headers = { 'content-type': contentType, ...credentials(config) };
    for (let tries = 1; ; tries++) {
      const problem = await this.#post(config.url, { method: 'POST', headers, body, signal });
      if (problem === undefined) return;
      if (tries >= maxTries) throw new Error(problem);
      await delay(retryDelayMs * 2 ** (tries - 1), signal);
    }
  }

  /** Undefined if the webhook accepted it, otherwise the reason for a retry. Throws if a retry cannot help. */
  async #post(url: string, init: RequestInit): Promise<string | undefined> {
    let response: Response;
    try {
      response = await this.#fetch(url, init);
    } catch (error) {
      init.signal?.throwIfAborted();
      if (error instanceof FetchError && error.code !== 'TIMEOUT') throw error;
      return errorText(error);
    }
    await response.body?.cancel();
    if (response.ok) return undefined;
    const problem = `it answered ${response.status}`;
    if (response.status === 429 || response.status >= 500) return problem;
    throw new Error(problem);
  }

  /** Logs only the host: the path may contain a secret. */
  #logFailure({ config }: Webhook, task: Task, error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const reason = error instanceof FetchError ? error.code : errorText(error);
    const { host } = new URL(config.url);
    this.#options.logger.warn(`The webhook at ${host} did not get a notification of task ${task.id}: ${reason}`);
  }
}

function isSame(existing: PushConfig, { id, url, token }: PushConfig): boolean {
  return id ? existing.id === id : existing.url === url && existing.token === token;
}

function credentials({ token, authentication }: PushConfig): Record<string, string> {
  return {
    ...(token ? { 'x-a2a-notification-token': token } : {}),
    ...(authentication?.credentials ? { authorization: `${authentication.scheme} ${authentication.credentials}` } : {}),
  };
}
