// Saved tasks of callers, kept for seven days.
import { taskStates } from '@pocket-agent/a2a/client';
import type { Kysely } from 'kysely';
import { canBeKey } from '../../base/check-input.ts';
import type { SavedTask } from '../../bridge/directory.ts';
import type { RegistrySchema } from './schema.ts';

const KEPT_MS = 7 * 86_400_000;

export async function saveTask(db: Kysely<RegistrySchema>, task: SavedTask): Promise<void> {
  const change = {
    task_id: task.taskId,
    context_id: task.contextId ?? null,
    state: task.state,
    pushed: task.pushed ?? null,
    updated_at: Math.round(task.updatedAt),
    expires_at: Math.round(task.updatedAt) + KEPT_MS,
  };
  // the agent and the caller of a task never change
  await db
    .insertInto('agent3_tasks')
    .values({ task_handle: task.taskHandle, agent_id: task.agentId, caller: task.caller, ...change })
    .onConflict((conflict) => conflict.column('task_handle').doUpdateSet(change))
    .execute();
}

export async function findTask(
  db: Kysely<RegistrySchema>,
  taskHandle: string,
  now: number,
): Promise<SavedTask | undefined> {
  if (!canBeKey(taskHandle)) return undefined;
  const row = await db
    .selectFrom('agent3_tasks')
    .selectAll()
    .where('task_handle', '=', taskHandle)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  const state = taskStates.find((name) => name === row?.state);
  if (!row || !state) return undefined;
  return {
    taskHandle: row.task_handle,
    agentId: row.agent_id,
    caller: row.caller,
    taskId: row.task_id,
    ...(row.context_id === null ? {} : { contextId: row.context_id }),
    state,
    ...(row.pushed === null ? {} : { pushed: row.pushed }),
    updatedAt: row.updated_at,
  };
}
