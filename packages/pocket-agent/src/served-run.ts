// A run that a client of ours waits for. When it needs a yes, the client is asked and comes back with the answer; the
// same in both protocol eras, because the SDK turns such a question into a request where the client knows no other way.
import { randomUUID } from 'node:crypto';
import {
  acceptedContent,
  type CallToolResult,
  fromJsonSchema,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ApprovalAnswer, ApprovalRequest, Approve } from './approval.ts';
import { PocketError } from './errors.ts';
import { oldestOfLargest } from './fair-share.ts';
import { APPROVAL_META_KEY, approvalText, describeApproval, remoteRefusal } from './remote-approval.ts';

interface Question {
  id: string;
  request: ApprovalRequest;
  answer(answer: ApprovalAnswer): void;
}

const answerSchema = {
  type: 'object' as const,
  properties: {
    approve: { type: 'boolean' as const, title: 'Allow this call' },
    reason: { type: 'string' as const, title: 'Why not' },
  },
  required: ['approve'],
};
const KEPT_MS = 900_000;
/** Clients that never come back must not fill the memory of the others. */
const MOST_WAITING = 1_000;

/** Where a call was made: in which conversation, in which step of the client. */
interface Place {
  conversation: unknown;
  step: unknown;
}

interface Waiting {
  run: ServedRun;
  owner: string;
  /** Undefined in the 2025 era, where a call that is given up is cancelled. */
  place: Place | undefined;
  /** Takes the timer and the listener away again. */
  release(): void;
}

/** The runs of one server that wait for an answer of their client. */
export class ServedRuns {
  readonly #waiting = new Map<string, Waiting>();

  /** `owner` is whoever may go on with the run: the token of the client. */
  async start(owner: string, begin: Begin, context: ServerContext): Promise<CallToolResult | InputRequiredResult> {
    const place = placeOf(context);
    for (const [id, waiting] of this.#waiting) {
      // a client that has gone on to another step has given up what it was asked, and must not wait for it
      if (waiting.owner === owner && isLeft(waiting.place, place)) this.#drop(id);
    }
    return this.#serve(new ServedRun(begin), owner, context);
  }

  /** A client that comes back with answers, or undefined when the request is a new one. */
  async resume(owner: string, context: ServerContext): Promise<CallToolResult | InputRequiredResult | undefined> {
    const id = context.mcpReq.requestState<string>();
    if (typeof id !== 'string') return undefined;
    const found = this.#waiting.get(id);
    if (!found || found.owner !== owner) {
      return failed('This run is not known here, or no longer: ask again.');
    }
    this.#take(id);
    found.run.takeAnswers(context);
    return this.#serve(found.run, owner, context);
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.#drop(id);
  }

  #take(id: string): Waiting | undefined {
    const found = this.#waiting.get(id);
    this.#waiting.delete(id);
    found?.release();
    return found;
  }

  #drop(id: string): void {
    this.#take(id)?.run.abort();
  }

  #keep(run: ServedRun, owner: string, context: ServerContext): string {
    const { envelope, signal } = context.mcpReq;
    const id = randomUUID();
    if (this.#waiting.size >= MOST_WAITING) {
      const oldest = oldestOfLargest([...this.#waiting].map(([key, waiting]) => [key, waiting.owner] as const));
      if (oldest !== undefined) this.#drop(oldest);
    }
    const drop = () => this.#drop(id);
    // a client that never comes back must not be waited for
    const timer = setTimeout(drop, KEPT_MS).unref();
    // in the 2025 era the request goes on while the client is asked, and can be cancelled meanwhile
    if (!envelope) signal.addEventListener('abort', drop, { once: true });
    const release = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', drop);
    };
    this.#waiting.set(id, { run, owner, place: placeOf(context), release });
    return id;
  }

  async #serve(run: ServedRun, owner: string, context: ServerContext): Promise<CallToolResult | InputRequiredResult> {
    const outcome = await run.next(context);
    if ('result' in outcome) return outcome.result;
    const requestState = this.#keep(run, owner, context);
    const inputRequests = Object.fromEntries(
      outcome.questions.map(({ id, request }) => [
        id,
        inputRequired.elicit({
          message: approvalText(request),
          requestedSchema: answerSchema,
          _meta: { [APPROVAL_META_KEY]: describeApproval(request) },
        }),
      ]),
    );
    return inputRequired({ inputRequests, requestState });
  }
}

export interface ServedRunOptions {
  signal: AbortSignal;
  approve: Approve;
  /** The request that is being served just now. */
  context(): ServerContext;
}

type Begin = (options: ServedRunOptions) => Promise<CallToolResult>;

class ServedRun {
  readonly #controller = new AbortController();
  readonly #finished: Promise<CallToolResult>;
  #questions: Question[] = [];
  /** Those that the client was sent; later ones wait for their turn. */
  #sent: Question[] = [];
  #asked = Promise.withResolvers<void>();
  #context: ServerContext | undefined;
  #count = 0;

  constructor(begin: Begin) {
    const context = () => {
      if (!this.#context) throw new PocketError('ABORTED', 'No request is being served.');
      return this.#context;
    };
    const start = () => begin({ signal: this.#controller.signal, approve: (request) => this.#ask(request), context });
    // begins when the first request is there to be served
    this.#finished = Promise.resolve().then(start);
    this.#finished.catch(() => {}); // told by next()
  }

  /** The result, or the questions that stand in its way. */
  async next(context: ServerContext): Promise<{ result: CallToolResult } | { questions: Question[] }> {
    this.#context = context;
    const { signal } = context.mcpReq;
    const abort = () => this.abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      const asked = this.#asked.promise.then(() => undefined);
      const result = await Promise.race([this.#finished, asked]);
      if (result) return { result };
      this.#asked = Promise.withResolvers();
      this.#sent = this.#questions.splice(0);
      return { questions: this.#sent };
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  takeAnswers(context: ServerContext): void {
    const questions = this.#sent;
    this.#sent = [];
    const schema = fromJsonSchema<{ approve: boolean; reason?: string }>(answerSchema);
    for (const { id, answer } of questions) {
      const { inputResponses } = context.mcpReq;
      const given = acceptedContent(inputResponses, id, schema);
      const said = (inputResponses?.[id] as { content?: unknown } | undefined)?.content;
      answer(given?.approve ? 'allow' : remoteRefusal(said, 'the client said no'));
    }
  }

  abort(): void {
    this.#controller.abort(new PocketError('ABORTED', 'The client has given this run up.'));
  }

  #ask(request: ApprovalRequest): Promise<ApprovalAnswer> {
    return new Promise((resolve) => {
      this.#questions.push({
        id: `approve_${request.hash.slice(0, 16)}_${++this.#count}`,
        request,
        answer: resolve,
      });
      this.#asked.resolve();
    });
  }
}

function placeOf({ mcpReq: { envelope, _meta: meta } }: ServerContext): Place | undefined {
  return envelope && meta?.context_id ? { conversation: meta.context_id, step: meta.step_id } : undefined;
}

/** Calls of one step are made together, so none of them tells anything of another. */
function isLeft(before: Place | undefined, now: Place | undefined): boolean {
  if (!before || !now) return false;
  return before.conversation === now.conversation && before.step !== now.step;
}

function failed(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}
