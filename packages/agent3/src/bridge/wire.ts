// What agents send, whatever version and binding they speak: tasks, messages, and the updates of a stream.
import type { TaskStateName } from '../types.ts';

/** Has one of `text`, `raw` (base64), `url` and `data`. */
export interface Part {
  text?: string;
  raw?: string;
  url?: string;
  data?: unknown;
  mediaType?: string;
  filename?: string;
}

export type Metadata = Record<string, unknown>;

export interface Message {
  parts: Part[];
  taskId?: string;
  contextId?: string;
  metadata?: Metadata;
}

export interface Artifact {
  artifactId: string;
  name?: string;
  parts: Part[];
  metadata?: Metadata;
}

export interface TaskStatus {
  state: TaskStateName;
  message?: Message;
}

export interface Task {
  id: string;
  contextId?: string;
  status: TaskStatus;
  artifacts: Artifact[];
  metadata?: Metadata;
}

export type Update =
  | { kind: 'message'; message: Message }
  | { kind: 'task'; task: Task }
  | { kind: 'status'; taskId: string; contextId?: string; status: TaskStatus; metadata?: Metadata }
  | { kind: 'artifact'; taskId: string; contextId?: string; artifact: Artifact; append: boolean };

/** Levels of JSON that strangers hand in. */
export const DEEPEST = 100;

/** How JSON is written: 0.3 has another form in its REST binding than in JSON-RPC. */
export type Dialect = '1.0' | '0.3' | '0.3-rest';

export function isOver(state: TaskStateName): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected';
}

/** Whoever waits for the task gets an answer now: it is over, or waits itself. */
export function isAtRest(state: TaskStateName): boolean {
  return isOver(state) || state === 'input-required' || state === 'auth-required';
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What is nested deeper cannot be written as JSON again. Looks no further than it must. */
export function isTooDeep(value: unknown, levels = DEEPEST): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1));
}

export function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** A text that says something; an empty one is none, as protobuf writes it. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
