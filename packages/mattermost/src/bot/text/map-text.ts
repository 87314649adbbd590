// Changes an answer except where it is certainly code: fenced blocks, and code spans in paragraphs where the server and
// the web client are sure to find the same ones.
import { NO_FENCE, possibleFencesAfter } from './fences.ts';

/** Within a line, without backticks inside, and not part of an address: readers agree on these. */
const PLAIN_SPAN = /(?<=^\(?|\s\(?)(`{1,2})[^`]+\1(?!`)/g;
const BULLET = /^\s*[*+-]\s/;
/** Closed before any code, so that no reader sees a span begin inside. */
const EMPHASIS = /(\*\*|\*|__|_|~~)(?=\S)[^*_~`<\\[\]$]*\1/g;
/** What may contain a backtick for some readers: escapes, tags, links, emphasis, formulas. */
const AMBIGUOUS = /[\\<[\]*_~$`]/;
const TABLE_RULE = /^[\s|:-]*-[\s|:-]*$/;

interface Changes {
  /** For text, and for what may or may not be code. */
  prose(part: string): string;
  /** For a line of a code block; unchanged by default. */
  block?(line: string): string;
}

/** All line ends become `\n`. */
export function mapText(text: string, { prose, block = (line) => line }: Changes): string {
  const lines = linesOf(text);
  // a tag can span paragraphs
  const hasTags = lines.some(({ line, kind }) => kind !== 'block' && proseOf(line).includes('<'));
  const aroundSpans = (line: string) =>
    partsOf(line)
      .map((part, place) => (place % 2 ? part : prose(part)))
      .join('');
  return paragraphsOf(lines)
    .flatMap((paragraph) => {
      const texts = paragraph.map(({ line }) => line);
      if (paragraph[0]?.kind === 'block') return texts.map(block);
      const isPlain = !hasTags && paragraph.every(({ kind }) => kind === 'prose') && hasPlainSpans(texts);
      return texts.map(isPlain ? aroundSpans : prose);
    })
    .join('\n');
}

interface Line {
  line: string;
  /** unclear: a block of code may or may not be open. */
  kind: 'block' | 'prose' | 'unclear';
}

function linesOf(text: string): Line[] {
  let open: ReadonlySet<string> = new Set([NO_FENCE]);
  return text.split(/\r\n?|\n/).map((line) => {
    const kind = !open.has(NO_FENCE) ? 'block' : open.size > 1 ? 'unclear' : 'prose';
    open = possibleFencesAfter(open, line);
    return { line, kind };
  });
}

/** Lines of code and of text are apart; text ends at an empty line. */
function paragraphsOf(lines: readonly Line[]): Line[][] {
  const paragraphs: Line[][] = [];
  let last: Line | undefined;
  for (const next of lines) {
    const isBlock = next.kind === 'block';
    const goesOn = last && isBlock === (last.kind === 'block') && (isBlock || last.line.trim() !== '');
    if (goesOn) paragraphs.at(-1)?.push(next);
    else paragraphs.push([next]);
    last = next;
  }
  return paragraphs;
}

/** Whether every reader finds the same code spans in these lines: those of `partsOf`. */
function hasPlainSpans(paragraph: readonly string[]): boolean {
  const isTable = paragraph.some((line) => TABLE_RULE.test(line));
  return !isTable && paragraph.every((line) => !AMBIGUOUS.test(proseOf(line).replace(EMPHASIS, '')));
}

/** A line without code spans. */
function proseOf(line: string): string {
  return line.replace(BULLET, '').replace(PLAIN_SPAN, '');
}

/** A line with its code spans at the odd places. */
function partsOf(line: string): string[] {
  const parts: string[] = [];
  let position = 0;
  for (const { index, 0: span } of line.matchAll(PLAIN_SPAN)) {
    parts.push(line.slice(position, index), span);
    position = index + span.length;
  }
  return [...parts, line.slice(position)];
}
