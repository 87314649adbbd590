// Selects the newest whole turns that fit into the context window of a model.
import type { Message } from 'pocket-agent';
import type { QuestionTurn } from '../store/history.ts';
import { imageSize } from '../store/old-images.ts';

const CHARACTERS_PER_TOKEN = 3.5;
const TOKENS_PER_IMAGE = 1_500;
/** The rest of the window is for the system prompt, tools, question and answer. */
const HISTORY_SHARE = 0.6;

/** How many characters of history fit into a context window. */
export function charactersFor(contextTokens: number): number {
  return Math.floor(contextTokens * HISTORY_SHARE * CHARACTERS_PER_TOKEN);
}

export function trimTurns(
  turns: readonly QuestionTurn[],
  contextTokens: number,
): { kept: QuestionTurn[]; dropped: QuestionTurn[] } {
  let room = contextTokens * HISTORY_SHARE;
  let from = turns.length;
  while (from > 0) {
    const turn = turns[from - 1];
    room -= turn ? tokensOf(turn.messages) : 0;
    if (room < 0) break;
    from--;
  }
  return { kept: turns.slice(from), dropped: turns.slice(0, from) };
}

function tokensOf(messages: readonly Message[]): number {
  let tokens = 0;
  const text = JSON.stringify(messages, (_key, value: unknown) => {
    if (imageSize(value) === 0) return value;
    tokens += TOKENS_PER_IMAGE;
    return undefined;
  });
  return Math.ceil(tokens + text.length / CHARACTERS_PER_TOKEN);
}
