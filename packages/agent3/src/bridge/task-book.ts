// The tasks callers may come back to, each known to its own caller only.

import { CallFailure } from '../base/call-failure.ts';
import type { Caller, Directory, KnownTask } from '../base/types.ts';
import type { Errand } from './errand.ts';
import type { Tickets } from './tickets.ts';
import { isOver } from './wire/wire.ts';

export class TaskBook {
  readonly #directory: Directory;
  readonly #tickets: Tickets;
  readonly #now: () => number;

  constructor(options: { directory: Directory; tickets: Tickets; now(): number }) {
    this.#directory = options.directory;
    this.#tickets = options.tickets;
    this.#now = options.now;
  }

  /** Another caller's task is as unknown as one that never was. */
  async find(taskHandle: string, caller: Caller): Promise<KnownTask | undefined> {
    const known = await this.#directory.task(taskHandle);
    return known?.caller === caller.id ? known : undefined;
  }

  /** The message of the errand is for this task. */
  async goOn(errand: Errand, taskHandle: string): Promise<void> {
    const known = await this.find(taskHandle, errand.caller);
    if (known?.agentId !== errand.agentId) throw unknownTask();
    if (isOver(known.state))
      throw new CallFailure('INPUT_INVALID', 'this task is over. Go on with the contextId of its answer.');
    errand.belongTo(known);
  }

  async save(errand: Errand): Promise<void> {
    const { collected, known, caller, agentId } = errand;
    const { taskId = known?.taskId, contextId, state } = collected;
    if (taskId === undefined) return;
    const { taskHandle } = errand;
    // what came by push in the meantime stays
    const before = errand.isTaskSaved || known ? await this.#directory.task(taskHandle) : undefined;
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
    errand.isTaskSaved = true;
  }

  /** An agent may begin another task instead of going on with the one it was told. */
  rename(errand: Errand): void {
    const { known, collected } = errand;
    if (!known || collected.taskId === undefined || collected.taskId === known.taskId) return;
    errand.known = undefined;
    errand.taskHandle = this.#tickets.newHandle();
  }
}

export function unknownTask(): CallFailure {
  return new CallFailure('TASK_UNKNOWN', 'there is no such task of yours. Use the taskHandle of an answer.');
}
