// A run that a client waits for. When it needs approval, a client of the 2026 era gets the question as the result and
// comes back with the answer; a client of the 2025 era is asked while its call goes on.
import { randomUUID } from 'node:crypto';
import {
  acceptedContent,
  type CallToolResult,
  type ElicitRequestFormParams,
  fromJsonSchema,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { errorText, fairEvictionKey, MAX_TIMER_MS, onAbort, PocketError } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest, Approve } from '../access/approval.ts';
import { APPROVAL_META_KEY, approvalText, describeApproval, remoteRefusal } from '../access/remote-approval.ts';
import { errorResult } from '../tools/tool-result.ts';
import type { ConversationKey, Conversations } from './served-conversations.ts';

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
const answerReader = fromJsonSchema<{ approve: boolean; reason?: string }>(answerSchema);
/** The model reads this much of a client's error. */
const MAX_REASON_LENGTH = 200;
/** How long a run waits for its client. */
const MAX_WAIT_MS = 900_000;
/** Clients that never come back must not fill the memory. */
const MAX_WAITING_RUNS = 1_000;

/** The conversation of a call. Only its owner may continue a run. */
export interface Caller extends ConversationKey {
  conversations: Conversations;
}

interface Waiting extends Caller {
  run: ServedRun;
  /** The step of the client that made the call, if it names its steps. */
  step: unknown;
  timer: NodeJS.Timeout;
}

/** The runs of one server that wait for an answer of their client. */
export class ServedRuns {
  readonly #waiting = new Map<string, Waiting>();

  async start(caller: Caller, begin: Begin, context: ServerContext): Promise<CallToolResult | InputRequiredResult> {
    const { envelope, signal } = context.mcpReq;
    if (!envelope) return begin({ signal, approve: (request) => askNow(context, request), context: () => context });
    // a client that sends another message instead of an answer has abandoned its question
    for (const [id, waiting] of this.#waiting) if (isAbandoned(waiting, caller, stepOf(context))) this.#drop(id);
    return this.#serve(new ServedRun(begin, context), caller, context);
  }

  /** Continues the run of a client that comes back with answers; undefined for a new request. */
  async resume(owner: string, context: ServerContext): Promise<CallToolResult | InputRequiredResult | undefined> {
    const id = context.mcpReq.requestState<string>();
    if (typeof id !== 'string') return undefined;
    const found = this.#waiting.get(id);
    if (found?.owner !== owner) return errorResult('This run is unknown or expired; ask again.');
    this.#take(id);
    found.run.takeAnswers(context);
    return this.#serve(found.run, found, context);
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.#drop(id);
  }

  #take(id: string): Waiting | undefined {
    const found = this.#waiting.get(id);
    this.#waiting.delete(id);
    clearTimeout(found?.timer);
    return found;
  }

  #drop(id: string): void {
    this.#take(id)?.run.abort();
  }

  #keep(run: ServedRun, { conversations, owner, id: conversation }: Caller, context: ServerContext): string {
    const id = randomUUID();
    if (this.#waiting.size >= MAX_WAITING_RUNS) {
      const oldest = fairEvictionKey([...this.#waiting].map(([key, waiting]) => [key, waiting.owner] as const));
      if (oldest !== undefined) this.#drop(oldest);
    }
    const timer = setTimeout(() => this.#drop(id), MAX_WAIT_MS).unref();
    this.#waiting.set(id, { run, conversations, owner, id: conversation, step: stepOf(context), timer });
    return id;
  }

  async #serve(run: ServedRun, caller: Caller, context: ServerContext): Promise<CallToolResult | InputRequiredResult> {
    const outcome = await run.next(context);
    if ('result' in outcome) return outcome.result;
    const requestState = this.#keep(run, caller, context);
    const inputRequests = Object.fromEntries(
      outcome.questions.map(({ id, request }) => [id, inputRequired.elicit(questionOf(request))]),
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
  /** Questions sent to the client; later ones wait. */
  #sent: Question[] = [];
  #asked = Promise.withResolvers<void>();
  #context: ServerContext;
  #count = 0;

  constructor(begin: Begin, context: ServerContext) {
    this.#context = context;
    const { signal } = this.#controller;
    this.#finished = begin({ signal, approve: (request) => this.#ask(request), context: () => this.#context });
    this.#finished.catch(() => {}); // next() rejects
  }

  /** The result, or the questions that must be answered first. */
  async next(context: ServerContext): Promise<{ result: CallToolResult } | { questions: Question[] }> {
    this.#context = context;
    const release = onAbort(context.mcpReq.signal, () => this.abort());
    try {
      const result = await Promise.race([this.#finished, this.#asked.promise]);
      if (result) return { result };
      this.#asked = Promise.withResolvers();
      this.#sent = this.#questions.splice(0);
      return { questions: this.#sent };
    } finally {
      release();
    }
  }

  takeAnswers(context: ServerContext): void {
    const questions = this.#sent;
    this.#sent = [];
    for (const { id, answer } of questions) answer(answerIn(context.mcpReq.inputResponses, id));
  }

  abort(): void {
    this.#controller.abort(new PocketError('ABORTED', 'The client cancelled the run.'));
  }

  #ask(request: ApprovalRequest): Promise<ApprovalAnswer> {
    return new Promise((answer) => {
      this.#questions.push({ id: `approve_${request.hash.slice(0, 16)}_${++this.#count}`, request, answer });
      this.#asked.resolve();
    });
  }
}

function questionOf(request: ApprovalRequest): ElicitRequestFormParams {
  return {
    message: approvalText(request),
    requestedSchema: answerSchema,
    _meta: { [APPROVAL_META_KEY]: describeApproval(request) },
  };
}

function answerIn(responses: ServerContext['mcpReq']['inputResponses'], id: string): ApprovalAnswer {
  const given = acceptedContent(responses, id, answerReader);
  const answer = (responses?.[id] as { content?: unknown } | undefined)?.content;
  return given?.approve ? 'allow' : remoteRefusal(answer, 'the client declined');
}

/** In the 2025 era. A client that answers with an error has not approved. */
async function askNow({ mcpReq }: ServerContext, request: ApprovalRequest): Promise<ApprovalAnswer> {
  try {
    const question = { method: 'elicitation/create' as const, params: questionOf(request) };
    const answer = await mcpReq.send(question, { signal: request.signal, timeout: MAX_TIMER_MS });
    return answerIn({ answer }, 'answer');
  } catch (error) {
    request.signal.throwIfAborted();
    const reason = errorText(error).slice(0, MAX_REASON_LENGTH);
    return { deny: `the client could not be asked for approval (${reason})`, by: 'no-approver' };
  }
}

function stepOf({ mcpReq: { _meta: meta } }: ServerContext): unknown {
  return meta?.step_id;
}

/** Calls of one step are made in parallel: a new one does not mean that the client abandoned another. */
function isAbandoned(before: Waiting, now: Caller, step: unknown): boolean {
  const isSame = before.conversations === now.conversations && before.owner === now.owner && before.id === now.id;
  return isSame && (step === undefined || before.step !== step);
}
