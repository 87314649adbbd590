// The operations of A2A as the SDK expects them, on top of our tasks. The SDK's own request handler is not used: it
// stores a task only while a client is connected, and a run cannot wait for an answer and then continue.
import {
  AgentCard,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { isV1JsonRpcMethod } from '@a2a-js/sdk/compat/v0_3';
import { LegacyJsonRpcTransportHandler, V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
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
import {
  type A2ARequestHandler,
  JsonRpcTransportHandler,
  ServerCallContext,
  type TaskStore,
  V1PushNotificationSerializer,
} from '@a2a-js/sdk/server';
import type * as wire from '../wire/wire.ts';
import { isOver } from '../wire/wire.ts';
import { inPieces } from './pieces.ts';
import type { Notification, PushNotifications } from './push.ts';
import type { Call, SdkTaskStore } from './server-options.ts';
import type { TaskFilter, TaskKeeper, TaskPage } from './task-memory.ts';
import type { FoundTask, Tasks } from './tasks.ts';

const CALL = 'pocket-agent/call';

interface ProtocolOptions {
  tasks: Tasks;
  keeper: TaskKeeper;
  push: PushNotifications | undefined;
  card(): Promise<wire.AgentCard>;
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
    const handler = makeHandler(options);
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
  const known = fromJsonRpcErrorResponse({ jsonrpc: '2.0', id: null, error });
  // the SDK answers 400, but the specification defines another status
  const status = known instanceof ContentTypeNotSupportedError ? 415 : restStatusFor(known);
  return { status, body: toRestErrorBody(known, status) };
}

export function serializeNotification(task: wire.Task, version: string): Notification {
  const update = StreamResponse.fromJSON({ task });
  const serializer = version === '0.3' ? new V03PushNotificationSerializer() : new V1PushNotificationSerializer();
  return serializer.serialize(update, Task.fromJSON(task));
}

/** Keeps tasks in a store of the SDK. */
export function keepIn(given: SdkTaskStore): TaskKeeper {
  const store = given as TaskStore;
  return {
    save: (call, task) => store.save(Task.fromJSON(task), contextOf(call)),
    async load(call, id) {
      const task = await store.load(id, contextOf(call));
      return task && (Task.toJSON(task) as wire.Task);
    },
    async list(call, filter) {
      const page = await store.list(ListTasksRequest.fromJSON(filter), contextOf(call));
      return { ...page, tasks: page.tasks.map((task) => Task.toJSON(task) as wire.Task) };
    },
  };
}

function contextOf(call: Call): ServerCallContext {
  const { caller, isAuthenticated, tenant, version } = call;
  return new ServerCallContext({
    user: { isAuthenticated, userName: caller.id },
    requestedVersion: version,
    state: new Map([[CALL, call]]),
    ...(tenant ? { tenant } : {}),
  });
}

function callOf(context: ServerCallContext): Call {
  return { ...(context.state.get(CALL) as Call), tenant: context.tenant ?? '' };
}

function makeHandler(options: ProtocolOptions): A2ARequestHandler {
  const { tasks, keeper, push, onError } = options;

  /** A2A errors reach the caller; other errors are logged and become "Internal error". */
  const hide = (error: unknown): unknown => {
    if (error instanceof A2AError) return error;
    onError(error);
    return new A2AError(INTERNAL_TEXT);
  };
  const guard = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    try {
      return await work();
    } catch (error) {
      throw hide(error);
    }
  };
  const send = (params: SendMessageParams, call: Call): Promise<FoundTask> => {
    if (!params.message) throw new RequestMalformedError('message is required.');
    const { taskPushNotificationConfig: webhook } = params.configuration ?? {};
    if (webhook && !push) throw new PushNotificationNotSupportedError();
    const message = Message.toJSON(params.message) as wire.Message;
    return tasks.send(
      call,
      { ...message, parts: message.parts ?? [] },
      webhook && (TaskPushNotificationConfig.toJSON(webhook) as wire.PushConfig),
    );
  };
  const webhooks = async (taskId: string, context: ServerCallContext) => {
    if (!push) throw new PushNotificationNotSupportedError();
    const call = callOf(context);
    await tasks.find(call, taskId);
    return { push, call };
  };
  const typedConfig = (config: wire.PushConfig) => TaskPushNotificationConfig.fromJSON(config);

  return {
    getAgentCard: async () => AgentCard.fromJSON(await options.card()),
    getAuthenticatedExtendedAgentCard: () =>
      guard(async () => {
        throw new UnsupportedOperationError('This agent has no extended card.');
      }),
    sendMessage: (params, context) =>
      guard(async () => {
        const call = callOf(context);
        const task = await send(params, call);
        const { returnImmediately, historyLength } = params.configuration ?? {};
        if (!returnImmediately) await drain(task.watch(call.signal));
        return Task.fromJSON(withHistory(task.snapshot(), historyLength));
      }),
    async *sendMessageStream(params, context) {
      const call = callOf(context);
      const task = await guard(() => send(params, call));
      for await (const update of inPieces(task.watch(call.signal))) yield StreamResponse.fromJSON(update);
    },
    getTask: ({ id, historyLength }, context) =>
      guard(async () => {
        const task = await tasks.find(callOf(context), id);
        return Task.fromJSON(withHistory(task.snapshot(), historyLength));
      }),
    cancelTask: ({ id }, context) => guard(async () => Task.fromJSON(await tasks.cancel(callOf(context), id))),
    async *resubscribe({ id }, context) {
      const call = callOf(context);
      const task = await guard(() => tasks.find(call, id));
      if (isOver(task.snapshot().status.state)) throw new UnsupportedOperationError(`Task ${id} has ended.`);
      const updates = task.watch(call.signal, { evenIfAtRest: true });
      for await (const update of inPieces(updates)) yield StreamResponse.fromJSON(update);
    },
    listTasks: (params, context) =>
      guard(async () => {
        const call = callOf(context);
        const filter = filterOf(params);
        if (!call.isAuthenticated && !filter.contextId)
          throw new UnsupportedOperationError('Callers without authentication must give a contextId to list tasks.');
        const page: TaskPage = await keeper.list(call, filter);
        const listed = page.tasks.map((task) => withHistory(task, filter.historyLength));
        return ListTasksResponse.fromJSON({ ...page, tasks: listed });
      }),
    createTaskPushNotificationConfig: (params, context) =>
      guard(async () => {
        const { push: hooks, call } = await webhooks(params.taskId, context);
        const config = TaskPushNotificationConfig.toJSON(params) as wire.PushConfig;
        return typedConfig(hooks.add(call, params.taskId, config));
      }),
    getTaskPushNotificationConfig: ({ taskId, id }, context) =>
      guard(async () => {
        const { push: hooks, call } = await webhooks(taskId, context);
        return typedConfig(hooks.get(call, taskId, id));
      }),
    listTaskPushNotificationConfigs: ({ taskId }, context) =>
      guard(async () => {
        const { push: hooks, call } = await webhooks(taskId, context);
        return { configs: hooks.list(call, taskId).map(typedConfig), nextPageToken: '' };
      }),
    deleteTaskPushNotificationConfig: ({ taskId, id }, context) =>
      guard(async () => {
        const { push: hooks, call } = await webhooks(taskId, context);
        hooks.remove(call, taskId, id);
      }),
  };
}

type SendMessageParams = Parameters<A2ARequestHandler['sendMessage']>[0];

async function drain(updates: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of updates);
}

function withHistory(task: wire.Task, historyLength: number | undefined): wire.Task {
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
