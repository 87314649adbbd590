// A run that a crash cut off: delivered when it was done, run again when it had done nothing, else repaired and said so.
import { PocketAgent } from 'pocket-agent';
import { closeLeftQuestions } from '../access/stale-approvals.ts';
import { messageOf } from '../base/errors.ts';
import type { BotParts } from '../conversation/parts.ts';
import { assistantText, hasToolCalls, shownText } from '../conversation/turn-log.ts';
import { answer, liveReply, type Question } from './answer.ts';
import { BEFORE, keepSeen, showAnswer, textBefore } from './delivery.ts';

const CUT_OFF = '-# I was restarted in the middle of this. What tools did until then is done; ';
const AGAIN = 'press Regenerate to ask again.';
/** Only the newest answer of a conversation can be regenerated. */
const ASK_AGAIN = 'ask again if you still want to know.';

export async function recover(parts: BotParts, { claim, source }: Question): Promise<boolean> {
  const { history, logger } = parts;
  const { id, conversation } = claim;
  const messages = await history.turn(id);
  const last = messages.at(-1);
  const isDone = last?.role === 'assistant' && !hasToolCalls([last]);
  await closeLeftQuestions(source.channel, id).catch((error) =>
    logger.warn('A question could not be closed', { claim: id, reason: messageOf(error) }),
  );
  if (!isDone && claim.state !== 'acting') return answer(parts, { claim, source });
  logger.info('A run that was cut off is taken up', { claim: id, done: isDone });
  const reply = liveReply(parts, { claim, source });
  if (isDone) {
    return showAnswer(parts, { claim, source, reply, messages }, { text: shownText(messages) });
  }
  // an agent that starts with a history makes it whole
  const repaired = new PocketAgent({ agentConfig: { llmModel: 'demo', messages } }).messages.slice(messages.length);
  const closed = [...repaired, assistantText('[This answer was cut off by a restart.]')];
  await history.append(conversation, { claim: id, messages: closed });
  const before = await textBefore(parts, source);
  const said = `${CUT_OFF}${(await parts.claims.isNewest(claim)) ? AGAIN : ASK_AGAIN}`;
  const note = before === '' ? said : `${said} ${BEFORE}`;
  const outcome = await reply.finish(before || shownText(messages), { note });
  if (before === '') await keepSeen(parts, { claim, messages: [...messages, ...repaired] }, outcome);
  return outcome.state !== 'failed';
}
