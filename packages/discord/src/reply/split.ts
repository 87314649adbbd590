// A long text as messages of at most 2,000 characters. Code fences stay whole; one that cannot is closed and reopened.

export const MESSAGE_LENGTH = 2000;

interface Block {
  lines: string[];
  /** The opening line of a code fence, and what closes it. */
  fence?: { open: string; close: string };
}

export function splitMessage(text: string, max = MESSAGE_LENGTH): string[] {
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
      const piece = fits(rest) ? rest : headOf(rest, max);
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
      if (line.trim() === fence.close) {
        blocks.push(block);
        block = { lines: [] };
      } else block.lines.push(line);
      continue;
    }
    const opened = /^\s{0,3}(`{3,})([^`\s]*)[^`]*$/.exec(line);
    if (!opened) {
      block.lines.push(line);
      continue;
    }
    blocks.push(block);
    const [, close = '```', language = ''] = opened;
    block = { lines: [], fence: { open: `${close}${language.slice(0, 40)}`, close } };
  }
  blocks.push(block);
  return blocks;
}

/** As much of a text as fits, up to a space where there is one, never half a character. */
function headOf(text: string, max: number): string {
  const space = text.lastIndexOf(' ', max - 1);
  let end = space > max / 2 ? space + 1 : max;
  if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

function pieces(text: string, max: number): string[] {
  const found: string[] = [];
  for (let rest = text; ; ) {
    if (rest.length <= max) return [...found, rest];
    const head = headOf(rest, max);
    found.push(head);
    rest = rest.slice(head.length);
  }
}
