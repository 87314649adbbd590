// Questions to the caller of a task, as text and as data, and the answers of the caller.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { isRecord } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest } from 'pocket-agent';
import { APPROVAL_META_KEY, approvalText, describeApproval, remoteRefusal } from 'pocket-agent/internal';
import { type Part, textOfParts } from '../wire/task.ts';

/** The key of the request of an MCP server in the data of a part. */
export const ELICITATION_KEY = 'pocket-agent/elicitation';

/** An answer of the caller: the data of a part, or text. */
export type AnswerInput = Record<string, unknown> | string;

export interface ShownQuestion<Answer> {
  /** `q`, its number in the task, `-` and 8 hexadecimal digits. */
  id: string;
  parts: Part[];
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

/** How to answer. `count`: how many questions the task has asked so far. */
export function howToAnswer(firstId: string | undefined, count: number): string {
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
export function readAnswers<Answer, Question extends { read(input: AnswerInput): Answer | undefined }>({
  open,
  count,
  parts,
}: AnswerMessage<Question>): { question: Question; answer: Answer }[] | undefined {
  const data = parts.map((part) => part.data).filter(isRecord);
  const inputs = data.length > 0 ? data : [textOfParts(parts).trim()];
  const answers = inputs.flatMap((each) => {
    const namedId = typeof each === 'string' ? /\bq\d+-[0-9a-f]{8}\b/.exec(each)?.[0] : each.question;
    const [first] = open.values();
    // once a second question was asked, a "yes" without an id may be a late answer to the first one
    const unnamed = count === 1 ? first : undefined;
    const question = namedId === undefined ? unnamed : open.get(String(namedId));
    const answer = question?.read(each);
    return question && answer !== undefined ? [{ question, answer }] : [];
  });
  return answers.length < inputs.length ? undefined : answers;
}

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
