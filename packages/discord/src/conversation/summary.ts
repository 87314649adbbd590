// Turns that no longer fit into the model's window: forgotten, or summarized where the guild wants that.
import { textOf } from 'pocket-agent';
import { contextTokens } from '../config/models.ts';
import type { ModelChoice } from '../config/options.ts';
import { escaped, UNTRUSTED_RULE, untrusted } from '../context/untrusted.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { Turn } from '../store/history.ts';
import type { Spender } from '../store/spending.ts';
import { askOnce } from './ask-once.ts';
import { charactersFor } from './context-window.ts';
import { reasonOf } from './failure-text.ts';
import type { BotParts } from './parts.ts';

interface Leaving {
  conversation: string;
  turns: readonly Turn[];
  summary: string | null;
  model: ModelChoice;
  spender: Spender;
  settings: GuildSettings;
  signal: AbortSignal;
}

/** Of turns that cannot be summed up, whatever is tried, no more than these are kept. */
const MOST_LEFT = 1_000;

/** The summary of all that has left so far. What could not be summed up stays where it is until the next question. */
export async function letGo(parts: BotParts, leaving: Leaving): Promise<string | null> {
  const { conversation, settings } = leaving;
  let { turns, summary } = leaving;
  const forget = (gone: readonly Turn[]) =>
    parts.history.remove(
      conversation,
      gone.map(({ claim }) => claim),
    );
  while (settings.summaries && turns.length > 0) {
    const { text, count } = portion({ ...leaving, turns, summary });
    const next = await summarize(parts, leaving, text);
    if (next === undefined) {
      await forget(turns.slice(0, Math.max(0, turns.length - MOST_LEFT)));
      return summary;
    }
    summary = next;
    await parts.history.prefer(conversation, { summary });
    await forget(turns.slice(0, count));
    turns = turns.slice(count);
  }
  await forget(turns);
  return summary;
}

/** As many turns, the oldest first, as the model can read at once; of one that is too long by itself, its beginning. */
function portion({ turns, summary, model }: Leaving): { text: string; count: number } {
  let room = charactersFor(contextTokens(model));
  const before = summary === null ? '' : cut(summary, room / 2);
  room -= escaped(before).length;
  const texts: string[] = [];
  for (const { messages } of turns) {
    const lines = messages.flatMap((message) => (textOf(message) ? `${message.role}: ${textOf(message)}` : []));
    const text = lines.join('\n');
    const { length } = escaped(text);
    if (length > room && texts.length > 0) break;
    texts.push(cut(text, room));
    room -= length;
  }
  const blocks = [untrusted('what was said after', {}, texts.join('\n'))];
  if (before !== '') blocks.unshift(untrusted('summary so far', {}, before));
  return { text: blocks.join('\n'), count: texts.length };
}

/** Its beginning, no longer than that when it is escaped. */
function cut(text: string, room: number): string {
  const { length } = escaped(text);
  return length <= room ? text : cut(text.slice(0, (text.length * room) / length), room);
}

async function summarize(parts: BotParts, once: Leaving, text: string): Promise<string | undefined> {
  const { model, spender, settings, signal } = once;
  const systemPrompt = `Summarize the conversation in at most 200 words: facts, decisions, open questions. ${UNTRUSTED_RULE}`;
  try {
    return (await askOnce(parts, { model, spender, settings, signal, systemPrompt, text })).trim() || undefined;
  } catch (error) {
    signal.throwIfAborted(); // nothing is forgotten by a run that ends
    parts.logger.warn('Old turns could not be summarized', reasonOf(error));
    return undefined;
  }
}
