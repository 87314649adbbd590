// Turns that no longer fit into the model's window: forgotten, or summarized where the guild wants that.
import { textOf } from 'pocket-agent';
import { askOnce } from '../ask-once.ts';
import { UNTRUSTED_RULE, untrusted } from '../context/untrusted.ts';
import type { ModelChoice } from '../options.ts';
import type { BotParts } from '../parts.ts';
import type { GuildSettings } from '../settings/settings.ts';
import { reasonOf } from './failure.ts';
import type { Turn } from './history.ts';
import type { Spender } from './spending.ts';

interface Leaving {
  conversation: string;
  turns: readonly Turn[];
  summary: string | null;
  model: ModelChoice;
  spender: Spender;
  settings: GuildSettings;
  signal: AbortSignal;
}

const SHOWN = 60_000;

/** The summary of all that has left so far. */
export async function letGo(parts: BotParts, leaving: Leaving): Promise<string | null> {
  const { conversation, turns, summary, settings } = leaving;
  if (turns.length === 0) return summary;
  const next = settings.summaries ? await summarize(parts, leaving) : summary;
  if (next !== summary) await parts.history.prefer(conversation, { summary: next });
  await parts.history.remove(
    conversation,
    turns.map(({ claim }) => claim),
  );
  return next;
}

async function summarize(parts: BotParts, { turns, summary, ...once }: Leaving): Promise<string | null> {
  const lines = turns.flatMap(({ messages }) =>
    messages.flatMap((message) => (textOf(message) ? `${message.role}: ${textOf(message)}` : [])),
  );
  const before = summary === null ? [] : [untrusted('summary so far', {}, summary)];
  const text = [...before, untrusted('what was said after', {}, lines.join('\n').slice(0, SHOWN))].join('\n');
  const systemPrompt = `Summarize the conversation in at most 200 words: facts, decisions, open questions. ${UNTRUSTED_RULE}`;
  try {
    return await askOnce(parts, { ...once, systemPrompt, text });
  } catch (error) {
    once.signal.throwIfAborted(); // nothing is forgotten by a run that ends
    parts.logger.warn('Old turns could not be summarized', reasonOf(error));
    return summary;
  }
}
