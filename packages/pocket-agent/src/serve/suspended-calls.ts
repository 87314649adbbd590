// Calls that may ask their client something. A client of the 2026 era gets the questions as the result and comes back
// with the answers; a client of the 2025 era is asked during its call.
import { randomUUID } from 'node:crypto';
import {
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { fairEvictionKey, MAX_TIMER_MS, onAbort, PocketError } from '@pocket-agent/kit';

/** How long a call waits for its client. */
const MAX_WAIT_MS = 900_000;
/** Clients that never come back must not fill the memory. */
const MAX_WAITING_CALLS = 1_000;

/** Passed to a call: its signal, a way to ask the client, and the current request. */
export interface CallOptions {
  signal: AbortSignal;
  /** Asks the client. Throws if it answers with an error; `signal` ends the question. */
  ask(question: InputRequest, options: AskOptions): Promise<unknown>;
  /** The request that is being served just now. */
  context(): ServerContext;
}

interface AskOptions {
  signal: AbortSignal;
  /** The name of the question. A number is added if the call has another open question of this name. */
  name: string;
}

type Begin<Result> = (options: CallOptions) => Promise<Result>;

/** Only the owner of a call may continue it. */
interface Owned {
  owner: string;
}

interface Waiting<Owner, Result> {
  call: SuspendableCall<Result>;
  from: Owner;
  timer: NodeJS.Timeout;
}

/** The calls of one server that wait for an answer of their client. */
export class SuspendedCalls<Owner extends Owned, Result> {
  readonly #waiting = new Map<string, Waiting<Owner, Result>>();

  async start(from: Owner, begin: Begin<Result>, context: ServerContext): Promise<Result | InputRequiredResult> {
    const { envelope, signal } = context.mcpReq;
    if (envelope) return this.#serve(new SuspendableCall(begin, context), from, context);
    const ask: CallOptions['ask'] = (question, options) => askNow(context, question, options);
    return begin({ signal, ask, context: () => context });
  }

  /** Continues the call of a client that comes back with answers. Undefined for a call that is not its own. */
  async resume(owner: string, context: ServerContext): Promise<Result | InputRequiredResult | undefined> {
    const id = context.mcpReq.requestState<string>();
    const found = typeof id === 'string' ? this.#waiting.get(id) : undefined;
    if (typeof id !== 'string' || found?.from.owner !== owner) return undefined;
    this.#take(id);
    found.call.takeAnswers(context);
    return this.#serve(found.call, found.from, context);
  }

  /** Aborts waiting calls. */
  drop(isMeant: (from: Owner) => boolean = () => true): void {
    for (const [id, { from }] of this.#waiting) if (isMeant(from)) this.#drop(id);
  }

  #take(id: string): Waiting<Owner, Result> | undefined {
    const found = this.#waiting.get(id);
    this.#waiting.delete(id);
    clearTimeout(found?.timer);
    return found;
  }

  #drop(id: string): void {
    this.#take(id)?.call.abort();
  }

  #keep(call: SuspendableCall<Result>, from: Owner): string {
    const id = randomUUID();
    if (this.#waiting.size >= MAX_WAITING_CALLS) {
      const oldest = fairEvictionKey([...this.#waiting].map(([key, waiting]) => [key, waiting.from.owner] as const));
      if (oldest !== undefined) this.#drop(oldest);
    }
    const timer = setTimeout(() => this.#drop(id), MAX_WAIT_MS).unref();
    this.#waiting.set(id, { call, from, timer });
    return id;
  }

  async #serve(
    call: SuspendableCall<Result>,
    from: Owner,
    context: ServerContext,
  ): Promise<Result | InputRequiredResult> {
    const outcome = await call.next(context);
    if ('result' in outcome) return outcome.result;
    const inputRequests = Object.fromEntries(outcome.questions.map(({ id, question }) => [id, question]));
    return inputRequired({ inputRequests, requestState: this.#keep(call, from) });
  }
}

/** Whether a request continues a call, instead of starting one. */
export function isContinued({ mcpReq }: ServerContext): boolean {
  return typeof mcpReq.requestState() === 'string';
}

interface OpenQuestion {
  id: string;
  question: InputRequest;
  answer(response: unknown): void;
}

class SuspendableCall<Result> {
  readonly #controller = new AbortController();
  readonly #finished: Promise<Result>;
  #questions: OpenQuestion[] = [];
  /** Questions sent to the client; later ones wait. */
  #sent: OpenQuestion[] = [];
  #asked = Promise.withResolvers<undefined>();
  #context: ServerContext;
  #count = 0;

  constructor(begin: Begin<Result>, context: ServerContext) {
    this.#context = context;
    const { signal } = this.#controller;
    const ask: CallOptions['ask'] = (question, { name }) => this.#ask(question, name);
    this.#finished = begin({ signal, ask, context: () => this.#context });
    this.#finished.catch(() => {}); // next() rejects
  }

  /** The result, or the questions that must be answered first. */
  async next(context: ServerContext): Promise<{ result: Result } | { questions: OpenQuestion[] }> {
    this.#context = context;
    const release = onAbort(context.mcpReq.signal, () => this.abort());
    try {
      const ended = this.#finished.then((result) => ({ result }));
      const outcome = await Promise.race([ended, this.#asked.promise]);
      if (outcome) return outcome;
      this.#asked = Promise.withResolvers();
      this.#sent = this.#questions.splice(0);
      return { questions: this.#sent };
    } finally {
      release();
    }
  }

  takeAnswers({ mcpReq }: ServerContext): void {
    const questions = this.#sent;
    this.#sent = [];
    for (const { id, answer } of questions) answer(mcpReq.inputResponses?.[id]);
  }

  abort(): void {
    this.#controller.abort(new PocketError('ABORTED', 'The client cancelled the run.'));
  }

  #ask(question: InputRequest, name: string): Promise<unknown> {
    return new Promise((answer) => {
      const isOpen = [...this.#questions, ...this.#sent].some(({ id }) => id === name);
      this.#questions.push({ id: isOpen ? `${name}_${++this.#count}` : name, question, answer });
      this.#asked.resolve(undefined);
    });
  }
}

function askNow({ mcpReq }: ServerContext, question: InputRequest, { signal }: AskOptions): Promise<unknown> {
  const { method, params } = question;
  return mcpReq.send({ method, params }, { signal, timeout: MAX_TIMER_MS });
}
