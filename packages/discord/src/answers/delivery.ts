// Delivers a finished answer: shows it and keeps it in the history, or removes what Discord refused.
import type { Message } from 'pocket-agent';
import type { BotParts } from '../conversation/parts.ts';
import { assistantText, hasToolCalls, shownText } from '../conversation/turn-log.ts';
import { type AnswerFile, answerFiles } from '../reply/answer-files.ts';
import { refusalNote } from '../reply/answer-parts.ts';
import type { LiveReply, Outcome } from '../reply/live-reply.ts';
import type { Claim } from '../store/schema.ts';
import type { QuestionSource } from './question-source.ts';

/** Added when a new answer could not replace the previous one. */
export const PREVIOUS_ANSWER = 'This is the previous answer.';

interface FinishedAnswer {
  claim: Claim;
  source: QuestionSource;
  reply: LiveReply;
  /** All messages of the turn. */
  messages: readonly Message[];
}

/** False if Discord could not be reached and delivery must be repeated. */
export async function deliverAnswer(
  parts: BotParts,
  finished: FinishedAnswer,
  { text, note = '' }: { text: string; note?: string },
): Promise<boolean> {
  const { claim, source, reply } = finished;
  const outcome = await reply.finish(text, { note, files: answerFiles(finished.messages) });
  if (outcome.state === 'failed') return false;
  if (outcome.state === 'refused' && outcome.visibleText === '') {
    const previous = await previousAnswer(parts, { claim, source });
    if (previous) {
      const note = `${refusalNote('the new answer', outcome.reason)} ${PREVIOUS_ANSWER}`;
      const shown = await reply.finish(previous.text, { note, files: previous.files });
      if (shown.state === 'failed') return false;
      await keepVisibleAnswer(parts, finished, outcome);
      return true;
    }
  }
  await parts.history.remove(claim.conversation, source.replaces);
  await keepVisibleAnswer(parts, finished, outcome);
  return true;
}

/** After a refusal, reduces the stored turn to its tool calls and the text that users saw. */
export async function keepVisibleAnswer(
  { history }: BotParts,
  { claim, messages }: Pick<FinishedAnswer, 'claim' | 'messages'>,
  { state, visibleText }: Outcome,
): Promise<void> {
  if (state !== 'refused') return;
  const isKept = visibleText !== '' || hasToolCalls(messages);
  await history.replace(claim.conversation, {
    turn: claim.id,
    messages: isKept ? withVisibleText(messages, visibleText) : [],
  });
}

function withVisibleText(messages: readonly Message[], visibleText: string): Message[] {
  const kept = messages.flatMap((message): Message[] => {
    if (message.role !== 'assistant') return [message];
    if (!hasToolCalls([message])) return [];
    return [{ ...message, content: message.content.filter(({ type }) => type !== 'text') }];
  });
  const note =
    visibleText === ''
      ? '[Discord refused to show this answer.]'
      : '[Discord refused to show the rest of this answer.]';
  return [...kept, assistantText(`${visibleText}\n${note}`.trim())];
}

/** The answer being replaced; undefined if there is none. Failed attempts, which show nothing, are skipped. */
export async function previousAnswer(
  { history }: BotParts,
  { claim, source }: Pick<FinishedAnswer, 'claim' | 'source'>,
): Promise<{ text: string; files: AnswerFile[] } | undefined> {
  for (const replaced of source.replaces) {
    const messages = await history.turn(claim.conversation, replaced);
    const [text, files] = [shownText(messages), answerFiles(messages)];
    if (text.trim() !== '' || files.length > 0) return { text, files };
  }
  return undefined;
}
