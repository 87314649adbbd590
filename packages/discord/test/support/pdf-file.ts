// PDF files for tests: one page, two fonts whose character maps give the same code different letters.
import { deflateSync } from 'node:zlib';

export const textPdf = onePage(
  String.raw`BT /F1 12 Tf 72 700 Td (Hello) Tj [( P) -20 (DF)] TJ 0 -14 Td /F2 12 Tf (AB) Tj
  /F1 12 Tf 0 -14 Td (Second \(line\)) Tj ET`,
);

/** Small, but takes very long to read. */
export const endlessPdf = onePage(`BT /F1 12 Tf ${'(a) Tj '.repeat(6_000_000)} ET`);

/** 1,100,000 letters inside the page, because text beyond its edge is not read. */
export const longPdf = onePage(`BT /F1 1 Tf ${`1 0 0 1 10 700 Tm (${'a'.repeat(500)}) Tj `.repeat(2_200)} ET`);

function onePage(content: string): Buffer {
  return pdfFile([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>',
    stream(content),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 7 0 R >>',
    stream(
      'begincmap 1 begincodespacerange <00> <FF> endcodespacerange 2 beginbfchar <41> <0058> <42> <0059> endbfchar endcmap',
    ),
  ]);
}

function stream(text: string): Buffer {
  const data = deflateSync(text);
  const start = `<< /Length ${data.length} /Filter /FlateDecode >>\nstream\n`;
  return Buffer.concat([Buffer.from(start), data, Buffer.from('\nendstream')]);
}

function pdfFile(objects: readonly (string | Buffer)[]): Buffer {
  const parts = [Buffer.from('%PDF-1.7\n')];
  const offsets = objects.map((object, index) => {
    const offset = Buffer.concat(parts).length;
    parts.push(Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n'));
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}trailer << /Size ${size} /Root 1 0 R >>`;
  return Buffer.concat([...parts, Buffer.from(`${table}\nstartxref\n${Buffer.concat(parts).length}\n%%EOF`)]);
}
