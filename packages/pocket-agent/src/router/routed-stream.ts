// The stream of a deployment, held back until its first visible part: until then another deployment can take over.
import type { LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider';
import { abortable, type Deadline, LONGEST_TIMER_MS, PocketError } from '@pocket-agent/kit';
import { refuseHtml, streamError } from '../model/provider-errors.ts';

type Part = LanguageModelV4StreamPart;
type FinishPart = Extract<Part, { type: 'finish' }>;

export interface StreamObserver {
  /** The provider has begun to answer. */
  onStart(headers: Record<string, string> | undefined): void;
  /** Changes a part on its way to the caller. */
  transform(part: Part): Part;
  /** The answer is complete. */
  onFinish(part: FinishPart): void;
  /** The caller has not read for `timeoutMs`; it still may. */
  onIdle(): void;
  /** The stream failed after it became visible. */
  onError(error: unknown): void;
  /** The caller does not want the rest. */
  onCancel(): void;
}

export interface StreamOptions {
  deadline: Deadline;
  observer: StreamObserver;
  timeoutMs: number | undefined;
}

/** Rejects when the stream fails before its first visible part. */
export async function startStream(
  starting: PromiseLike<LanguageModelV4StreamResult>,
  options: StreamOptions,
): Promise<LanguageModelV4StreamResult> {
  const { deadline, observer } = options;
  const result = await abortable(starting, deadline.signal);
  refuseHtml(result.response?.headers);
  observer.onStart(result.response?.headers);
  const reader = result.stream.getReader();
  const held: Part[] = [];
  try {
    while (!held.some(isVisible)) {
      const { value, done } = await abortable(reader.read(), deadline.signal);
      if (done) throw endedEarly();
      if (value.type === 'error') throw streamError(value.error);
      if (isInterrupted(value)) throw endedEarly();
      held.push(value);
    }
  } catch (error) {
    reader.cancel(error).catch(() => {}); // it has failed already
    throw error;
  }
  deadline.stopClock();
  return { ...result, stream: visibleStream(held, reader, options) };
}

/** The held parts, then the rest of the stream, which the observer follows to its end. */
function visibleStream(
  held: readonly Part[],
  reader: ReadableStreamDefaultReader<Part>,
  { observer, timeoutMs }: StreamOptions,
): ReadableStream<Part> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const startTimer = (action: () => void) => {
    clearTimeout(timer);
    if (timeoutMs === undefined || timeoutMs > LONGEST_TIMER_MS || isOver) return;
    timer = setTimeout(action, timeoutMs);
  };
  const startIdleTimer = () => {
    startTimer(observer.onIdle);
    timer?.unref();
  };
  const end = (notify: () => void) => {
    clearTimeout(timer);
    if (!isOver) notify();
    isOver = true;
  };
  const fail = (error: unknown) => end(() => observer.onError(error));
  const pass = (part: Part): Part => {
    if (part.type === 'error') fail(streamError(part.error));
    else if (isInterrupted(part)) fail(endedEarly());
    else if (part.type === 'finish') end(() => observer.onFinish(part));
    return observer.transform(part);
  };
  return new ReadableStream<Part>({
    start(controller) {
      for (const part of held) controller.enqueue(pass(part));
      startIdleTimer();
    },
    async pull(controller) {
      startTimer(() => {
        const late = new PocketError('TIMEOUT', `No part of the stream arrived within ${timeoutMs} ms.`);
        fail(late);
        controller.error(late);
        reader.cancel(late).catch(() => {}); // it has failed already
      });
      try {
        const { value, done } = await reader.read();
        if (!done) {
          controller.enqueue(pass(value));
          return startIdleTimer();
        }
        fail(endedEarly());
        controller.close();
      } catch (error) {
        fail(error);
        controller.error(error);
      }
    },
    cancel(reason) {
      end(() => observer.onCancel());
      return reader.cancel(reason);
    },
  });
}

/** From this part on, the caller has seen something that cannot be taken back. */
function isVisible(part: Part): boolean {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return part.delta !== '';
    case 'tool-input-start':
    case 'tool-call':
    case 'file':
    case 'finish':
      return true;
    default:
      return false;
  }
}

/** How some providers report a stream that was cut off. */
function isInterrupted(part: Part): boolean {
  return part.type === 'finish' && part.finishReason.unified === 'interrupted';
}

function endedEarly(): PocketError {
  return new PocketError('MODEL_FAILED', 'The stream ended before the answer was complete.');
}
