// Reads a Dockerfile: its instructions in order.

export interface Instruction {
  /** In capital letters. */
  name: string;
  text: string;
  line: number;
}

export function parseDockerfile(text: string): Instruction[] {
  const instructions: Instruction[] = [];
  let begun: Instruction | undefined;
  for (const [index, written] of text.split('\n').entries()) {
    const line = written.trim();
    if (line === '' || line.startsWith('#')) continue;
    const continues = line.endsWith('\\');
    const part = continues ? line.slice(0, -1).trimEnd() : line;
    if (begun) begun.text += ` ${part}`;
    else begun = firstLine(part, index + 1);
    if (continues) continue;
    instructions.push(begun);
    begun = undefined;
  }
  if (begun) throw new Error(`Dockerfile:${begun.line}: the instruction does not end.`);
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
