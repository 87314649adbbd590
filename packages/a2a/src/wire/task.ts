// Tasks, messages and updates of A2A: one form for client and server, whatever version and binding the peer speaks.
import { randomUUID } from 'node:crypto';

/** Values that agents attach for each other; the protocol gives them no meaning. */
export type Metadata = Record<string, unknown>;

/** Has one of `text`, `raw` (base64), `url` and `data`. */
export interface Part {
  text?: string;
  raw?: string;
  url?: string;
  data?: unknown;
  mediaType?: string;
  filename?: string;
  metadata?: Metadata;
}

/** Metadata of a placeholder in a stream for a part that is too large for it; the task has the real part. */
export const OMITTED = 'urn:pocket-agent:a2a:omitted';

/** The id and the role are missing in messages that the client has read. */
export interface Message {
  messageId?: string;
  role?: 'ROLE_USER' | 'ROLE_AGENT';
  parts: Part[];
  taskId?: string;
  contextId?: string;
  metadata?: Metadata;
}

/** A message that we send. */
export type SentMessage = Message & Required<Pick<Message, 'messageId' | 'role'>>;

/** A result of a task; large ones arrive in several pieces. */
export interface Artifact {
  artifactId: string;
  name?: string;
  description?: string;
  parts: Part[];
  metadata?: Metadata;
}

/** The states of a task, without the prefixes of 1.0. */
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
/** The state of a task: some states end it, in others it waits for the caller. */
export type TaskStateName = (typeof taskStates)[number];

/** The state of a task, with the latest message of the agent. */
export interface TaskStatus {
  state: TaskStateName;
  message?: Message;
  timestamp?: string;
}

/** A piece of work of an agent, which can outlive the connection. */
export interface Task {
  id: string;
  contextId?: string;
  status: TaskStatus;
  artifacts?: Artifact[];
  history?: Message[];
  metadata?: Metadata;
}

export interface ArtifactUpdate {
  kind: 'artifact';
  taskId: string;
  contextId?: string;
  artifact: Artifact;
  append: boolean;
  lastChunk?: boolean;
}

/** The answer to a message, an event of a stream, or a push notification. */
export type Update =
  | { kind: 'message'; message: Message }
  | { kind: 'task'; task: Task }
  | { kind: 'status'; taskId: string; contextId?: string; status: TaskStatus; metadata?: Metadata }
  | ArtifactUpdate;

/** A webhook of a task. */
export interface PushConfig {
  id: string;
  taskId: string;
  url: string;
  token?: string;
  authentication?: { scheme: string; credentials?: string };
}

/** Whether the task has ended. */
export function isOver(state: TaskStateName): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected';
}

/** Whether there is nothing to wait for: the task has ended, or waits for the caller. */
export function isAtRest(state: TaskStateName): boolean {
  return isOver(state) || state === 'input-required' || state === 'auth-required';
}

/** The state in the JSON of A2A 1.0, for example `TASK_STATE_INPUT_REQUIRED`. */
export function stateToJson(state: TaskStateName): string {
  return `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}`;
}

/** Reads a state in the spelling of any version; undefined for an unknown one. */
export function stateFromJson(value: unknown): TaskStateName | undefined {
  const name = String(value ?? 'unspecified')
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
  if (name === 'cancelled') return 'canceled';
  // the task has not ended
  if (name === 'unknown' || name === 'unspecified') return 'working';
  return taskStates.find((state) => state === name);
}

export function agentMessage(
  parts: Part[],
  { id: taskId, contextId }: { id: string; contextId?: string },
): SentMessage {
  return { messageId: randomUUID(), role: 'ROLE_AGENT', parts, taskId, contextId };
}

export function textOfParts(parts: readonly Part[] = []): string {
  return parts.flatMap(({ text }) => (text ? [text] : [])).join('\n');
}
