// Removes code from a message, because Mattermost looks for mentions only outside code.
import { NO_FENCE, possibleFencesAfter } from './fences.ts';

/** Removes code blocks and code spans. */
export function withoutCode(text: string): string {
  let open: ReadonlySet<string> = new Set([NO_FENCE]);
  const lines = text.split(/\r\n?|\n/).map((line) => {
    const isCode = !open.has(NO_FENCE);
    open = possibleFencesAfter(open, line);
    return isCode ? '' : line;
  });
  return lines
    .join('\n')
    .split(/\n[ \t]*\n/)
    .map(withoutSpans)
    .join('\n\n');
}

/** A code span ends at the next run of the same number of backticks in the paragraph. */
function withoutSpans(paragraph: string): string {
  const runs = [...paragraph.matchAll(/`+/g)].map(({ index, 0: { length } }) => ({ index, length }));
  const kept: string[] = [];
  let position = 0;
  const nextOf = nextEqual(runs.map(({ length }) => length));
  for (let number = 0; number < runs.length; number++) {
    const start = runs[number];
    const end = runs[nextOf[number] ?? -1];
    if (!start || !end) continue;
    kept.push(paragraph.slice(position, start.index));
    position = end.index + end.length;
    number = nextOf[number] ?? number;
  }
  return [...kept, paragraph.slice(position)].join(' ');
}

/** For each length, the index of the next equal length. */
function nextEqual(lengths: readonly number[]): (number | undefined)[] {
  const last = new Map<number, number>();
  return lengths
    .map((length, place) => ({ length, place }))
    .reverse()
    .map(({ length, place }) => {
      const next = last.get(length);
      last.set(length, place);
      return next;
    })
    .reverse();
}
