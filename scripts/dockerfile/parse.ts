// Parses a Dockerfile into its instructions.

export interface Instruction {
  /** In capital letters. */
  name: string;
  text: string;
  line: number;
}

export function parseDockerfile(text: string): Instruction[] {
  const instructions: Instruction[] = [];
  let current: Instruction | undefined;
  for (const [index, written] of text.split('\n').entries()) {
    const line = written.trim();
    if (line === '' || line.startsWith('#')) continue;
    const isContinued = line.endsWith('\\');
    const part = isContinued ? line.slice(0, -1).trimEnd() : line;
    if (current) current.text += ` ${part}`;
    else current = firstLine(part, index + 1);
    if (isContinued) continue;
    instructions.push(current);
    current = undefined;
  }
  if (current) throw new Error(`Dockerfile:${current.line}: the instruction ends with a backslash.`);
  return instructions;
}

function firstLine(part: string, line: number): Instruction {
  const [, name, text] = /^([A-Za-z]+)\s+(.+)$/.exec(part) ?? [];
  if (name === undefined || text === undefined) throw new Error(`Dockerfile:${line}: not an instruction: ${part}`);
  return { name: name.toUpperCase(), text, line };
}

/** `--from=build --chown=node a b` has the flags from and chown, and the words a and b. */
export function splitFlags(text: string): { flags: Map<string, string>; words: string[] } {
  const words = text.split(/\s+/);
  const first = words.findIndex((word) => !word.startsWith('--'));
  const flags = words.slice(0, first).map((word): [string, string] => {
    const [name = '', value = ''] = word.slice(2).split('=', 2);
    return [name, value];
  });
  return { flags: new Map(flags), words: words.slice(first) };
}
