// Conversations with durable runs: a restarted server finds them, and a page that reconnects continues its run.
import { errorText, KeyedQueue, sha256 } from '@pocket-agent/kit';
import type { Message, PocketAgent } from 'pocket-agent';
import type { ChatTurn } from '../live/chats.ts';
import type { PageAnswer } from '../live/live-run.ts';
import { type ConversationRef, NOT_SAVED, STILL_ANSWERING, startRefusal } from '../live/live-runs.ts';
import type { WebOptions } from '../live/options.ts';
import { errorResponse } from '../live/responses.ts';
import { beginsWith, countTurns, firstTurns, questionsIn } from '../live/turns.ts';
import type { DurableChatOptions, WebRun, WebRuns } from './durable-options.ts';
import { DurableRun, isOver, type MakeFrame } from './durable-run.ts';
import type { DurableEncoder } from './journal-events.ts';

/** How long a finished answer can be replayed. */
const KEEP_MS = 60_000;
const MAX_LISTED = 1_000;
const DEFAULT_MAX_RUNS = 1_000;
const OPEN_STATUSES = ['queued', 'running', 'waiting'] as const;

interface DurableConversationsOptions<Encoder> {
  agent: PocketAgent<unknown>;
  options: WebOptions;
  durable: DurableChatOptions;
  /** `turn`: the number of the answer in the conversation. */
  makeEncoder(emit: (event: object) => void, turn: number): Encoder;
}

/** The option `about` of a run of a conversation. */
interface About {
  /** The number of the run in the conversation. */
  number: number;
  /** The number of the turn that it answers. */
  turn: number;
  /** The run id of the client. */
  runId?: string;
}

interface TurnRequest extends ChatTurn {
  runId?: string;
}

export class DurableConversations<Encoder extends DurableEncoder> {
  readonly #options: DurableConversationsOptions<Encoder>;
  readonly #closing = new AbortController();
  /** By caller: the limit of a caller holds only if its runs are started one after the other. */
  readonly #starts = new KeyedQueue();

  constructor(options: DurableConversationsOptions<Encoder>) {
    this.#options = options;
    options.agent.closeTogether(this);
  }

  /** Streams the answer in progress, or one that has just ended, from its beginning. Undefined if there is none. */
  async resume(ref: ConversationRef, frame: MakeFrame<Encoder>): Promise<ReadableStream | undefined> {
    const run = await this.#replayableRun(ref);
    return run && this.#follow(run).replay(frame);
  }

  /** Passes on the answers, and streams what follows. Undefined if no question is open. */
  async answer(
    ref: ConversationRef,
    answers: readonly PageAnswer[],
    frame: MakeFrame<Encoder>,
  ): Promise<ReadableStream | undefined> {
    const run = await this.#latestRun(ref);
    if (!run || isOver(run)) return undefined;
    return this.#follow(run).answer(answers, frame, ref.caller.id);
  }

  /** Whether the last run of the conversation has this run id of the client. */
  async hasStarted(ref: ConversationRef, runId: string): Promise<boolean> {
    return (await this.#latestRun(ref))?.about?.runId === runId;
  }

  /** Streams the answer, or returns an error response. */
  start(request: TurnRequest, frame: MakeFrame<Encoder>): Promise<ReadableStream | Response> {
    return this.#starts.run(request.caller.id, () => this.#startTurn(request, frame));
  }

  async #startTurn(request: TurnRequest, frame: MakeFrame<Encoder>): Promise<ReadableStream | Response> {
    const { earlierQuestions, runId } = request;
    const previous = await this.#latestRun(request);
    const replaced = previous && !isOver(previous) ? previous : undefined;
    if (replaced && !(await this.#isWaiting(replaced))) return errorResponse(409, STILL_ANSWERING);
    const refusal = await this.#refusal(request, replaced ? 1 : 0);
    if (refusal) return refusal;
    const saved = earlierQuestions && (await this.read(request));
    if (saved && !beginsWith(questionsIn(saved), earlierQuestions)) return errorResponse(409, NOT_SAVED);
    // a new message cancels a run that waits for the user
    if (replaced) await this.#runs.cancel(replaced.id);
    const last = { number: 0, turn: 0, ...previous?.about } as About;
    const about = { number: last.number + 1, turn: last.turn + 1, ...(runId === undefined ? {} : { runId }) };
    if (!saved) return this.#start(request, { about, frame });
    const kept = firstTurns(replaced ? await this.read(request) : saved, earlierQuestions.length);
    return this.#start(request, { about: { ...about, turn: countTurns(kept) + 1 }, frame, messages: kept });
  }

  async stop(ref: ConversationRef): Promise<void> {
    const run = await this.#latestRun(ref);
    if (run && !isOver(run)) await this.#runs.cancel(run.id);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error(`${this.#options.agent.name} was closed.`));
  }

  get #runs() {
    return this.#options.durable.runs;
  }

  async #start(
    request: TurnRequest,
    { about, frame, messages }: { about: About; frame: MakeFrame<Encoder>; messages?: readonly Message[] },
  ): Promise<ReadableStream | Response> {
    const { caller, input } = request;
    const { timeoutMs } = this.#options.options;
    const id = `${this.#conversation(request)}/${String(about.number).padStart(8, '0')}`;
    try {
      await this.#runs.start(this.#options.durable.agent, input, {
        id,
        caller: caller.id,
        ...(caller.profile === undefined ? {} : { profile: [caller.profile] }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        conversation: this.#conversation(request),
        about: { ...about },
        ...(messages ? { messages } : {}),
      });
    } catch (error) {
      // another process has started a run of this conversation
      if (error instanceof Error && 'code' in error && error.code === 'RUN_EXISTS')
        return errorResponse(409, STILL_ANSWERING);
      throw error;
    }
    const run = await this.#runs.get(id);
    if (!run) throw new Error(`The run "${id}" was deleted.`);
    return this.#follow(run).replay(frame);
  }

  /** Whether the run waits for the user. */
  async #isWaiting({ id, status }: WebRun): Promise<boolean> {
    return status === 'waiting' || (await this.#runs.questions({ run: id })).length > 0;
  }

  /** The error response if no run can be started. `replaced`: how many open runs the new run replaces. */
  async #refusal({ caller, id }: ConversationRef, replaced: number): Promise<Response | undefined> {
    const { agent, options } = this.#options;
    const { maxRuns = DEFAULT_MAX_RUNS, maxRunsPerCaller = Math.ceil(maxRuns / 4) } = options;
    const refusal = startRefusal({ name: agent.name, isClosed: this.#closing.signal.aborted, id });
    if (refusal) return refusal;
    if (await this.#hasOpen(this.#prefix(caller.id), maxRunsPerCaller + replaced)) {
      const limit = `${maxRunsPerCaller} runs of ${agent.name}, the limit for one caller`;
      return errorResponse(429, `You already have ${limit}; try again when one has ended.`);
    }
    if (!(await this.#hasOpen(this.#prefix(), maxRuns + replaced))) return undefined;
    return errorResponse(429, `${agent.name} already has ${maxRuns} runs, its limit; try again later.`);
  }

  /** Whether at least `count` runs are open. */
  async #hasOpen(prefix: string, count: number): Promise<boolean> {
    let open = 0;
    for (const status of OPEN_STATUSES) {
      for await (const runs of this.#pages({ prefix, status, limit: Math.min(count, MAX_LISTED) })) {
        open += runs.length;
        if (open >= count) return true;
      }
    }
    return false;
  }

  async *#pages(filter: Omit<Parameters<WebRuns['list']>[0], 'cursor'>): AsyncGenerator<WebRun[]> {
    let cursor: string | undefined;
    do {
      const page = await this.#runs.list({ ...filter, ...(cursor === undefined ? {} : { cursor }) });
      yield page.runs;
      cursor = page.next;
    } while (cursor !== undefined);
  }

  async #latestRun(ref: ConversationRef): Promise<WebRun | undefined> {
    return (await this.#runs.list({ conversation: this.#conversation(ref), limit: 1 })).runs[0];
  }

  /** The run in progress, or one that has just ended. */
  async #replayableRun(ref: ConversationRef): Promise<WebRun | undefined> {
    const run = await this.#latestRun(ref);
    return run && (!isOver(run) || Date.now() - Date.parse(run.updatedAt) <= KEEP_MS) ? run : undefined;
  }

  /** The run whose answer can be replayed, and all messages before that answer. */
  async readReplayable(ref: ConversationRef): Promise<{ before: Message[]; run: DurableRun<Encoder> | undefined }> {
    const run = await this.#replayableRun(ref);
    return { before: await this.#read(ref, run?.id), run: run && this.#follow(run) };
  }

  /** The messages, without the answer of a run in progress. */
  async read(ref: ConversationRef): Promise<Message[]> {
    return this.#read(ref);
  }

  /** Leaves out the answer of the run `replayed`. */
  async #read(ref: ConversationRef, replayed?: string): Promise<Message[]> {
    const conversation = this.#conversation(ref);
    const all: WebRun[] = [];
    for await (const runs of this.#pages({ conversation, limit: MAX_LISTED })) all.unshift(...runs.reverse());
    let messages: Message[] = [];
    for (const run of all) {
      let hasQuestion = false;
      const { signal } = this.#closing;
      const events = run.events === 0 ? [] : this.#runs.events(run.id, { after: 0, signal });
      for await (const { number, type, data, subAgent } of events) {
        if (type === 'reset') messages = [...((data as { messages?: Message[] }).messages ?? [])];
        if (type === 'message' && subAgent === undefined) {
          const message = data as Message;
          hasQuestion ||= message.role === 'user';
          if ((isOver(run) && run.id !== replayed) || message.role === 'user') messages.push(message);
        }
        if (number >= run.events) break;
      }
      if (!hasQuestion && !isOver(run)) messages.push(questionOf(run)); // the run is queued
    }
    return messages;
  }

  #follow(run: WebRun): DurableRun<Encoder> {
    const { agent, durable, options, makeEncoder } = this.#options;
    const { turn } = { turn: 1, ...run.about } as About;
    return new DurableRun<Encoder>({
      runs: durable.runs,
      run,
      name: agent.name,
      asksPage: options.approvals !== 'own',
      makeEncoder: (emit) => makeEncoder(emit, turn),
      closing: this.#closing.signal,
      onError: (error) => agent.logger.error(`A durable run of ${agent.name} cannot be shown: ${errorText(error)}`),
    });
  }

  /** Contains the caller, so that others do not find the runs. */
  #conversation({ caller, id }: ConversationRef): string {
    return `${this.#prefix(caller.id)}${sha256(id).slice(0, 32)}`;
  }

  #prefix(caller?: string): string {
    const prefix = `web/${this.#options.durable.agent}/`;
    return caller === undefined ? prefix : `${prefix}${sha256(caller).slice(0, 32)}/`;
  }
}

function questionOf({ input }: WebRun): Message {
  const text = typeof input === 'string' ? input : input.text;
  return { role: 'user', content: [{ type: 'text', text }] };
}
