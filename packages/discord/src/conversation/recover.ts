// A run that a crash cut off: delivered when it was done, run again when it had done nothing, else repaired and said so.
import { PocketAgent, textOf } from 'pocket-agent';
import type { BotParts } from '../parts.ts';
import type { Claim } from '../store/schema.ts';
import { answer, liveReply } from './answer.ts';
import type { Source } from './source.ts';
import { assistantText, hasToolCalls } from './turn-log.ts';

const CUT_OFF =
  '-# I was restarted in the middle of this. What tools did until then is done; press Regenerate to ask again.';

export async function recover(parts: BotParts, claim: Claim, source: Source, closing: AbortSignal): Promise<boolean> {
  const { history, logger } = parts;
  const messages = await history.turn(claim.id);
  const text = messages.flatMap((message) => (message.role === 'assistant' ? textOf(message) || [] : [])).join('\n\n');
  const last = messages.at(-1);
  const isDone = last?.role === 'assistant' && !hasToolCalls([last]);
  if (!isDone && !hasToolCalls(messages)) return answer(parts, claim, source, closing);
  logger.info('A run that was cut off is taken up', { claim: claim.id, done: isDone });
  if (!isDone) {
    // an agent that starts with a history makes it whole
    const repaired = new PocketAgent({ agentConfig: { llmModel: 'demo', messages } }).messages.slice(messages.length);
    const closed = [...repaired, assistantText('[This answer was cut off by a restart.]')];
    await history.append(claim.conversation, { claim: claim.id, messages: closed });
  }
  return (await liveReply(parts, claim, source).finish(text, { note: isDone ? '' : CUT_OFF })) !== 'failed';
}
