// Reads the JSON of agents: 1.0, and 0.3 in both of its forms. What is not as specified is a failure, never a guess.

import { CallFailure } from '../../base/call-failure.ts';
import { isRecord, textIn } from '../../base/json.ts';
import type { TaskStateName } from '../../base/types.ts';
import type { Artifact, Dialect, Message, Part, Task, TaskStatus, Update } from './wire.ts';

const MAX_ID_LENGTH = 512;

/** An event of a stream, the answer to a message, or a push notification. */
export function readUpdate(value: unknown, dialect: Dialect): Update {
  const found = record(value, 'an answer');
  switch (found.kind) {
    case 'message':
      return { kind: 'message', message: readMessage(found, dialect) };
    case 'task':
      return { kind: 'task', task: readTask(found, dialect) };
    case 'status-update':
      return readStatusUpdate(found, dialect);
    case 'artifact-update':
      return readArtifactUpdate(found, dialect);
  }
  if (found.task !== undefined) return { kind: 'task', task: readTask(found.task, dialect) };
  const message = found.message ?? found.msg;
  if (message !== undefined) return { kind: 'message', message: readMessage(message, dialect) };
  if (found.statusUpdate !== undefined) return readStatusUpdate(record(found.statusUpdate, 'a status update'), dialect);
  if (found.artifactUpdate !== undefined)
    return readArtifactUpdate(record(found.artifactUpdate, 'an artifact update'), dialect);
  throw unreadable('an answer that is neither task nor message');
}

export function readTask(value: unknown, dialect: Dialect): Task {
  const found = record(value, 'a task');
  return {
    id: identifier(found.id, 'the id of a task'),
    contextId: textIn(found.contextId),
    status: readStatus(found.status, dialect),
    artifacts: list(found.artifacts).map((artifact) => readArtifact(artifact, dialect)),
    ...metadataOf(found),
  };
}

function readStatusUpdate(found: Record<string, unknown>, dialect: Dialect): Update {
  const status = readStatus(found.status, dialect);
  return { kind: 'status', ...ofTask(found), status, ...metadataOf(found) };
}

function readArtifactUpdate(found: Record<string, unknown>, dialect: Dialect): Update {
  const artifact = readArtifact(found.artifact, dialect);
  return { kind: 'artifact', ...ofTask(found), artifact, append: found.append === true };
}

function ofTask(found: Record<string, unknown>): { taskId: string; contextId?: string } {
  return { taskId: identifier(found.taskId, 'the task of an update'), contextId: textIn(found.contextId) };
}

function readStatus(value: unknown, dialect: Dialect): TaskStatus {
  const found = record(value, 'the status of a task');
  const message = found.message ?? found.update;
  return {
    state: readState(found.state),
    ...(isRecord(message) ? { message: readMessage(message, dialect) } : {}),
  };
}

const states: Record<string, TaskStateName> = {
  submitted: 'submitted',
  working: 'working',
  completed: 'completed',
  failed: 'failed',
  canceled: 'canceled',
  cancelled: 'canceled',
  rejected: 'rejected',
  'input-required': 'input-required',
  'auth-required': 'auth-required',
  // an agent that does not know is not done
  unknown: 'working',
  unspecified: 'working',
};

function readState(value: unknown): TaskStateName {
  const name = String(value ?? 'unspecified')
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
  const state = Object.hasOwn(states, name) ? states[name] : undefined;
  if (!state) throw unreadable('an unknown state of a task');
  return state;
}

function readMessage(value: unknown, dialect: Dialect): Message {
  const found = record(value, 'a message');
  return {
    parts: list(found.parts ?? found.content).map((part) => readPart(part, dialect)),
    taskId: textIn(found.taskId),
    contextId: textIn(found.contextId),
    ...metadataOf(found),
  };
}

function readArtifact(value: unknown, dialect: Dialect): Artifact {
  const found = record(value, 'an artifact');
  return {
    artifactId: identifier(found.artifactId, 'the id of an artifact'),
    name: textIn(found.name),
    parts: list(found.parts).map((part) => readPart(part, dialect)),
    ...metadataOf(found),
  };
}

function readPart(value: unknown, dialect: Dialect): Part {
  const found = record(value, 'a part');
  const about = { mediaType: textIn(found.mediaType), filename: textIn(found.filename) };
  if (typeof found.text === 'string') return { text: found.text, ...about };
  if (typeof found.raw === 'string') return { raw: found.raw, ...about };
  if (typeof found.url === 'string') return { url: found.url, ...about };
  if (isRecord(found.file)) return readFile(found.file);
  if (found.data === undefined) throw unreadable('a part of an unknown kind');
  const isWrapped = dialect === '0.3-rest' && isRecord(found.data) && found.data.data !== undefined;
  return { data: isWrapped && isRecord(found.data) ? found.data.data : found.data, ...about };
}

function readFile(file: Record<string, unknown>): Part {
  const about = { mediaType: textIn(file.mimeType), filename: textIn(file.name) };
  const raw = file.bytes ?? file.fileWithBytes;
  if (typeof raw === 'string') return { raw, ...about };
  return { url: required(file.uri ?? file.fileWithUri, 'the content of a file'), ...about };
}

function metadataOf(found: Record<string, unknown>): { metadata?: Record<string, unknown> } {
  return isRecord(found.metadata) ? { metadata: found.metadata } : {};
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (!isRecord(value)) throw unreadable(`${what} that is no object`);
  return value;
}

function list(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw unreadable('a list that is none');
  return value;
}

function required(value: unknown, what: string): string {
  const found = textIn(value);
  if (found === undefined) throw unreadable(`nothing as ${what}`);
  return found;
}

function identifier(value: unknown, what: string): string {
  const found = required(value, what);
  if (found.length > MAX_ID_LENGTH) throw unreadable(`too much as ${what}`);
  return found;
}

function unreadable(what: string): CallFailure {
  return new CallFailure('PROTOCOL', `it does not speak A2A as specified: it sent ${what}.`);
}
