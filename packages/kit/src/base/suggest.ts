// Hints for error texts: the known name that was probably meant, and how to install a package.
import type { ParseArgsConfig } from 'node:util';
import { VERSION } from '../start/version.ts';

/** Only this many characters of a word are compared, which bounds the work for hostile input. */
const MAX_COMPARED = 100;
/** Edit distances are slow to compute, and a server may list thousands of names: only the most similar get one. */
const MAX_CANDIDATES = 50;
const MAX_LISTED = 10;

/** The known name closest to `word`, if at most a third of the letters differ. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const [best] = ranked(word, known);
  return best && best.distance <= Math.floor(word.length / 3) ? best.candidate : undefined;
}

/** ` Did you mean "…"?`, or an empty string if no known name is close. */
export function didYouMean(word: string, known: readonly string[]): string {
  const found = closest(word, known);
  return found === undefined ? '' : ` Did you mean "${found}"?`;
}

/** Explains an error of `parseArgs` in a sentence, with a suggestion for a misspelt option. */
export function explainArguments(error: unknown, { options = {}, allowPositionals }: ParseArgsConfig): string {
  const text = error instanceof Error ? error.message : String(error);
  const name = /^Unknown option '(-[^']+)'/.exec(text)?.[1];
  // only some messages of Node end with a full stop
  if (name === undefined) return /[.!?]$/.test(text) ? text : `${text}.`;
  const known = Object.keys(options).map((option) => `--${option}`);
  const advice = allowPositionals ? ' Put arguments that start with a dash after --.' : '';
  return `Unknown option '${name}'.${didYouMean(name, known)}${advice}`;
}

/** A sentence that lists the known names; the closest ones if there are many. */
export function describeAvailable(word: string, known: readonly string[]): string {
  if (known.length <= MAX_LISTED) return `Available: ${known.join(', ') || 'none'}.`;
  const nearest = ranked(word, known).slice(0, MAX_LISTED);
  return `The closest of ${known.length}: ${nearest.map(({ candidate }) => candidate).join(', ')}.`;
}

/** Variables that Kubernetes and Docker set for a service. */
const SERVICE_VARIABLE = /^\w+(_SERVICE_(HOST|PORT)(_\w+)?=|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?=|_PORT=(tcp|udp|sctp):)/;

/** Environment variables that begin with `prefix` but are not known, each with the known name that was probably meant. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
  { prefix, known }: { prefix: string; known: readonly string[] },
): { name: string; meant: string | undefined }[] {
  // names are compared without their common prefix
  const endings = known.flatMap((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : []));
  return Object.entries(environment).flatMap(([name, value = '']) => {
    if (!name.startsWith(prefix) || known.includes(name) || value.trim() === '') return [];
    if (SERVICE_VARIABLE.test(`${name}=${value}`)) return [];
    const ending = closest(name.slice(prefix.length), endings);
    return [{ name, meant: ending === undefined ? undefined : prefix + ending }];
  });
}

/** A sentence that says how to correct a text that is not an HTTP URL; undefined for a valid one. */
export function httpUrlHint(text: string): string | undefined {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return undefined;
  // a host name needs a dot or a port: a single word may be anything
  const [host = ''] =
    /^(localhost|[\w-]+(\.[\w-]+)+|[\w.-]+(?=:\d)|\[[\da-f:]+\])(?=(:\d+)?([/?]|$))/i.exec(text) ?? [];
  const isLocal = !/\.[a-z]/i.test(host);
  const whole = `${isLocal ? 'http' : 'https'}://${text}`;
  return host && URL.canParse(whole) ? `Write ${whole}.` : 'It must begin with http:// or https://.';
}

function ranked(word: string, known: readonly string[]): { candidate: string; distance: number }[] {
  const wanted = normalized(word);
  const leastDistance = leastDistanceTo(wanted);
  return known
    .map((candidate) => ({ candidate, least: leastDistance(candidate) }))
    .sort((a, b) => a.least - b.least)
    .slice(0, MAX_CANDIDATES)
    .map(({ candidate }) => ({ candidate, distance: editDistance(wanted, normalized(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
}

/** A lower bound of the edit distance, quick to compute: the letters that only one of two words has. */
function leastDistanceTo(wanted: string): (candidate: string) => number {
  const letters = new Int8Array(128);
  const count = (word: string, step: 1 | -1) => {
    for (let index = 0; index < Math.min(word.length, MAX_COMPARED); index++) {
      const code = word.charCodeAt(index);
      const lower = code >= 65 && code <= 90 ? code + 32 : code;
      if ((lower >= 97 && lower <= 122) || (code >= 48 && code <= 57)) letters[lower] = (letters[lower] ?? 0) + step;
    }
  };
  count(wanted, 1);
  return (candidate) => {
    count(candidate, -1);
    let [missing, added] = [0, 0];
    for (let code = 48; code <= 122; code++) {
      const difference = letters[code] ?? 0;
      if (difference > 0) missing += difference;
      else added -= difference;
    }
    count(candidate, 1);
    return Math.max(missing, added);
  };
}

function normalized(word: string): string {
  return word
    .slice(0, MAX_COMPARED)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

/** The number of letters added, removed, replaced, or swapped with a neighbour (Damerau-Levenshtein). */
export function editDistance(a: string, b: string): number {
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

/** How to install packages of Pocket Agent. They are not on npm yet, so the command names their tarballs. */
export function installCommand(...packages: readonly string[]): string {
  const files = packages.map((name) => `CHECKOUT/tarballs/${name.replace('@', '').replace('/', '-')}-${VERSION}.tgz`);
  return `npm install ${files.join(' ')}, where CHECKOUT is a checkout of Pocket Agent after npm run pack`;
}
