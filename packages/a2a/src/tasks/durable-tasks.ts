// Tasks whose runs outlive the process: a restarted server finds them, shows their questions, and takes the answers.
import { RequestMalformedError, TaskNotCancelableError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { configError, dropOldest, errorText, sha256 } from '@pocket-agent/kit';
import type { DurableTasksOptions, PocketAgent } from 'pocket-agent';
import { agentMessage, isOver, type Message, type PushConfig, stateToJson, type Task } from '../wire/task.ts';
import { DurableTask } from './durable-task.ts';
import type { PushNotifications } from './push.ts';
import { withoutBytes } from './served-task.ts';
import { type A2aServerOptions, type Call, scopeOf } from './server-options.ts';
import { pageOf, type TaskFilter, type TaskPage, type TaskRepository } from './task-memory.ts';
import {
  checkContext,
  checkMessage,
  endedError,
  type FoundTask,
  inputOf,
  noQuestionError,
  storedTask,
  type TaskService,
} from './tasks.ts';

/** Maximum number of tasks of one caller in a list. */
const MAX_LISTED = 1_000;
const OPEN = ['queued', 'running', 'waiting'] as const;
const MAX_MESSAGES = 10_000;
const DEFAULT_MAX_TASKS = 1_000;

interface DurableTasksParts
  extends Pick<A2aServerOptions, 'profile' | 'files' | 'approvals' | 'maxRunningTasks' | 'maxRunningTasksPerCaller'> {
  agent: PocketAgent<unknown>;
  durable: DurableTasksOptions;
  push: PushNotifications | undefined;
}

export class DurableTasks implements TaskService, Pick<TaskRepository, 'list'> {
  readonly #options: DurableTasksParts;
  readonly #closing = new AbortController();
  /** Hashes of the latest messages with answers. */
  readonly #answered = new Set<string>();
  /** Running tasks that have webhooks. */
  readonly #followed = new Map<string, Promise<void>>();

  constructor(options: DurableTasksParts) {
    this.#options = options;
    const { agent, approvals } = options;
    if (approvals === 'caller' && agent.approve)
      throw configError(
        `approvals: 'caller' with "durable" needs an agent without approve: remove that of ${agent.name}.`,
      );
  }

  async send(call: Call, message: Message, webhook?: PushConfig): Promise<FoundTask> {
    checkMessage({ ...this.#options, message, tenant: call.tenant });
    if (webhook) this.#options.push?.check(webhook);
    if (message.taskId) return this.#answer(call, message.taskId, message);
    // a message that is sent again is the same task, also after a restart
    const hash = sha256(scopeOf(call) + JSON.stringify(message));
    const id = hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
    if (!(await this.#options.durable.runs.get(this.#runId(call, id)))) {
      const refusal = await this.#refusal(call);
      if (refusal !== undefined) return rejected(id, message, refusal);
      await this.#start(call, id, message);
    }
    if (webhook) this.#options.push?.add(call, id, webhook);
    this.webhookAdded(call, id);
    await this.#options.push?.saved();
    return this.#taskOf(call, id);
  }

  async find(call: Call, id: string): Promise<FoundTask> {
    if (!id || !(await this.#options.durable.runs.get(this.#runId(call, id))))
      throw new TaskNotFoundError(`Task not found: ${id}`);
    return this.#taskOf(call, id);
  }

  async cancel(call: Call, id: string): Promise<Task> {
    const task = await this.find(call, id);
    const { state } = (await task.snapshot()).status;
    const isCanceled = state === 'canceled' || (await this.#options.durable.runs.cancel(this.#runId(call, id)));
    if (!isCanceled) throw new TaskNotCancelableError(`Task not cancelable: ${id}`);
    return task.snapshot();
  }

  /** Whether this process follows the task for its webhooks. */
  isRunning(key: string): boolean {
    return this.#followed.has(key);
  }

  /** Tells the webhooks of a task about its changes. */
  webhookAdded(call: Call, id: string): void {
    const { push, agent } = this.#options;
    const key = scopeOf(call) + id;
    if (!push || this.#followed.has(key) || push.list(call, id).length === 0) return;
    const following = this.#follow(call, id, push)
      .catch((error) => agent.logger.error(`Task ${id} of ${agent.name}: ${errorText(error)}`))
      .finally(() => this.#followed.delete(key));
    this.#followed.set(key, following);
  }

  /** Newest first. */
  async list(call: Call, filter: TaskFilter): Promise<TaskPage> {
    const { contextId, status, statusTimestampAfter } = filter;
    const { runs } = this.#options.durable;
    const prefix = this.#runId(call, '');
    const all = (await runs.list({ prefix, limit: MAX_LISTED })).runs.filter(
      ({ about, updatedAt }) =>
        (!contextId || about?.contextId === contextId) &&
        (!statusTimestampAfter || Date.parse(updatedAt) > Date.parse(statusTimestampAfter)),
    );
    const tasks: Task[] = [];
    for (const { id } of all) {
      const task = await this.#taskOf(call, id.slice(prefix.length)).snapshot({
        withFiles: filter.includeArtifacts === true,
      });
      if (!status || stateToJson(task.status.state) === status) tasks.push(task);
    }
    return pageOf(tasks, filter);
  }

  /** Follows the tasks that webhooks in the folder are for, and tells them the current state. */
  async restoreWebhooks(): Promise<void> {
    const { push, durable } = this.#options;
    for (const { call, taskId } of (await push?.restore()) ?? []) {
      if (await durable.runs.get(this.#runId(call, taskId))) {
        push?.notify(call, await this.#taskOf(call, taskId).snapshot());
        this.webhookAdded(call, taskId);
      } else push?.forget(call, taskId);
    }
  }

  /** The runs continue in other processes, or after a restart. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The server was closed.'));
    await Promise.all(this.#followed.values());
  }

  async #start(call: Call, id: string, message: Message): Promise<void> {
    const { durable, profile: serverProfile } = this.#options;
    const { runs, agent } = durable;
    const contextId = message.contextId || id;
    const profile = [call.caller.profile, serverProfile].filter((profile) => profile !== undefined);
    await runs.start(agent, inputOf(message), {
      id: this.#runId(call, id),
      ...(call.isAuthenticated ? { caller: call.caller.id } : {}),
      ...(profile.length > 0 ? { profile } : {}),
      conversation: this.#runId(call, `context/${sha256(contextId)}`),
      about: { contextId, message: withoutBytes(message) },
    });
  }

  async #answer(call: Call, id: string, message: Message): Promise<FoundTask> {
    const { runs } = this.#options.durable;
    const run = await runs.get(this.#runId(call, id));
    if (!run) throw new TaskNotFoundError(`Task not found: ${id}`);
    const task = this.#taskOf(call, id);
    const key = sha256(scopeOf(call) + JSON.stringify(message));
    if (this.#answered.has(key)) return task; // a message that is sent again answers no further question
    const { contextId = '', status } = await task.snapshot();
    checkContext(message, { id, contextId });
    if (isOver(status.state)) throw endedError(id);
    const answers = await task.readAnswers(message.parts);
    if (!answers) throw noQuestionError(id);
    if ('howTo' in answers) throw new RequestMalformedError(answers.howTo);
    this.#answered.add(key);
    dropOldest(this.#answered, MAX_MESSAGES);
    await answers.give(call.caller.id).catch((error) => {
      this.#answered.delete(key);
      throw error;
    });
    return task;
  }

  async #refusal(call: Call): Promise<string | undefined> {
    const { agent, maxRunningTasks = DEFAULT_MAX_TASKS, maxRunningTasksPerCaller } = this.#options;
    if (this.#closing.signal.aborted) return `${agent.name} is shutting down.`;
    const share = maxRunningTasksPerCaller ?? (call.isOneOfMany ? Math.ceil(maxRunningTasks / 4) : maxRunningTasks);
    if ((await this.#open(this.#runId(call, ''), share)) >= share)
      return `You have ${share} open tasks of ${agent.name}, which is the limit. Try again when one has ended.`;
    if ((await this.#open(this.#prefix, maxRunningTasks)) < maxRunningTasks) return undefined;
    return `${agent.name} has ${maxRunningTasks} open tasks, which is the limit. Try again later.`;
  }

  async #open(prefix: string, limit: number): Promise<number> {
    const { runs } = this.#options.durable;
    const pages = OPEN.map((status) => runs.list({ prefix, status, limit: Math.min(limit, MAX_LISTED) }));
    return (await Promise.all(pages)).reduce((sum, page) => sum + page.runs.length, 0);
  }

  async #follow(call: Call, id: string, push: PushNotifications): Promise<void> {
    const task = this.#taskOf(call, id);
    for (let isEnded = false; !isEnded && !this.#closing.signal.aborted; ) {
      for await (const update of task.watch(this.#closing.signal, { evenIfAtRest: true }))
        if (update.kind === 'status') push.notify(call, await task.snapshot());
      isEnded = isOver((await task.snapshot()).status.state);
    }
  }

  #taskOf(call: Call, id: string): DurableTask {
    const { agent: served, approvals, durable } = this.#options;
    return new DurableTask({ ...durable, served, runId: this.#runId(call, id), id, asksCaller: approvals !== 'own' });
  }

  get #prefix(): string {
    return `a2a/${this.#options.durable.agent}/`;
  }

  /** Only the caller that started a task finds its run. */
  #runId(call: Call, id: string): string {
    return `${this.#prefix}${sha256(scopeOf(call)).slice(0, 32)}/${id}`;
  }
}

function rejected(id: string, message: Message, reason: string): FoundTask {
  const about = { id, contextId: message.contextId || id };
  const status = { state: 'rejected' as const, message: agentMessage([{ text: reason }], about) };
  return storedTask({
    ...about,
    status: { ...status, timestamp: new Date().toISOString() },
    artifacts: [],
    history: [],
  });
}
