// Globs (`*`, `**`, `?`, `[a-z]`, `{ts,js}`) matched in linear time: Node's matcher can take exponential time, and models write
// the patterns.

type Accepts = (character: string, isFirst: boolean) => boolean;

interface State {
  steps: { accepts: Accepts; to: number }[];
  /** States that are reached without reading a character. */
  jumps: number[];
}

/**
 * As in a shell, no wildcard matches a dot at the start of a name, and only `**` crosses a slash. All states that a
 * name may lead to are followed together, so nothing is tried twice.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  const { states, end } = statesOf([...pattern]);
  const reach = (starts: readonly number[]): Set<number> => {
    const reached = new Set(starts);
    for (const each of reached) for (const jump of states[each]?.jumps ?? []) reached.add(jump);
    return reached;
  };
  return (path) => {
    let current = reach([0]);
    let isFirst = true;
    for (const character of path) {
      const steps = [...current].flatMap((each) => states[each]?.steps ?? []);
      current = reach(steps.filter(({ accepts }) => accepts(character, isFirst)).map(({ to }) => to));
      if (current.size === 0) return false;
      isFirst = character === '/';
    }
    return current.has(end);
  };
}

const anything: Accepts = (character, isFirst) => !(isFirst && character === '.');
const inName: Accepts = (character, isFirst) => character !== '/' && anything(character, isFirst);

function statesOf(pattern: readonly string[]): { states: State[]; end: number } {
  const states: State[] = [{ steps: [], jumps: [] }];
  const groups: { start: number; ends: number[] }[] = [];
  let at = 0;
  const add = (...from: number[]): number => {
    const made = states.push({ steps: [], jumps: [] }) - 1;
    for (const each of from) states[each]?.jumps.push(made);
    return made;
  };
  const step = (from: number, to: number, accepts: Accepts) => states[from]?.steps.push({ accepts, to });
  const loop = (accepts: Accepts): number => {
    const made = add(at);
    step(made, made, accepts);
    return made;
  };
  const read = (accepts: Accepts) => {
    const made = add();
    step(at, made, accepts);
    at = made;
  };

  for (let index = 0; index < pattern.length; index++) {
    const character = pattern[index] ?? '';
    const group = groups.at(-1);
    if (character === '*' && pattern[index + 1] !== '*') at = loop(inName);
    else if (character === '*' && pattern[index + 2] === '/') {
      const folders = loop(anything);
      const behind = add(at);
      step(folders, behind, (each) => each === '/');
      at = behind;
      index += 2;
    } else if (character === '*') {
      at = loop(anything);
      index += 1;
    } else if (character === '?') read(inName);
    else if (character === '{') {
      groups.push({ start: at, ends: [] });
      at = add(at);
    } else if (character === ',' && group) {
      group.ends.push(at);
      at = add(group.start);
    } else if (character === '}' && group) {
      at = add(...group.ends, at);
      groups.pop();
    } else if (character === '[' && pattern.indexOf(']', index + 2) > 0) {
      const end = pattern.indexOf(']', index + 2);
      read(oneOf(pattern.slice(index + 1, end)));
      index = end;
    } else {
      const isAfterStar = pattern[index - 1] === '*';
      const literal = character === '\\' ? pattern[++index] : character;
      read((each, isFirst) => each === literal && !(isAfterStar && isFirst && each === '.'));
    }
  }
  if (groups.length > 0) throw new Error(`The glob "${pattern.join('')}" has a "{" without its "}".`);
  return { states, end: at };
}

/** The inside of square brackets: characters and ranges; `!` or `^` at the start negates them. */
function oneOf(inside: readonly string[]): Accepts {
  const isInverted = inside[0] === '!' || inside[0] === '^';
  const listed = isInverted ? inside.slice(1) : inside;
  const ranges: [string, string][] = [];
  for (let index = 0; index < listed.length; index++) {
    const from = listed[index] ?? '';
    const isRange = listed[index + 1] === '-' && index + 2 < listed.length;
    ranges.push([from, isRange ? (listed[index + 2] ?? '') : from]);
    if (isRange) index += 2;
  }
  return (character, isFirst) =>
    inName(character, isFirst) && ranges.some(([from, to]) => from <= character && character <= to) !== isInverted;
}
