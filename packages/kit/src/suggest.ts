// Which of the words that exist was probably meant by one that does not.

/** Of longer words the beginning counts: whoever makes one up must not keep us busy. */
const LONGEST = 100;
const MOST_LISTED = 10;

/** The one of `known` that somebody probably meant. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const [best] = ranked(word, known);
  return best && best.distance <= Math.floor(word.length / 3) ? best.candidate : undefined;
}

/** ` Did you mean "…"?`, or nothing when none is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  const found = closest(word, known);
  return found === undefined ? '' : ` Did you mean "${found}"?`;
}

/** What there is instead, as a sentence; of many the nearest. */
export function whatThereIs(word: string, known: readonly string[]): string {
  if (known.length <= MOST_LISTED) return `There are: ${known.join(', ') || 'none'}.`;
  const nearest = ranked(word, known).slice(0, MOST_LISTED);
  return `There are ${known.length}, the nearest are: ${nearest.map(({ candidate }) => candidate).join(', ')}.`;
}

/** What to write in place of a text that is no address of HTTP, as a sentence; undefined for one that is. */
export function addressInstead(text: string): string | undefined {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return undefined;
  // a name alone may be anything
  const [host = ''] =
    /^(localhost|[\w-]+(\.[\w-]+)+|[\w.-]+(?=:\d)|\[[\da-f:]+\])(?=(:\d+)?([/?]|$))/i.exec(text) ?? [];
  const isNear = !/\.[a-z]/i.test(host);
  const whole = `${isNear ? 'http' : 'https'}://${text}`;
  return host && URL.canParse(whole) ? `Write ${whole}.` : 'It must begin with http:// or https://.';
}

function ranked(word: string, known: readonly string[]): { candidate: string; distance: number }[] {
  const wanted = normal(word);
  return known
    .map((candidate) => ({ candidate, distance: editDistance(wanted, normal(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
}

function normal(word: string): string {
  return word
    .slice(0, LONGEST)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

/** Letters added, left out, replaced, or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let above: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1];
    for (let column = 0; column < b.length; column++) {
      const replaced = (row[column] ?? 0) + (letter === b[column] ? 0 : 1);
      const isSwap = index > 0 && column > 0 && letter === b[column - 1] && a[index - 1] === b[column];
      const swapped = isSwap ? (above[column - 1] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    above = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
