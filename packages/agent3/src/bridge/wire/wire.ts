// What agents send, whatever version and binding they speak: tasks, messages, and the updates of a stream.
import type { TaskStateName } from '../../base/types.ts';

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

/** How JSON is written: 0.3 has another form in its REST binding than in JSON-RPC. */
export type Dialect = '1.0' | '0.3' | '0.3-rest';

export function isOver(state: TaskStateName): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected';
}

/** Whoever waits for the task gets an answer now: it is over, or waits itself. */
export function isAtRest(state: TaskStateName): boolean {
  return isOver(state) || state === 'input-required' || state === 'auth-required';
}

export interface Authorization {
  headers: Record<string, string>;
  query: [string, string][];
  isSent: boolean;
  /** Why none of the registered credentials is sent. */
  unsent?: string;
  /** For tokens that were refused: the same with new ones, once. */
  renew?(signal: AbortSignal): Promise<Authorization>;
}
