// Sends a message to an agent and follows its task until there is an answer, by streaming and by polling.
import { followTask, type OutgoingMessage, type Update } from '@pocket-agent/a2a/client';
import { withCutStrings } from '@pocket-agent/http/fetch';
import { type CallFailure, toFailure } from '../base/call-failure.ts';
import type { ConnectedAgent, PendingCall } from './pending-call.ts';
import { withRetries } from './retry.ts';

export interface DeliveryOptions {
  retries: number;
  retryDelayMs: number;
  /** Use streams, if the agent supports them. */
  streams: boolean;
}

const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 2000;
/** Limits for reading the state of a task that is too large: long enough for ids and the name of a state. */
const STATE_LIMITS = { maxStringBytes: 2_000, maxBytes: 1_000_000 };

/** Sends the message and takes the first update. Returns the stream of further updates, if there is one. */
export async function deliver(
  pending: PendingCall,
  { agent, client }: ConnectedAgent,
  sending: DeliveryOptions & { message: OutgoingMessage },
): Promise<AsyncGenerator<Update> | undefined> {
  const { deadline } = pending;
  const { message, streams, retries, retryDelayMs } = sending;
  pending.isSent = true;
  const { first, rest } = await withRetries(() => client.start(message, { streams, signal: deadline.signal }), {
    retries,
    delayMs: retryDelayMs,
    deadline,
    isSafe: (failure) => failure.isNotStarted || (agent.idempotent && isOutcomeUnknown(failure)),
    onRetry: () => pending.retryCount++,
  });
  pending.take(first);
  return rest;
}

interface FollowOptions extends DeliveryOptions {
  updates?: AsyncGenerator<Update>;
  /** Resolves with the next push notification of the task. */
  nextNotification(): Promise<void>;
}

/** Takes updates until there is an answer. A stream that breaks is resumed, otherwise the task is polled. */
export async function follow(pending: PendingCall, agent: ConnectedAgent, options: FollowOptions): Promise<void> {
  try {
    await followPending(pending, agent, options);
  } catch (error) {
    if (toFailure(error).code === 'TOO_LARGE') await readState(pending, agent);
    throw error;
  }
}

/** The answer that was too large may have completed the task; then the response must not say that it is working. */
async function readState(
  { collected, deadline }: PendingCall,
  { client, fetchLarge }: Pick<ConnectedAgent, 'client' | 'fetchLarge'>,
): Promise<void> {
  const { taskId, contextId } = collected;
  if (taskId === undefined) return;
  try {
    const cutFetch = async (url: URL, init: RequestInit) => withCutStrings(await fetchLarge(url, init), STATE_LIMITS);
    const { status } = await client.getTask(taskId, deadline.signal, cutFetch);
    collected.take({ kind: 'status', taskId, contextId, status: { state: status.state } });
  } catch {
    // the caller gets the first failure
  }
}

function followPending(pending: PendingCall, { client }: ConnectedAgent, options: FollowOptions): Promise<void> {
  const { collected, deadline } = pending;
  const { retries, retryDelayMs, streams, updates, nextNotification } = options;
  const { signal } = deadline;
  let pauseMs = FIRST_PAUSE_MS;
  return followTask({
    client,
    collected,
    signal,
    streams,
    updates,
    take: (update) => pending.take(update),
    pause: async () => {
      await deadline.sleep(pauseMs, nextNotification());
      pauseMs = Math.min(pauseMs * 1.8, MAX_PAUSE_MS);
    },
    readTask: (taskId) =>
      withRetries(() => client.getTask(taskId, signal), {
        retries,
        delayMs: retryDelayMs,
        deadline,
        isSafe: (failure) => failure.isNotStarted || isOutcomeUnknown(failure),
        onRetry: () => pending.retryCount++,
      }),
    canStreamAfter: (error) => canStreamAfter(error, pending),
  });
}

function canStreamAfter(error: unknown, { collected, deadline }: PendingCall): boolean {
  const failure = toFailure(error);
  if (collected.taskId === undefined || deadline.signal.aborted) throw failure;
  if (failure.code === 'TOO_LARGE' || failure.code === 'PROTOCOL' || failure.code === 'BUDGET') throw failure;
  return failure.code === 'UNREACHABLE';
}

function isOutcomeUnknown({ code, statusCode = 0 }: CallFailure): boolean {
  return code === 'UNREACHABLE' || statusCode >= 500;
}
