// Resumes a run after a crash: delivers a complete answer, repeats a run without tool calls, and closes any other with a note.

import { errorText } from '@pocket-agent/kit';
import { PocketAgent } from 'pocket-agent';
import { closeStaleApprovals } from '../access/stale-approvals.ts';
import type { BotParts } from '../conversation/parts.ts';
import { assistantText, hasToolCalls, shownText } from '../conversation/turn-log.ts';
import { answer, createReply, type Question } from './answer.ts';
import { deliverAnswer, keepVisibleAnswer, PREVIOUS_ANSWER, previousAnswer } from './delivery.ts';

const INTERRUPTED = '-# I was restarted during this answer. Completed tool calls were not undone; ';
const REGENERATE = 'press Regenerate to ask again.';
/** Only the newest answer of a conversation can be regenerated. */
const ASK_AGAIN = 'ask again if you still need the answer.';

export async function recover(parts: BotParts, { claim, source }: Question): Promise<boolean> {
  const { history, logger } = parts;
  const { id, conversation } = claim;
  const messages = await history.turn(conversation, id);
  const last = messages.at(-1);
  const isDone = last?.role === 'assistant' && !hasToolCalls([last]);
  await closeStaleApprovals(source.channel, id).catch((error) =>
    logger.warn('Could not remove the buttons of an approval', { claim: id, reason: errorText(error) }),
  );
  if (!isDone && claim.state !== 'acting') return answer(parts, { claim, source });
  logger.info('Resuming an interrupted run', { claim: id, done: isDone });
  const reply = createReply(parts, { claim, source });
  if (isDone) {
    return deliverAnswer(parts, { claim, source, reply, messages }, { text: shownText(messages) });
  }
  // creating an agent completes the history: open tool calls get a result
  const repaired = new PocketAgent({ agentConfig: { llmModel: 'demo', messages } }).messages.slice(messages.length);
  const closed = [...repaired, assistantText('[A restart interrupted this answer.]')];
  await history.append(conversation, { turn: id, messages: closed });
  const previous = await previousAnswer(parts, { claim, source });
  const explanation = `${INTERRUPTED}${(await parts.claims.isNewest(claim)) ? REGENERATE : ASK_AGAIN}`;
  const note = previous ? `${explanation} ${PREVIOUS_ANSWER}` : explanation;
  const shown = previous ?? { text: shownText(messages), files: [] };
  const outcome = await reply.finish(shown.text, { note, files: shown.files });
  if (!previous) await keepVisibleAnswer(parts, { claim, messages: [...messages, ...repaired] }, outcome);
  return outcome.state !== 'failed';
}
