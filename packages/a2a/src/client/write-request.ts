// Writes requests to agents: five operations, in JSON-RPC and REST, in A2A 1.0 and 0.3.
import type { Message, Part, PushConfig } from '../wire/task.ts';
import type { Dialect, Endpoint } from './endpoint.ts';

/** A message to an agent: its parts, and the task that it continues. */
export interface OutgoingMessage extends Omit<Message, 'role' | 'parts'> {
  messageId: string;
  parts: readonly Part[];
  /** Where the agent may send push notifications about its task. */
  push?: PushAddress;
}

/** The webhook that an agent may call about a task. */
export type PushAddress = Required<Pick<PushConfig, 'id' | 'url' | 'token'>>;

export type Operation =
  | { name: 'send' | 'stream'; message: OutgoingMessage }
  | { name: 'get' | 'cancel' | 'subscribe'; taskId: string };

export interface WireRequest {
  method: 'GET' | 'POST';
  url: URL;
  body?: string;
}

const rpcMethods = {
  '1.0': {
    send: 'SendMessage',
    stream: 'SendStreamingMessage',
    get: 'GetTask',
    cancel: 'CancelTask',
    subscribe: 'SubscribeToTask',
  },
  '0.3': {
    send: 'message/send',
    stream: 'message/stream',
    get: 'tasks/get',
    cancel: 'tasks/cancel',
    subscribe: 'tasks/resubscribe',
  },
} as const;

export function writeRequest(endpoint: Endpoint, operation: Operation, id: number): WireRequest {
  return endpoint.binding === 'JSONRPC' ? writeRpc(endpoint, operation, id) : writeRest(endpoint, operation);
}

function writeRpc({ url, version, dialect, tenant }: Endpoint, operation: Operation, id: number): WireRequest {
  const isTask = 'taskId' in operation;
  const history = operation.name === 'get' ? { historyLength: 0 } : {};
  const params = isTask ? { id: operation.taskId, ...history } : writeMessage(operation, dialect);
  const method = rpcMethods[version][operation.name];
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, ...(tenant ? { tenant } : {}) } });
  return { method: 'POST', url, body };
}

function writeRest({ url, dialect, tenant }: Endpoint, operation: Operation): WireRequest {
  const target = new URL(url);
  const isOld = dialect === '0.3-rest';
  const prefix = isOld ? '/v1' : tenant ? `/${encodeURIComponent(tenant)}` : '';
  const at = (path: string) => {
    target.pathname = `${url.pathname.replace(/\/+$/, '')}${prefix}${path}`;
    return target;
  };
  if (!('taskId' in operation)) {
    const body = JSON.stringify({ ...writeMessage(operation, dialect), ...(tenant && !isOld ? { tenant } : {}) });
    return { method: 'POST', url: at(`/message:${operation.name}`), body };
  }
  const task = `/tasks/${encodeURIComponent(operation.taskId)}`;
  if (operation.name === 'get') {
    at(task).searchParams.set('historyLength', '0');
    return { method: 'GET', url: target };
  }
  const method = isOld && operation.name === 'subscribe' ? 'GET' : 'POST';
  return { method, url: at(`${task}:${operation.name}`) };
}

function writeMessage({ name, message }: Operation & { message: OutgoingMessage }, dialect: Dialect): object {
  const { messageId, taskId, contextId, metadata, push } = message;
  const parts = message.parts.map((part) => writePart(part, dialect));
  const about = { messageId, taskId, contextId, metadata };
  const returnImmediately = name === 'send';
  if (dialect === '1.0')
    return {
      message: { ...about, role: 'ROLE_USER', parts },
      configuration: { historyLength: 0, returnImmediately, taskPushNotificationConfig: push },
    };
  if (dialect === '0.3')
    return {
      message: { ...about, kind: 'message', role: 'user', parts },
      configuration: { historyLength: 0, blocking: !returnImmediately, pushNotificationConfig: push },
    };
  return {
    message: { ...about, role: 'ROLE_USER', content: parts },
    configuration: { blocking: !returnImmediately, pushNotification: push },
  };
}

function writePart(part: Part, dialect: Dialect): object {
  if (dialect === '1.0') return part;
  const { text, raw, data, mediaType, filename } = part;
  const kind = (name: string) => (dialect === '0.3' ? { kind: name } : {});
  if (text !== undefined) return { ...kind('text'), text };
  if (data !== undefined) return { ...kind('data'), data: dialect === '0.3' ? data : { data } };
  const bytes = dialect === '0.3' ? { bytes: raw } : { fileWithBytes: raw };
  return { ...kind('file'), file: { ...bytes, mimeType: mediaType, name: filename } };
}
