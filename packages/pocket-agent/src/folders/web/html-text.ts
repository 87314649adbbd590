// HTML as plain text with a little Markdown: one pass, in time that grows with the page and nothing else.

const silent = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object', 'select', 'button']);
const blocks = new Set(
  'address article aside blockquote dd details div dl dt fieldset figcaption figure footer form header hr main nav ol p pre section table tbody thead tr ul'.split(
    ' ',
  ),
);
const named: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  laquo: '«',
  raquo: '»',
  ldquo: '“',
  rdquo: '”',
  lsquo: '‘',
  rsquo: '’',
  copy: '©',
  reg: '®',
  euro: '€',
  bull: '•',
};

// the name is bounded so that a tag that never ends is not read again from each of its letters
const token = /<(\/?)([a-zA-Z][\w-]{0,30})([^<>]*)>|[^<]+|</g;
const comment = /<!--/g;

const LONGEST_TITLE = 300;

interface Page {
  title: string;
  text: string;
}

export function htmlToText(html: string, base: string): Page {
  const writer = new Writer(base);
  let skipping = '';
  for (const [whole, closing, rawName, attributes = ''] of withoutComments(html).matchAll(token)) {
    const name = rawName?.toLowerCase();
    if (skipping) {
      if (closing && name === skipping) skipping = '';
    } else if (name === undefined) writer.text(decodeEntities(whole));
    else if (!closing && silent.has(name) && !attributes.endsWith('/')) skipping = name;
    else writer.tag(name, closing === '/', attributes);
  }
  return writer.finish();
}

/** One that never ends hides the rest, as in a browser. */
function withoutComments(html: string): string {
  const kept: string[] = [];
  let from = 0;
  for (comment.lastIndex = 0; ; ) {
    const start = comment.exec(html)?.index ?? html.length;
    kept.push(html.slice(from, start));
    const end = html.indexOf('-->', start);
    if (start === html.length || end < 0) return kept.join('');
    from = end + 3;
    comment.lastIndex = from;
  }
}

class Writer {
  readonly #base: string;
  /** Joined at the end: what is written once is not copied for every word that follows. */
  readonly #pieces: string[] = [];
  #last = '\n\n';
  /** A link inside another ends it, as in a browser. */
  #open: { href: string; at: number } | undefined;
  #title = '';
  #isTitle = false;
  #preformatted = 0;

  constructor(base: string) {
    this.#base = base;
  }

  text(text: string): void {
    if (this.#isTitle) this.#title += text;
    else if (this.#preformatted > 0) this.#write(text);
    else {
      const flat = text.replace(/\s+/g, ' ');
      this.#write(/\s$/.test(this.#last) ? flat.trimStart() : flat);
    }
  }

  tag(name: string, isEnd: boolean, attributes: string): void {
    const heading = /^h([1-6])$/.exec(name)?.[1];
    if (name === 'title') this.#isTitle = !isEnd;
    else if (name === 'pre') this.#pre(isEnd);
    else if (name === 'a') this.#link(isEnd, attributes);
    else if (name === 'br') this.#write('\n');
    else if (name === 'li') this.#line(isEnd ? '' : '- ');
    else if (name === 'td' || name === 'th') this.text(isEnd || this.#last.endsWith('\n') ? '' : ' | ');
    else if (heading) this.#paragraph(isEnd ? '' : `${'#'.repeat(Number(heading))} `);
    else if (name === 'img') this.text(attribute(attributes, 'alt') ?? '');
    else if (name === 'tr') this.#line('');
    else if (blocks.has(name)) this.#paragraph('');
  }

  finish(): Page {
    const text = this.#pieces
      .join('')
      .split('\n')
      .map((line) => line.trimEnd())
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
    return { title: this.#title.replace(/\s+/g, ' ').trim().slice(0, LONGEST_TITLE), text };
  }

  #write(text: string): void {
    if (text === '') return;
    this.#pieces.push(text);
    this.#last = (this.#last + text).slice(-2);
  }

  #pre(isEnd: boolean): void {
    if (isEnd && this.#preformatted === 0) return;
    this.#preformatted += isEnd ? -1 : 1;
    this.#line('```\n');
  }

  #link(isEnd: boolean, attributes: string): void {
    const link = this.#open;
    this.#open = isEnd ? undefined : { href: attribute(attributes, 'href') ?? '', at: this.#pieces.length };
    if (!isEnd || !link || link.href.startsWith('#') || !URL.canParse(link.href, this.#base)) return;
    const { protocol, href } = new URL(link.href, this.#base);
    const label = this.#pieces.slice(link.at).join('');
    if (label.trim() === '' || (protocol !== 'http:' && protocol !== 'https:')) return;
    const [, before = '', words = '', after = ''] = /^(\s*)([\s\S]*\S)(\s*)$/.exec(label) ?? [];
    this.#pieces.splice(link.at, Number.POSITIVE_INFINITY, `${before}[${words}](${href})${after}`);
  }

  #line(start: string): void {
    if (!this.#last.endsWith('\n')) this.#write('\n');
    this.#write(start);
  }

  #paragraph(start: string): void {
    this.#line('');
    if (this.#last !== '\n\n') this.#write('\n');
    this.#write(start);
  }
}

function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(attributes);
  const value = found?.[1] ?? found?.[2] ?? found?.[3];
  return value === undefined ? undefined : decodeEntities(value);
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name) return named[name.toLowerCase()] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
