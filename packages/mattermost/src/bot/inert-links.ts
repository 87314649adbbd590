// Links and images that a model wrote must not be fetched: Mattermost and its clients load previews and pictures without a
// click, and an address can carry what the model has read. Links to other hosts than those allowed become text: a space
// goes behind :// and www., and a character without width into the syntax of links. Code blocks stay as they are, except
// for pictures: the server, which makes previews, and the web client, which loads pictures, disagree on what a code block is.
// Code spans stay as they are in paragraphs where both are certain to find the same ones.
import { codePartsOf, hasPlainSpans, proseOf } from './code-spans.ts';
import { NO_FENCE, possibleFencesAfter } from './fences.ts';

type IsAllowed = (url: URL) => boolean;

/** With as much of what follows as holds a host. */
const ADDRESS = /(?:[a-z][a-z0-9+.-]{0,30}:\/\/|(?<![a-z0-9])www\.)(?=(\S{1,300}))/gi;
/** `[text](…`, `![picture](…` and `[name]: …`, with what they lead to where that is written plainly. */
const TARGET = /\](?=\s*[(:])(?:(?=\(<?(https?:\/\/[^\s()<>[\]\\&"'`]{1,2048})>?\))|)/gi;
const AT_THE_END = /[)\].,;:!?'"*_~>|}]+$/;

export function inertLinks(text: string, isAllowed: IsAllowed): string {
  const lines = linesOf(text);
  const hasPictures = text.includes('![');
  // a tag can span paragraphs
  const hasTags = lines.some(({ line, kind }) => kind !== 'code' && proseOf(line).includes('<'));
  const inert = (line: string) => inertAddresses(inertTargets(line, isAllowed), isAllowed);
  const inertProse = (line: string) =>
    codePartsOf(line)
      .map((part, place) => (place % 2 ? part : inert(part)))
      .join('');
  return paragraphsOf(lines)
    .flatMap((paragraph) => {
      const texts = paragraph.map(({ line }) => line);
      if (paragraph[0]?.kind === 'code')
        return hasPictures ? texts.map((line) => inertTargets(line, isAllowed)) : texts;
      const isPlain = !hasTags && paragraph.every(({ kind }) => kind === 'prose') && hasPlainSpans(texts);
      return texts.map(isPlain ? inertProse : inert);
    })
    .join('\n');
}

interface Line {
  line: string;
  /** unclear: a block of code may or may not be open. */
  kind: 'code' | 'prose' | 'unclear';
}

function linesOf(text: string): Line[] {
  let open: ReadonlySet<string> = new Set([NO_FENCE]);
  return text.split(/\r\n?|\n/).map((line) => {
    const kind = !open.has(NO_FENCE) ? 'code' : open.size > 1 ? 'unclear' : 'prose';
    open = possibleFencesAfter(open, line);
    return { line, kind };
  });
}

/** Lines of code and of text are apart; text ends at an empty line. */
function paragraphsOf(lines: readonly Line[]): Line[][] {
  const paragraphs: Line[][] = [];
  let last: Line | undefined;
  for (const next of lines) {
    const isCode = next.kind === 'code';
    const goesOn = last && isCode === (last.kind === 'code') && (isCode || last.line.trim() !== '');
    if (goesOn) paragraphs.at(-1)?.push(next);
    else paragraphs.push([next]);
    last = next;
  }
  return paragraphs;
}

function inertTargets(line: string, isAllowed: IsAllowed): string {
  return line.replace(TARGET, (bracket, target?: string) =>
    leadsTo(target, isAllowed) ? bracket : `${bracket}\u200b`,
  );
}

function inertAddresses(line: string, isAllowed: IsAllowed): string {
  return line.replace(ADDRESS, (start, rest: string) => {
    const address = start.toLowerCase() === 'www.' ? `http://www.${rest}` : start + rest;
    return leadsTo(address.replace(AT_THE_END, ''), isAllowed) ? start : `${start} `;
  });
}

/** Only what every reader takes for the same address. */
function leadsTo(address: string | undefined, isAllowed: IsAllowed): boolean {
  if (address === undefined || !/^https?:\/\/[\w.-]+(?::\d+)?(?:[/?#][^\\<>`\s]*)?$/i.test(address)) return false;
  const url = URL.parse(address);
  return url !== null && isAllowed(url);
}
