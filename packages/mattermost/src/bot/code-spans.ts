// Code in a message: what is left without it, which is where Mattermost looks for names, and what is certainly code.
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

/** Within a line, without backticks inside, and not part of an address: readers agree on these. */
const PLAIN_SPAN = /(?<=^\(?|\s\(?)(`{1,2})[^`]+\1(?!`)/g;
const BULLET = /^\s*[*+-]\s/;
/** Closed before any code, so that no reader sees a span begin inside. */
const EMPHASIS = /(\*\*|\*|__|_|~~)(?=\S)[^*_~`<\\[\]$]*\1/g;
/** What may contain a backtick for some readers: escapes, tags, links, emphasis, formulas. */
const AMBIGUOUS = /[\\<[\]*_~$`]/;
const TABLE_RULE = /^[\s|:-]*-[\s|:-]*$/;

/** Whether every reader finds the same code spans in these lines: those of `codePartsOf`. */
export function hasPlainSpans(paragraph: readonly string[]): boolean {
  const isTable = paragraph.some((line) => TABLE_RULE.test(line));
  return !isTable && paragraph.every((line) => !AMBIGUOUS.test(proseOf(line).replace(EMPHASIS, '')));
}

/** A line without code spans. */
export function proseOf(line: string): string {
  return line.replace(BULLET, '').replace(PLAIN_SPAN, '');
}

/** A line with its code spans at the odd places. */
export function codePartsOf(line: string): string[] {
  const parts: string[] = [];
  let position = 0;
  for (const { index, 0: span } of line.matchAll(PLAIN_SPAN)) {
    parts.push(line.slice(position, index), span);
    position = index + span.length;
  }
  return [...parts, line.slice(position)];
}
