// What is wrong with a tool folder, where, and what should be there instead.

export interface ManifestProblem {
  file: string;
  /** Counted from 1. */
  line: number;
  column: number;
  found: string;
  expected: string;
}

/** One line: `tools/Web/manifest.yaml:4:11: found "red"; expected one of read, write, create, delete`. */
export function problemText({ file, line, column, found, expected }: ManifestProblem): string {
  return `${file}:${line}:${column}: found ${found}; expected ${expected}`;
}

/** A value of a manifest in a few words. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object' && value !== null) return 'a mapping';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** The one of `known` that somebody probably meant. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(normal(word), normal(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best && best.distance <= Math.floor(word.length / 3) ? best.candidate : undefined;
}

function normal(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, '');
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1];
    for (let column = 0; column < b.length; column++) {
      const replaced = (row[column] ?? 0) + (letter === b[column] ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
