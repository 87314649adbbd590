// Splits text into messages of at most 2,000 characters. A code fence that does not fit is closed and reopened.

export const MESSAGE_LENGTH = 2000;

interface Block {
  lines: string[];
  /** The opening and closing lines of a code fence. */
  fence?: { open: string; close: string };
}

/** Longer runs of backticks are not treated as fences: they would leave no room for the code. */
const MAX_FENCE_LENGTH = 12;

/** Splits text into messages that Discord accepts. Code fences are closed and reopened. */
export function splitMessage(text: string, max = MESSAGE_LENGTH): string[] {
  const whole = text.replace(/^\n+/, '').trimEnd();
  // Discord recognizes fences anywhere in a line; short text with complete fences stays as it is
  if (whole.length <= max && (whole.split('```').length - 1) % 2 === 0) return whole.trim() === '' ? [] : [whole];
  const parts: string[] = [];
  let part = '';
  const flush = () => {
    if (part.trim() !== '') parts.push(part.replace(/^\n+|\s+$/g, ''));
    part = '';
  };
  const fits = (more: string) => part.length + more.length <= max;
  const addText = (line: string) => {
    if (!fits(line)) flush();
    for (let rest = line; rest !== ''; ) {
      const piece = fits(rest) ? rest : firstPiece(rest, max);
      part += piece;
      rest = rest.slice(piece.length);
      if (rest !== '') flush();
    }
    if (fits('\n')) part += '\n';
    else flush();
  };
  const addFence = ({ open, close }: { open: string; close: string }, lines: string[]) => {
    const whole = `${[open, ...lines, close].join('\n')}\n`;
    if (!fits(whole) && (whole.length <= max + 1 || part.length > max / 2)) flush();
    if (fits(whole)) {
      part += whole;
      return;
    }
    const room = max - open.length - close.length - 2;
    part += `${open}\n`;
    for (const line of lines.flatMap((long) => pieces(long, room))) {
      if (!fits(`${line}\n${close}`)) {
        part += close;
        flush();
        part = `${open}\n`;
      }
      part += `${line}\n`;
    }
    part += fits(`${close}\n`) ? `${close}\n` : close;
  };
  for (const { fence, lines } of blocksOf(text)) {
    if (fence) addFence(fence, lines);
    else for (const line of lines) addText(line);
  }
  flush();
  return parts;
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let block: Block = { lines: [] };
  for (const line of text.split('\n')) {
    const { fence } = block;
    if (fence) {
      const code = codeBeforeClose(line, fence.close);
      if (code === undefined) {
        block.lines.push(line);
        continue;
      }
      if (code.trim() !== '') block.lines.push(code);
      blocks.push(block);
      block = { lines: [] };
      continue;
    }
    const opened = openedFence(line);
    if (!opened) {
      block.lines.push(line);
      continue;
    }
    const { before, close, language, code } = opened;
    if (before.trim() !== '') block.lines.push(before);
    blocks.push(block);
    block = { lines: code === '' ? [] : [code], fence: { open: `${close}${language}`, close } };
  }
  blocks.push(block);
  return blocks;
}

interface OpenFence {
  before: string;
  close: string;
  language: string;
  /** Code on the opening line, after the language. */
  code: string;
}

/** The fence that a line leaves open. Info after the language is dropped: Discord ignores it. */
function openedFence(line: string): OpenFence | undefined {
  const runs = [...line.matchAll(/`{3,}/g)];
  const last = runs.at(-1);
  if (!last || runs.length % 2 === 0 || last[0].length > MAX_FENCE_LENGTH) return undefined;
  const [close] = last;
  const before = line.slice(0, last.index);
  const rest = line.slice(last.index + close.length).trim();
  const info = /^([\w+#.-]{0,40})(?:\s+(?:\{|\w+=).*)?$/.exec(rest);
  return { before, close, language: info?.[1] ?? '', code: info ? '' : rest };
}

/** The code before a closing fence; undefined if the line does not close it. */
function codeBeforeClose(line: string, close: string): string | undefined {
  const end = line.trimEnd();
  if (!end.endsWith(close)) return undefined;
  const before = end.slice(0, -close.length);
  return before.endsWith('`') ? undefined : before;
}

/** The start of a text that fits, cut at a space if possible, never inside a character. */
function firstPiece(text: string, max: number): string {
  const space = text.lastIndexOf(' ', max - 1);
  let end = space > max / 2 ? space + 1 : max;
  if (end > 1 && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end--;
  return text.slice(0, Math.max(end, 1));
}

function pieces(text: string, max: number): string[] {
  const found: string[] = [];
  for (let rest = text; ; ) {
    if (rest.length <= max) return [...found, rest];
    const head = firstPiece(rest, max);
    found.push(head);
    rest = rest.slice(head.length);
  }
}
