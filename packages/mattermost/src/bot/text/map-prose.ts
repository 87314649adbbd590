// Maps the text of an answer outside code: outside fenced blocks, and outside code spans in paragraphs where the server and
// the web client find the same spans.
import { NO_FENCE, possibleFencesAfter } from './fences.ts';

/** A code span that all parsers recognize: within a line, without inner backticks, not part of a URL. */
const PLAIN_SPAN = /(?<=^\(?|\s\(?)(`{1,2})[^`]+\1(?!`)/g;
const BULLET = /^\s*[*+-]\s/;
/** Complete emphasis without code, in which no parser sees the start of a span. */
const EMPHASIS = /(\*\*|\*|__|_|~~)(?=\S)[^*_~`<\\[\]$]*\1/g;
/** Syntax that may contain a backtick for some parsers: escapes, tags, links, emphasis, formulas. */
const AMBIGUOUS = /[\\<[\]*_~$`]/;
const TABLE_RULE = /^[\s|:-]*-[\s|:-]*$/;

interface Changes {
  /** For text, and for parts that may be code. */
  prose(part: string): string;
  /** For a line of a code block. Default: unchanged. */
  block?(line: string): string;
}

/** Normalizes line ends to `\n`. */
export function mapProse(text: string, { prose, block = (line) => line }: Changes): string {
  const lines = linesOf(text);
  // a tag can span paragraphs
  const hasTags = lines.some(({ line, kind }) => kind !== 'block' && withoutSpans(line).includes('<'));
  const aroundSpans = (line: string) =>
    splitAtSpans(line)
      .map((part, index) => (index % 2 ? part : prose(part)))
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
  /** `unclear` if a code block may be open. */
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

/** Groups lines into code blocks and paragraphs, which end at an empty line. */
function paragraphsOf(lines: readonly Line[]): Line[][] {
  const paragraphs: Line[][] = [];
  let last: Line | undefined;
  for (const next of lines) {
    const isBlock = next.kind === 'block';
    const continues = last && isBlock === (last.kind === 'block') && (isBlock || last.line.trim() !== '');
    if (continues) paragraphs.at(-1)?.push(next);
    else paragraphs.push([next]);
    last = next;
  }
  return paragraphs;
}

/** Whether all parsers find the same code spans in these lines: those of `splitAtSpans`. */
function hasPlainSpans(paragraph: readonly string[]): boolean {
  const isTable = paragraph.some((line) => TABLE_RULE.test(line));
  return !isTable && paragraph.every((line) => !AMBIGUOUS.test(withoutSpans(line).replace(EMPHASIS, '')));
}

/** Removes the bullet and code spans of a line. */
function withoutSpans(line: string): string {
  return line.replace(BULLET, '').replace(PLAIN_SPAN, '');
}

/** Splits a line; odd elements are code spans. */
function splitAtSpans(line: string): string[] {
  const parts: string[] = [];
  let position = 0;
  for (const { index, 0: span } of line.matchAll(PLAIN_SPAN)) {
    parts.push(line.slice(position, index), span);
    position = index + span.length;
  }
  return [...parts, line.slice(position)];
}
