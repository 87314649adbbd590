// Terminal colours and emphasis; respects NO_COLOR and FORCE_COLOR.

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Style = Record<keyof typeof codes, (text: string) => string>;

interface Output {
  isTTY?: boolean;
}

/** `NO_COLOR` overrides `FORCE_COLOR`, which overrides the type of the output. */
export function hasColour(output: Output, env: NodeJS.ProcessEnv = process.env): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return canMoveCursor(output, env);
}

export function canMoveCursor(output: Output, env: NodeJS.ProcessEnv = process.env): boolean {
  return output.isTTY === true && env.TERM !== 'dumb';
}

export function makeStyle(isColoured: boolean): Style {
  const entries = Object.entries(codes).map(([name, [on, off]]) => [
    name,
    (text: string) => (isColoured && text ? `\u001b[${on}m${text}\u001b[${off}m` : text),
  ]);
  return Object.fromEntries(entries);
}
