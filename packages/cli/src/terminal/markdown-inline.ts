// Renders emphasis, code and links in a line of Markdown that may still be growing.
import type { Style } from './style.ts';

export interface InlineOptions {
  style: Style;
  /** The line is complete: marks that are still open are shown literally. */
  isOver: boolean;
  /** The character before the text. */
  before?: string | undefined;
  /** The style of plain text. */
  emphasis?: ((text: string) => string) | undefined;
}

interface Inline {
  shown: string;
  /** The number of characters rendered. The meaning of the rest depends on what follows. */
  used: number;
}

/** Longer spans are shown literally, so that streamed text is not held back. */
const MAX_SPAN = 400;

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
    const next = readSpan(text.slice(used, used + MAX_SPAN), used > 0 ? text[used - 1] : options.before, options);
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
  const canWait = !options.isOver && text.length < MAX_SPAN;
  if (text[0] === '\\') {
    if (text.length === 1) return canWait ? 'open' : { used: 1 };
    return /[!-/:-@[-`{-~]/.test(text[1] ?? '') ? { used: 2, styled: text[1] ?? '' } : { used: 1 };
  }
  if (text[0] === '`') return codeSpan(text, style, canWait);
  if (text[0] === '[') return linkSpan(text, options, canWait);
  const isInWord = /[\p{L}\p{N}_]/u.test(before ?? '');
  if (text[0] === '_' && isInWord) return { used: 1 };
  if (text.length === 1) return canWait ? 'open' : { used: 1 };
  const [mark, pattern, name] = spans.find(([start]) => text.startsWith(start)) ?? [];
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

/** Always shows the URL, so that the label cannot hide the target. */
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
