// Conversations whose runs outlive the process: a restarted server finds them, and a page that reconnects continues its run.
import { sha256 } from '@pocket-agent/kit';
import type { Message, PocketAgent } from 'pocket-agent';
import { MAX_ID_LENGTH } from 'pocket-agent/internal/serve';
import { problem } from '../live/caller.ts';
import type { ChatTurn } from '../live/chats.ts';
import type { Answer } from '../live/live-run.ts';
import { ANSWERING, type ConversationOf, NOT_SAVED } from '../live/live-runs.ts';
import type { WebOptions } from '../live/options.ts';
import { firstTurns, showsTurns, turnsIn } from '../live/turns.ts';
import type { DurableChatOptions, WebRun } from './durable-options.ts';
import { DurableRun, isOver, logText, type MakeFrame } from './durable-run.ts';
import type { DurableEncoder } from './journal-events.ts';

/** How long the whole answer of a run that has ended can be read again. */
const KEEP_MS = 60_000;
const MAX_LISTED = 1_000;
const DEFAULT_MAX_RUNS = 1_000;
const OPEN = ['queued', 'running', 'waiting'] as const;

interface Parts<Encoder> {
  agent: PocketAgent<unknown>;
  options: WebOptions;
  durable: DurableChatOptions;
  /** `turn`: the number of the answer in the conversation. */
  makeEncoder(emit: (event: object) => void, turn: number): Encoder;
}

/** The option `about` of a run of a conversation. */
interface About {
  /** Counts the runs of the conversation. */
  number: number;
  turn: number;
  /** The id that the client gave it. */
  runId?: string;
}

interface Turn extends ChatTurn {
  runId?: string;
}

export class DurableConversations<Encoder extends DurableEncoder> {
  readonly #parts: Parts<Encoder>;
  readonly #closing = new AbortController();

  constructor(parts: Parts<Encoder>) {
    this.#parts = parts;
    parts.agent.closeTogether(this);
  }

  /** The answer in progress, or one that has just ended, from its beginning. Undefined if there is none. */
  async resume(of: ConversationOf, frame: MakeFrame<Encoder>): Promise<ReadableStream | undefined> {
    const run = await this.#shownRun(of);
    return run && this.#shown(run).replay(frame);
  }

  /** What follows the answers to questions. Undefined if none of them is open. */
  async answer(
    of: ConversationOf,
    answers: readonly Answer[],
    frame: MakeFrame<Encoder>,
  ): Promise<ReadableStream | undefined> {
    const run = await this.#latest(of);
    if (!run || isOver(run)) return undefined;
    return this.#shown(run).answer(answers, frame, of.caller.id);
  }

  /** Whether the last run of the conversation has this id of the client. */
  async knows(of: ConversationOf, runId: string): Promise<boolean> {
    return (await this.#latest(of))?.about?.runId === runId;
  }

  /** The answer as it is written, or the response that refuses the question. */
  async start(request: Turn, frame: MakeFrame<Encoder>): Promise<ReadableStream | Response> {
    const { repeats, id, runId } = request;
    if (id.length > MAX_ID_LENGTH)
      return problem(429, `The id of a conversation must have at most ${MAX_ID_LENGTH} characters.`);
    const previous = await this.#latest(request);
    if (previous && !isOver(previous)) {
      // an open question is cancelled when the user writes another message
      if (!(await this.#waits(previous))) return problem(409, ANSWERING);
      await this.#runs.cancel(previous.id);
    }
    const refusal = await this.#refusal(request);
    if (refusal !== undefined) return problem(429, refusal);
    const last = { number: 0, turn: 0, ...previous?.about } as About;
    const about = { number: last.number + 1, turn: last.turn + 1, ...(runId === undefined ? {} : { runId }) };
    if (!repeats) return this.#start(request, { about, frame });
    const messages = await this.read(request);
    if (!showsTurns(messages, repeats)) return problem(409, NOT_SAVED);
    const kept = firstTurns(messages, repeats.length);
    return this.#start(request, { about: { ...about, turn: turnsIn(kept) + 1 }, frame, messages: kept });
  }

  async stop(of: ConversationOf): Promise<void> {
    const run = await this.#latest(of);
    if (run && !isOver(run)) await this.#runs.cancel(run.id);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error(`${this.#parts.agent.name} was closed.`));
  }

  get #runs() {
    return this.#parts.durable.runs;
  }

  async #start(
    request: Turn,
    { about, frame, messages }: { about: About; frame: MakeFrame<Encoder>; messages?: readonly Message[] },
  ): Promise<ReadableStream | Response> {
    const { caller, input } = request;
    const { timeoutMs } = this.#parts.options;
    const id = `${this.#conversation(request)}/${String(about.number).padStart(8, '0')}`;
    try {
      await this.#runs.start(this.#parts.durable.agent, input, {
        id,
        caller: caller.id,
        ...(caller.profile === undefined ? {} : { profile: [caller.profile] }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        conversation: this.#conversation(request),
        about: { ...about },
        ...(messages ? { messages } : {}),
      });
    } catch (error) {
      // another request has started a turn of this conversation
      if (error instanceof Error && 'code' in error && error.code === 'RUN_EXISTS') return problem(409, ANSWERING);
      throw error;
    }
    const run = await this.#runs.get(id);
    if (!run) throw new Error(`The run "${id}" was deleted.`);
    return this.#shown(run).replay(frame);
  }

  /** Whether the run waits for a person. */
  async #waits({ id, status }: WebRun): Promise<boolean> {
    return status === 'waiting' || (await this.#runs.questions({ run: id })).length > 0;
  }

  /** Why a run cannot be started. */
  async #refusal({ caller }: ConversationOf): Promise<string | undefined> {
    const { agent, options } = this.#parts;
    const { maxRuns = DEFAULT_MAX_RUNS, maxRunsPerCaller = Math.ceil(maxRuns / 4) } = options;
    if (this.#closing.signal.aborted) return `${agent.name} is shutting down.`;
    if ((await this.#open(this.#prefix(caller.id), maxRunsPerCaller)) >= maxRunsPerCaller)
      return `You already have ${maxRunsPerCaller} runs of ${agent.name}, the limit for one caller; try again when one has ended.`;
    if ((await this.#open(this.#prefix(), maxRuns)) < maxRuns) return undefined;
    return `${agent.name} already has ${maxRuns} runs, its limit; try again later.`;
  }

  async #open(prefix: string, limit: number): Promise<number> {
    const pages = OPEN.map((status) => this.#runs.list({ prefix, status, limit: Math.min(limit, MAX_LISTED) }));
    return (await Promise.all(pages)).reduce((sum, { runs }) => sum + runs.length, 0);
  }

  async #latest(of: ConversationOf): Promise<WebRun | undefined> {
    return (await this.#runs.list({ conversation: this.#conversation(of), limit: 1 })).runs[0];
  }

  /** The run whose answer is shown from its beginning: it is in progress, or has just ended. */
  async #shownRun(of: ConversationOf): Promise<WebRun | undefined> {
    const run = await this.#latest(of);
    return run && (!isOver(run) || Date.now() - Date.parse(run.updatedAt) <= KEEP_MS) ? run : undefined;
  }

  /** All messages before the answer in progress, or one that has just ended; and this answer, if there is one. */
  async readShown(of: ConversationOf): Promise<{ before: Message[]; run: DurableRun<Encoder> | undefined }> {
    const run = await this.#shownRun(of);
    return { before: await this.#read(of, run?.id), run: run && this.#shown(run) };
  }

  /** Without the answer of a run in progress. */
  async read(of: ConversationOf): Promise<Message[]> {
    return this.#read(of);
  }

  /** Of the run `shown` only the question. */
  async #read(of: ConversationOf, shown?: string): Promise<Message[]> {
    const conversation = this.#conversation(of);
    const all: WebRun[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#runs.list({ conversation, limit: MAX_LISTED, ...(cursor ? { cursor } : {}) });
      all.unshift(...page.runs.reverse());
      cursor = page.next;
    } while (cursor !== undefined);
    let messages: Message[] = [];
    for (const run of all) {
      let isAsked = false;
      const { signal } = this.#closing;
      const events = run.events === 0 ? [] : this.#runs.events(run.id, { after: 0, signal });
      for await (const { number, type, data, subAgent } of events) {
        if (type === 'reset') messages = [...((data as { messages?: Message[] }).messages ?? [])];
        if (type === 'message' && subAgent === undefined) {
          const message = data as Message;
          isAsked ||= message.role === 'user';
          if ((isOver(run) && run.id !== shown) || message.role === 'user') messages.push(message);
        }
        if (number >= run.events) break;
      }
      if (!isAsked && !isOver(run)) messages.push(questionOf(run)); // it has not begun
    }
    return messages;
  }

  #shown(run: WebRun): DurableRun<Encoder> {
    const { agent, durable, options, makeEncoder } = this.#parts;
    const { turn } = { turn: 1, ...run.about } as About;
    return new DurableRun<Encoder>({
      runs: durable.runs,
      run,
      name: agent.name,
      asksPage: options.approvals !== 'own',
      makeEncoder: (emit) => makeEncoder(emit, turn),
      closing: this.#closing.signal,
      onError: (error) => agent.logger.error(logText(agent.name, error)),
    });
  }

  /** Only the caller that began a conversation finds its runs. */
  #conversation({ caller, id }: ConversationOf): string {
    return `${this.#prefix(caller.id)}${sha256(id).slice(0, 32)}`;
  }

  #prefix(caller?: string): string {
    const prefix = `web/${this.#parts.durable.agent}/`;
    return caller === undefined ? prefix : `${prefix}${sha256(caller).slice(0, 32)}/`;
  }
}

function questionOf({ input }: WebRun): Message {
  const text = typeof input === 'string' ? input : input.text;
  return { role: 'user', content: [{ type: 'text', text }] };
}
