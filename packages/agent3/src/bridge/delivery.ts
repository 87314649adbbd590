// A message to an agent and everything that comes back, until there is an answer: by stream, and by asking again.

import { CallFailure, toFailure } from '../base/call-failure.ts';
import type { Errand, Reached } from './errand.ts';
import { isUnsupported, type Peer } from './wire/peer.ts';
import { withRetries } from './wire/retry.ts';
import type { Update } from './wire/wire.ts';
import type { OutgoingMessage } from './wire/write-wire.ts';

export interface DeliveryOptions {
  retries: number;
  retryDelayMs: number;
  /** Listen to a stream, where the agent has one. */
  streams: boolean;
}

const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 2000;

/** Sends the message; what the first answer is, the errand has then. More of it may come by what this returns. */
export async function deliver(
  errand: Errand,
  { agent, peer }: Reached,
  sending: DeliveryOptions & { message: OutgoingMessage },
): Promise<AsyncGenerator<Update> | undefined> {
  const { deadline } = errand;
  errand.isSent = true;
  const { first, rest } = await withRetries(() => begin(peer, sending, deadline.signal), {
    retries: sending.retries,
    delayMs: sending.retryDelayMs,
    deadline,
    isSafe: (failure) => failure.isUntouched || (agent.idempotent && isOutcomeUnknown(failure)),
    retrying: () => errand.retryCount++,
  });
  errand.take(first);
  return rest;
}

async function begin(
  peer: Peer,
  { message, streams }: DeliveryOptions & { message: OutgoingMessage },
  signal: AbortSignal,
): Promise<{ first: Update; rest?: AsyncGenerator<Update> }> {
  if (streams) {
    const updates = peer.stream(message, signal);
    try {
      const { value, done } = await updates.next();
      if (!done) return { first: value, rest: updates };
      throw new CallFailure('UNREACHABLE', 'it ended the stream before it said anything.');
    } catch (error) {
      // a card may promise more than there is; such an answer means that nothing was begun
      if (!isUnsupported(toFailure(error))) throw error;
    }
  }
  return { first: await peer.send(message, signal) };
}

interface Following extends DeliveryOptions {
  updates?: AsyncGenerator<Update>;
  wake(): Promise<void>;
}

/** Takes what comes until there is an answer. A stream that breaks off is taken up again, or the task asked for. */
export async function follow(errand: Errand, reached: Pick<Reached, 'peer'>, following: Following): Promise<void> {
  try {
    await followOn(errand, reached, following);
  } catch (error) {
    if (toFailure(error).code === 'TOO_LARGE') await learnState(errand, reached);
    throw error;
  }
}

/** What was too much to read may have been the whole answer: then the task is over, not at work. */
async function learnState({ collected, deadline }: Errand, { peer }: Pick<Reached, 'peer'>): Promise<void> {
  const { taskId, contextId } = collected;
  if (taskId === undefined) return;
  try {
    const state = await peer.getState(taskId, deadline.signal);
    collected.take({ kind: 'status', taskId, contextId, status: { state } });
  } catch {
    // the failure that led here says enough
  }
}

async function followOn(errand: Errand, { peer }: Pick<Reached, 'peer'>, following: Following): Promise<void> {
  const { collected, deadline } = errand;
  const { retries, retryDelayMs, wake } = following;
  let { streams, updates } = following;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.8, MAX_PAUSE_MS)) {
    if (updates) streams = (await takeAll(errand, updates)) && streams;
    updates = undefined;
    if (collected.isAnswered) return;
    const { taskId } = collected;
    if (taskId === undefined) throw new CallFailure('PROTOCOL', 'it answered with neither a task nor a message.');
    await deadline.sleep(pause, wake());
    const task = await withRetries(() => peer.getTask(taskId, deadline.signal), {
      retries,
      delayMs: retryDelayMs,
      deadline,
      isSafe: (failure) => failure.isUntouched || isOutcomeUnknown(failure),
      retrying: () => errand.retryCount++,
    });
    errand.take({ kind: 'task', task });
    if (collected.isAnswered) return;
    if (streams) updates = peer.subscribe(taskId, deadline.signal);
  }
}

/** False when it makes no sense to listen again. */
async function takeAll(errand: Errand, updates: AsyncGenerator<Update>): Promise<boolean> {
  try {
    while (!errand.collected.isAnswered) {
      const { value, done } = await updates.next();
      if (done) return true;
      errand.take(value);
    }
    await updates.return(undefined);
    return true;
  } catch (error) {
    const failure = toFailure(error);
    if (errand.collected.taskId === undefined || errand.deadline.signal.aborted) throw failure;
    if (failure.code === 'TOO_LARGE' || failure.code === 'PROTOCOL' || failure.code === 'BUDGET') throw failure;
    return failure.code === 'UNREACHABLE';
  }
}

function isOutcomeUnknown({ code, statusCode = 0 }: CallFailure): boolean {
  return code === 'UNREACHABLE' || statusCode >= 500;
}
