// Questions to the caller of a task, as text and as data, and the answers of the caller.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { isRecord } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest } from 'pocket-agent';
import { APPROVAL_META_KEY, approvalText, describeApproval, remoteRefusal } from 'pocket-agent/internal';
import { type Part, textOfParts } from '../wire/task.ts';

/** The key of the request of an MCP server in the data of a part. */
export const ELICITATION_KEY = 'pocket-agent/elicitation';

/** The tool with which an agent asks its caller, as the origin of its questions: no MCP server can pretend to be it. */
export const ASK_CALLER = 'ask_caller';

/** An answer of the caller: the data of a part, or text. */
export type AnswerInput = Record<string, unknown> | string;

export interface ShownQuestion<Answer> {
  /** `q`, its number in the task, `-` and 8 hexadecimal digits. */
  id: string;
  parts: Part[];
  /** The question by itself, if any text answers it. */
  freeText?: string;
  /** Undefined if the answer cannot be read. */
  read(input: AnswerInput): Answer | undefined;
}

export function approvalQuestion(
  id: string,
  request: ApprovalRequest,
): ShownQuestion<Exclude<ApprovalAnswer, 'later'>> {
  const about = { question: id, [APPROVAL_META_KEY]: describeApproval(request) };
  return {
    id,
    parts: [{ text: `${approvalText(request)}\nQuestion ${id}` }, { data: about, mediaType: 'application/json' }],
    read: (input) => {
      const decision = typeof input === 'string' ? readYesOrNo(input, id) : input;
      if (typeof decision.approve !== 'boolean') return undefined;
      return decision.approve ? 'allow' : remoteRefusal(decision, 'the caller declined');
    },
  };
}

export function elicitationQuestion(
  id: string,
  params: ElicitRequest['params'],
  server: string,
): ShownQuestion<ElicitResult> {
  if (server === ASK_CALLER) return freeTextQuestion(id, params.message);
  const about = { question: id, [ELICITATION_KEY]: { ...params, server } };
  const url = 'url' in params ? `\n${params.url}` : '';
  return {
    id,
    parts: [
      { text: `MCP server ${server} asks: ${params.message}${url}\nQuestion ${id}` },
      { data: about, mediaType: 'application/json' },
    ],
    read: (input) => readElicitation(input, id, params),
  };
}

function freeTextQuestion(id: string, message: string): ShownQuestion<ElicitResult> {
  return {
    id,
    parts: [{ text: `${message}\nQuestion ${id}` }],
    freeText: message,
    read: (input) => {
      if (typeof input !== 'string' && input.action !== undefined)
        return readElicitation(input, id, { message, requestedSchema });
      const given = typeof input === 'string' ? input : isRecord(input.content) ? input.content.answer : undefined;
      const answer = typeof given === 'string' ? given.replace(id, '').trim().replace(/^:\s*/, '') : '';
      return answer === '' ? undefined : { action: 'accept', content: { answer } };
    },
  };
}

const requestedSchema = { type: 'object' as const, properties: {} };

/** The open questions for the caller, and how to answer. A single question in free text needs no explanation. */
export function questionParts(open: ReadonlyMap<string, ShownQuestion<unknown>>, count: number): Part[] {
  const alone = aloneInFreeText(open);
  if (alone) return [{ text: alone.freeText ?? '' }];
  return [...[...open.values()].flatMap(({ parts }) => parts), { text: howToAnswer(open, count) }];
}

/** The only open question, if any text answers it. */
function aloneInFreeText<Question extends { freeText?: string }>(
  open: ReadonlyMap<string, Question>,
): Question | undefined {
  const [first] = open.values();
  return open.size === 1 && first?.freeText !== undefined ? first : undefined;
}

/** How to answer. `count`: how many questions the task has asked so far. */
export function howToAnswer(open: ReadonlyMap<string, { freeText?: string }>, count: number): string {
  if (aloneInFreeText(open)) return 'Answer with text.';
  const [firstId] = open.keys();
  const asData = `{ "question": "${firstId}", "approve": true }`;
  return count > 1
    ? `Answer each question by its name, for example with the data ${asData} or the text "yes ${firstId}" or "no ${firstId}: reason".`
    : `Answer with the data ${asData}, or the text "yes", "no" or "no: reason". For a form, answer with { "question": "${firstId}", "content": { … } }.`;
}

interface AnswerMessage<Question> {
  /** The open questions by id. */
  open: ReadonlyMap<string, Question>;
  count: number;
  parts: readonly Part[];
}

/** The answers in a message, each read by its question; undefined if one of them cannot be read. */
export function readAnswers<
  Answer,
  Question extends { id: string; freeText?: string; read(input: AnswerInput): Answer | undefined },
>({ open, count, parts }: AnswerMessage<Question>): { question: Question; answer: Answer }[] | undefined {
  const data = parts.map((part) => part.data).filter(isRecord);
  const alone = aloneInFreeText(open);
  if (alone && !namesAnother(alone.id, parts)) {
    const answer = alone.read(
      data.find((each) => each.question === alone.id || isDismissal(each)) ?? freeTextIn(parts),
    );
    return answer === undefined ? undefined : [{ question: alone, answer }];
  }
  const inputs = data.length > 0 ? data : [textOfParts(parts).trim()];
  const answers = inputs.flatMap((each) => {
    const namedId = typeof each === 'string' ? QUESTION_ID.exec(each)?.[0] : each.question;
    const [first] = open.values();
    // once a second question was asked, a "yes" without an id may be a late answer to the first one
    const unnamed = count === 1 ? first : undefined;
    const question = namedId === undefined ? unnamed : open.get(String(namedId));
    const answer = question?.read(each);
    return question && answer !== undefined ? [{ question, answer }] : [];
  });
  return answers.length < inputs.length ? undefined : answers;
}

/** Whether the message is a late answer to another question. */
function namesAnother(id: string, parts: readonly Part[]): boolean {
  return parts.some(({ text = '', data }) => {
    const named = isRecord(data) && data.question !== undefined ? String(data.question) : QUESTION_ID.exec(text)?.[0];
    return named !== undefined && named !== id;
  });
}

function isDismissal({ action }: Record<string, unknown>): boolean {
  return action === 'decline' || action === 'cancel';
}

/** The text of an answer; JSON counts as text. */
function freeTextIn(parts: readonly Part[]): string {
  return parts.flatMap(({ text, data }) => text ?? (data === undefined ? [] : JSON.stringify(data))).join('\n');
}

const QUESTION_ID = /\bq\d+-[0-9a-f]{8}\b/;

/** Only a plain yes approves; "yes, but …" does not count as an answer. */
function readYesOrNo(text: string, id: string): { approve?: boolean; reason?: string } {
  const [, word = '', rest = ''] = /^(yes|no)\b[\s:,.]*(.*)$/is.exec(text.replace(id, ' ').trim()) ?? [];
  const reason = rest.trim().replace(/^[:,\s]+/, '');
  if (word.toLowerCase() === 'yes') return reason === '' ? { approve: true } : {};
  return word === '' ? {} : { approve: false, reason };
}

function readElicitation(answer: AnswerInput, id: string, params: ElicitRequest['params']): ElicitResult | undefined {
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
