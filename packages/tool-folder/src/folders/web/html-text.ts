// Converts HTML to text with simple Markdown.
import { setImmediate } from 'node:timers/promises';
import { Parser } from 'htmlparser2';

const hidden = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object', 'option']);
const blocks = new Set(
  'address article aside blockquote dd details div dl dt fieldset figcaption figure footer form header hr main nav ol p pre section table tbody thead tr ul'.split(
    ' ',
  ),
);
/** Elements without an end tag. */
const voidElements = new Set(['br', 'img', 'hr']);

const MAX_TITLE = 300;
/** Deeper pages are cut off, because the parser takes time for every open element. */
const MAX_DEPTH = 1_000;
const CHUNK_LENGTH = 100_000;

type Attributes = Readonly<Record<string, string>>;

interface Page {
  title: string;
  text: string;
}

export async function htmlToText(html: string, base: string): Promise<Page> {
  const writer = new Writer(base);
  let depth = 0;
  /** The number of hidden elements around the current position. */
  let hiding = 0;
  const parser = new Parser({
    onopentag(name, attributes) {
      if (++depth > MAX_DEPTH) parser.pause();
      if (hidden.has(name)) hiding++;
      else if (hiding === 0) writer.tag(name, false, attributes);
    },
    ontext(text) {
      if (hiding === 0) writer.text(text);
    },
    onclosetag(name) {
      depth--;
      if (hidden.has(name)) hiding--;
      else if (hiding === 0 && !voidElements.has(name)) writer.tag(name, true, {});
    },
  });
  for (let at = 0; at < html.length && depth <= MAX_DEPTH; at += CHUNK_LENGTH) {
    parser.write(html.slice(at, at + CHUNK_LENGTH));
    await setImmediate(); // a large page must not block the event loop
  }
  parser.end();
  return writer.finish();
}

class Writer {
  readonly #base: string;
  readonly #pieces: string[] = [];
  #last = '\n\n';
  /** The open link. Another link inside it replaces it. */
  #openLink: { href: string; at: number } | undefined;
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

  tag(name: string, isEnd: boolean, attributes: Attributes): void {
    const heading = /^h([1-6])$/.exec(name)?.[1];
    if (name === 'title') this.#isTitle = !isEnd;
    else if (name === 'pre') this.#pre(isEnd);
    else if (name === 'a') this.#link(isEnd, attributes);
    else if (name === 'br') this.#write('\n');
    else if (name === 'li') this.#line(isEnd ? '' : '- ');
    else if (name === 'td' || name === 'th') this.text(isEnd || this.#last.endsWith('\n') ? '' : ' | ');
    else if (heading) this.#paragraph(isEnd ? '' : `${'#'.repeat(Number(heading))} `);
    else if (name === 'img') this.text(attributes.alt ?? '');
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
    return { title: this.#title.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE), text };
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

  #link(isEnd: boolean, attributes: Attributes): void {
    const link = this.#openLink;
    this.#openLink = isEnd ? undefined : { href: attributes.href ?? '', at: this.#pieces.length };
    if (
      !isEnd ||
      !link ||
      link.at === this.#pieces.length ||
      link.href.startsWith('#') ||
      !URL.canParse(link.href, this.#base)
    )
      return;
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
