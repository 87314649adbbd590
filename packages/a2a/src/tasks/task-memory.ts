// A repository that keeps the latest tasks in memory. Only its owner can read a task.
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { estimateBytes, fairEvictionKey } from '@pocket-agent/kit';
import { isOver, stateToJson, type Task } from '../wire/task.ts';
import { type Call, scopeOf } from './server-options.ts';

export interface TaskFilter {
  contextId?: string;
  /** In the JSON of A2A 1.0, for example `TASK_STATE_WORKING`. */
  status?: string;
  statusTimestampAfter?: string;
  pageSize?: number;
  pageToken?: string;
  historyLength?: number;
  includeArtifacts?: boolean;
}

export interface TaskPage {
  tasks: Task[];
  nextPageToken: string;
  pageSize: number;
  totalSize: number;
}

export interface TaskRepository {
  save(call: Call, task: Task): Promise<void>;
  load(call: Call, id: string): Promise<Task | undefined>;
  list(call: Call, filter: TaskFilter): Promise<TaskPage>;
}

interface TaskMemoryOptions {
  /** Number of finished tasks to keep. */
  maxTasks: number;
  /** Above this estimated size, finished tasks are dropped. */
  maxBytes?: number | undefined;
}

interface StoredTask {
  task: Task;
  scope: string;
  owner: string;
  bytes: number;
}

export class TaskMemory implements TaskRepository {
  readonly #maxTasks: number;
  readonly #maxBytes: number;
  readonly #tasks = new Map<string, StoredTask>();
  #bytes = 0;

  constructor({ maxTasks, maxBytes = 134_217_728 }: TaskMemoryOptions) {
    this.#maxTasks = maxTasks;
    this.#maxBytes = maxBytes;
  }

  async save(call: Call, task: Task): Promise<void> {
    const scope = scopeOf(call);
    const bytes = estimateBytes(task);
    this.#delete(scope + task.id);
    this.#tasks.set(scope + task.id, { task, scope, owner: call.caller.id, bytes });
    this.#bytes += bytes;
    this.#makeRoom();
  }

  async load(call: Call, id: string): Promise<Task | undefined> {
    const found = this.#tasks.get(scopeOf(call) + id);
    return found && structuredClone(found.task);
  }

  /** Newest first. */
  async list(call: Call, filter: TaskFilter): Promise<TaskPage> {
    const { contextId, status, statusTimestampAfter } = filter;
    const scope = scopeOf(call);
    const after = statusTimestampAfter ? Date.parse(statusTimestampAfter) : Number.NEGATIVE_INFINITY;
    const all = [...this.#tasks.values()]
      .filter((entry) => entry.scope === scope)
      .map(({ task }) => task)
      .filter((task) => !contextId || task.contextId === contextId)
      .filter((task) => !status || stateToJson(task.status.state) === status)
      .filter((task) => timeOf(task) > after)
      .sort((left, right) => timeOf(right) - timeOf(left) || (left.id < right.id ? 1 : -1));
    return structuredClone(pageOf(all, filter));
  }

  /** Drops finished tasks only. The number of running tasks has its own limit. */
  #makeRoom(): void {
    while (this.#tasks.size > this.#maxTasks || this.#bytes > this.#maxBytes) {
      const finished = [...this.#tasks].filter(([, { task }]) => isOver(task.status.state));
      const isTooLarge = this.#bytes > this.#maxBytes;
      if (!isTooLarge && finished.length <= this.#maxTasks) return;
      const oldest = fairEvictionKey(
        finished.map(([key, { owner, bytes }]) => [key, owner, isTooLarge ? bytes : 1] as const),
      );
      if (oldest === undefined) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    this.#bytes -= this.#tasks.get(key)?.bytes ?? 0;
    this.#tasks.delete(key);
  }
}

/** One page of sorted tasks, with artifacts only if the filter includes them. */
export function pageOf(all: readonly Task[], { pageSize = 50, pageToken, includeArtifacts }: TaskFilter): TaskPage {
  const from = pageToken ? all.findIndex(({ id }) => id === pageToken) : 0;
  if (from < 0) throw new RequestMalformedError('pageToken is unknown or has expired.');
  const tasks = all
    .slice(from, from + pageSize)
    .map(({ artifacts, ...rest }) => (includeArtifacts && artifacts ? { ...rest, artifacts } : rest));
  return { tasks, nextPageToken: all[from + pageSize]?.id ?? '', pageSize, totalSize: all.length };
}

function timeOf({ status: { timestamp } }: Task): number {
  return timestamp ? Date.parse(timestamp) : 0;
}
