// Completes a path while it is typed.
import { readdirSync } from 'node:fs';

const MAX_ENTRIES = 100;

export function completePath(word: string): string[] {
  const folder = word.slice(0, word.lastIndexOf('/') + 1);
  try {
    return readdirSync(folder || '.', { withFileTypes: true })
      .filter((entry) => !/\p{Cc}|\s/u.test(entry.name))
      .slice(0, MAX_ENTRIES)
      .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`);
  } catch {
    return []; // no such folder
  }
}
