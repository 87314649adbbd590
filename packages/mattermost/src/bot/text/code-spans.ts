// What of a message is not code, which is where Mattermost looks for names.
import { NO_FENCE, possibleFencesAfter } from './fences.ts';

/** Without code blocks and code spans. */
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

/** A span ends at the next run of as many backticks as begin it, in the same paragraph. */
function withoutSpans(paragraph: string): string {
  const runs = [...paragraph.matchAll(/`+/g)].map(({ index, 0: { length } }) => ({ index, length }));
  const kept: string[] = [];
  let position = 0;
  const nextOf = nextRuns(runs.map(({ length }) => length));
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

/** For each number the place of the next one that is equal. */
function nextRuns(lengths: readonly number[]): (number | undefined)[] {
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
