// The stream of a deployment, held back until its first visible part: until then another deployment can take over.
import type { LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider';
import { MAX_TIMER_MS, PocketError } from '@pocket-agent/kit';
import { isCutOff } from '../model/model-stream.ts';
import { streamError } from '../model/provider-errors.ts';
import type { DeploymentCall } from './deployment-call.ts';

type Part = LanguageModelV4StreamPart;

interface StreamOptions {
  call: DeploymentCall;
  /** Changes a part on its way to the caller. */
  transform(part: Part): Part;
}

/** Rejects when the stream fails before its first visible part. */
export async function startStream(
  starting: PromiseLike<LanguageModelV4StreamResult>,
  options: StreamOptions,
): Promise<LanguageModelV4StreamResult> {
  const { call } = options;
  const result = await call.wait(starting);
  call.readHeaders(result.response?.headers);
  const reader = result.stream.getReader();
  const held: Part[] = [];
  try {
    for (let isShown = false; !isShown; ) {
      const { value, done } = await call.wait(reader.read());
      const failure = done ? endedEarly() : failureIn(value);
      if (failure) throw failure;
      if (value) held.push(value);
      isShown = value !== undefined && isVisible(value);
    }
  } catch (error) {
    reader.cancel(error).catch(() => {}); // it has failed already
    throw error;
  }
  call.startShowing();
  return { ...result, stream: visibleStream(held, reader, options) };
}

/** The held parts, then the rest of the stream, which the call follows to its end. */
function visibleStream(
  held: readonly Part[],
  reader: ReadableStreamDefaultReader<Part>,
  { call, transform }: StreamOptions,
): ReadableStream<Part> {
  const { timeoutMs = Number.POSITIVE_INFINITY } = call.deployment.params;
  let timer: NodeJS.Timeout | undefined;
  const startTimer = (action: () => void) => {
    clearTimeout(timer);
    timer = call.isOver || timeoutMs > MAX_TIMER_MS ? undefined : setTimeout(action, timeoutMs);
  };
  /** A caller that does not read for `timeoutMs` frees the place, and may still read. */
  const startIdleTimer = () => {
    startTimer(() => call.releasePlace());
    timer?.unref();
  };
  const pass = (part: Part): Part => {
    const failure = failureIn(part);
    if (failure) call.fail(failure);
    else if (part.type === 'finish') call.succeed(part);
    return transform(part);
  };
  return new ReadableStream<Part>({
    start(controller) {
      for (const part of held) controller.enqueue(pass(part));
      startIdleTimer();
    },
    async pull(controller) {
      const fail = (error: unknown) => {
        clearTimeout(timer);
        call.fail(error);
        controller.error(error);
      };
      startTimer(() => {
        const late = new PocketError('TIMEOUT', `No part of the stream arrived within ${timeoutMs} ms.`);
        fail(late);
        reader.cancel(late).catch(() => {}); // it has failed already
      });
      try {
        const { value, done } = await reader.read();
        if (!done) controller.enqueue(pass(value));
        else {
          call.fail(endedEarly());
          controller.close();
        }
        startIdleTimer();
      } catch (error) {
        fail(error);
      }
    },
    cancel(reason) {
      clearTimeout(timer);
      call.cancel();
      return reader.cancel(reason);
    },
  });
}

/** From this part on, the caller has seen something that cannot be taken back. */
function isVisible(part: Part): boolean {
  if (part.type === 'text-delta' || part.type === 'reasoning-delta') return part.delta !== '';
  return ['tool-input-start', 'tool-call', 'file', 'finish'].includes(part.type);
}

function failureIn(part: Part): Error | undefined {
  if (part.type === 'error') return streamError(part.error);
  return part.type === 'finish' && isCutOff(part) ? endedEarly() : undefined;
}

function endedEarly(): PocketError {
  return new PocketError('MODEL_FAILED', 'The stream ended before the answer was complete.');
}
