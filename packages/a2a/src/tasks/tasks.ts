// The tasks of one server: messages start or continue them, their owners can find them, finished ones are stored.
import { randomUUID } from 'node:crypto';
import {
  ContentTypeNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import { dropOldest, errorText, estimateBytes, isTextual, matchesType, sha256 } from '@pocket-agent/kit';
import type { FileInput, ImageInput, PocketAgent, RunOptions, UserInput } from 'pocket-agent';
import { agentResult, servedApproval } from 'pocket-agent/internal';
import { type Conversations, MAX_FILES, MAX_ID_LENGTH, RunLimit } from 'pocket-agent/internal/serve';
import { isOver, type Message, type Part, type PushConfig, type Task, type Update } from '../wire/task.ts';
import type { PushNotifications } from './push.ts';
import { whileReceiving } from './sent-artifacts.ts';
import { ServedTask } from './served-task.ts';
import { type A2aServerOptions, type Call, scopeOf } from './server-options.ts';
import type { TaskRepository } from './task-memory.ts';

/** Number of remembered messages; a remembered message that is sent again does not start a second task. */
const MAX_MESSAGES = 10_000;
const DEFAULT_MAX_RUNNING_BYTES = 268_435_456;

interface TasksOptions
  extends Pick<
    A2aServerOptions,
    | 'profile'
    | 'files'
    | 'approvals'
    | 'maxRunningTasks'
    | 'maxRunningTasksPerCaller'
    | 'maxRunningBytes'
    | 'inputTimeoutMs'
  > {
  agent: PocketAgent<unknown>;
  conversations: Conversations;
  repository: TaskRepository;
  push: PushNotifications | undefined;
}

/** A running task, or a stored one. */
export interface FoundTask {
  snapshot(): Task | Promise<Task>;
  watch(signal: AbortSignal, options?: { evenIfAtRest?: boolean }): AsyncIterable<Update>;
}

/** The tasks of a server. */
export interface TaskService {
  /** Starts a task, or continues one that waits for an answer. A message that is sent again returns the same task. */
  send(call: Call, message: Message, webhook?: PushConfig): Promise<FoundTask>;
  find(call: Call, id: string): Promise<FoundTask>;
  cancel(call: Call, id: string): Promise<Task>;
  /** `key` is the scope and the id of a task. */
  isRunning(key: string): boolean;
  /** Called when a webhook was added to a task that has not ended. */
  webhookAdded?(call: Call, id: string): void;
  close(): Promise<void>;
}

export class Tasks implements TaskService {
  readonly #options: TasksOptions;
  readonly #running = new Map<string, ServedTask>();
  readonly #limit: RunLimit;
  readonly #runs = new Set<Promise<void>>();
  readonly #messages = new Map<string, string>();
  #isClosed = false;

  constructor(options: TasksOptions) {
    this.#options = options;
    this.#limit = new RunLimit({
      name: options.agent.name,
      maxRuns: options.maxRunningTasks,
      maxRunsPerCaller: options.maxRunningTasksPerCaller,
      maxBytes: options.maxRunningBytes ?? DEFAULT_MAX_RUNNING_BYTES,
    });
  }

  async send(call: Call, message: Message, webhook?: PushConfig): Promise<FoundTask> {
    checkMessage({ ...this.#options, message, tenant: call.tenant });
    if (webhook) this.#options.push?.check(webhook);
    const scope = scopeOf(call);
    const key = scope + sha256(JSON.stringify(message));
    const taskId = this.#messages.get(key);
    if (taskId !== undefined) return this.find(call, taskId);
    const running = message.taskId ? this.#running.get(scope + message.taskId) : undefined;
    if (message.taskId && !running) throw await this.#refusal(call, message.taskId, message);
    // no await from here on: two copies of a message that arrive together must not start two tasks
    const give = running && readAnswer(running, message);
    const task = running ?? this.#start(call, message);
    if (task.state === 'rejected') return task;
    // adding the webhook may throw, and a given answer cannot be taken back
    if (webhook) this.#options.push?.add(call, task.id, webhook);
    give?.();
    this.#rememberMessage(key, task.id);
    return task;
  }

  isRunning(key: string): boolean {
    return this.#running.has(key);
  }

  async find(call: Call, id: string): Promise<FoundTask> {
    const running = this.#running.get(scopeOf(call) + id);
    if (running) return running;
    const stored = id ? await this.#options.repository.load(call, id) : undefined;
    if (!stored) throw new TaskNotFoundError(`Task not found: ${id}`);
    return storedTask(stored);
  }

  async cancel(call: Call, id: string): Promise<Task> {
    const task = await (await this.find(call, id)).snapshot();
    if (task.status.state === 'canceled') return task;
    if (isOver(task.status.state)) throw new TaskNotCancelableError(`Task not cancelable: ${id}`);
    const running = this.#running.get(scopeOf(call) + id);
    if (running) {
      running.cancel();
      return running.snapshot();
    }
    // the process that ran it has ended
    const status = { state: 'canceled' as const, timestamp: new Date().toISOString() };
    await this.#options.repository.save(call, { ...task, status });
    return { ...task, status };
  }

  /** Cancels all running tasks. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const task of this.#running.values()) task.cancel();
    await Promise.all(this.#runs);
  }

  #start(call: Call, message: Message): ServedTask {
    const { agent, inputTimeoutMs = 900_000, push } = this.#options;
    const id = randomUUID();
    const contextId = message.contextId || randomUUID();
    let saved = Promise.resolve();
    const onError = (error: unknown) => agent.logger.error(`Task ${id} of ${agent.name}: ${errorText(error)}`);
    const changed = (snapshot: Task) => {
      if (snapshot.status.state === 'rejected') return;
      push?.notify(call, snapshot);
      saved = saved.then(() => this.#options.repository.save(call, snapshot)).catch(onError);
    };
    const task = new ServedTask({ id, contextId, message, inputTimeoutMs, changed, onError });
    const bytes = estimateBytes(message);
    const reason = this.#refusalToStart(call, bytes);
    if (reason !== undefined) {
      task.reject(reason);
      return task;
    }
    const key = scopeOf(call) + id;
    this.#running.set(key, task);
    const done = this.#limit.begin({ caller: call.caller.id, bytes });
    // starts in the next microtask, so that the caller can watch from the beginning
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

  #refusalToStart({ caller, isOneOfMany }: Call, bytes: number): string | undefined {
    if (this.#isClosed) return `${this.#options.agent.name} is shutting down.`;
    return this.#limit.refusal({ caller: caller.id, isOneOfMany, bytes });
  }

  /** Why a task that is not running here cannot accept a message. */
  async #refusal(call: Call, id: string, message: Message): Promise<Error> {
    const task = await (await this.find(call, id)).snapshot();
    checkContext(message, task);
    if (isOver(task.status.state)) return endedError(id);
    return new UnsupportedOperationError(`Task ${id} is no longer running.`);
  }

  #answer(call: Call, task: ServedTask, message: Message) {
    const profile = [call.caller.profile, this.#options.profile].filter((profile) => profile !== undefined);
    const conversation = { owner: call.caller.id, id: JSON.stringify([call.tenant, task.contextId]) };
    return this.#options.conversations.use(conversation, async (agent) => {
      const receive = (...sent: Parameters<ServedTask['send']>) => task.send(...sent);
      const options = {
        signal: task.signal,
        ...servedApproval(this.#options.approvals, (request) => task.questions.approve(request)),
        elicit: (params, from) => task.questions.elicit(params, from),
        onEvent: (event) => task.show(event),
        ...(profile.length > 0 ? { profile } : {}),
        ...(call.isAuthenticated ? { caller: call.caller.id } : {}),
        metadata: { a2a: { extensions: call.extensions, ...(message.metadata ? { message: message.metadata } : {}) } },
        ...(call.traceparent ? { traceparent: call.traceparent } : {}),
      } satisfies RunOptions;
      const answer = await whileReceiving(receive, () => agent.run(inputOf(message), options));
      return agentResult(agent, answer);
    });
  }

  #rememberMessage(key: string, taskId: string): void {
    this.#messages.set(key, taskId);
    dropOldest(this.#messages, MAX_MESSAGES);
  }
}

interface MessageCheck extends Pick<A2aServerOptions, 'files'> {
  agent: PocketAgent<unknown>;
  message: Message;
  tenant: string;
}

/** Throws for a message that the agent cannot accept. */
export function checkMessage({ message, tenant, ...accepts }: MessageCheck): void {
  const { messageId, role, parts } = message;
  if (!messageId) throw new RequestMalformedError('message.messageId is required.');
  if (role !== 'ROLE_USER') throw new RequestMalformedError('message.role must be ROLE_USER.');
  if (parts.length === 0) throw new RequestMalformedError('message.parts must not be empty.');
  const files = parts.filter(({ raw, url }) => raw !== undefined || url !== undefined);
  if (files.length > MAX_FILES) throw new RequestMalformedError(`A message may have at most ${MAX_FILES} files.`);
  for (const part of parts) checkPart(part, accepts);
  checkIds({ ...message, tenant });
}

function checkPart(
  { text, raw, url, data, mediaType = '' }: Part,
  { agent: { allowImages }, files = [] }: Pick<MessageCheck, 'agent' | 'files'>,
): void {
  if ([text, raw, url, data].every((content) => content === undefined))
    throw new RequestMalformedError('A part needs text, raw, url or data.');
  if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new RequestMalformedError('The url of a part must be an http or https address.');
  const isFile = raw !== undefined || url !== undefined;
  if (!isFile && mediaType === '') return;
  if (url === undefined && isTextual(mediaType)) return;
  const isImage = mediaType.startsWith('image/');
  if (isFile && (isImage ? allowImages : matchesType(mediaType, files))) return;
  const accepted = ['text', 'JSON', ...(allowImages ? ['images'] : []), ...files];
  throw new ContentTypeNotSupportedError(
    `This agent accepts ${new Intl.ListFormat('en-GB').format(accepted)}, not ${mediaType || 'files without a type'}.`,
  );
}

function checkIds(ids: { tenant: string } & Message): void {
  for (const name of ['messageId', 'contextId', 'taskId', 'tenant'] as const) {
    if ((ids[name]?.length ?? 0) > MAX_ID_LENGTH)
      throw new RequestMalformedError(`${name} must have at most ${MAX_ID_LENGTH} characters.`);
  }
}

export function checkContext({ contextId }: Message, task: { id: string; contextId?: string }): void {
  if (contextId && contextId !== task.contextId)
    throw new RequestMalformedError(`Task ${task.id} does not belong to context ${contextId}.`);
}

/** Returns a function that gives the answer. Throws if the message does not answer an open question. */
function readAnswer(task: ServedTask, message: Message): () => void {
  checkContext(message, task);
  if (isOver(task.state)) throw endedError(task.id);
  if (!task.questions.areOpen) throw noQuestionError(task.id);
  const give = task.questions.read(message.parts);
  if (!give) throw new RequestMalformedError(task.questions.howTo);
  return () => {
    task.remember(message);
    give();
  };
}

export function endedError(id: string): Error {
  return new UnsupportedOperationError(`Task ${id} has ended; send a message without taskId.`);
}

export function noQuestionError(id: string): Error {
  return new UnsupportedOperationError(`Task ${id} is running and has no open question.`);
}

/** A task that no longer changes. */
export function storedTask(task: Task): FoundTask {
  return {
    snapshot: () => task,
    async *watch() {
      yield { kind: 'task', task };
    },
  };
}

export function inputOf({ parts }: Message): UserInput {
  const texts = parts.flatMap(({ text, data, raw, mediaType, filename }) => {
    if (data !== undefined) return [JSON.stringify(data)];
    if (raw !== undefined && !filename && isTextual(mediaType)) return [Buffer.from(raw, 'base64').toString('utf8')];
    return text ? [text] : [];
  });
  const images = parts.flatMap(({ raw, url, mediaType }): ImageInput[] => {
    if (!mediaType?.startsWith('image/')) return [];
    if (url !== undefined) return [new URL(url)];
    return raw === undefined ? [] : [`data:${mediaType};base64,${raw}`];
  });
  return { text: texts.join('\n'), images, files: parts.flatMap(fileOf) };
}

/** Images, and text without a name, are elsewhere in the input. */
function fileOf({ raw, url, mediaType = '', filename }: Part): FileInput[] {
  if (mediaType.startsWith('image/') || (url === undefined && !filename && isTextual(mediaType))) return [];
  const about = { mediaType, ...(filename ? { name: filename } : {}) };
  if (url !== undefined) return [{ url, ...about }];
  return raw === undefined ? [] : [{ data: raw, ...about }];
}
