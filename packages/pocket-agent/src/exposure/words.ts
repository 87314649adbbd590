// The words of a text as a search compares them: identifiers split, endings removed, Chinese and Japanese in pairs of characters.

const CJK = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}';
const PIECES = new RegExp(
  `[${CJK}]+|\\p{Lu}+(?!\\p{Ll})[\\p{Ll}\\p{N}]*|\\p{Lu}?[[\\p{L}\\p{N}]--[\\p{Lu}${CJK}]]+`,
  'gv',
);
/** Most texts are ASCII, and a pattern for them is several times as fast. */
const ASCII_PIECES = /[A-Z]+(?![a-z])[a-z0-9]*|[A-Z]?[a-z0-9]+/g;
/** Punctuation, arrows, drawings and emoji, which part words. */
const SYMBOLS =
  /[\u00a0-\u00a9\u2000-\u206f\u20a0-\u20cf\u2190-\u245f\u2500-\u2bff]|\ufe0f|[\ud83c-\ud83e][\udc00-\udfff]/g;
const IS_CJK = new RegExp(`^[${CJK}]`, 'u');
const NOT_ASCII = /[^\t-~]/;

/** `getUserName` and `get_user_name` are three words each. */
export function wordsOf(text: string): string[] {
  if (!NOT_ASCII.test(text)) return text.match(ASCII_PIECES) ?? [];
  const plain = text.replace(SYMBOLS, ' ');
  if (!NOT_ASCII.test(plain)) return plain.match(ASCII_PIECES) ?? [];
  const pieces = text.normalize('NFKC').match(PIECES) ?? [];
  return pieces.flatMap((piece) => (IS_CJK.test(piece) ? pairsOf(piece) : [piece]));
}

/** These languages put no spaces between words. */
function pairsOf(piece: string): string[] {
  const characters = [...piece];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** Words of more letters are data. */
const MAX_LETTERS = 40;

/** In lower case, without the endings of English plurals and verbs: `Queries`, `query` and `querying` have one stem. */
export function stemOf(word: string): string {
  let stem = word.slice(0, MAX_LETTERS).toLowerCase();
  // "news" is not the plural of "new"
  if (stem.length < 4 || stem === 'news' || !/^[a-z]+$/.test(stem)) return stem;
  if (stem.endsWith('ies') && stem.length > 4) stem = `${stem.slice(0, -3)}y`;
  else if (/(ss|sh|ch|x|z)es$/.test(stem)) stem = stem.slice(0, -2);
  else if (/[^su]s$/.test(stem)) stem = stem.slice(0, -1);
  if (stem.length > 5 && stem.endsWith('ing')) stem = singleEnd(stem.slice(0, -3));
  else if (stem.length > 4 && stem.endsWith('ed')) stem = singleEnd(stem.slice(0, -2));
  if (stem.length > 3 && stem.endsWith('e')) stem = stem.slice(0, -1);
  if (stem.length > 4 && stem.endsWith('y')) stem = `${stem.slice(0, -1)}i`;
  return stem;
}

/** `running` without its ending is `run`. */
function singleEnd(stem: string): string {
  return /([bdgmnprt])\1$/.test(stem) ? stem.slice(0, -1) : stem;
}

/** Whether two words differ by one letter that is wrong, missing or added, or by two that are swapped. */
export function isOneEdit(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false;
  const shorter = Math.min(one.length, other.length);
  const longer = Math.max(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const differing = longer - start - end;
  if (differing <= 1) return true;
  const isSwap = one[start] === other[start + 1] && one[start + 1] === other[start];
  return one.length === other.length && differing === 2 && isSwap;
}
