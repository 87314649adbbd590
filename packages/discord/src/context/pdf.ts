// The text of a PDF, as far as it can be had without a renderer: text operators of its streams, with their character maps.
import { inflateSync } from 'node:zlib';

/** Of all its streams together, unpacked. */
const MOST_BYTES = 16_000_000;

/** Empty when there is none, or when it is encrypted or scanned. */
export function pdfText(bytes: Buffer): string {
  const source = bytes.toString('latin1');
  if (!source.startsWith('%PDF-') || /\/Encrypt\s+\d/.test(source)) return '';
  const streams = streamsOf(bytes, source);
  const characters = new Map(streams.flatMap((stream) => [...characterMap(stream)]));
  const pages = streams.filter((stream) => /\bBT\b[\s\S]*\bET\b/.test(stream));
  const text = pages.map((page) => pageText(page, characters)).join('\n\n');
  return text
    .replace(/[ \t]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function streamsOf(bytes: Buffer, source: string): string[] {
  const found: string[] = [];
  let room = MOST_BYTES;
  for (const match of source.matchAll(/<<(?:(?!endobj)[\s\S]){0,4000}?>>\s*stream\r?\n/g)) {
    const start = match.index + match[0].length;
    const end = source.indexOf('endstream', start);
    if (end < 0 || room <= 0) break;
    if (/\/Subtype\s*\/Image\b/.test(match[0])) continue;
    const raw = bytes.subarray(start, end);
    const text = match[0].includes('/FlateDecode') ? inflated(raw, room) : raw.subarray(0, room).toString('latin1');
    room -= text.length;
    found.push(text);
  }
  return found;
}

function inflated(raw: Buffer, room: number): string {
  try {
    return inflateSync(raw, { maxOutputLength: room }).toString('latin1');
  } catch {
    return ''; // too much, or broken
  }
}

/** `bfchar` and `bfrange` of a ToUnicode map: codes of a font and the characters they stand for. */
function characterMap(stream: string): Map<string, string> {
  const map = new Map<string, string>();
  for (const [, body = ''] of stream.matchAll(/beginbfchar([\s\S]*?)endbfchar/g)) {
    for (const [, code = '', to = ''] of body.matchAll(/<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]+)>/g)) {
      map.set(code.toLowerCase(), utf16(to));
    }
  }
  for (const [, body = ''] of stream.matchAll(/beginbfrange([\s\S]*?)endbfrange/g)) {
    for (const [, low = '', high = '', to = ''] of body.matchAll(
      /<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]+)>/g,
    )) {
      const first = Number.parseInt(low, 16);
      const last = Math.min(Number.parseInt(high, 16), first + 0xffff);
      const target = Number.parseInt(to, 16);
      for (let code = first; code <= last; code++) {
        map.set(
          code.toString(16).padStart(low.length, '0'),
          String.fromCodePoint(Math.min(target + code - first, 0x10ffff)),
        );
      }
    }
  }
  return map;
}

function pageText(page: string, characters: Map<string, string>): string {
  let text = '';
  const operators = /\((?:\\[\s\S]|[^\\()])*\)|<[0-9a-fA-F\s]+>|T[jdDmJ*]|-?\d+(?:\.\d+)?|\bET\b|['"]/g;
  let pending = '';
  for (const [token] of page.matchAll(operators)) {
    if (token.startsWith('(')) pending += literal(token.slice(1, -1));
    else if (token.startsWith('<')) pending += hex(token.slice(1, -1).replace(/\s/g, ''), characters);
    else if (/^-?\d/.test(token)) {
      if (Number(token) < -200 && pending !== '') pending += ' '; // a wide gap inside TJ
    } else {
      text += /^(Td|TD|Tm|T\*|ET|'|")$/.test(token) ? `\n${pending}` : pending;
      pending = '';
    }
  }
  return text.replace(/\n+/g, '\n');
}

const escapes: Record<string, string> = { n: '\n', r: '', t: '\t', b: '', f: '', '\n': '' };

function literal(text: string): string {
  return text.replace(/\\([0-7]{1,3}|[\s\S])/g, (_whole, code: string) =>
    /^[0-7]/.test(code) ? String.fromCharCode(Number.parseInt(code, 8)) : (escapes[code] ?? code),
  );
}

function hex(digits: string, characters: Map<string, string>): string {
  const width = characters.size > 0 && [...characters.keys()].every((code) => code.length === 2) ? 2 : 4;
  const codes = digits.toLowerCase().match(new RegExp(`.{1,${width}}`, 'g')) ?? [];
  return codes.map((code) => characters.get(code) ?? '').join('');
}

function utf16(digits: string): string {
  const units = digits.match(/.{1,4}/g) ?? [];
  return units.map((unit) => String.fromCharCode(Number.parseInt(unit, 16))).join('');
}
