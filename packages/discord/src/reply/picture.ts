// A picture of rectangles and short labels as PNG. Charts need no more, and the libraries that draw SVG are native or bring
// megabytes of WebAssembly and need fonts.
import { crc32, deflateSync } from 'node:zlib';

/** Red, green and blue. */
export type Color = readonly [number, number, number];

interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Label {
  /** Digits and `$.-kM`; other characters are blank. */
  text: string;
  x: number;
  y: number;
  color: number;
  /** Which end of the text is at `x`. Default start. */
  align?: 'start' | 'end';
}

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
/** 8 bits per pixel, which are indexes of the palette. */
const INDEXED = Buffer.from([8, 3, 0, 0, 0]);
const GLYPH_WIDTH = 3;
const GLYPH_HEIGHT = 5;
const SCALE = 3;
export const LABEL_HEIGHT = GLYPH_HEIGHT * SCALE;
/** Rows from top to bottom; 1 is ink. */
const glyphs: Readonly<Record<string, string>> = {
  0: '111 101 101 101 111',
  1: '010 110 010 010 111',
  2: '111 001 111 100 111',
  3: '111 001 111 001 111',
  4: '101 101 111 001 001',
  5: '111 100 111 001 111',
  6: '111 100 111 101 111',
  7: '111 001 001 010 010',
  8: '111 101 111 101 111',
  9: '111 101 111 001 111',
  $: '010 111 110 011 111',
  '.': '000 000 000 000 010',
  '-': '000 000 111 000 000',
  k: '100 101 110 101 101',
  M: '101 111 111 101 101',
};

export class Picture {
  readonly width: number;
  readonly height: number;
  readonly #palette: readonly Color[];
  readonly #pixels: Uint8Array;

  /** Filled with the first color of the palette. Colors are given by their index. */
  constructor({ width, height, palette }: { width: number; height: number; palette: readonly Color[] }) {
    this.width = width;
    this.height = height;
    this.#palette = palette;
    this.#pixels = new Uint8Array(width * height);
  }

  /** Parts outside of the picture are left out. */
  fill({ x, y, width, height }: Rectangle, color: number): void {
    const [left, right] = [Math.max(0, Math.round(x)), Math.min(this.width, Math.round(x + width))];
    const bottom = Math.min(this.height, Math.round(y + height));
    for (let row = Math.max(0, Math.round(y)); row < bottom; row++)
      if (right > left) this.#pixels.fill(color, row * this.width + left, row * this.width + right);
  }

  label({ text, x, y, color, align = 'start' }: Label): void {
    const advance = (GLYPH_WIDTH + 1) * SCALE;
    const start = align === 'start' ? x : x - text.length * advance + SCALE;
    for (const [index, character] of [...text].entries())
      for (const [row, pixels] of (glyphs[character] ?? '').split(' ').entries())
        for (const [column, pixel] of [...pixels].entries()) {
          const place = { x: start + index * advance + column * SCALE, y: y + row * SCALE };
          if (pixel === '1') this.fill({ ...place, width: SCALE, height: SCALE }, color);
        }
  }

  toPng(): Buffer {
    const size = Buffer.alloc(8);
    size.writeUInt32BE(this.width, 0);
    size.writeUInt32BE(this.height, 4);
    const rows = Buffer.alloc((this.width + 1) * this.height); // each row begins with its filter, 0 for none
    for (let row = 0; row < this.height; row++)
      rows.set(this.#pixels.subarray(row * this.width, (row + 1) * this.width), row * (this.width + 1) + 1);
    return Buffer.concat([
      SIGNATURE,
      chunk('IHDR', Buffer.concat([size, INDEXED])),
      chunk('PLTE', Buffer.from(this.#palette.flat())),
      chunk('IDAT', deflateSync(rows)),
      chunk('IEND', Buffer.alloc(0)),
    ]);
  }
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}
