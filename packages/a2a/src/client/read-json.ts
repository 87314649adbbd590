// Reads the JSON that agents send: A2A 1.0, and both forms of 0.3. Throws if it does not follow the specification.
import { isRecord, nonEmptyString } from '@pocket-agent/kit';
import {
  type Artifact,
  type Message,
  type Part,
  stateFromJson,
  type Task,
  type TaskStateName,
  type TaskStatus,
  type Update,
} from '../wire/task.ts';
import { A2aError } from './a2a-error.ts';
import type { Dialect } from './endpoint.ts';

const MAX_ID_LENGTH = 512;

/** Reads a message, a task or an update of one. Throws if it does not follow the specification. */
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
  throw unreadable('an answer that is neither a task nor a message');
}

export function readTask(value: unknown, dialect: Dialect): Task {
  const found = record(value, 'a task');
  return {
    id: identifier(found.id, 'the id of a task'),
    contextId: nonEmptyString(found.contextId),
    status: readStatus(found.status, dialect),
    artifacts: list(found.artifacts).map((artifact) => readArtifact(artifact, dialect)),
    ...metadataOf(found),
  };
}

function readStatusUpdate(found: Record<string, unknown>, dialect: Dialect): Update {
  const status = readStatus(found.status, dialect);
  return { kind: 'status', ...taskOf(found), status, ...metadataOf(found) };
}

function readArtifactUpdate(found: Record<string, unknown>, dialect: Dialect): Update {
  const artifact = readArtifact(found.artifact, dialect);
  return { kind: 'artifact', ...taskOf(found), artifact, append: found.append === true };
}

function taskOf(found: Record<string, unknown>): { taskId: string; contextId?: string } {
  return { taskId: identifier(found.taskId, 'the task of an update'), contextId: nonEmptyString(found.contextId) };
}

function readStatus(value: unknown, dialect: Dialect): TaskStatus {
  const found = record(value, 'the status of a task');
  const message = found.message ?? found.update;
  return {
    state: readState(found.state),
    ...(isRecord(message) ? { message: readMessage(message, dialect) } : {}),
  };
}

function readState(value: unknown): TaskStateName {
  const state = stateFromJson(value);
  if (!state) throw unreadable('an unknown task state');
  return state;
}

function readMessage(value: unknown, dialect: Dialect): Message {
  const found = record(value, 'a message');
  return {
    parts: list(found.parts ?? found.content).map((part) => readPart(part, dialect)),
    taskId: nonEmptyString(found.taskId),
    contextId: nonEmptyString(found.contextId),
    ...metadataOf(found),
  };
}

function readArtifact(value: unknown, dialect: Dialect): Artifact {
  const found = record(value, 'an artifact');
  return {
    artifactId: identifier(found.artifactId, 'the id of an artifact'),
    name: nonEmptyString(found.name),
    parts: list(found.parts).map((part) => readPart(part, dialect)),
    ...metadataOf(found),
  };
}

function readPart(value: unknown, dialect: Dialect): Part {
  const found = record(value, 'a part');
  const about = {
    mediaType: nonEmptyString(found.mediaType),
    filename: nonEmptyString(found.filename),
    ...metadataOf(found),
  };
  if (typeof found.text === 'string') return { text: found.text, ...about };
  if (typeof found.raw === 'string') return { raw: found.raw, ...about };
  if (typeof found.url === 'string') return { url: found.url, ...about };
  if (isRecord(found.file)) return readFile(found.file);
  if (found.data === undefined) throw unreadable('a part of an unknown kind');
  const isWrapped = dialect === '0.3-rest' && isRecord(found.data) && found.data.data !== undefined;
  return { data: isWrapped && isRecord(found.data) ? found.data.data : found.data, ...about };
}

function readFile(file: Record<string, unknown>): Part {
  const about = { mediaType: nonEmptyString(file.mimeType), filename: nonEmptyString(file.name) };
  const raw = file.bytes ?? file.fileWithBytes;
  if (typeof raw === 'string') return { raw, ...about };
  return { url: required(file.uri ?? file.fileWithUri, 'the content of a file'), ...about };
}

function metadataOf(found: Record<string, unknown>): { metadata?: Record<string, unknown> } {
  return isRecord(found.metadata) ? { metadata: found.metadata } : {};
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (!isRecord(value)) throw unreadable(`${what} that is not an object`);
  return value;
}

function list(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw unreadable('something else instead of a list');
  return value;
}

function required(value: unknown, what: string): string {
  const found = nonEmptyString(value);
  if (found === undefined) throw unreadable(`no string as ${what}`);
  return found;
}

function identifier(value: unknown, what: string): string {
  const found = required(value, what);
  if (found.length > MAX_ID_LENGTH) throw unreadable(`a string that is too long as ${what}`);
  return found;
}

function unreadable(what: string): A2aError {
  return new A2aError('PROTOCOL', `it does not follow the A2A specification: it sent ${what}.`);
}
