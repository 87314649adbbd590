// Draws a channel as an SVG, for the documentation.
import type { ShownChannel, ShownPost } from './show.ts';

const WIDTH = 760;
const LINE = 21;
const TEXT_X = 64;
const INDENT = 44;
/** Characters that fit next to an avatar. */
const COLUMNS = 88;
const COLORS = ['#3f7cd6', '#c2554d', '#4a9b5f', '#8a5cc2'];
const STYLE =
  'text{font:14px "Open Sans","Segoe UI",Roboto,Helvetica,Arial,sans-serif;fill:#3f4350;white-space:pre}' +
  '.name{font-weight:600}.code{font:13px ui-monospace,Menlo,Consolas,monospace}.small{font-size:10px;font-weight:600}' +
  '.initial{fill:#fff;font-weight:600;text-anchor:middle}.button{fill:#1c58d9;font-weight:600;text-anchor:middle}' +
  '.title{font-size:16px;font-weight:600}';

export function drawChannel({ name, posts }: ShownChannel): string {
  const authors = [...new Set(posts.map(({ author }) => author))];
  const shapes = [
    `<text class="title" x="20" y="33">~ ${escapeXml(name)}</text>`,
    `<line x1="0" y1="52" x2="${WIDTH}" y2="52" stroke="#dddfe4"/>`,
  ];
  let y = 64;
  for (const post of posts) {
    const drawn = drawPost(post, { y, color: COLORS[authors.indexOf(post.author) % COLORS.length] ?? '' });
    shapes.push(...drawn.shapes);
    y = drawn.end;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}">`,
    `<title>The channel ${escapeXml(name)} in Mattermost</title>`,
    `<style>${STYLE}</style>`,
    `<rect x=".5" y=".5" width="${WIDTH - 1}" height="${y - 1}" rx="8" fill="#fff" stroke="#dddfe4"/>`,
    ...shapes,
    '</svg>\n',
  ].join('\n');
}

function drawPost(post: ShownPost, { y, color }: { y: number; color: string }): { shapes: string[]; end: number } {
  const left = post.isReply ? INDENT : 0;
  const x = left + TEXT_X;
  const columns = COLUMNS - left / 8;
  const shapes = [
    `<circle cx="${left + 36}" cy="${y + 18}" r="16" fill="${color}"/>`,
    `<text class="initial" x="${left + 36}" y="${y + 23}">${escapeXml(post.author.slice(0, 1).toUpperCase())}</text>`,
    `<text class="name" x="${x}" y="${y + 15}">${escapeXml(post.author)}${post.isBot ? '<tspan class="small" dx="8">BOT</tspan>' : ''}</text>`,
  ];
  let bottom = y + 15;
  let isCode = false;
  for (const line of post.text.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    else if (isCode) {
      bottom += LINE;
      shapes.push(`<rect x="${x}" y="${bottom - 15}" width="${WIDTH - x - 24}" height="${LINE}" fill="#f4f4f6"/>`);
      shapes.push(`<text class="code" x="${x + 10}" y="${bottom}">${escapeXml(line)}</text>`);
    } else {
      for (const part of wrap(line, columns)) {
        bottom += LINE;
        shapes.push(`<text x="${x}" y="${bottom}">${inline(part)}</text>`);
      }
    }
  }
  for (const line of [...post.files.map((name) => `📎 ${name}`), post.note].filter((one) => one !== '')) {
    bottom += LINE + 2;
    shapes.push(`<text x="${x}" y="${bottom}">${escapeXml(line)}</text>`);
  }
  for (const [index, label] of post.buttons.entries()) {
    const start = x + index * 84;
    shapes.push(`<rect x="${start}" y="${bottom + 9}" width="76" height="26" rx="4" fill="#fff" stroke="#1c58d9"/>`);
    shapes.push(`<text class="button" x="${start + 38}" y="${bottom + 27}">${escapeXml(label)}</text>`);
  }
  if (post.buttons.length > 0) bottom += 36;
  return { shapes, end: bottom + 16 };
}

function wrap(line: string, columns: number): string[] {
  const lines = [''];
  for (const word of line.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + word.length >= columns) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}

/** With bold text. */
function inline(text: string): string {
  return escapeXml(text).replace(/\*\*(.+?)\*\*/g, '<tspan font-weight="600">$1</tspan>');
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
