// Questions of a running task to its caller: approvals of tool calls, and elicitations of MCP servers.
import { randomBytes } from 'node:crypto';
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { isRecord, MAX_TIMER_MS, onAbort } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest } from 'pocket-agent';
import { APPROVAL_META_KEY, approvalText, describeApproval, remoteRefusal } from 'pocket-agent/internal';
import { type Part, textOfParts } from '../wire/task.ts';

const ELICITATION_KEY = 'pocket-agent/elicitation';

interface Question {
  id: string;
  parts: Part[];
  /** A function that gives the answer; undefined if the answer cannot be read. */
  read(answer: Record<string, unknown> | string): (() => void) | undefined;
  /** Ends the question without an answer. */
  expire(): void;
}

interface QuestionsOptions {
  /** Called when a question is asked or answered. */
  changed(): void;
  /** Unanswered questions expire after this time. */
  timeoutMs: number;
}

export class Questions {
  readonly #options: QuestionsOptions;
  readonly #open = new Map<string, Question>();
  #count = 0;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  /** The questions, as text and as data, and how to answer. */
  get parts(): Part[] {
    const questions = [...this.#open.values()].flatMap(({ parts }) => parts);
    return [...questions, { text: this.howTo }];
  }

  get howTo(): string {
    const [first] = this.#open.keys();
    const asData = `{ "question": "${first}", "approve": true }`;
    return this.#count > 1
      ? `Answer each question by its name, for example with the data ${asData} or the text "yes ${first}" or "no ${first}: reason".`
      : `Answer with the data ${asData}, or the text "yes", "no" or "no: reason". For a form, answer with { "question": "${first}", "content": { … } }.`;
  }

  approve(request: ApprovalRequest): Promise<ApprovalAnswer> {
    const { signal } = request;
    const id = `q${++this.#count}-${request.hash.slice(0, 8)}`;
    const about = { question: id, [APPROVAL_META_KEY]: describeApproval(request) };
    return this.#ask<ApprovalAnswer>({
      id,
      parts: [{ text: `${approvalText(request)}\nQuestion ${id}` }, { data: about, mediaType: 'application/json' }],
      read: (answer) => {
        const decision = typeof answer === 'string' ? readYesOrNo(answer, id) : answer;
        if (typeof decision.approve !== 'boolean') return undefined;
        return decision.approve ? 'allow' : remoteRefusal(decision, 'the caller declined');
      },
      unanswered: 'deny',
      signal,
    });
  }

  elicit(
    params: ElicitRequest['params'],
    { server, signal }: { server: string; signal: AbortSignal },
  ): Promise<ElicitResult> {
    const id = `q${++this.#count}-${randomBytes(4).toString('hex')}`;
    const about = { question: id, [ELICITATION_KEY]: { ...params, server } };
    const url = 'url' in params ? `\n${params.url}` : '';
    return this.#ask<ElicitResult>({
      id,
      parts: [
        { text: `MCP server ${server} asks: ${params.message}${url}\nQuestion ${id}` },
        { data: about, mediaType: 'application/json' },
      ],
      read: (answer) => readElicited(answer, id, params),
      unanswered: { action: 'cancel' },
      signal,
    });
  }

  /** A function that gives all answers in a message; undefined if one of them cannot be read. */
  read(parts: readonly Part[]): (() => void) | undefined {
    const data = parts.map((part) => part.data).filter(isRecord);
    const answers = data.length > 0 ? data : [textOfParts(parts).trim()];
    const readers = answers.flatMap((answer) => this.#read(answer) ?? []);
    return readers.length < answers.length ? undefined : () => readers.forEach((give) => void give());
  }

  /** Expires all open questions. */
  close(): void {
    for (const { expire } of [...this.#open.values()]) expire();
  }

  #read(answer: Record<string, unknown> | string): (() => void) | undefined {
    const named = typeof answer === 'string' ? /\bq\d+-[0-9a-f]{8}\b/.exec(answer)?.[0] : answer.question;
    const [first] = this.#open.values();
    // once a second question was asked, a "yes" without an id may be a late answer to the first one
    const unnamed = this.#count === 1 ? first : undefined;
    const question = named === undefined ? unnamed : this.#open.get(String(named));
    return question?.read(answer);
  }

  #ask<Answer>(asked: {
    id: string;
    parts: Part[];
    read(answer: Record<string, unknown> | string): Answer | undefined;
    unanswered: Answer;
    signal?: AbortSignal;
  }): Promise<Answer> {
    const { id, parts, unanswered, signal } = asked;
    return new Promise((resolve) => {
      const end = (answer: Answer) => {
        clearTimeout(timer);
        removeListener();
        this.#open.delete(id);
        resolve(answer);
        this.#options.changed();
      };
      const expire = () => end(unanswered);
      const timer = setTimeout(expire, Math.min(this.#options.timeoutMs, MAX_TIMER_MS)).unref();
      const removeListener = signal ? onAbort(signal, expire) : () => {};
      const read = (given: Record<string, unknown> | string) => {
        const answer = asked.read(given);
        return answer === undefined ? undefined : () => end(answer);
      };
      this.#open.set(id, { id, parts, read, expire });
      this.#options.changed();
    });
  }
}

/** Only a plain yes approves; "yes, but …" does not count as an answer. */
function readYesOrNo(text: string, id: string): { approve?: boolean; reason?: string } {
  const [, word = '', rest = ''] = /^(yes|no)\b[\s:,.]*(.*)$/is.exec(text.replace(id, ' ').trim()) ?? [];
  const reason = rest.trim().replace(/^[:,\s]+/, '');
  if (word.toLowerCase() === 'yes') return reason === '' ? { approve: true } : {};
  return word === '' ? {} : { approve: false, reason };
}

function readElicited(
  answer: Record<string, unknown> | string,
  id: string,
  params: ElicitRequest['params'],
): ElicitResult | undefined {
  if (typeof answer !== 'string') {
    if (answer.action === 'decline' || answer.action === 'cancel' || answer.approve === false)
      return { action: answer.action === 'cancel' ? 'cancel' : 'decline' };
    if (isRecord(answer.content)) return { action: 'accept', content: answer.content as ElicitResult['content'] };
    return answer.action === 'accept' || answer.approve === true ? { action: 'accept' } : undefined;
  }
  const text = answer.replace(id, ' ').trim();
  const { approve } = readYesOrNo(text, id);
  const fields = 'requestedSchema' in params ? Object.entries(params.requestedSchema?.properties ?? {}) : [];
  const [field] = fields;
  if (approve === false && (field?.[1] as { type?: string } | undefined)?.type !== 'boolean')
    return { action: 'decline' };
  if (!field) return approve ? { action: 'accept' } : undefined;
  if (fields.length > 1 || text === '') return undefined;
  const value = fieldValue(text, (field[1] as { type?: string }).type, approve);
  return value === undefined ? undefined : { action: 'accept', content: { [field[0]]: value } };
}

function fieldValue(text: string, type: string | undefined, approve: boolean | undefined) {
  if (type === 'boolean') return approve;
  if (type !== 'number' && type !== 'integer') return text;
  return Number.isFinite(Number(text)) ? Number(text) : undefined;
}
