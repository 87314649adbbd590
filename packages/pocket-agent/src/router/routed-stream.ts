// A stream of a deployment, held back until its first part is worth showing: up to there another one can take over.
import type { LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider';
import { abortable, type Deadline, PocketError } from '@pocket-agent/kit';
import { refuseHtml, streamError } from '../model/provider-errors.ts';

/** Node fires a timer at once that is set for longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

type Part = LanguageModelV4StreamPart;
type FinishPart = Extract<Part, { type: 'finish' }>;

export interface StreamWatcher {
  /** The provider has begun to answer. */
  started(headers: Record<string, string> | undefined): void;
  /** Adds to a part that only its maker understands who that is. */
  marked(part: Part): Part;
  /** Adds to the last part, whole or not, who made it. */
  signed(part: FinishPart): FinishPart;
  /** The answer is whole. */
  finished(part: FinishPart): void;
  /** Nobody has read on for `timeoutMs`; somebody still may. */
  unread(): void;
  /** It broke after it had been shown, or nobody wanted the rest. */
  ended(error?: unknown): void;
}

/** Rejects when the stream fails before anything of it could be shown. */
export async function startStream(
  starting: PromiseLike<LanguageModelV4StreamResult>,
  deadline: Deadline,
  watcher: StreamWatcher,
  timeoutMs: number | undefined,
): Promise<LanguageModelV4StreamResult> {
  const result = await abortable(starting, deadline.signal);
  refuseHtml(result.response?.headers);
  watcher.started(result.response?.headers);
  const reader = result.stream.getReader();
  const held: Part[] = [];
  try {
    while (!held.some(isShown)) {
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
  return { ...result, stream: rest(held, reader, watcher, timeoutMs) };
}

function rest(
  held: Part[],
  reader: ReadableStreamDefaultReader<Part>,
  watcher: StreamWatcher,
  timeoutMs: number | undefined,
): ReadableStream<Part> {
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  const within = (action: () => void) => {
    clearTimeout(timer);
    if (timeoutMs === undefined || timeoutMs > LONGEST_TIMER_MS || over) return;
    timer = setTimeout(action, timeoutMs);
  };
  const waitForReader = () => {
    within(watcher.unread);
    timer?.unref();
  };
  const end = (error?: unknown) => {
    clearTimeout(timer);
    if (!over) watcher.ended(error);
    over = true;
  };
  const pass = (part: Part): Part => {
    if (part.type === 'error') end(streamError(part.error));
    if (isInterrupted(part)) end(endedEarly());
    if (part.type !== 'finish') return watcher.marked(part);
    if (!over) watcher.finished(part);
    over = true;
    return watcher.signed(part);
  };
  return new ReadableStream<Part>({
    start(controller) {
      for (const part of held) controller.enqueue(pass(part));
      waitForReader();
    },
    async pull(controller) {
      within(() => {
        const late = new PocketError('TIMEOUT', `No part of the stream came within ${timeoutMs} ms.`);
        end(late);
        controller.error(late);
        reader.cancel(late).catch(() => {}); // it has failed already
      });
      try {
        const { value, done } = await reader.read();
        if (!done) {
          controller.enqueue(pass(value));
          return waitForReader();
        }
        end(endedEarly());
        controller.close();
      } catch (error) {
        end(error);
        controller.error(error);
      }
    },
    cancel(reason) {
      end();
      return reader.cancel(reason);
    },
  });
}

/** From this part on the caller has seen something that cannot be taken back. */
function isShown(part: Part): boolean {
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

/** What some providers say of a stream that was cut off. */
function isInterrupted(part: Part): boolean {
  return part.type === 'finish' && part.finishReason.unified === 'interrupted';
}

function endedEarly(): PocketError {
  return new PocketError('MODEL_FAILED', 'The stream ended before its answer did.');
}
