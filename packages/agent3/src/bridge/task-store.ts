// Stores unfinished tasks, so that callers can continue them. A task is visible to its own caller only.

import { isOver } from '@pocket-agent/a2a/client';
import type { Caller } from '../base/agent3.ts';
import { CallFailure } from '../base/call-failure.ts';
import type { Directory, SavedTask } from './directory.ts';
import type { PendingCall } from './pending-call.ts';
import type { SignedIds } from './signed-ids.ts';

export class TaskStore {
  readonly #directory: Directory;
  readonly #signedIds: SignedIds;
  readonly #now: () => number;

  constructor(options: { directory: Directory; signedIds: SignedIds; now(): number }) {
    this.#directory = options.directory;
    this.#signedIds = options.signedIds;
    this.#now = options.now;
  }

  /** Undefined for an unknown task and for a task of another caller. */
  async find(taskHandle: string, caller: Caller): Promise<SavedTask | undefined> {
    const task = await this.#directory.task(taskHandle);
    return task?.caller === caller.id ? task : undefined;
  }

  /** Makes the pending call continue this task. */
  async resume(pending: PendingCall, taskHandle: string): Promise<void> {
    const task = await this.find(taskHandle, pending.caller);
    if (task?.agentId !== pending.agentId) throw unknownTask();
    if (isOver(task.state))
      throw new CallFailure('INPUT_INVALID', 'this task has ended. Continue with the contextId of its response.');
    pending.continueTask(task);
  }

  async save(pending: PendingCall): Promise<void> {
    const { collected, earlierTask, caller, agentId } = pending;
    const { taskId = earlierTask?.taskId, contextId, state } = collected;
    if (taskId === undefined) return;
    const { taskHandle } = pending;
    // a push notification may have updated it in between
    const before = pending.isTaskSaved || earlierTask ? await this.#directory.task(taskHandle) : undefined;
    const isLate = before !== undefined && isOver(before.state) && !isOver(state ?? 'working');
    await this.#directory.saveTask({
      taskHandle,
      agentId,
      caller: caller.id,
      taskId,
      contextId: contextId ?? before?.contextId,
      state: isLate ? before.state : (state ?? before?.state ?? 'submitted'),
      ...(before?.pushed === undefined ? {} : { pushed: before.pushed }),
      updatedAt: this.#now(),
    });
    pending.isTaskSaved = true;
  }

  /** An agent may create a new task instead of continuing the given one; the new task needs a new handle. */
  renewHandle(pending: PendingCall): void {
    const { earlierTask, collected } = pending;
    if (!earlierTask || collected.taskId === undefined || collected.taskId === earlierTask.taskId) return;
    pending.earlierTask = undefined;
    pending.taskHandle = this.#signedIds.newTaskHandle();
  }
}

export function unknownTask(): CallFailure {
  return new CallFailure('TASK_UNKNOWN', 'unknown taskHandle. Use one from a response.');
}
