// Which of the words that exist was meant by one that does not, as the end of a sentence.
import { closest } from '../tool-folder/problem.ts';

/** ` Did you mean "…"?`, or nothing when none is near. */
export function didYouMean(word: string, words: readonly string[]): string {
  const found = closest(word, words);
  return found === undefined ? '' : ` Did you mean "${found}"?`;
}
