// Emphasis, code and links inside of a line of Markdown, as far as the line has come.
import type { Style } from './style.ts';

export interface InlineOptions {
  style: Style;
  /** The line is over: what looks open now stays as it is written. */
  isOver: boolean;
  /** The character before the text, where there is one. */
  before?: string | undefined;
  /** How the words between are shown. */
  emphasis?: ((text: string) => string) | undefined;
}

interface Inline {
  shown: string;
  /** Characters that were dealt with; those after them may become something with what follows. */
  used: number;
}

/** What stays open for longer is taken as it is written: emphasis is short, and text should appear. */
const LONGEST_SPAN = 400;

const special = /[\\`*_~[]/g;
const link = /^\[([^[\]\n]*)\]\(<?([^()<>\s]*(?:\([^()\s]*\)[^()<>\s]*)*)>?(?:\s+"[^"]*")?\)/;
const spans = [
  ['**', /^\*\*(?=\S)(.+?)(?<=\S)\*\*/, 'bold'],
  ['__', /^__(?=\S)(.+?)(?<=\S)__(?!\w)/, 'bold'],
  ['~~', /^~~(?=\S)(.+?)(?<=\S)~~/, 'dim'],
  ['*', /^\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?!\*)/, 'italic'],
  ['_', /^_(?=[^\s_])(.+?)(?<=[^\s_])_(?!\w)/, 'italic'],
] as const;

export function inlineMarkdown(text: string, options: InlineOptions): Inline {
  const emphasis = options.emphasis ?? ((words: string) => words);
  let shown = '';
  let words = '';
  let used = 0;
  while (used < text.length) {
    special.lastIndex = used;
    const found = special.exec(text)?.index ?? text.length;
    words += text.slice(used, found);
    used = found;
    if (used === text.length) break;
    const next = readSpan(text.slice(used, used + LONGEST_SPAN), used > 0 ? text[used - 1] : options.before, options);
    if (next === 'open') break;
    if (next.styled === undefined) words += text.slice(used, used + next.used);
    else {
      shown += emphasis(words) + next.styled;
      words = '';
    }
    used += next.used;
  }
  return { shown: shown + emphasis(words), used };
}

type Span = 'open' | { used: number; styled?: string };

function readSpan(text: string, before: string | undefined, options: InlineOptions): Span {
  const { style } = options;
  const canWait = !options.isOver && text.length < LONGEST_SPAN;
  if (text[0] === '\\') {
    if (text.length === 1) return canWait ? 'open' : { used: 1 };
    return /[!-/:-@[-`{-~]/.test(text[1] ?? '') ? { used: 2, styled: text[1] ?? '' } : { used: 1 };
  }
  if (text[0] === '`') return codeSpan(text, style, canWait);
  if (text[0] === '[') return linkSpan(text, options, canWait);
  const isInWord = /[\p{L}\p{N}_]/u.test(before ?? '');
  if (text[0] === '_' && isInWord) return { used: 1 };
  if (text.length === 1) return canWait ? 'open' : { used: 1 };
  const [mark, pattern, name] = spans.find(([each]) => text.startsWith(each)) ?? [];
  if (!mark || !pattern || !name) return { used: 1 };
  const match = pattern.exec(text);
  // `*a*` may be the beginning of `*a**b**`: the character after the end decides
  if (match?.[1] !== undefined && (match[0].length < text.length || !canWait)) {
    const inner = inlineMarkdown(match[1], { style, isOver: true, emphasis: style[name] });
    return { used: match[0].length, styled: inner.shown };
  }
  const canOpen = text.length === mark.length || /\S/.test(text[mark.length] ?? '');
  return canOpen && canWait ? 'open' : { used: mark.length };
}

function codeSpan(text: string, style: Style, canWait: boolean): Span {
  const [fence = ''] = /^`+/.exec(text) ?? [];
  const match = new RegExp(`^${fence}(?!\`)(.*?[^\`])${fence}(?!\`)`).exec(text);
  if (match?.[1] !== undefined && (match[0].length < text.length || !canWait)) {
    return { used: match[0].length, styled: style.cyan(match[1]) };
  }
  return canWait ? 'open' : { used: fence.length };
}

/** The address is always shown: where a link leads is nothing to hide. */
function linkSpan(text: string, { style }: InlineOptions, canWait: boolean): Span {
  const match = link.exec(text);
  if (match) {
    const [whole, label = '', address = ''] = match;
    const shownLabel = inlineMarkdown(label, { style, isOver: true }).shown;
    const shownAddress = style.underline(address);
    return {
      used: whole.length,
      styled: label === address || label === '' ? shownAddress : `${shownLabel} (${shownAddress})`,
    };
  }
  const mayBecomeLink = /^\[[^[\]\n]*(?:\](?:\([^)\n]*(?:\([^)\n]*\)[^)\n]*)*)?)?$/.test(text);
  return mayBecomeLink && canWait ? 'open' : { used: 1 };
}
