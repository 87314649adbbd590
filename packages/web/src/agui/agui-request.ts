// What AG-UI clients send (`RunAgentInput`). Only the last message counts: the server has the earlier ones, and a page could
// have changed them.
import { configError, isRecord, recordsIn } from '@pocket-agent/kit';
import type { UserInput } from 'pocket-agent';
import { inputOf, type SentFile } from 'pocket-agent/internal/serve';
import { formResult } from '../live/form-result.ts';
import type { Answer } from '../live/live-run.ts';
import { isText } from '../live/responses.ts';
import { textOfParts } from './agui-messages.ts';

export interface AguiRequest {
  threadId: string;
  runId: string;
  /** The new question of the user. Undefined if the last message is not one of the user. */
  question: { id: string; content: unknown; input: string | UserInput } | undefined;
  answers: Answer[];
  /** Set if the page repeats or changes an earlier question: its questions before that one. */
  repeats: string[] | undefined;
}

/** Throws for a request that cannot be read. */
export function readAguiRequest(body: Record<string, unknown>, fileTypes: readonly string[]): AguiRequest {
  const { threadId, runId, messages, resume, forwardedProps } = body;
  if (!isText(threadId)) throw configError('"threadId" must be the id of the conversation.');
  if (!isText(runId)) throw configError('"runId" must be the id of the run.');
  const sent = recordsIn(messages ?? []);
  const last = sent.at(-1);
  const isQuestion = last?.role === 'user';
  const repeats = isQuestion && isRecord(forwardedProps) && forwardedProps.repeat === true;
  return {
    threadId,
    runId,
    question: isQuestion
      ? { id: isText(last.id) ? last.id : runId, content: last.content, input: inputIn(last.content, fileTypes) }
      : undefined,
    answers: recordsIn(resume ?? []).map(readAnswer),
    repeats: repeats
      ? sent
          .slice(0, -1)
          .filter(({ role }) => role === 'user')
          .map(({ content }) => textOfParts(content))
      : undefined,
  };
}

function readAnswer({ interruptId, status, payload }: Record<string, unknown>): Answer {
  if (!isText(interruptId)) throw configError('An entry of "resume" needs the "interruptId" of an interrupt.');
  const id = interruptId;
  if (status === 'cancelled')
    return { id, approved: false, reason: 'The user cancelled it.', form: { action: 'cancel' } };
  if (payload === null || payload === undefined)
    return { id, approved: undefined, reason: undefined, form: { action: 'decline' } };
  const { approved, reason, editedArgs } = isRecord(payload) ? payload : { approved: payload };
  if (isRecord(payload) && typeof approved !== 'boolean' && editedArgs === undefined)
    return { id, approved: undefined, reason: undefined, form: formResult('accept', payload) };
  if (typeof approved !== 'boolean' || (editedArgs !== undefined && !isRecord(editedArgs)))
    throw configError(
      'The payload of an answer is { approved: true or false, editedArgs?, reason? }, or the fields of a form.',
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
    throw configError('A file needs a source with data, or with an http or https URL.');
  const name = isRecord(metadata) ? metadata.filename : undefined;
  return {
    ...(type === 'data' ? { data: value } : { url: value }),
    ...(isText(mimeType) ? { mimeType } : {}),
    ...(isText(name) ? { name } : {}),
  };
}
