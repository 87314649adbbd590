// Follows a task until there is an answer: by its stream, and by polling.
import type { Task, Update } from '../wire/task.ts';
import type { A2aClient } from './a2a-client.ts';
import { A2aError } from './a2a-error.ts';
import type { TaskCollector } from './task-collector.ts';

/** How to follow a task to its end: by its stream, or by polling if the agent does not stream. */
export interface FollowOptions {
  client: A2aClient;
  collected: TaskCollector;
  signal: AbortSignal;
  /** Use streams, if the agent supports them. */
  streams: boolean;
  /** The stream of the first request, if it is still open. */
  updates?: AsyncIterable<Update> | undefined;
  /** Adds an update to `collected`. */
  take(update: Update): void;
  /** Waits before the next poll. `problem` is the error that ended the stream. */
  pause(problem: unknown): Promise<void>;
  /** Reads the task, with the retries of the caller. */
  readTask(taskId: string): Promise<Task>;
  /** Whether to subscribe again after this error of a stream. Throws if the task cannot be followed. */
  canStreamAfter(error: unknown): boolean;
}

/** Collects updates until the task rests, by its stream or by polling. */
export async function followTask(options: FollowOptions): Promise<void> {
  const { client, collected, signal, take, pause, readTask, canStreamAfter } = options;
  let { streams, updates } = options;
  for (;;) {
    const problem = updates && (await takeAll(updates, options));
    if (problem !== undefined) streams = canStreamAfter(problem) && streams;
    if (collected.isAnswered) return;
    const { taskId } = collected;
    if (taskId === undefined) throw new A2aError('PROTOCOL', 'it answered with neither a task nor a message.');
    await pause(problem);
    take({ kind: 'task', task: await readTask(taskId) });
    if (collected.isAnswered) return;
    updates = streams ? client.subscribe(taskId, signal) : undefined;
  }
}

/** Returns the error that ended the stream. */
async function takeAll(updates: AsyncIterable<Update>, { collected, take }: FollowOptions): Promise<unknown> {
  try {
    for await (const update of updates) {
      take(update);
      if (collected.isAnswered) return undefined;
    }
    return undefined;
  } catch (error) {
    return error;
  }
}
