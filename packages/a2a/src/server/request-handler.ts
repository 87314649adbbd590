// The operations of A2A as the SDK expects them, on top of our tasks. The SDK's own request handler is not used: it
// stores a task only while a client is connected, and a run cannot wait for an answer and then continue.
import {
  AgentCard,
  ListTasksRequest,
  type ListTasksResponse,
  type Task as SdkTask,
  type StreamResponse,
  type TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { isV1JsonRpcMethod } from '@a2a-js/sdk/compat/v0_3';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import {
  A2AError,
  ContentTypeNotSupportedError,
  fromJsonRpcErrorResponse,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  restStatusFor,
  toJsonRpcError,
  toRestErrorBody,
  UnsupportedOperationError,
  VersionNotSupportedError,
} from '@a2a-js/sdk/errors';
import { type A2ARequestHandler, JsonRpcTransportHandler, type ServerCallContext } from '@a2a-js/sdk/server';
import type { PushNotifications } from '../tasks/push.ts';
import type { Call } from '../tasks/server-options.ts';
import type { TaskFilter, TaskRepository } from '../tasks/task-memory.ts';
import type { FoundTask, TaskService } from '../tasks/tasks.ts';
import type { AgentCard as CardJson } from '../wire/agent-card.ts';
import { isOver, type Task } from '../wire/task.ts';
import { inPieces } from './pieces.ts';
import { callOf, contextOf, fromSdkMessage, fromSdkWebhook, toSdkTask, toSdkUpdate, toSdkWebhook } from './sdk-json.ts';

interface ProtocolOptions {
  tasks: TaskService;
  repository: Pick<TaskRepository, 'list'>;
  push: PushNotifications | undefined;
  card(): Promise<CardJson>;
  /** Logs an error whose text callers do not see. */
  onError(error: unknown): void;
}

/** An answer of JSON-RPC without its envelope. */
export interface RpcAnswer {
  result?: unknown;
  error?: { code: number; message: string; data?: Record<string, unknown>[] };
}

/** JSON-RPC in both versions of the protocol. */
export class A2aProtocol {
  readonly #modern: JsonRpcTransportHandler;
  readonly #legacy: LegacyJsonRpcTransportHandler;

  constructor(options: ProtocolOptions) {
    const handler = new RequestHandler(options);
    this.#modern = new JsonRpcTransportHandler(handler);
    this.#legacy = new LegacyJsonRpcTransportHandler(handler);
  }

  async handle(body: Record<string, unknown>, call: Call): Promise<RpcAnswer | AsyncGenerator<RpcAnswer>> {
    const handler = call.version === '0.3' ? this.#legacy : this.#modern;
    const answer = (await handler.handle(body, contextOf(call))) as RpcAnswer | AsyncGenerator<RpcAnswer>;
    return Symbol.asyncIterator in answer ? answer : withoutRawError(answer);
  }
}

/** The error for a request in an unsupported version, or for a method that its version does not have. */
export function versionRefusal(method: unknown, version: string): RpcAnswer | undefined {
  const isLegacy = version === '0.3';
  if (isLegacy ? !isV1JsonRpcMethod(method) : version === '1.0') return undefined;
  const text = isLegacy
    ? `Requests without the header A2A-Version: 1.0 use version 0.3, which has no method ${method}.`
    : `Version ${version} is not supported; use 1.0 or 0.3.`;
  return { error: rpcError(new VersionNotSupportedError(text)) };
}

const INTERNAL_ERROR = -32_603;
const INTERNAL_TEXT = 'Internal error.';

/** Errors that are not A2A errors come from the SDK when it reads malformed params. */
export function rpcError(error: unknown): NonNullable<RpcAnswer['error']> {
  return toJsonRpcError(error instanceof A2AError ? error : new RequestMalformedError('The params are malformed.'));
}

function withoutRawError(answer: RpcAnswer): RpcAnswer {
  const isRaw = answer.error?.code === INTERNAL_ERROR && answer.error.message !== INTERNAL_TEXT;
  return isRaw ? { error: rpcError(undefined) } : answer;
}

/** The error in the form of the REST binding. */
export function restError(error: NonNullable<RpcAnswer['error']>): { status: number; body: object } {
  const a2aError = fromJsonRpcErrorResponse({ jsonrpc: '2.0', id: null, error });
  // the SDK answers 400, but the specification defines another status
  const status = a2aError instanceof ContentTypeNotSupportedError ? 415 : restStatusFor(a2aError);
  return { status, body: toRestErrorBody(a2aError, status) };
}

type Operation<Name extends keyof A2ARequestHandler> = Parameters<A2ARequestHandler[Name]>[0];

class RequestHandler implements A2ARequestHandler {
  readonly #options: ProtocolOptions;

  constructor(options: ProtocolOptions) {
    this.#options = options;
  }

  async getAgentCard(): Promise<AgentCard> {
    return AgentCard.fromJSON(await this.#options.card());
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    throw new UnsupportedOperationError('This agent has no extended card.');
  }

  sendMessage(params: Operation<'sendMessage'>, context: ServerCallContext): Promise<SdkTask> {
    return this.#guard(async () => {
      const call = callOf(context);
      const task = await this.#send(params, call);
      const { returnImmediately, historyLength } = params.configuration ?? {};
      if (!returnImmediately) await drain(task.watch(call.signal));
      return toSdkTask(withHistory(await task.snapshot(), historyLength));
    });
  }

  async *sendMessageStream(
    params: Operation<'sendMessageStream'>,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const call = callOf(context);
    const task = await this.#guard(() => this.#send(params, call));
    for await (const update of inPieces(task.watch(call.signal))) yield toSdkUpdate(update);
  }

  getTask({ id, historyLength }: Operation<'getTask'>, context: ServerCallContext): Promise<SdkTask> {
    return this.#guard(async () => {
      const task = await this.#options.tasks.find(callOf(context), id);
      return toSdkTask(withHistory(await task.snapshot(), historyLength));
    });
  }

  cancelTask({ id }: Operation<'cancelTask'>, context: ServerCallContext): Promise<SdkTask> {
    return this.#guard(async () => toSdkTask(await this.#options.tasks.cancel(callOf(context), id)));
  }

  async *resubscribe(
    { id }: Operation<'resubscribe'>,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const call = callOf(context);
    const task = await this.#guard(() => this.#options.tasks.find(call, id));
    if (isOver((await task.snapshot()).status.state)) throw new UnsupportedOperationError(`Task ${id} has ended.`);
    const updates = task.watch(call.signal, { evenIfAtRest: true });
    for await (const update of inPieces(updates)) yield toSdkUpdate(update);
  }

  listTasks(params: Operation<'listTasks'>, context: ServerCallContext): Promise<ListTasksResponse> {
    return this.#guard(async () => {
      const call = callOf(context);
      const filter = filterOf(params);
      if (!call.isAuthenticated && !filter.contextId)
        throw new UnsupportedOperationError('Callers without authentication must give a contextId to list tasks.');
      const { tasks, ...page } = await this.#options.repository.list(call, filter);
      const listed = tasks.map((task) => toSdkTask(withHistory(task, filter.historyLength)));
      return { ...page, tasks: listed };
    });
  }

  createTaskPushNotificationConfig(
    params: Operation<'createTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Promise<TaskPushNotificationConfig> {
    return this.#withWebhooks(params.taskId, context, async (webhooks, call) => {
      const added = webhooks.add(call, params.taskId, fromSdkWebhook(params));
      this.#options.tasks.webhookAdded?.(call, params.taskId);
      await webhooks.saved();
      return toSdkWebhook(added);
    });
  }

  getTaskPushNotificationConfig(
    { taskId, id }: Operation<'getTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Promise<TaskPushNotificationConfig> {
    return this.#withWebhooks(taskId, context, (webhooks, call) => toSdkWebhook(webhooks.get(call, taskId, id)));
  }

  listTaskPushNotificationConfigs(
    { taskId }: Operation<'listTaskPushNotificationConfigs'>,
    context: ServerCallContext,
  ): Promise<{ configs: TaskPushNotificationConfig[]; nextPageToken: string }> {
    return this.#withWebhooks(taskId, context, (webhooks, call) => {
      const configs = webhooks.list(call, taskId).map(toSdkWebhook);
      return { configs, nextPageToken: '' };
    });
  }

  deleteTaskPushNotificationConfig(
    { taskId, id }: Operation<'deleteTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Promise<void> {
    return this.#withWebhooks(taskId, context, async (webhooks, call) => {
      webhooks.remove(call, taskId, id);
      await webhooks.saved();
    });
  }

  #send({ message, configuration }: Operation<'sendMessage'>, call: Call): Promise<FoundTask> {
    const { tasks, push } = this.#options;
    if (!message) throw new RequestMalformedError('message is required.');
    const { taskPushNotificationConfig: webhook } = configuration ?? {};
    if (webhook && !push) throw new PushNotificationNotSupportedError();
    return tasks.send(call, fromSdkMessage(message), webhook && fromSdkWebhook(webhook));
  }

  /** Throws if the server has no webhooks, or if the caller does not own the task. */
  #withWebhooks<Answer>(
    taskId: string,
    context: ServerCallContext,
    work: (webhooks: PushNotifications, call: Call) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    return this.#guard(async () => {
      const { tasks, push } = this.#options;
      if (!push) throw new PushNotificationNotSupportedError();
      const call = callOf(context);
      await tasks.find(call, taskId);
      return work(push, call);
    });
  }

  /** A2A errors reach the caller; other errors are logged and become "Internal error". */
  async #guard<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof A2AError) throw error;
      this.#options.onError(error);
      throw new A2AError(INTERNAL_TEXT);
    }
  }
}

async function drain(updates: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of updates);
}

function withHistory(task: Task, historyLength: number | undefined): Task {
  if (historyLength === undefined) return task;
  return { ...task, history: historyLength > 0 ? (task.history ?? []).slice(-historyLength) : [] };
}

function filterOf(request: ListTasksRequest): TaskFilter {
  const filter = ListTasksRequest.toJSON(request) as TaskFilter;
  const { pageSize = 50, statusTimestampAfter: after } = filter;
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > 100)
    throw new RequestMalformedError('pageSize must be between 1 and 100.');
  if (after && Number.isNaN(Date.parse(after)))
    throw new RequestMalformedError('statusTimestampAfter must be an ISO 8601 time.');
  if (filter.status === 'UNRECOGNIZED') throw new RequestMalformedError('status is not a state of a task.');
  return { ...filter, pageSize };
}
