// Tasks and messages as the client returns them, whatever version of A2A and binding the agent speaks.

import type { Part } from '../wire/wire.ts';

export type { Part };

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

export const taskStates = [
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'rejected',
  'input-required',
  'auth-required',
] as const;
export type TaskStateName = (typeof taskStates)[number];

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

/** The answer to a message, an event of a stream, or a push notification. */
export type Update =
  | { kind: 'message'; message: Message }
  | { kind: 'task'; task: Task }
  | { kind: 'status'; taskId: string; contextId?: string; status: TaskStatus; metadata?: Metadata }
  | { kind: 'artifact'; taskId: string; contextId?: string; artifact: Artifact; append: boolean };

/** A message to an agent. */
export interface OutgoingMessage {
  messageId: string;
  parts: readonly Part[];
  taskId?: string;
  contextId?: string;
  metadata?: Metadata;
  /** Where the agent may send push notifications about its task. */
  push?: PushAddress;
}

export interface PushAddress {
  id: string;
  url: string;
  token: string;
}

/** Whether the task has ended. */
export function isOver(state: TaskStateName): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected';
}

/** Whether there is nothing to wait for: the task has ended, or waits for the caller. */
export function isAtRest(state: TaskStateName): boolean {
  return isOver(state) || state === 'input-required' || state === 'auth-required';
}
