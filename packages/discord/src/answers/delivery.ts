// The end of an answer: shown and kept, or refused by Discord and taken out of the conversation.
import type { Message } from 'pocket-agent';
import type { BotParts } from '../conversation/parts.ts';
import { assistantText, hasToolCalls, shownText } from '../conversation/turn-log.ts';
import { refusedNote } from '../reply/answer-parts.ts';
import type { LiveReply, Outcome } from '../reply/live-reply.ts';
import type { Claim } from '../store/schema.ts';
import type { Source } from './question-source.ts';

/** Of an answer that was to be replaced, and was not. */
export const BEFORE = 'This is the answer from before.';

interface Finished {
  claim: Claim;
  source: Source;
  reply: LiveReply;
  /** All that the question has led to. */
  messages: readonly Message[];
}

/** Shows a finished answer. False when that has to be tried again later. */
export async function showAnswer(
  parts: BotParts,
  finished: Finished,
  { text, note = '' }: { text: string; note?: string },
): Promise<boolean> {
  const { claim, source, reply } = finished;
  const outcome = await reply.finish(text, { note });
  if (outcome.state === 'failed') return false;
  if (outcome.state === 'refused' && outcome.seen === '') {
    const before = await textBefore(parts, source);
    if (before !== '') {
      const note = `${refusedNote('the new answer', outcome.reason)} ${BEFORE}`;
      const told = await reply.finish(before, { note });
      if (told.state === 'failed') return false;
      await keepSeen(parts, finished, outcome);
      return true;
    }
  }
  await parts.history.remove(claim.conversation, source.replaces);
  await keepSeen(parts, finished, outcome);
  return true;
}

/** The conversation keeps what people saw of an answer, and what tools did; not what Discord refused. */
export async function keepSeen(
  { history }: BotParts,
  { claim, messages }: Pick<Finished, 'claim' | 'messages'>,
  { state, seen }: Outcome,
): Promise<void> {
  if (state !== 'refused') return;
  const isKept = seen !== '' || hasToolCalls(messages);
  await history.replace(claim.conversation, { claim: claim.id, messages: isKept ? withoutUnseen(messages, seen) : [] });
}

function withoutUnseen(messages: readonly Message[], seen: string): Message[] {
  const kept = messages.flatMap((message): Message[] => {
    if (message.role !== 'assistant') return [message];
    if (!hasToolCalls([message])) return [];
    return [{ ...message, content: message.content.filter(({ type }) => type !== 'text') }];
  });
  const note =
    seen === '' ? '[Discord refused to show this answer.]' : '[Discord refused to show the rest of this answer.]';
  return [...kept, assistantText(`${seen}\n${note}`.trim())];
}

/** The answer that was to be replaced, which failed tries may have left alone already. */
export async function textBefore({ history }: BotParts, { replaces }: Source): Promise<string> {
  for (const claim of replaces) {
    const text = shownText(await history.turn(claim));
    if (text.trim() !== '') return text;
  }
  return '';
}
