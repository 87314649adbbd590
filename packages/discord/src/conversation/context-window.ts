// How much of a conversation a model still takes: whole turns, the newest ones.
import type { Message } from 'pocket-agent';
import type { Turn } from '../store/history.ts';
import { pictureSize } from '../store/old-images.ts';

const CHARACTERS_PER_TOKEN = 3.5;
const PICTURE_TOKENS = 1_500;
/** The rest is for the system prompt, the tools, the next question and the answer. */
const SHARE = 0.6;

/** How much text of a conversation fits into a window. */
export function charactersFor(contextTokens: number): number {
  return Math.floor(contextTokens * SHARE * CHARACTERS_PER_TOKEN);
}

export function trimTurns(turns: readonly Turn[], contextTokens: number): { kept: Turn[]; dropped: Turn[] } {
  let room = contextTokens * SHARE;
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
    if (pictureSize(value) === 0) return value;
    tokens += PICTURE_TOKENS;
    return undefined;
  });
  return Math.ceil(tokens + text.length / CHARACTERS_PER_TOKEN);
}
