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
  const json = record(value, 'an answer');
  switch (json.kind) {
    case 'message':
      return { kind: 'message', message: readMessage(json, dialect) };
    case 'task':
      return { kind: 'task', task: readTask(json, dialect) };
    case 'status-update':
      return readStatusUpdate(json, dialect);
    case 'artifact-update':
      return readArtifactUpdate(json, dialect);
  }
  if (json.task !== undefined) return { kind: 'task', task: readTask(json.task, dialect) };
  const message = json.message ?? json.msg;
  if (message !== undefined) return { kind: 'message', message: readMessage(message, dialect) };
  if (json.statusUpdate !== undefined) return readStatusUpdate(record(json.statusUpdate, 'a status update'), dialect);
  if (json.artifactUpdate !== undefined)
    return readArtifactUpdate(record(json.artifactUpdate, 'an artifact update'), dialect);
  throw unreadable('an answer that is neither a task nor a message');
}

export function readTask(value: unknown, dialect: Dialect): Task {
  const json = record(value, 'a task');
  return {
    id: identifier(json.id, 'the id of a task'),
    contextId: nonEmptyString(json.contextId),
    status: readStatus(json.status, dialect),
    artifacts: list(json.artifacts).map((artifact) => readArtifact(artifact, dialect)),
    ...metadataOf(json),
  };
}

function readStatusUpdate(json: Record<string, unknown>, dialect: Dialect): Update {
  const status = readStatus(json.status, dialect);
  return { kind: 'status', ...taskOf(json), status, ...metadataOf(json) };
}

function readArtifactUpdate(json: Record<string, unknown>, dialect: Dialect): Update {
  const artifact = readArtifact(json.artifact, dialect);
  return { kind: 'artifact', ...taskOf(json), artifact, append: json.append === true };
}

function taskOf(json: Record<string, unknown>): { taskId: string; contextId?: string } {
  return { taskId: identifier(json.taskId, 'the task of an update'), contextId: nonEmptyString(json.contextId) };
}

function readStatus(value: unknown, dialect: Dialect): TaskStatus {
  const json = record(value, 'the status of a task');
  const message = json.message ?? json.update;
  return {
    state: readState(json.state),
    ...(isRecord(message) ? { message: readMessage(message, dialect) } : {}),
  };
}

function readState(value: unknown): TaskStateName {
  const state = stateFromJson(value);
  if (!state) throw unreadable('an unknown task state');
  return state;
}

function readMessage(value: unknown, dialect: Dialect): Message {
  const json = record(value, 'a message');
  return {
    parts: list(json.parts ?? json.content).map((part) => readPart(part, dialect)),
    taskId: nonEmptyString(json.taskId),
    contextId: nonEmptyString(json.contextId),
    ...metadataOf(json),
  };
}

function readArtifact(value: unknown, dialect: Dialect): Artifact {
  const json = record(value, 'an artifact');
  return {
    artifactId: identifier(json.artifactId, 'the id of an artifact'),
    name: nonEmptyString(json.name),
    parts: list(json.parts).map((part) => readPart(part, dialect)),
    ...metadataOf(json),
  };
}

function readPart(value: unknown, dialect: Dialect): Part {
  const json = record(value, 'a part');
  const about = {
    mediaType: nonEmptyString(json.mediaType),
    filename: nonEmptyString(json.filename),
    ...metadataOf(json),
  };
  if (typeof json.text === 'string') return { text: json.text, ...about };
  if (typeof json.raw === 'string') return { raw: json.raw, ...about };
  if (typeof json.url === 'string') return { url: json.url, ...about };
  if (isRecord(json.file)) return readFile(json.file);
  if (json.data === undefined) throw unreadable('a part of an unknown kind');
  const isWrapped = dialect === '0.3-rest' && isRecord(json.data) && json.data.data !== undefined;
  return { data: isWrapped && isRecord(json.data) ? json.data.data : json.data, ...about };
}

function readFile(file: Record<string, unknown>): Part {
  const about = { mediaType: nonEmptyString(file.mimeType), filename: nonEmptyString(file.name) };
  const raw = file.bytes ?? file.fileWithBytes;
  if (typeof raw === 'string') return { raw, ...about };
  return { url: required(file.uri ?? file.fileWithUri, 'the content of a file'), ...about };
}

function metadataOf(json: Record<string, unknown>): { metadata?: Record<string, unknown> } {
  return isRecord(json.metadata) ? { metadata: json.metadata } : {};
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (!isRecord(value)) throw unreadable(`${what} that is not an object`);
  return value;
}

function list(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw unreadable('a value that is not a list');
  return value;
}

function required(value: unknown, what: string): string {
  const text = nonEmptyString(value);
  if (text === undefined) throw unreadable(`no string as ${what}`);
  return text;
}

function identifier(value: unknown, what: string): string {
  const text = required(value, what);
  if (text.length > MAX_ID_LENGTH) throw unreadable(`a string that is too long as ${what}`);
  return text;
}

function unreadable(what: string): A2aError {
  return new A2aError('PROTOCOL', `it does not follow the A2A specification: it sent ${what}.`);
}
