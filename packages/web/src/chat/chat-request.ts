// Reads what `useChat` sends. Only the last message is used: the server has the earlier ones, and a page could have changed
// them.
import { configError, isRecord, recordsIn } from '@pocket-agent/kit';
import type { UserInput } from 'pocket-agent';
import { inputOf, type SentFile } from 'pocket-agent/internal/serve';
import { formResult } from '../live/form-result.ts';
import type { PageAnswer } from '../live/live-run.ts';
import { isText } from '../live/responses.ts';

interface ChatRequest {
  id: string;
  /** Undefined if the page answers questions. */
  input: string | UserInput | undefined;
  /** Answers to approvals and forms. */
  answers: PageAnswer[];
  /** Set if the page repeats or edits an earlier question: the questions before it. */
  earlierQuestions: string[] | undefined;
}

/** Throws if the request is invalid. */
export function readChatRequest(body: Record<string, unknown>, fileTypes: readonly string[]): ChatRequest {
  const { id, trigger, messageId } = body;
  if (!isText(id)) throw configError('"id" must be the id of the conversation.');
  const messages = recordsIn(body.messages ?? [body.message]).filter(({ parts }) => Array.isArray(parts));
  const last = messages.at(-1);
  if (!last) throw configError('"messages" must be a list of UI messages.');
  const answers = last.role === 'assistant' ? [...answersIn(last), ...recordsIn(body.forms ?? []).map(readForm)] : [];
  if (last.role === 'assistant') {
    if (trigger === 'regenerate-message' || answers.length === 0)
      throw configError('The last message must come from the user, or answer questions.');
    return { id, input: undefined, answers, earlierQuestions: undefined };
  }
  if (last.role !== 'user') throw configError('The last message must come from the user.');
  const isRepeat = trigger === 'regenerate-message' || isText(messageId);
  const before = messages.slice(0, -1).filter(({ role }) => role === 'user');
  return { id, input: inputIn(last, fileTypes), answers, earlierQuestions: isRepeat ? before.map(textIn) : undefined };
}

function answersIn(message: Record<string, unknown>): PageAnswer[] {
  return recordsIn(message.parts).flatMap(({ state, approval }) => {
    if (state !== 'approval-responded' || !isRecord(approval)) return [];
    const { id, approved, reason } = approval;
    if (!isText(id) || typeof approved !== 'boolean') return [];
    return [{ id, approved, reason: isText(reason) ? reason : undefined }];
  });
}

function readForm({ id, action, content }: Record<string, unknown>): PageAnswer {
  const actions = ['accept', 'decline', 'cancel'] as const;
  const chosen = actions.find((each) => each === action);
  if (!isText(id) || !chosen || (content !== undefined && !isRecord(content)))
    throw configError('An entry of "forms" must be { id, action: "accept", "decline" or "cancel", content }.');
  return { id, approved: undefined, reason: undefined, form: formResult(chosen, content) };
}

function textIn(message: Record<string, unknown>): string {
  const parts = recordsIn(message.parts).filter(({ type }) => type === 'text');
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n');
}

function inputIn(message: Record<string, unknown>, fileTypes: readonly string[]): string | UserInput {
  const files = recordsIn(message.parts).filter(({ type }) => type === 'file');
  return inputOf(textIn(message), files.map(sentFile), fileTypes);
}

function sentFile({ url, mediaType, filename }: Record<string, unknown>): SentFile {
  if (!isText(url) || !/^(https?|data):/.test(url)) throw configError('A file needs an http, https or data URL.');
  const [, type, data] = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(url) ?? [];
  const mimeType = isText(mediaType) ? mediaType : type;
  return {
    ...(data === undefined ? { url } : { data }),
    ...(mimeType ? { mimeType } : {}),
    ...(isText(filename) ? { name: filename } : {}),
  };
}
