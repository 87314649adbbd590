// The tool calls under way to one server: their timeouts, which progress and questions extend, and the runs they are
// part of, which the server may ask something.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { JSONRPCResponse } from '@modelcontextprotocol/client';
import { currentRun, inRun, type RunAgent, type RunContext } from '../run/run-context.ts';
import { CallClock, type CallClockOptions } from '../tools/call-clock.ts';

/** Elicitations and sampling requests of one server that are open at a time. */
const MOST_QUESTIONS = 100;
/** A server may still ask something about a cancelled call for this long. */
const ABANDONED_MS = 60_000;

/** The call that the code running now belongs to, where it is known. */
const currentCall = new AsyncLocalStorage<PendingCall | undefined>();

export class PendingCalls {
  readonly #calls = new Set<PendingCall>();
  /** By the ids of their requests. */
  readonly #byId = new Map<unknown, PendingCall>();
  /** Cancelled before the server answered: it may still ask something about them. */
  #abandoned: { owner: WeakRef<RunAgent> | undefined; isForOther: boolean; until: number }[] = [];
  /** Questions of the server that are not answered yet. */
  #questions = 0;

  start(options: CallClockOptions): PendingCall {
    const call = new PendingCall(options, this);
    this.#calls.add(call);
    return call;
  }

  end(call: PendingCall): void {
    call.clock.stop();
    this.#calls.delete(call);
    for (const id of call.ids) this.#byId.delete(id);
  }

  /** For a call that was cancelled: its server may not have noticed yet. */
  abandon({ frame }: PendingCall): void {
    this.#forgetOld();
    const root = rootOf(frame);
    const until = performance.now() + ABANDONED_MS;
    this.#abandoned.push({ owner: root && new WeakRef(root), isForOther: frame?.elicit !== undefined, until });
  }

  /** A request was sent for the current call. */
  noteSent(id: string | number): void {
    const call = currentCall.getStore();
    if (call?.calls !== this) return;
    call.ids.push(id);
    this.#byId.set(id, call);
  }

  /** Handles an answer as part of the call it is for: over stdio it arrives wherever the connection was opened. */
  inCallOf(answer: JSONRPCResponse, work: () => void): void {
    const call = this.#byId.get(answer.id) ?? this.#byId.get(Number(answer.id)); // some servers return ids as strings
    if (!call) {
      work();
      return;
    }
    call.hasStarted ||= 'result' in answer && answer.result.resultType === 'input_required';
    call.run(work);
  }

  /** Whether calls are under way for runs that answer the questions of servers themselves. */
  get areForOthers(): boolean {
    this.#forgetOld();
    const isForOther = ({ frame }: PendingCall) => frame?.elicit !== undefined;
    return [...this.#calls].some(isForOther) || this.#abandoned.some((call) => call.isForOther);
  }

  get areAsked(): boolean {
    return this.#questions > 0;
  }

  /**
   * Answers a question of the server, as part of the run whose call it is about if that is known. No call counts as idle
   * while a person takes time to answer.
   */
  async whileAsked<Answer>(answer: () => Answer | Promise<Answer>): Promise<Answer> {
    if (this.#questions >= MOST_QUESTIONS)
      throw new Error(`This client answers at most ${MOST_QUESTIONS} requests of a server at a time.`);
    this.#questions++;
    try {
      return await inRun(this.#asker(), answer);
    } finally {
      this.#questions--;
      for (const { clock } of this.#calls) clock.extend();
    }
  }

  /**
   * In the 2026 era, in process and mostly over HTTP a question belongs to a call. Otherwise it may be about any call:
   * if all of them belong to one agent and its sub-agents, that agent is asked; if not, nobody is.
   */
  #asker(): RunContext | undefined {
    const current = currentCall.getStore();
    if (current?.calls === this) return this.#isPending(current) ? current.frame : undefined;
    this.#forgetOld();
    const frames = [...this.#calls].map(({ frame }) => frame);
    const owners = new Set(frames.map(rootOf));
    for (const { owner } of this.#abandoned) owners.add(owner?.deref());
    return owners.size === 1 ? frames.at(-1) : undefined;
  }

  #isPending(call: PendingCall): boolean {
    return this.#calls.has(call) && !call.clock.signal.aborted;
  }

  #forgetOld(): void {
    const now = performance.now();
    this.#abandoned = this.#abandoned.filter(({ until }) => until > now);
  }
}

/** The SDK's own timeouts cannot wait for a person who answers a question, so calls have a clock of ours. */
export class PendingCall {
  readonly calls: PendingCalls;
  readonly clock: CallClock;
  /** The run that made it. */
  readonly frame = currentRun();
  /** Of the requests that were sent for it: one, and one more for each question of a 2026 server. */
  readonly ids: (string | number)[] = [];
  /** The server has run a part of the call and asked something. */
  hasStarted = false;

  constructor(options: CallClockOptions, calls: PendingCalls) {
    this.calls = calls;
    this.clock = new CallClock({ ...options, isPaused: () => calls.areAsked });
  }

  /** Does something as part of this call. */
  run<Value>(work: () => Value): Value {
    return currentCall.run(this, work);
  }
}

function rootOf(frame: RunContext | undefined): RunAgent | undefined {
  let root = frame;
  while (root?.parent) root = root.parent;
  return root?.agent;
}
