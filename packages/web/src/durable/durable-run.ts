// One durable run, as a page sees it. Everything is read from its journal.
import { isRecord, onAbort } from '@pocket-agent/kit';
import { EventLog } from '../live/event-log.ts';
import type { Frame, PageAnswer } from '../live/live-run.ts';
import type { WebRun, WebRunAnswer, WebRunQuestion, WebRuns } from './durable-options.ts';
import { type DurableEncoder, JournalEvents } from './journal-events.ts';

/** Makes the first and last events of a response; `journal` knows what is open when it ends. */
export type MakeFrame<Encoder> = (encoder: Encoder, journal: JournalEvents) => Frame;

interface DurableRunOptions<Encoder> {
  runs: WebRuns;
  run: WebRun;
  /** The name of the agent. */
  name: string;
  /** Whether the page answers its questions. */
  asksPage: boolean;
  makeEncoder(emit: (event: object) => void): Encoder;
  /** Aborted when the handler closes. Ends all responses. */
  closing: AbortSignal;
  onError(error: unknown): void;
}

const ENDED_STATUSES = ['finished', 'failed', 'cancelled'];

export function isOver({ status }: WebRun): boolean {
  return ENDED_STATUSES.includes(status);
}

export class DurableRun<Encoder extends DurableEncoder> {
  readonly #options: DurableRunOptions<Encoder>;

  constructor(options: DurableRunOptions<Encoder>) {
    this.#options = options;
  }

  /** Streams the whole answer from its beginning. */
  replay(frame: MakeFrame<Encoder>): ReadableStream {
    return this.#read({ from: 0, upTo: this.#options.run.events }, frame);
  }

  /** Passes on the answers, and streams what follows. Undefined if none of the questions is open. */
  async answer(
    answers: readonly PageAnswer[],
    frame: MakeFrame<Encoder>,
    by: string,
  ): Promise<ReadableStream | undefined> {
    const { runs, run } = this.#options;
    const open = new Map((await runs.questions({ run: run.id })).map((question) => [question.id, question]));
    let count = 0;
    for (const answer of answers) {
      const converted = runAnswer(answer, open.get(answer.id));
      if (converted === undefined) continue;
      const isAccepted = await runs.answer(answer.id, converted, { by }).then(
        () => true,
        (error: unknown) => {
          if (isRecord(error) && error.code === 'QUESTION_CLOSED') return false; // another page has answered it
          throw error;
        },
      );
      if (isAccepted) count++;
    }
    if (count === 0) return undefined;
    const upTo = (await runs.get(run.id))?.events ?? run.events;
    return this.#read({ from: run.events, upTo }, frame);
  }

  /** Streams what follows the first `from` events. The response stays open until `upTo` events were read. */
  #read({ from, upTo }: { from: number; upTo: number }, makeFrame: MakeFrame<Encoder>): ReadableStream {
    const { runs, run, name, asksPage, makeEncoder, closing, onError } = this.#options;
    const left = new AbortController();
    const release = onAbort(closing, () => left.abort(closing.reason));
    const log = new EventLog(() => left.abort(new Error('The page has left.')));
    let isPastStart = from === 0;
    const encoder = makeEncoder((event) => {
      if (isPastStart) log.add(event);
    });
    const totals = async () => (await runs.get(run.id))?.totals;
    const journal = new JournalEvents({ encoder, name, asksPage, totals });
    const { first = [], end } = makeFrame(encoder, journal);
    const follow = async () => {
      const options = { after: 0, signal: left.signal, onEvent: journal.live };
      for await (const event of runs.events(run.id, options)) {
        isPastStart ||= event.number > from;
        await journal.read(event);
        if (event.number < upTo || !journal.isIdle) continue;
        journal.autoApprove();
        break;
      }
    };
    void follow()
      .then(
        () => log.setIdle(true),
        (error: unknown) => {
          if (!left.signal.aborted) onError(error);
          log.disconnect(error); // the run continues, and the page may reconnect
        },
      )
      .finally(release);
    return log.read({ from: 0, first, end: () => end(journal.isOver) });
  }
}

/** Converts an answer of the page. Undefined if it does not answer this question. */
function runAnswer(
  { approved, reason, arguments: args, form }: PageAnswer,
  question: WebRunQuestion | undefined,
): WebRunAnswer | undefined {
  if (question?.request) return form;
  if (!question?.call || approved === undefined) return undefined;
  return approved ? { allow: args ?? true } : { deny: reason ?? '' };
}
