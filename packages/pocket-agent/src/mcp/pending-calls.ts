// The tool calls in progress on one server. Progress and questions extend their clocks, and questions of the server are put
// to their runs.
import type { JSONRPCMessage, JSONRPCRequest, ProgressNotification } from '@modelcontextprotocol/client';
import { abortable, CallClock, type CallClockOptions, startDeadline } from '@pocket-agent/kit';
import type { ToolProgress } from '../base/tool-call.ts';
import { currentRun, inRun, lastRun, type RunAgent, type RunContext } from '../run/run-context.ts';

interface CallOptions extends CallClockOptions {
  onProgress(update: ToolProgress): void;
}

/** A request of the server that is not answered yet. */
interface Question {
  /** The calls in progress that it may belong to. */
  calls: Set<PendingCall>;
  /** Aborted when the last of them has ended. */
  controller: AbortController;
}

/** Open elicitations and sampling requests of one server. */
const MAX_QUESTIONS = 100;
/** A server may still ask something about a cancelled call for this long. */
const ABANDONED_MS = 60_000;

export class PendingCalls {
  /** Calls by progress token. */
  readonly #calls = new Map<unknown, PendingCall>();
  /** Calls that were cancelled before the server answered: it may still ask something about them. */
  #abandoned: { owner: WeakRef<RunAgent> | undefined; hasElicit: boolean; until: number }[] = [];
  readonly #questions = new Set<Question>();
  #count = 0;

  start(options: CallOptions): PendingCall {
    const call = new PendingCall(`call-${++this.#count}`, { ...options, isPaused: () => this.#isAsked });
    this.#calls.set(call.token, call);
    return call;
  }

  end(call: PendingCall): void {
    call.clock.stop();
    this.#calls.delete(call.token);
    for (const { calls, controller } of this.#questions) {
      if (calls.delete(call) && calls.size === 0) controller.abort(new Error('The call that it belongs to has ended.'));
    }
  }

  /** Called for a cancelled call: its server may not have noticed yet. */
  abandon({ run, hasElicit }: PendingCall): void {
    this.#forgetOld();
    const root = rootOf(run);
    const until = performance.now() + ABANDONED_MS;
    this.#abandoned.push({ owner: root && new WeakRef(root), hasElicit, until });
  }

  progress({ progressToken, progress, total, message }: ProgressNotification['params']): void {
    const call = this.#calls.get(progressToken);
    if (!call) return;
    call.clock.extend();
    const optional = { ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) };
    call.onProgress({ progress, ...optional });
  }

  /** A server of 2026 may answer this request with a question. */
  noteSent({ id, params }: JSONRPCRequest): void {
    const call = this.#calls.get(params?._meta?.progressToken);
    if (call) call.requestId = id;
  }

  /**
   * Handles an answer of a 2026 server. A question in it is put to the run of its call, although over stdio it arrives
   * where the connection was opened.
   */
  answered(message: JSONRPCMessage, handle: () => void): void {
    const asks = 'result' in message && message.result.resultType === 'input_required';
    const call = asks ? this.#callWithRequest(message.id) : undefined;
    if (!call) {
      handle();
      return;
    }
    call.hasStarted = true;
    inRun(call.run, handle);
  }

  /** Whether a run that made one of the calls has an `elicit` of its own. */
  get someRunHasElicit(): boolean {
    this.#forgetOld();
    return [...this.#calls.values(), ...this.#abandoned].some((call) => call.hasElicit);
  }

  /**
   * Answers a question of the server, as part of the run whose call it is about if that is known. No call counts as
   * idle while a person takes time to answer. The question ends with its calls, and when the server cancels it.
   */
  async whileAsked<Answer>(
    cancelled: AbortSignal,
    answer: (signal: AbortSignal) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    if (this.#questions.size >= MAX_QUESTIONS)
      throw new Error(`This client answers at most ${MAX_QUESTIONS} requests of a server at a time.`);
    const question = { calls: new Set(this.#askingCalls()), controller: new AbortController() };
    const { signal, release } = startDeadline({
      what: 'The question',
      signals: [cancelled, question.controller.signal],
    });
    this.#questions.add(question);
    try {
      return await abortable(
        inRun(this.#asker(), async () => answer(signal)),
        signal,
      );
    } finally {
      release();
      this.#questions.delete(question);
      for (const { clock } of this.#calls.values()) clock.extend();
    }
  }

  /** A question that belongs to no call pauses no clock, because it may stay open for any time. */
  get #isAsked(): boolean {
    return [...this.#questions].some(({ calls }) => calls.size > 0);
  }

  /** The calls that a question may belong to: the one it arrives in, if that is known, or all. */
  #askingCalls(): PendingCall[] {
    const calls = [...this.#calls.values()].filter(({ clock }) => !clock.signal.aborted);
    const own = calls.find(({ run }) => run !== undefined && run === lastRun());
    return own ? [own] : calls;
  }

  /**
   * In the 2026 era, in process and mostly over HTTP a question belongs to a call. Otherwise it may be about any call:
   * if all of them belong to one agent and its sub-agents, that agent is asked; otherwise the question is not answered.
   */
  #asker(): RunContext | undefined {
    const calls = [...this.#calls.values()];
    const here = lastRun();
    const own = here && calls.find(({ run }) => run === here);
    if (own) return own.clock.signal.aborted ? undefined : here;
    if (here?.toolCallId !== undefined && here.finished) return undefined; // its call is over
    this.#forgetOld();
    const runs = calls.map(({ run }) => run);
    const owners = new Set(runs.map(rootOf));
    for (const { owner } of this.#abandoned) owners.add(owner?.deref());
    return owners.size === 1 ? runs.at(-1) : undefined;
  }

  /** Some servers return the id as a string. */
  #callWithRequest(id: unknown): PendingCall | undefined {
    return [...this.#calls.values()].find(({ requestId }) => requestId !== undefined && `${requestId}` === `${id}`);
  }

  #forgetOld(): void {
    const now = performance.now();
    this.#abandoned = this.#abandoned.filter(({ until }) => until > now);
  }
}

/** The SDK's own timeouts cannot wait for a person who answers a question, so calls have a clock of ours. */
class PendingCall {
  /** The progress token of its requests. */
  readonly token: string;
  readonly clock: CallClock;
  readonly onProgress: CallOptions['onProgress'];
  /** The run that made it. */
  readonly run = currentRun();
  /** The id of its last request to a server of 2026, which gets one more request after each question. */
  requestId: string | number | undefined;
  /** The server has run a part of the call and asked something. */
  hasStarted = false;

  constructor(token: string, options: CallOptions) {
    this.token = token;
    this.clock = new CallClock(options);
    this.onProgress = options.onProgress;
  }

  /** Its run answers the questions of servers itself. */
  get hasElicit(): boolean {
    return this.run?.elicit !== undefined;
  }
}

function rootOf(run: RunContext | undefined): RunAgent | undefined {
  let root = run;
  while (root?.parent) root = root.parent;
  return root?.agent;
}
