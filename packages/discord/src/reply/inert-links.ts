// Links in what a model wrote, made inert: Discord fetches what it previews, and an address can carry secrets away.
import { isHost } from '@pocket-agent/http/fetch';
import { MessageFlags } from 'discord.js';

const LINK = /<?https?:\/\/[^\s<>]+>?/gi;
/** Ends a link in a sentence, and does not belong to it. */
const AFTER_LINK = '.,;:!?\'"*~|]}';
/** An address that every reader takes for the same one: no `\@host`, and no second link as in `[https://a](https://b)`. */
const PLAIN = /^https?:\/\/[a-z0-9.-]+(?::\d+)?(?:[/?#](?:(?!:\/\/)[\w./?#=&%+~,;:@!$'*()-])*)?$/i;

/** Puts `<…>` around links outside of code, which Discord then does not preview. Links to `hosts` stay as they are. */
export function inertLinks(text: string, hosts: readonly string[] = []): string {
  return spansOf(text)
    .map(({ span, isCode }) => (isCode ? span : span.replace(LINK, (link) => wrapped(link, hosts))))
    .join('');
}

/**
 * For a message with that content: no previews, unless every link in it is to `hosts`. `<…>` is not enough, since a `\` or
 * a `[` before it undoes it.
 */
export function previewFlags(content: string, hosts: readonly string[] = []): { flags: MessageFlags.SuppressEmbeds[] } {
  const isQuiet = hosts.length === 0 || (content.match(LINK) ?? []).some((link) => !isAllowed(link, hosts));
  return { flags: isQuiet ? [MessageFlags.SuppressEmbeds] : [] };
}

function wrapped(found: string, hosts: readonly string[]): string {
  if (isWrapped(found)) return found;
  if (isAllowed(found, hosts)) return found;
  const { from, to } = placeOf(found);
  const link = found.slice(from, to);
  return `${found.slice(0, from)}<${link}>${found.slice(to)}`;
}

function isWrapped(found: string): boolean {
  return found.startsWith('<') && found.endsWith('>');
}

function isAllowed(found: string, hosts: readonly string[]): boolean {
  const { from, to } = placeOf(found);
  const link = found.slice(from, to);
  const url = PLAIN.test(link) ? URL.parse(link) : null;
  return url !== null && hosts.some((host) => host === '*' || isHost(host, url));
}

function placeOf(found: string): { from: number; to: number } {
  return { from: found.startsWith('<') ? 1 : 0, to: endOf(found) };
}

/** Where a link ends: before the `)` of a Markdown link, or the punctuation of a sentence. */
function endOf(found: string): number {
  let end = found.endsWith('>') ? found.length - 1 : found.length;
  let open = found.split('(').length - found.split(')').length;
  for (; end > 0; end--) {
    const last = found[end - 1] ?? '';
    if (last === ')' && open < 0) open++;
    else if (!AFTER_LINK.includes(last)) break;
  }
  return end;
}

interface Span {
  span: string;
  isCode: boolean;
}

/** Code begins with backticks and ends with as many, of three or more with any three; without an end it is plain text. */
function spansOf(text: string): Span[] {
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
