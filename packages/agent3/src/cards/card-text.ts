// Text of strangers, fit to be kept and shown: harmless and bounded.
import { cleanText as harmless } from '../base/clean-text.ts';

export function cleanText(text: string, most: number): string {
  const clean = harmless(text.slice(0, most * 4)).trim();
  return clean.length <= most ? clean : `${clean.slice(0, most - 1).toWellFormed()}…`;
}
