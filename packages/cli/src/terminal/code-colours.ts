// Colours fenced code line by line: comments, strings, numbers and keywords of common languages.
import type { Style } from './style.ts';

const words = (text: string) => new Set(text.split(' '));
const cLike = words(
  'abstract as async await bool boolean break case catch char class const constexpr continue debugger declare def default defer delete do double else enum export extends extern false final finally float fn for foreach from func function go goto if impl implements import in include infer inline instanceof int interface internal is keyof let long loop match mod module mut namespace native new nil null nullptr number object of operator out override package private protected pub public range readonly record ref return satisfies sealed select self short signed static string struct super switch template this throw throws trait true try type typedef typeof undefined union unknown unsafe unsigned use using var virtual void volatile when where while with yield',
);
const scripts = words(
  'and as assert async await begin break case class continue def del do done echo elif else elsif end ensure esac except exit export false False fi finally for from function global if import in is lambda local match module next nil None nonlocal not null or pass raise redo require rescue retry return self set source super switch then true True try unless until when while with yield',
);
const sql = words(
  'add all alter and as asc between by case create cross database default delete desc distinct drop else end exists false foreign from full group having in index inner insert into is join key left like limit not null on or order outer primary references returning right select set table then true union unique update using values view when where with',
);

interface Language {
  comment: string;
  keywords: ReadonlySet<string>;
  ignoresCase?: true;
}

const ofC: Language = { comment: '//', keywords: cLike };
const ofScripts: Language = { comment: '#', keywords: scripts };
const languages = new Map<string, Language>([
  ...'ts tsx typescript js jsx javascript mjs cjs java kotlin kt c h cpp cc hpp cs csharp go golang rust rs swift php scala dart json jsonc json5 css scss zig'
    .split(' ')
    .map((name) => [name, ofC] as const),
  ...'py python rb ruby sh bash zsh shell console fish yaml yml toml ini dockerfile make makefile perl r elixir'
    .split(' ')
    .map((name) => [name, ofScripts] as const),
  ...['sql', 'postgres', 'mysql', 'sqlite', 'lua', 'haskell', 'hs'].map(
    (name) => [name, { comment: '--', keywords: sql, ignoresCase: true }] as const,
  ),
]);

const token =
  /(?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|(?<number>\b\d[\w.]*)|(?<word>[A-Za-z_$][\w$]*)/g;

/** Longer lines get one colour: unclosed strings would take quadratic time. */
const MAX_LINE = 2_000;

/** Colours one line. `language` is the word after the fence; unknown languages get one colour. */
export function colouredCode(line: string, language: string, style: Style): string {
  if (language === 'diff') return colouredDiff(line, style);
  const known = line.length > MAX_LINE ? undefined : languages.get(language.toLowerCase());
  if (!known) return style.cyan(line);
  const { comment, keywords, ignoresCase } = known;
  const from = commentStart(line, comment);
  const code = line.slice(0, from).replace(token, (text, ...rest) => {
    const { string, number, word } = rest.at(-1) as Record<string, string | undefined>;
    if (string !== undefined) return style.green(text);
    if (number !== undefined) return style.yellow(text);
    const isKeyword = word !== undefined && keywords.has(ignoresCase ? word.toLowerCase() : word);
    return isKeyword ? style.cyan(text) : text;
  });
  return code + style.dim(line.slice(from));
}

/** Ignores comment marks inside a string or a word, as in `http://`. */
function commentStart(line: string, mark: string): number {
  const outside = line.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g, (text) =>
    ' '.repeat(text.length),
  );
  for (let at = outside.indexOf(mark); at >= 0; at = outside.indexOf(mark, at + 1)) {
    if (at === 0 || /[\s;(){},[\]]/.test(outside[at - 1] ?? '')) return at;
  }
  const isBlock = mark === '//' && /^\s*(?:\/\*|\*\s|\*\/|\*$)/.test(line);
  return isBlock ? 0 : line.length;
}

function colouredDiff(line: string, style: Style): string {
  if (line.startsWith('@@')) return style.cyan(line);
  if (/^(?:\+\+\+|---|diff |index )/.test(line)) return style.bold(line);
  if (line.startsWith('+')) return style.green(line);
  return line.startsWith('-') ? style.red(line) : line;
}
