// One run that a page follows. It continues for a while without a page, and pauses while it waits for approvals.
import { onAbort, PocketError } from '@pocket-agent/kit';
import type { AgentEvent, ApprovalAnswer, ApprovalRequest, RunOptions } from 'pocket-agent';
import { currentRun } from 'pocket-agent/internal';
import { EventLog } from './event-log.ts';
import { callKey, OpenCalls } from './open-calls.ts';

/** Writes events in the format of the page. */
export interface Encoder {
  event(event: AgentEvent): void;
  asked(question: AskedQuestion): void;
  answered?(answer: Answer & { key: string }): void;
  formAsked(form: AskedForm): void;
  /** How it was answered, or `cancel` if no answer is needed any more. */
  formClosed(form: AskedForm, action: FormResult['action']): void;
  failed(error: unknown): void;
  aborted(): void;
}

/** How one response begins and ends, in the format of the page. */
export interface Frame {
  first?: readonly object[];
  /** `isOver` is false if the run waits for approvals. */
  end(isOver: boolean): readonly string[];
}

/** The call `key` needs an approval. */
export interface AskedQuestion {
  id: string;
  key: string;
  request: ApprovalRequest;
  /** The calls that this one is part of, which wait too. */
  around: readonly string[];
}

type Elicit = NonNullable<RunOptions['elicit']>;
/** What an MCP server asks the user. */
export type FormRequest = Parameters<Elicit>[0];
export type FormResult = Awaited<ReturnType<Elicit>>;

/** A form that an MCP server asks the user to fill in, or an address to visit. */
export interface AskedForm {
  id: string;
  server: string;
  request: FormRequest;
  /** The call that waits for it; undefined if that is not known. */
  key: string | undefined;
}

export interface Answer {
  /** Id of the question. */
  id: string;
  /** Undefined if it answers a form. */
  approved: boolean | undefined;
  reason: string | undefined;
  /** The arguments that the user allows instead. */
  arguments?: Record<string, unknown> | undefined;
  /** The fields of a form, or that the user does not fill it in. */
  form?: FormResult;
}

interface Question {
  asked: AskedQuestion;
  resolve(answer: ApprovalAnswer): void;
}

interface OpenForm {
  asked: AskedForm;
  resolve(result: FormResult): void;
}

type Work = (run: LiveRun) => Promise<unknown>;

export class LiveRun {
  readonly encoder: Encoder;
  readonly #log: EventLog;
  readonly #abandonMs: number;
  readonly #calls = new OpenCalls();
  readonly #questions = new Map<string, Question>();
  readonly #forms = new Map<string, OpenForm>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #ended: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(makeEncoder: (emit: (event: object) => void) => Encoder, abandonMs: number) {
    this.#abandonMs = abandonMs;
    this.#log = new EventLog(() => this.#startTimer());
    this.encoder = makeEncoder((event) => this.#log.add(event));
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isWaiting(): boolean {
    return !this.#isOver && this.#calls.onlyWait;
  }

  get isFollowed(): boolean {
    return this.#log.hasReaders;
  }

  /** Whether a page that reconnects can get the whole answer. */
  get isResumable(): boolean {
    return this.#log.isWhole;
  }

  get ended(): Promise<void> {
    return this.#ended;
  }

  start(work: Work): void {
    this.#ended = work(this).then(
      () => this.#end(),
      (error: unknown) => {
        if (this.signal.aborted) this.encoder.aborted();
        else this.encoder.failed(error);
        this.#end();
      },
    );
  }

  stop(reason: string): Promise<void> {
    this.#stopping.abort(new PocketError('ABORTED', reason));
    return this.#ended;
  }

  /** For the option `onEvent` of the run. */
  readonly onEvent = (event: AgentEvent): void => {
    this.#calls.note(event);
    this.encoder.event(event);
    this.#updateRest();
  };

  /** For the option `approve` of the run. */
  readonly approve = (request: ApprovalRequest): Promise<ApprovalAnswer> => {
    const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
    const id = crypto.randomUUID();
    const key = callKey(request.path, request.toolCallId);
    const asked = { id, key, request, around: this.#calls.around(key) };
    this.#questions.set(id, { asked, resolve });
    onAbort(request.signal, () => this.#close(id));
    this.encoder.asked(asked);
    this.#calls.setWaiting(key, true);
    this.#updateRest();
    return promise;
  };

  /** For the option `elicit` of the run. */
  readonly elicit = (request: FormRequest, { server, signal }: Parameters<Elicit>[1]): Promise<FormResult> => {
    const { promise, resolve } = Promise.withResolvers<FormResult>();
    const run = currentRun();
    const key = run?.toolCallId === undefined ? this.#calls.working : callKey(run.path, run.toolCallId);
    const asked: AskedForm = { id: crypto.randomUUID(), server, request, key };
    this.#forms.set(asked.id, { asked, resolve });
    onAbort(signal, () => this.#closeForm(asked.id, { action: 'cancel' }));
    this.encoder.formAsked(asked);
    if (key !== undefined) this.#calls.setWaiting(key, true);
    this.#updateRest();
    return promise;
  };

  /** Returns whether a question of this kind was open. */
  answer(answer: Answer): boolean {
    if (answer.form && this.#closeForm(answer.id, answer.form)) return true;
    const question = this.#questions.get(answer.id);
    if (!question || answer.approved === undefined) return false;
    const { asked, resolve } = question;
    this.encoder.answered?.({ ...answer, key: asked.key });
    this.#close(answer.id);
    resolve(answer.approved ? { allow: answer.arguments ?? true } : { deny: answer.reason ?? '' });
    return true;
  }

  /** The questions that are not answered yet. */
  get questions(): AskedQuestion[] {
    return [...this.#questions.values()].map(({ asked }) => asked);
  }

  /** The forms that are not filled in yet. */
  get forms(): AskedForm[] {
    return [...this.#forms.values()].map(({ asked }) => asked);
  }

  /** The whole answer from its beginning. */
  replay(frame: Frame): ReadableStream {
    return this.#read(0, frame);
  }

  /** What comes from now on. */
  follow(frame: Frame): ReadableStream {
    return this.#read(this.#log.length, frame);
  }

  #read(from: number, { first = [], end }: Frame): ReadableStream {
    clearTimeout(this.#timer);
    return this.#log.read({ from, first, end: () => end(this.#isOver) });
  }

  #close(id: string): void {
    const asked = this.#questions.get(id)?.asked;
    if (!asked) return;
    this.#questions.delete(id);
    this.#calls.setWaiting(asked.key, false);
    this.#updateRest();
  }

  #closeForm(id: string, result: FormResult): boolean {
    const form = this.#forms.get(id);
    if (!form) return false;
    this.#forms.delete(id);
    const { key } = form.asked;
    this.encoder.formClosed(form.asked, result.action);
    if (key !== undefined) this.#calls.setWaiting(key, false);
    this.#updateRest();
    form.resolve(result);
    return true;
  }

  #updateRest(): void {
    if (this.#isOver) return;
    const waits = this.#calls.onlyWait;
    this.#log.setAtRest(waits);
    if (waits) clearTimeout(this.#timer);
    else if (!this.#log.hasReaders) this.#startTimer();
  }

  /** Runs that wait for an approval end with its time limit instead. */
  #startTimer(): void {
    clearTimeout(this.#timer);
    if (this.#isOver || !Number.isFinite(this.#abandonMs)) return;
    this.#timer = setTimeout(() => void this.stop('The page was closed.'), this.#abandonMs);
    this.#timer.unref();
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#questions.clear();
    this.#forms.clear();
    this.#log.setAtRest(true);
  }
}
