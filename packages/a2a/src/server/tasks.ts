// All tasks of one server: begun by messages, found by their owners, kept when they are over.
import { createHash, randomUUID } from 'node:crypto';
import {
  ContentTypeNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import { errorText } from '@pocket-agent/kit';
import type { ImageInput, PocketAgent, UserInput } from 'pocket-agent';
import { agentResult, servedApproval } from 'pocket-agent/internal';
import { type Conversations, RunLimit } from 'pocket-agent/internal/serve';
import {
  isOver,
  isTextual,
  type Message,
  type Part,
  type PushConfig,
  type StreamUpdate,
  type Task,
} from '../wire/wire.ts';
import type { PushNotifications } from './push.ts';
import { ServedTask } from './served-task.ts';
import { type A2aServerOptions, type Call, scopeOf } from './server-options.ts';
import type { TaskKeeper } from './task-memory.ts';

/** Messages that are known again when they are sent a second time. */
const MOST_MESSAGES = 10_000;

interface TasksOptions
  extends Pick<
    A2aServerOptions,
    'profile' | 'approvals' | 'maxRunningTasks' | 'maxRunningTasksPerCaller' | 'inputTimeoutMs'
  > {
  agent: PocketAgent<unknown>;
  conversations: Conversations;
  keeper: TaskKeeper;
  push: PushNotifications | undefined;
}

/** A task that runs here, or one that is only remembered. */
export interface FoundTask {
  snapshot(): Task;
  watch(signal: AbortSignal, options?: { evenIfAtRest?: boolean }): AsyncIterable<StreamUpdate>;
}

export class Tasks {
  readonly #options: TasksOptions;
  readonly #running = new Map<string, ServedTask>();
  readonly #limit: RunLimit;
  readonly #runs = new Set<Promise<void>>();
  readonly #messages = new Map<string, string>();
  #isClosed = false;

  constructor(options: TasksOptions) {
    this.#options = options;
    const { agent, maxRunningTasks: most, maxRunningTasksPerCaller: mostPerCaller } = options;
    this.#limit = new RunLimit({ name: agent.name, most, mostPerCaller });
  }

  /** Begins a task, or goes on with one that waits. The same message sent again is the same task. */
  async send(call: Call, message: Message, webhook?: PushConfig): Promise<FoundTask> {
    this.#check(message);
    if (webhook) this.#options.push?.check(webhook);
    const scope = scopeOf(call);
    const key = scope + createHash('sha256').update(JSON.stringify(message)).digest('hex');
    const known = this.#messages.get(key);
    if (known !== undefined) return this.find(call, known);
    const running = message.taskId ? this.#running.get(scope + message.taskId) : undefined;
    if (message.taskId && !running) throw await this.#refusal(call, message.taskId, message);
    // nothing is awaited from here on, so that a message sent twice at the same time is one message
    const give = running && readAnswer(running, message);
    const task = running ?? this.#begin(call, message);
    if (task.state === 'TASK_STATE_REJECTED') return task;
    // it may be one too many, and an answer that was given cannot be refused
    if (webhook) this.#options.push?.add(call, task.id, webhook);
    give?.();
    this.#rememberMessage(key, task.id);
    return task;
  }

  /** By scope and id. */
  isRunning(key: string): boolean {
    return this.#running.has(key);
  }

  async find(call: Call, id: string): Promise<FoundTask> {
    const running = this.#running.get(scopeOf(call) + id);
    if (running) return running;
    const stored = id ? await this.#options.keeper.load(call, id) : undefined;
    if (!stored) throw new TaskNotFoundError(`Task not found: ${id}`);
    return remembered(stored);
  }

  async cancel(call: Call, id: string): Promise<Task> {
    const task = (await this.find(call, id)).snapshot();
    if (task.status.state === 'TASK_STATE_CANCELED') return task;
    if (isOver(task.status.state)) throw new TaskNotCancelableError(`Task not cancelable: ${id}`);
    const running = this.#running.get(scopeOf(call) + id);
    if (running) {
      running.cancel();
      return running.snapshot();
    }
    // whatever ran it is gone
    const status = { state: 'TASK_STATE_CANCELED' as const, timestamp: new Date().toISOString() };
    await this.#options.keeper.save(call, { ...task, status });
    return { ...task, status };
  }

  /** Ends everything that runs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const task of this.#running.values()) task.cancel();
    await Promise.all(this.#runs);
  }

  #begin(call: Call, message: Message): ServedTask {
    const { agent, inputTimeoutMs = 900_000, push } = this.#options;
    const id = randomUUID();
    const contextId = message.contextId || randomUUID();
    let saved = Promise.resolve();
    const onError = (error: unknown) => agent.logger.error(`Task ${id} of ${agent.name}: ${errorText(error)}`);
    const changed = (snapshot: Task) => {
      if (snapshot.status.state === 'TASK_STATE_REJECTED') return;
      push?.notify(call, snapshot);
      saved = saved.then(() => this.#options.keeper.save(call, snapshot)).catch(onError);
    };
    const task = new ServedTask({ id, contextId, message, inputTimeoutMs, changed, onError });
    const refused = this.#refusalToBegin(call);
    if (refused !== undefined) {
      task.reject(refused);
      return task;
    }
    const key = scopeOf(call) + id;
    this.#running.set(key, task);
    const done = this.#limit.begin(call.caller.id);
    // the caller watches before anything happens
    const run = Promise.resolve()
      .then(() => task.run(() => this.#answer(call, task, message)))
      .then(() => saved)
      .finally(() => {
        this.#running.delete(key);
        done();
        this.#runs.delete(run);
      });
    this.#runs.add(run);
    return task;
  }

  #refusalToBegin({ caller, isOneOfMany }: Call): string | undefined {
    if (this.#isClosed) return `${this.#options.agent.name} is being shut down.`;
    return this.#limit.refusal(caller.id, isOneOfMany);
  }

  /** Why a message to a task that does not run here cannot be taken. */
  async #refusal(call: Call, id: string, message: Message): Promise<Error> {
    const task = (await this.find(call, id)).snapshot();
    checkContext(message, task);
    if (isOver(task.status.state)) return isOverError(id);
    return new UnsupportedOperationError(`Task ${id} no longer runs here.`);
  }

  #answer(call: Call, task: ServedTask, message: Message) {
    const profile = [call.caller.profile, this.#options.profile].filter((given) => given !== undefined);
    const conversation = { owner: call.caller.id, id: JSON.stringify([call.tenant, task.contextId]) };
    return this.#options.conversations.use(conversation, async (agent) => {
      const answer = await agent.run(inputOf(message), {
        signal: task.signal,
        ...servedApproval(this.#options.approvals, (request) => task.questions.approve(request)),
        elicit: (params, from) => task.questions.elicit(params, from),
        onEvent: (event) => task.show(event),
        ...(profile.length > 0 ? { profile } : {}),
        ...(call.isAuthenticated ? { caller: call.caller.id } : {}),
      });
      return agentResult(agent.name, answer);
    });
  }

  #check({ messageId, role, parts }: Message): void {
    if (!messageId) throw new RequestMalformedError('message.messageId is required.');
    if (role === 'ROLE_AGENT') throw new RequestMalformedError('message.role must be ROLE_USER.');
    if (parts.length === 0) throw new RequestMalformedError('message.parts must not be empty.');
    for (const part of parts) this.#checkPart(part);
  }

  #checkPart({ text, raw, url, data, mediaType = '' }: Part): void {
    const { allowImages } = this.#options.agent;
    if ([text, raw, url, data].every((content) => content === undefined))
      throw new RequestMalformedError('A part needs text, raw, url or data.');
    if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw new RequestMalformedError('The url of a part must be an http or https address.');
    const isFile = raw !== undefined || url !== undefined;
    if (!isFile && mediaType === '') return;
    if (url === undefined && isTextual(mediaType)) return;
    if (isFile && allowImages && mediaType.startsWith('image/')) return;
    const taken = allowImages ? 'text, JSON and images' : 'text and JSON';
    throw new ContentTypeNotSupportedError(`This agent takes ${taken}, not ${mediaType || 'files without a type'}.`);
  }

  #rememberMessage(key: string, taskId: string): void {
    this.#messages.set(key, taskId);
    const [oldest] = this.#messages.keys();
    if (this.#messages.size > MOST_MESSAGES && oldest !== undefined) this.#messages.delete(oldest);
  }
}

function checkContext({ contextId }: Message, task: { id: string; contextId: string }): void {
  if (contextId && contextId !== task.contextId)
    throw new RequestMalformedError(`Task ${task.id} is not of context ${contextId}.`);
}

/** Throws when the message answers nothing. What is returned gives the answer. */
function readAnswer(task: ServedTask, message: Message): () => void {
  checkContext(message, task);
  if (isOver(task.state)) throw isOverError(task.id);
  if (!task.questions.areOpen) throw new UnsupportedOperationError(`Task ${task.id} is at work and has asked nothing.`);
  const give = task.questions.read(message.parts);
  if (!give) throw new RequestMalformedError(task.questions.howTo);
  return () => {
    task.remember(message);
    give();
  };
}

function isOverError(id: string): Error {
  return new UnsupportedOperationError(`Task ${id} is over; send a message without taskId.`);
}

function remembered(task: Task): FoundTask {
  return {
    snapshot: () => task,
    async *watch() {
      yield { task };
    },
  };
}

function inputOf({ parts }: Message): UserInput {
  const texts = parts.flatMap(({ text, data, raw, mediaType }) => {
    if (data !== undefined) return [JSON.stringify(data)];
    if (raw !== undefined && isTextual(mediaType)) return [Buffer.from(raw, 'base64').toString('utf8')];
    return text ? [text] : [];
  });
  const images = parts.flatMap(({ raw, url, mediaType }): ImageInput[] => {
    if (url !== undefined) return [new URL(url)];
    return raw === undefined || isTextual(mediaType) ? [] : [`data:${mediaType};base64,${raw}`];
  });
  return { text: texts.join('\n'), images };
}
