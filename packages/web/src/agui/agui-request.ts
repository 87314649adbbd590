// Reads what AG-UI clients send (`RunAgentInput`). Only the last message is used: the server has the earlier ones, and a page
// could have changed them.
import { configError, isRecord, recordsIn } from '@pocket-agent/kit';
import type { UserInput } from 'pocket-agent';
import { inputOf, type SentFile } from 'pocket-agent/internal/serve';
import { formResult } from '../live/form-result.ts';
import type { PageAnswer } from '../live/live-run.ts';
import { isText } from '../live/responses.ts';
import { textOfParts } from './agui-messages.ts';

export interface AguiRequest {
  threadId: string;
  runId: string;
  /** The last message, if it comes from the user. */
  question: { id: string; content: unknown; input: string | UserInput } | undefined;
  answers: PageAnswer[];
  /** Set if the page repeats or edits an earlier question: the questions before it. */
  earlierQuestions: string[] | undefined;
}

/** Throws if the request is invalid. */
export function readAguiRequest(body: Record<string, unknown>, fileTypes: readonly string[]): AguiRequest {
  const { threadId, runId, messages, resume, forwardedProps } = body;
  if (!isText(threadId)) throw configError('"threadId" must be the id of the conversation.');
  if (!isText(runId)) throw configError('"runId" must be the id of the run.');
  const sent = recordsIn(messages ?? []);
  const last = sent.at(-1);
  const isQuestion = last?.role === 'user';
  const isRepeat = isQuestion && isRecord(forwardedProps) && forwardedProps.repeat === true;
  return {
    threadId,
    runId,
    question: isQuestion
      ? { id: isText(last.id) ? last.id : runId, content: last.content, input: inputIn(last.content, fileTypes) }
      : undefined,
    answers: recordsIn(resume ?? []).map(readAnswer),
    earlierQuestions: isRepeat
      ? sent
          .slice(0, -1)
          .filter(({ role }) => role === 'user')
          .map(({ content }) => textOfParts(content))
      : undefined,
  };
}

function readAnswer({ interruptId, status, payload }: Record<string, unknown>): PageAnswer {
  if (!isText(interruptId)) throw configError('Each entry of "resume" needs an "interruptId".');
  const id = interruptId;
  if (status === 'cancelled')
    return { id, approved: false, reason: 'The user cancelled the question.', form: { action: 'cancel' } };
  if (payload === null || payload === undefined)
    return { id, approved: undefined, reason: undefined, form: { action: 'decline' } };
  const { approved, reason, editedArgs } = isRecord(payload) ? payload : { approved: payload };
  if (isRecord(payload) && typeof approved !== 'boolean' && editedArgs === undefined)
    return { id, approved: undefined, reason: undefined, form: formResult('accept', payload) };
  if (typeof approved !== 'boolean' || (editedArgs !== undefined && !isRecord(editedArgs)))
    throw configError(
      'The payload of an answer must be { approved: true or false, editedArgs?, reason? } or the fields of a form.',
    );
  const form = isRecord(payload) ? { form: formResult('accept', payload) } : {};
  return { id, approved, reason: isText(reason) ? reason : undefined, arguments: editedArgs, ...form };
}

function inputIn(content: unknown, fileTypes: readonly string[]): string | UserInput {
  const files = typeof content === 'string' ? [] : recordsIn(content).filter(({ type }) => type !== 'text');
  return inputOf(textOfParts(content), files.map(sentFile), fileTypes);
}

function sentFile({ source, metadata }: Record<string, unknown>): SentFile {
  const { type, value, mimeType } = isRecord(source) ? source : {};
  if (!isText(value) || (type !== 'data' && !(type === 'url' && /^https?:/.test(value))))
    throw configError('A file needs a source with data or with an http or https URL.');
  const name = isRecord(metadata) ? metadata.filename : undefined;
  return {
    ...(type === 'data' ? { data: value } : { url: value }),
    ...(isText(mimeType) ? { mimeType } : {}),
    ...(isText(name) ? { name } : {}),
  };
}
