// Deletes turns that no longer fit into the context window; first summarizes them if the guild has enabled summaries.
import { textOf } from 'pocket-agent';
import { contextTokens } from '../config/models.ts';
import type { ModelChoice } from '../config/options.ts';
import { escapeMarkup, truncateEscaped, UNTRUSTED_RULE, untrusted } from '../context/untrusted.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { QuestionTurn } from '../store/history.ts';
import type { Spender } from '../store/spending.ts';
import { askOnce } from './ask-once.ts';
import { charactersFor } from './context-window.ts';
import { failureFields } from './failure-text.ts';
import type { BotParts } from './parts.ts';

interface Compaction {
  conversation: string;
  turns: readonly QuestionTurn[];
  summary: string | null;
  model: ModelChoice;
  spender: Spender;
  settings: GuildSettings;
  signal: AbortSignal;
}

/** At most this many turns are kept if summarizing fails. */
const MAX_UNSUMMARIZED = 1_000;

/** Returns the summary of all deleted turns. Turns that could not be summarized stay until the next question. */
export async function compactHistory(parts: BotParts, compaction: Compaction): Promise<string | null> {
  const { conversation, settings } = compaction;
  let { turns, summary } = compaction;
  const remove = (removed: readonly QuestionTurn[]) =>
    parts.history.remove(
      conversation,
      removed.map(({ turn }) => turn),
    );
  while (settings.summaries && turns.length > 0) {
    const { text, count } = nextChunk({ ...compaction, turns, summary });
    const next = await summarize(parts, compaction, text);
    if (next === undefined) {
      await remove(turns.slice(0, Math.max(0, turns.length - MAX_UNSUMMARIZED)));
      return summary;
    }
    summary = next;
    await parts.history.setPreferences(conversation, { summary });
    await remove(turns.slice(0, count));
    turns = turns.slice(count);
  }
  await remove(turns);
  return summary;
}

/** The oldest turns, as many as fit into one request; a turn that is too long is cut. */
function nextChunk({ turns, summary, model }: Compaction): { text: string; count: number } {
  let remaining = charactersFor(contextTokens(model));
  const before = summary === null ? '' : truncateEscaped(summary, remaining / 2);
  remaining -= escapeMarkup(before).length;
  const texts: string[] = [];
  for (const { messages } of turns) {
    const lines = messages.flatMap((message) => (textOf(message) ? `${message.role}: ${textOf(message)}` : []));
    const text = lines.join('\n');
    const { length } = escapeMarkup(text);
    if (length > remaining && texts.length > 0) break;
    texts.push(truncateEscaped(text, remaining));
    remaining -= length;
  }
  const blocks = [untrusted('later messages', {}, texts.join('\n'))];
  if (before !== '') blocks.unshift(untrusted('summary so far', {}, before));
  return { text: blocks.join('\n'), count: texts.length };
}

async function summarize(parts: BotParts, compaction: Compaction, text: string): Promise<string | undefined> {
  const { model, spender, settings, signal } = compaction;
  const systemPrompt = `Summarize the conversation in at most 200 words: facts, decisions, open questions. ${UNTRUSTED_RULE}`;
  try {
    return (await askOnce(parts, { model, spender, settings, signal, systemPrompt, text })).trim() || undefined;
  } catch (error) {
    signal.throwIfAborted(); // an aborted run deletes nothing
    parts.logger.warn('Summarizing old turns failed', failureFields(error));
    return undefined;
  }
}
