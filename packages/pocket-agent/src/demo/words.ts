// Words, quotes and arithmetic in plain text.

/** Words that say nothing about which tool is meant, and are not part of a value. */
export const FILLER_WORDS = new Set(
  `a an the is are was be am do does did can could will would should what whats which who how when where why if i me my we us you your it its
  this that these those there here in on at of for to from into near and or then also as by with about please tell give get use call tool ask
  many much some any all not no have has s t now right today tomorrow current like find show`.split(/\s+/),
);
export const QUOTE = /"[^"]*"|“[^”]*”|`[^`]*`/g;
/** Words that people use, and the words that tools have for them. */
export const SYNONYMS = new Map(Object.entries({ date: 'time', find: 'search', new: 'web', show: 'read' }));
const OPERATORS = new Map(Object.entries({ times: '*', plus: '+', minus: '-', percent: '%' }));
const ARITHMETIC = /(?:[\d.,%+*/^()×÷−\s-]|\b(?:of|mod|sqrt|abs|round|min|max|ln|log|exp|sin|cos|tan|pi)\b)+/gi;

export function wordsOf(text: string): string[] {
  const separated = text.replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2').toLowerCase();
  return separated.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** "multiply", "multiplies" and "multiplying" have the same stem. */
export const stem = (word: string) => word.replace(/(?<=.{3})(?:ations?|ates?|ies|ying|ing|ed|es|s|e|y)$/, '');

/** Cuts between words. */
export const shortened = (text: string, maxLength: number) =>
  text.length <= maxLength ? text : `${text.slice(0, maxLength).replace(/\s+\S*$/, '')} …`;

/** The longest arithmetic expression in a text: `17% of 2380`, or `12 * 4` for "12 times 4". */
export function arithmeticIn(text: string): string | undefined {
  const symbols = text.replace(/\w+/g, (word) => OPERATORS.get(word.toLowerCase()) ?? word);
  const runs = symbols.replace(/\d{4}-\d\d-\d\d|\d+:\d\d/g, ';').match(ARITHMETIC) ?? [];
  const trimmed = runs.map((run) => run.replace(/^(?:[\s.,*/^+)]|of\b)+|(?:[\s.,*/^+(-]|\bof)+$/gi, ''));
  const expressions = trimmed.filter((run) => /\d/.test(run) && /[\d)]\s*(?:[-+*/^%×÷−]|mod)|\w\(/.test(run));
  return expressions.sort((left, right) => right.length - left.length)[0];
}
