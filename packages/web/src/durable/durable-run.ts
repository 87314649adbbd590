// One run that outlives the process, as a page sees it. All that is known of it is read from its journal.
import { errorText, isRecord, onAbort } from '@pocket-agent/kit';
import { EventLog } from '../live/event-log.ts';
import type { Answer, Frame } from '../live/live-run.ts';
import type { WebRun, WebRunAnswer, WebRunQuestion, WebRuns } from './durable-options.ts';
import { type DurableEncoder, JournalEvents } from './journal-events.ts';

/** How a response begins and ends; `open` has the questions that are open when it ends. */
export type MakeFrame<Encoder> = (encoder: Encoder, open: JournalEvents) => Frame;

interface DurableRunOptions<Encoder> {
  runs: WebRuns;
  run: WebRun;
  /** The name of the agent. */
  name: string;
  /** Whether its questions are put to the page. */
  asksPage: boolean;
  makeEncoder(emit: (event: object) => void): Encoder;
  /** Ends the readers. */
  closing: AbortSignal;
  onError(error: unknown): void;
}

const OVER = ['finished', 'failed', 'cancelled'];

export function isOver({ status }: WebRun): boolean {
  return OVER.includes(status);
}

export class DurableRun<Encoder extends DurableEncoder> {
  readonly #options: DurableRunOptions<Encoder>;

  constructor(options: DurableRunOptions<Encoder>) {
    this.#options = options;
  }

  /** The whole answer from its beginning. */
  replay(frame: MakeFrame<Encoder>): ReadableStream {
    return this.#read({ from: 0, upTo: this.#options.run.events }, frame);
  }

  /** Passes on the answers, and returns the events from then on. Undefined if none of the questions is open. */
  async answer(answers: readonly Answer[], frame: MakeFrame<Encoder>, by: string): Promise<ReadableStream | undefined> {
    const { runs, run } = this.#options;
    const open = new Map((await runs.questions({ run: run.id })).map((question) => [question.id, question]));
    let count = 0;
    for (const answer of answers) {
      const given = runAnswer(answer, open.get(answer.id));
      if (given === undefined) continue;
      const isGiven = await runs.answer(answer.id, given, { by }).then(
        () => true,
        (error: unknown) => {
          if (isRecord(error) && error.code === 'QUESTION_CLOSED') return false; // another page was faster
          throw error;
        },
      );
      if (isGiven) count++;
    }
    if (count === 0) return undefined;
    const upTo = (await runs.get(run.id))?.events ?? run.events;
    return this.#read({ from: run.events, upTo }, frame);
  }

  /** What follows the first `from` events; the reader does not leave before it has read `upTo` events. */
  #read({ from, upTo }: { from: number; upTo: number }, makeFrame: MakeFrame<Encoder>): ReadableStream {
    const { runs, run, name, asksPage, makeEncoder, closing, onError } = this.#options;
    const leaving = new AbortController();
    const release = onAbort(closing, () => leaving.abort(closing.reason));
    const log = new EventLog(() => leaving.abort(new Error('The page has left.')));
    let isReading = from === 0;
    const encoder = makeEncoder((event) => {
      if (isReading) log.add(event);
    });
    const totals = async () => (await runs.get(run.id))?.totals;
    const journal = new JournalEvents({ encoder, name, asksPage, totals });
    const { first = [], end } = makeFrame(encoder, journal);
    const follow = async () => {
      const options = { after: 0, signal: leaving.signal, onEvent: journal.live };
      for await (const event of runs.events(run.id, options)) {
        isReading ||= event.number > from;
        await journal.read(event);
        if (event.number < upTo || !journal.isAtRest) continue;
        journal.rest();
        break;
      }
    };
    void follow()
      .then(
        () => log.setAtRest(true),
        (error: unknown) => {
          if (!leaving.signal.aborted) onError(error);
          log.cut(error); // the run continues, and the page may reconnect
        },
      )
      .finally(release);
    return log.read({ from: 0, first, end: () => end(journal.isOver) });
  }
}

/** Undefined if it is not an answer to this question. */
function runAnswer(
  { approved, reason, arguments: args, form }: Answer,
  question: WebRunQuestion | undefined,
): WebRunAnswer | undefined {
  if (question?.request) return form;
  if (!question?.call || approved === undefined) return undefined;
  return approved ? { allow: args ?? true } : { deny: reason ?? '' };
}

export function logText(name: string, error: unknown): string {
  return `A durable run of ${name} cannot be shown: ${errorText(error)}`;
}
