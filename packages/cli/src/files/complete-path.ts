// The files that a path which is being typed may become.
import { readdirSync } from 'node:fs';

const MOST = 100;

export function completePath(word: string): string[] {
  const folder = word.slice(0, word.lastIndexOf('/') + 1);
  try {
    return readdirSync(folder || '.', { withFileTypes: true })
      .filter((entry) => !/\p{Cc}|\s/u.test(entry.name))
      .slice(0, MOST)
      .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`);
  } catch {
    return []; // no such folder: nothing to complete
  }
}
