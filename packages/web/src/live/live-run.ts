// One run that pages follow. It continues for a while after the last page has left, and waits for approvals and forms.
import { onAbort, PocketError } from '@pocket-agent/kit';
import type { AgentEvent, ApprovalAnswer, ApprovalRequest, RunOptions } from 'pocket-agent';
import { currentRun } from 'pocket-agent/internal';
import { EventLog } from './event-log.ts';
import { callKey, OpenCalls } from './open-calls.ts';

/** Writes events in the format of the page. */
export interface Encoder {
  event(event: AgentEvent): void;
  approvalAsked(question: ApprovalQuestion): void;
  approvalAnswered?(answer: PageAnswer & { key: string }): void;
  formAsked(form: FormQuestion): void;
  /** `action` is `cancel` if the form was withdrawn. */
  formClosed(form: FormQuestion, action: FormResult['action']): void;
  failed(error: unknown): void;
  aborted(): void;
}

/** The first and last events of one response. */
export interface Frame {
  first?: readonly object[];
  /** `isOver` is false if the run waits for the user. */
  end(isOver: boolean): readonly string[];
}

/** A tool call that needs an approval. */
export interface ApprovalQuestion {
  id: string;
  /** The key of the call. */
  key: string;
  request: ApprovalRequest;
  /** Keys of the calls that this call is part of. They wait, too. */
  enclosing: readonly string[];
}

type Elicit = NonNullable<RunOptions['elicit']>;
type FormRequest = Parameters<Elicit>[0];
export type FormResult = Awaited<ReturnType<Elicit>>;

/** A form that an MCP server asks the user to fill in, or a URL to visit. */
export interface FormQuestion {
  id: string;
  server: string;
  request: FormRequest;
  /** The key of the call that waits for it; undefined if unknown. */
  key: string | undefined;
}

/** The user's answer to an approval question or a form. */
export interface PageAnswer {
  /** The id of the question. */
  id: string;
  /** Undefined if it answers a form. */
  approved: boolean | undefined;
  reason: string | undefined;
  /** The arguments to call the tool with, if the user has edited them. */
  arguments?: Record<string, unknown> | undefined;
  form?: FormResult;
}

interface PendingApproval {
  question: ApprovalQuestion;
  resolve(answer: ApprovalAnswer): void;
}

interface PendingForm {
  form: FormQuestion;
  resolve(result: FormResult): void;
}

type Work = (run: LiveRun) => Promise<unknown>;

interface LiveRunOptions {
  makeEncoder(emit: (event: object) => void): Encoder;
  questions: readonly string[];
  /** How long it continues after the last page has left. */
  abandonMs: number;
}

export class LiveRun {
  readonly encoder: Encoder;
  /** The questions of the user in the conversation, up to the one that it answers. */
  readonly questions: readonly string[];
  readonly #log: EventLog;
  readonly #abandonMs: number;
  readonly #calls = new OpenCalls();
  readonly #approvals = new Map<string, PendingApproval>();
  readonly #forms = new Map<string, PendingForm>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #ended: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor({ makeEncoder, questions, abandonMs }: LiveRunOptions) {
    this.questions = questions;
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
    return !this.#isOver && this.#calls.isBlocked;
  }

  get isFollowed(): boolean {
    return this.#log.hasReaders;
  }

  /** Whether `replay` can send the whole answer. */
  get isResumable(): boolean {
    return this.#log.canReplay;
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
    this.#calls.track(event);
    this.encoder.event(event);
    this.#updateIdle();
  };

  /** For the option `approve` of the run. */
  readonly approve = (request: ApprovalRequest): Promise<ApprovalAnswer> => {
    const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
    const id = crypto.randomUUID();
    const key = callKey(request.path, request.toolCallId);
    const question = { id, key, request, enclosing: this.#calls.enclosing(key) };
    this.#approvals.set(id, { question, resolve });
    onAbort(request.signal, () => this.#closeApproval(id));
    this.encoder.approvalAsked(question);
    this.#calls.setWaiting(key, true);
    this.#updateIdle();
    return promise;
  };

  /** For the option `elicit` of the run. */
  readonly elicit = (request: FormRequest, { server, signal }: Parameters<Elicit>[1]): Promise<FormResult> => {
    const { promise, resolve } = Promise.withResolvers<FormResult>();
    const run = currentRun();
    const key = run?.toolCallId === undefined ? this.#calls.lastActive : callKey(run.path, run.toolCallId);
    const form: FormQuestion = { id: crypto.randomUUID(), server, request, key };
    this.#forms.set(form.id, { form, resolve });
    onAbort(signal, () => this.#closeForm(form.id, { action: 'cancel' }));
    this.encoder.formAsked(form);
    if (key !== undefined) this.#calls.setWaiting(key, true);
    this.#updateIdle();
    return promise;
  };

  /** Returns false if the approval question or form is not open. */
  answer(answer: PageAnswer): boolean {
    if (answer.form && this.#closeForm(answer.id, answer.form)) return true;
    const pending = this.#approvals.get(answer.id);
    if (!pending || answer.approved === undefined) return false;
    this.encoder.approvalAnswered?.({ ...answer, key: pending.question.key });
    this.#closeApproval(answer.id);
    pending.resolve(answer.approved ? { allow: answer.arguments ?? true } : { deny: answer.reason ?? '' });
    return true;
  }

  /** The open approval questions. */
  get approvals(): ApprovalQuestion[] {
    return [...this.#approvals.values()].map(({ question }) => question);
  }

  /** The open forms. */
  get forms(): FormQuestion[] {
    return [...this.#forms.values()].map(({ form }) => form);
  }

  /** Streams the whole answer from its beginning. */
  replay(frame: Frame): ReadableStream {
    return this.#read(0, frame);
  }

  /** Streams new events only. */
  follow(frame: Frame): ReadableStream {
    return this.#read(this.#log.length, frame);
  }

  #read(from: number, { first = [], end }: Frame): ReadableStream {
    clearTimeout(this.#timer);
    return this.#log.read({ from, first, end: () => end(this.#isOver) });
  }

  #closeApproval(id: string): void {
    const pending = this.#approvals.get(id);
    if (!pending) return;
    this.#approvals.delete(id);
    this.#calls.setWaiting(pending.question.key, false);
    this.#updateIdle();
  }

  #closeForm(id: string, result: FormResult): boolean {
    const pending = this.#forms.get(id);
    if (!pending) return false;
    this.#forms.delete(id);
    const { key } = pending.form;
    this.encoder.formClosed(pending.form, result.action);
    if (key !== undefined) this.#calls.setWaiting(key, false);
    this.#updateIdle();
    pending.resolve(result);
    return true;
  }

  #updateIdle(): void {
    if (this.#isOver) return;
    const isBlocked = this.#calls.isBlocked;
    this.#log.setIdle(isBlocked);
    if (isBlocked) clearTimeout(this.#timer);
    else if (!this.#log.hasReaders) this.#startTimer();
  }

  /** Stops the run unless a page returns in time. A run that waits for the user ends at its own time limit instead. */
  #startTimer(): void {
    clearTimeout(this.#timer);
    if (this.#isOver || !Number.isFinite(this.#abandonMs)) return;
    this.#timer = setTimeout(() => void this.stop('The page was closed.'), this.#abandonMs);
    this.#timer.unref();
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#approvals.clear();
    this.#forms.clear();
    this.#log.setIdle(true);
  }
}
