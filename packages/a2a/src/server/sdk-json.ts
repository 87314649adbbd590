// Converts between our tasks and the objects of the A2A SDK, whose JSON is that of A2A 1.0.
import {
  ListTasksRequest,
  Message as SdkMessage,
  Task as SdkTask,
  StreamResponse,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import { ServerCallContext, type TaskStore, V1PushNotificationSerializer } from '@a2a-js/sdk/server';
import type { Notification } from '../tasks/push.ts';
import type { Call, SdkTaskStore } from '../tasks/server-options.ts';
import type { TaskRepository } from '../tasks/task-memory.ts';
import {
  type Message,
  type PushConfig,
  stateFromJson,
  stateToJson,
  type Task,
  type TaskStatus,
  type Update,
} from '../wire/task.ts';

/** A task in the JSON of A2A 1.0, which spells states differently. */
type TaskJson = Omit<Task, 'status'> & { status: StatusJson };
type StatusJson = Omit<TaskStatus, 'state'> & { state: string };

export function toSdkTask(task: Task): SdkTask {
  return SdkTask.fromJSON(taskToJson(task));
}

export function toSdkUpdate(update: Update): StreamResponse {
  return StreamResponse.fromJSON(updateToJson(update));
}

/** A message without parts gets an empty list. */
export function fromSdkMessage(sdkMessage: SdkMessage): Message {
  const message = SdkMessage.toJSON(sdkMessage) as Partial<Message>;
  return { ...message, parts: message.parts ?? [] };
}

export function toSdkWebhook(config: PushConfig): TaskPushNotificationConfig {
  return TaskPushNotificationConfig.fromJSON(config);
}

export function fromSdkWebhook(config: TaskPushNotificationConfig): PushConfig {
  return TaskPushNotificationConfig.toJSON(config) as PushConfig;
}

export function serializeNotification(task: Task, version: string): Notification {
  const serializer = version === '0.3' ? new V03PushNotificationSerializer() : new V1PushNotificationSerializer();
  return serializer.serialize(toSdkUpdate({ kind: 'task', task }), toSdkTask(task));
}

/** A repository that uses a store of the SDK. */
export function repositoryIn(sdkStore: SdkTaskStore): TaskRepository {
  const store = sdkStore as TaskStore;
  return {
    save: (call, task) => store.save(toSdkTask(task), contextOf(call)),
    async load(call, id) {
      const task = await store.load(id, contextOf(call));
      return task && fromSdkTask(task);
    },
    async list(call, filter) {
      const page = await store.list(ListTasksRequest.fromJSON(filter), contextOf(call));
      return { ...page, tasks: page.tasks.map(fromSdkTask) };
    },
  };
}

const CALL = 'pocket-agent/call';

export function contextOf(call: Call): ServerCallContext {
  const { caller, isAuthenticated, tenant, version } = call;
  return new ServerCallContext({
    user: { isAuthenticated, userName: caller.id },
    requestedVersion: version,
    state: new Map([[CALL, call]]),
    ...(tenant ? { tenant } : {}),
  });
}

export function callOf(context: ServerCallContext): Call {
  return { ...(context.state.get(CALL) as Call), tenant: context.tenant ?? '' };
}

export function fromSdkTask(sdkTask: SdkTask): Task {
  const task = SdkTask.toJSON(sdkTask) as TaskJson;
  const state = stateFromJson(task.status.state) ?? 'working';
  return { ...task, status: { ...task.status, state } };
}

function updateToJson(update: Update): object {
  switch (update.kind) {
    case 'task':
      return { task: taskToJson(update.task) };
    case 'message':
      return { message: update.message };
    case 'status':
      return { statusUpdate: { ...update, status: statusToJson(update.status) } };
    case 'artifact':
      return { artifactUpdate: update };
  }
}

function taskToJson(task: Task): TaskJson {
  return { ...task, status: statusToJson(task.status) };
}

function statusToJson(status: TaskStatus): StatusJson {
  return { ...status, state: stateToJson(status.state) };
}
