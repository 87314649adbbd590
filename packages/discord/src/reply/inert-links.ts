// Prevents link previews in text of a model: Discord fetches previewed addresses, which could leak data.
import { isHost } from '@pocket-agent/http/fetch';
import { MessageFlags } from 'discord.js';

const LINK = /<?https?:\/\/[^\s<>]+>?/gi;
/** Punctuation that may follow a link in a sentence. */
const TRAILING = '.,;:!?\'"*~|]}';
/** A URL without ambiguity: no `\@host`, and no second link as in `[https://a](https://b)`. */
const UNAMBIGUOUS = /^https?:\/\/[a-z0-9.-]+(?::\d+)?(?:[/?#](?:(?!:\/\/)[\w./?#=&%+~,;:@!$'*()-])*)?$/i;

/** Puts links outside of code in `<…>`, which turns previews off. Links to `hosts` stay unchanged. */
export function inertLinks(text: string, hosts: readonly string[] = []): string {
  return splitCode(text)
    .map(({ span, isCode }) => (isCode ? span : span.replace(LINK, (link) => wrapLink(link, hosts))))
    .join('');
}

/**
 * Message flags that suppress previews, unless every link in the content leads to `hosts`. `<…>` alone is not enough: a
 * `\` or `[` before it cancels it.
 */
export function previewFlags(content: string, hosts: readonly string[] = []): { flags: MessageFlags.SuppressEmbeds[] } {
  const suppress = hosts.length === 0 || (content.match(LINK) ?? []).some((link) => !isAllowed(link, hosts));
  return { flags: suppress ? [MessageFlags.SuppressEmbeds] : [] };
}

function wrapLink(found: string, hosts: readonly string[]): string {
  if (isWrapped(found)) return found;
  if (isAllowed(found, hosts)) return found;
  const { from, to } = linkRange(found);
  const link = found.slice(from, to);
  return `${found.slice(0, from)}<${link}>${found.slice(to)}`;
}

function isWrapped(found: string): boolean {
  return found.startsWith('<') && found.endsWith('>');
}

function isAllowed(found: string, hosts: readonly string[]): boolean {
  const { from, to } = linkRange(found);
  const link = found.slice(from, to);
  const url = UNAMBIGUOUS.test(link) ? URL.parse(link) : null;
  return url !== null && hosts.some((host) => host === '*' || isHost(host, url));
}

function linkRange(found: string): { from: number; to: number } {
  return { from: found.startsWith('<') ? 1 : 0, to: linkEnd(found) };
}

/** The end of a link: before the `)` of a Markdown link or the punctuation of a sentence. */
function linkEnd(found: string): number {
  let end = found.endsWith('>') ? found.length - 1 : found.length;
  let open = found.split('(').length - found.split(')').length;
  for (; end > 0; end--) {
    const last = found[end - 1] ?? '';
    if (last === ')' && open < 0) open++;
    else if (!TRAILING.includes(last)) break;
  }
  return end;
}

interface Span {
  span: string;
  isCode: boolean;
}

/**
 * Code starts with backticks and ends with the same number, or with any three if it started with three or more. Without an
 * end it is plain text.
 */
function splitCode(text: string): Span[] {
  const ticks = [...text.matchAll(/`+/g)].map(({ index, 0: run }) => ({
    index,
    end: index + run.length,
    kind: Math.min(run.length, 3),
  }));
  const closing = new Map<number, number>();
  const latest: number[] = [];
  for (let index = ticks.length - 1; index >= 0; index--) {
    const kind = ticks[index]?.kind ?? 0;
    const next = latest[kind];
    if (next !== undefined) closing.set(index, next);
    latest[kind] = index;
  }
  const spans: Span[] = [];
  let from = 0;
  for (let index = 0; index < ticks.length; index++) {
    const close = closing.get(index);
    const [start, end] = [ticks[index]?.index ?? 0, ticks[close ?? -1]?.end];
    if (close === undefined || end === undefined) continue;
    spans.push({ span: text.slice(from, start), isCode: false }, { span: text.slice(start, end), isCode: true });
    from = end;
    index = close;
  }
  return [...spans, { span: text.slice(from), isCode: false }];
}
