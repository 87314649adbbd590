// Other programs with an address for studios, such as workers and bots: the studio shows their conversations and asks their questions.
import { randomUUID } from 'node:crypto';
import { delay, errorText, isRecord, type Logger } from '@pocket-agent/kit';
import type { DurableList, DurableRunDetails, Line, Question, Replay } from '../wire/wire.ts';
import type { DurableSource } from './durable-runs.ts';
import type { ForeignChats } from './foreign-chats.ts';
import { type ForeignQuestion, ForeignQuestions } from './foreign-questions.ts';
import type { Journal } from './journal.ts';
import type { Questions } from './questions.ts';
import { Refusal } from './refusal.ts';

/** The address that a program printed, and its token. */
export interface AttachedProgram {
  url: string;
  token: string;
}

const RETRY_MS = 2_000;
const TIMEOUT_MS = 40_000;
/** One message of the stream, and one answer. */
const MAX_CHARACTERS = 40_000_000;

interface Parts {
  journal: Journal;
  questions: Questions;
  chats: ForeignChats;
  logger: Logger;
}

export class Attached implements DurableSource {
  readonly name: string;
  readonly #program: AttachedProgram;
  readonly #parts: Parts;
  readonly #questions: ForeignQuestions;
  readonly #closing = new AbortController();
  /** Ids of its conversations here. */
  readonly #chats = new Set<string>();
  #hasDurableRuns = false;
  #problem = '';

  constructor(program: AttachedProgram, parts: Parts) {
    this.#program = program;
    this.#parts = parts;
    this.name = new URL(program.url).host;
    this.#questions = new ForeignQuestions(parts.questions, (error, askAgain) => {
      parts.logger.warn(`The answer to ${this.name} did not count: ${errorText(error)}`);
      if (!(error instanceof Refusal)) askAgain();
    });
  }

  get hasDurableRuns(): boolean {
    return this.#hasDurableRuns;
  }

  /** Shows what happens there until `close()`. */
  async follow(): Promise<void> {
    const { signal } = this.#closing;
    for (let after = 0; !signal.aborted; ) {
      try {
        const response = await this.#request(`events?after=${after}`, { signal });
        this.#problem = '';
        for await (const line of linesIn(response)) {
          after = line.seq;
          this.#take(line);
        }
        throw new Error('It closed the connection.');
      } catch (error) {
        if (signal.aborted) return;
        const problem = errorText(error);
        if (problem !== this.#problem) this.#parts.logger.warn(`${this.name} cannot be followed: ${problem}`);
        this.#problem = problem;
        this.#disconnected();
      }
      await delay(RETRY_MS, signal).catch(() => {}); // closed
    }
  }

  async list(): Promise<DurableList> {
    return this.#get('durable');
  }

  async read(id: string): Promise<DurableRunDetails | undefined> {
    return ifThere(this.#get<DurableRunDetails>(`durable/${encodeURIComponent(id)}`));
  }

  async cancel(id: string): Promise<boolean> {
    return (await ifThere(this.#post(`durable/${encodeURIComponent(id)}/cancel`, {}).then(() => true))) ?? false;
  }

  /** Whether a conversation or a request, by its id here, is one of this program. */
  has(id: string): boolean {
    return id.startsWith(this.#idOf(''));
  }

  /** A request to a model, whole, as JSON. */
  async modelCall(id: string): Promise<string> {
    return (await this.#request(this.#callPath(id), {})).text();
  }

  async replay(id: string, change: object, signal: AbortSignal): Promise<Replay> {
    const asked = {
      method: 'POST',
      body: JSON.stringify(change),
      signal: AbortSignal.any([this.#closing.signal, signal]),
    };
    return (await this.#request(`${this.#callPath(id)}/replay`, asked)).json() as Promise<Replay>;
  }

  close(): void {
    this.#closing.abort(new Error('The studio was closed.'));
    this.#questions.close();
  }

  /** The state there is unknown until the program can be followed again. */
  #disconnected(): void {
    const { chats } = this.#parts;
    for (const id of this.#chats) {
      const chat = chats.get(id);
      if (chat?.isRunning) chats.show({ ...chat, isRunning: false });
    }
    this.#questions.replace([]);
  }

  #take(line: Line): void {
    const { journal, chats } = this.#parts;
    switch (line.type) {
      case 'snapshot': {
        const open = new Set(line.chats.map(({ id }) => this.#idOf(id)));
        for (const id of [...this.#chats]) if (line.isReset || !open.has(id)) this.#closeChat(id);
        for (const chat of line.chats) this.#show(chat);
        this.#questions.replace(line.questions.map((question) => this.#foreign(question)));
        if (line.hasDurableRuns && !this.#hasDurableRuns) journal.add({ type: 'durable_runs' });
        this.#hasDurableRuns = line.hasDurableRuns;
        return;
      }
      case 'chat':
        this.#show(line.chat);
        return;
      case 'chat_closed':
        this.#closeChat(this.#idOf(line.chatId));
        return;
      case 'event':
      case 'history':
      case 'problem': {
        const { seq: _, ...entry } = line;
        const chatId = this.#idOf(entry.chatId);
        if (chats.get(chatId)) journal.add({ ...entry, chatId });
        return;
      }
      case 'model_call': {
        const { id, chatId } = line.call;
        const call = { ...line.call, id: this.#idOf(id), chatId: this.#idOf(chatId) };
        if (chats.get(call.chatId)) journal.add({ type: 'model_call', call });
        return;
      }
      case 'question':
        this.#questions.add(this.#foreign(line.question));
        return;
      case 'question_closed':
        this.#questions.withdraw(line.questionId);
    }
  }

  #show(chat: Extract<Line, { type: 'chat' }>['chat']): void {
    const id = this.#idOf(chat.id);
    this.#chats.add(id);
    this.#parts.chats.show({ ...chat, id });
  }

  #closeChat(id: string): void {
    this.#chats.delete(id);
    this.#parts.chats.close(id);
  }

  #foreign(asked: Question): ForeignQuestion {
    const { id } = asked;
    return {
      id,
      question: {
        ...asked,
        id: randomUUID(),
        chatId: asked.chatId && this.#idOf(asked.chatId),
        program: this.name,
      },
      answer: (given) => this.#post(`questions/${encodeURIComponent(id)}`, given),
    };
  }

  /** The id here of a conversation or a request there. */
  #idOf(id: string): string {
    return `${this.name} ${id}`;
  }

  #callPath(id: string): string {
    return `calls/${encodeURIComponent(id.slice(this.#idOf('').length))}`;
  }

  async #get<Value>(path: string): Promise<Value> {
    return (await this.#request(path, {})).json() as Promise<Value>;
  }

  async #post(path: string, body: object): Promise<void> {
    const response = await this.#request(path, { method: 'POST', body: JSON.stringify(body) });
    await response.body?.cancel();
  }

  async #request(path: string, init: RequestInit): Promise<Response> {
    const { url, token } = this.#program;
    const response = await fetch(new URL(`/api/${path}`, url), {
      signal: AbortSignal.any([this.#closing.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      redirect: 'error',
    });
    if (response.ok) return response;
    const { status } = response;
    const answer: unknown = await response.json().catch(() => undefined); // not one of a studio
    if (!isRecord(answer) || typeof answer.error !== 'string')
      throw new Error(`${status} is this the address of a studio?`);
    const text = answer.error.slice(0, 200);
    throw status === 404 || status === 409 ? new Refusal(status, text) : new Error(`${status} ${text}`);
  }
}

/** Undefined if the program answers that there is no such thing. */
function ifThere<Value>(found: Promise<Value>): Promise<Value | undefined> {
  return found.catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  });
}

/** The lines of a stream of server-sent events. Only what is new is searched, because one line may have many chunks. */
async function* linesIn({ body }: Response): AsyncGenerator<Line> {
  if (!body) return;
  let line = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const [end = '', ...next] = chunk.split('\n');
    line += end;
    for (const beginning of next) {
      if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as Line;
      line = beginning;
    }
    if (line.length > MAX_CHARACTERS) throw new Error('A message of the stream is too long.');
  }
}
