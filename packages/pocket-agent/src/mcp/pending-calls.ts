// Tool calls on their way to one server: given up when nothing is heard of them for too long, kept alive by progress,
// and found again when the server asks something.
import { AsyncLocalStorage } from 'node:async_hooks';
import { LONGEST_TIMER_MS, Numbered, onAbort, PocketError } from '@pocket-agent/kit';
import type { Turns } from '../agent/turns.ts';
import { asPartOf, currentFrame, type RunFrame } from '../base/run-frame.ts';
import type { ToolProgress } from '../tools/tools.ts';
import { Cancellation } from './wire/cancellation.ts';

interface PendingCall<Result> {
  /** The progress token begins with it. */
  toolCallId: string;
  /** For the text of an error. */
  tool: string;
  server: string;
  signal: AbortSignal;
  timeoutMs: number;
  maxTimeoutMs: number;
  /** By `performance.now()`, default now: a call that is sent again has only what is left of its time. */
  begunAt?: number;
  onProgress(update: ToolProgress): void;
  send(cancellation: Cancellation, progressToken: string): Promise<Result>;
}

/** Elicitations and sampling requests of one server that are open at a time. */
const MOST_QUESTIONS = 100;
/** So long a server that was told to stop may still ask something about a call. */
const HEARD_OF_MS = 60_000;

/** The call that the code of this moment belongs to, as far as the way of a message through the SDK keeps that. */
const callHere = new AsyncLocalStorage<Clock>();

export class PendingCalls {
  readonly #clocks = new Numbered<Clock>();
  /** Given up before the server answered: it may still ask something about them. */
  #abandoned: { owner: WeakRef<Turns> | undefined; isForOther: boolean; until: number }[] = [];
  /** What the server waits for from us at the moment. */
  #questions = 0;
  /** One for all calls, left running when they end: most of them end long before it, and timers are dear. */
  #timer: NodeJS.Timeout | undefined;
  #looksAt = Number.POSITIVE_INFINITY;

  async run<Result>(call: PendingCall<Result>): Promise<Result> {
    const clock = new Clock(call, this);
    const release = onAbort(call.signal, (reason) => clock.cancellation.cancel(reason));
    clock.number = this.#clocks.add(clock);
    this.#lookAt(clock.dueAt);
    try {
      return await callHere.run(clock, call.send, clock.cancellation, clock.progressToken);
    } catch (error) {
      if (clock.cancellation.isCancelled) {
        this.#abandon(clock);
        throw clock.cancellation.reason;
      }
      throw error;
    } finally {
      release();
      this.#clocks.take(clock.number);
      if (this.#clocks.size === 0) this.#timer?.unref();
    }
  }

  progress(progressToken: string | number, update: ToolProgress | undefined): void {
    const text = String(progressToken);
    const clock = this.#clocks.get(Number(text.slice(text.lastIndexOf(':') + 1)));
    if (clock?.progressToken !== progressToken) return;
    clock.extend();
    if (update) clock.call.onProgress(update);
  }

  /** Whether there are calls of runs that answer questions by themselves. */
  get areForOthers(): boolean {
    this.#forgetOld();
    const isOne = ({ frame }: Clock) => frame?.elicit !== undefined;
    return this.#clocks.list().some(isOne) || this.#abandoned.some(({ isForOther }) => isForOther);
  }

  /** No call will follow. The timer would keep the run it was started in, with all its history. */
  close(): void {
    clearTimeout(this.#timer);
  }

  /**
   * Answers what the server asks, as part of the run whose call it is about, if that can be told. No call is idle
   * meanwhile: a person may take long to answer what a tool wants to know.
   */
  async whileAsked<Answer>(answer: () => Answer | Promise<Answer>): Promise<Answer> {
    if (this.#questions >= MOST_QUESTIONS)
      throw new Error(`This client answers at most ${MOST_QUESTIONS} requests of a server at a time.`);
    this.#questions++;
    try {
      return await asPartOf(this.#asker(), answer);
    } finally {
      this.#questions--;
      this.#extendAll();
    }
  }

  /**
   * In the 2026 era and in process a question comes on the way of its call, over HTTP mostly. Elsewhere it is about any
   * of the calls: those of one agent and its sub-agents are one person's, of several nobody can say whose it is.
   */
  #asker(): RunFrame | undefined {
    const here = callHere.getStore();
    if (here?.calls === this) return this.#isPending(here) ? here.frame : undefined;
    this.#forgetOld();
    const frames = this.#clocks.list().map(({ frame }) => frame);
    const owners = new Set(frames.map(rootOf));
    for (const { owner } of this.#abandoned) owners.add(owner?.deref());
    return owners.size === 1 ? frames.at(-1) : undefined;
  }

  #isPending(clock: Clock): boolean {
    return this.#clocks.get(clock.number) === clock && !clock.cancellation.isCancelled;
  }

  #abandon({ frame }: Clock): void {
    this.#forgetOld();
    const root = rootOf(frame);
    const until = performance.now() + HEARD_OF_MS;
    this.#abandoned.push({ owner: root && new WeakRef(root), isForOther: frame?.elicit !== undefined, until });
  }

  #forgetOld(): void {
    const now = performance.now();
    this.#abandoned = this.#abandoned.filter(({ until }) => until > now);
  }

  #extendAll(): void {
    for (const clock of this.#clocks.list()) clock.extend();
  }

  #lookAt(time: number): void {
    if (time >= this.#looksAt) {
      this.#timer?.ref();
      return;
    }
    clearTimeout(this.#timer);
    this.#looksAt = time;
    this.#timer = setTimeout(() => this.#look(), Math.min(Math.max(0, time - performance.now()), LONGEST_TIMER_MS));
  }

  #look(): void {
    this.#timer = undefined;
    this.#looksAt = Number.POSITIVE_INFINITY;
    // a server that waits for an answer of ours is not the one that is late
    if (this.#questions > 0) this.#extendAll();
    const now = performance.now();
    for (const clock of this.#clocks.list()) {
      if (clock.dueAt > now) this.#lookAt(clock.dueAt);
      else clock.giveUp(now);
    }
  }
}

/** How long a call may still take. */
class Clock {
  readonly call: Omit<PendingCall<never>, 'send'>;
  readonly calls: PendingCalls;
  /** Among the calls; the progress token ends with it. */
  number = Number.NaN;
  /** The run that made it. */
  readonly frame = currentFrame();
  readonly cancellation = new Cancellation();
  readonly #expired = Promise.withResolvers<PocketError>();
  readonly #latest: number;
  #heardAt = performance.now();

  constructor(call: Omit<PendingCall<never>, 'send'>, calls: PendingCalls) {
    this.call = call;
    this.calls = calls;
    this.#latest = (call.begunAt ?? this.#heardAt) + call.maxTimeoutMs;
    // so that it is heard within the run of this call, not of the one that happened to start the timer
    this.#expired.promise.then((error) => this.cancellation.cancel(error));
  }

  get progressToken(): string {
    return `${this.call.toolCallId}:${this.number}`;
  }

  get dueAt(): number {
    return Math.min(this.#heardAt + this.call.timeoutMs, this.#latest);
  }

  extend(): void {
    this.#heardAt = performance.now();
  }

  giveUp(now: number): void {
    const { tool, server, timeoutMs, maxTimeoutMs } = this.call;
    const why = now < this.#latest ? `gave no sign of life for ${timeoutMs}` : `ran longer than ${maxTimeoutMs}`;
    this.#expired.resolve(
      new PocketError('TOOL_TIMEOUT', `Tool "${tool}" of "${server}" ${why} ms and was cancelled.`),
    );
  }
}

function rootOf(frame: RunFrame | undefined): Turns | undefined {
  let root = frame;
  while (root?.parent) root = root.parent;
  return root?.owner;
}
