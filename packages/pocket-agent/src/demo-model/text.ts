// Finds things in plain text by their shape: numbers, clock times, paths, names, arithmetic, and what to convert into what.

const NUMBER = String.raw`(?<![\w.:])-?\d[\d,]*(?:\.\d+)?(?![\d:])`;
const CLOCK = String.raw`\b(?:\d{1,2}:\d\d(?::\d\d)?(?:\s*[ap]\.?m\b\.?)?|\d{1,2}\s*[ap]\.?m\b\.?|noon|midnight)`;
const DATE = String.raw`\b\d{4}-\d\d-\d\d\b`;
const NAME_WORD = String.raw`\p{Lu}[\p{L}\p{N}&.'’_-]*`;
/** One or more capitalised words: "New York", "Rio de Janeiro". */
export const NAME = String.raw`${NAME_WORD}(?:\s+(?:(?:de|of|la|the)\s+)?${NAME_WORD})*`;
const PATH = String.raw`(?<![\w@*])(?:[\w.~-]*\/[\w./*-]*[\w*]|[\w-]+\.[a-z]{1,5}\b|\.[a-z][\w.-]*)`;
const FUNCTIONS = 'sqrt|abs|round|floor|ceil|min|max|ln|log|exp|sin|cos|tan|pi|mod';
const QUESTION_WORD =
  /^(?:what|whats|which|who|how|when|where|why|if|is|are|do|does|can|could|please|i|and|then|also|the|a|my)$/i;
const SMALL_WORD =
  /^(?:in|at|for|of|on|to|from|about|with|by|get|give|show|tell|find|search|use|call|like|be|today|now)$/i;
const POINTER =
  /^(?:the|this|that|these|those|my|your|our|an?|it|here|there|all|general|total|order|now|me|us|which|what)\b/i;

const OPERAND = String.raw`(-?\d[\d,.]*%?)`;
const WORDED_ARITHMETIC: [pattern: string, symbols: string][] = [
  [`add ${OPERAND} (?:to|and) ${OPERAND}`, '$2 + $1'],
  [`subtract ${OPERAND} from ${OPERAND}`, '$2 - $1'],
  [`(?:multiply|product of) ${OPERAND} (?:by|and) ${OPERAND}`, '$1 * $2'],
  [`divide ${OPERAND} by ${OPERAND}`, '$1 / $2'],
  [`sum of ${OPERAND} and ${OPERAND}`, '$1 + $2'],
  [`square root of ${OPERAND}`, 'sqrt($1)'],
  [String.raw`(?<=\d)\s*percent\b`, '%'],
  [String.raw`(?<=\d)\s*squared\b`, '^2'],
  [String.raw`\b(?:times|multiplied by)\b|(?<=\d)\s*x(?=\s*\d)`, '*'],
  [String.raw`\bdivided by\b`, '/'],
  [String.raw`\bplus\b`, '+'],
  [String.raw`\bminus\b`, '-'],
  [String.raw`\bto the power of\b`, '^'],
];

export const find = (pattern: string, text: string, flags = 'iu') => new RegExp(pattern, flags).exec(text)?.[0];
export const escapePattern = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
export const isPointer = (text: string) => POINTER.test(text);

export function wordsOf(text: string): string[] {
  const apart = text.replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2').toLowerCase();
  return apart.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Without quotes, punctuation at the end, an article, and words that are no part of a name. */
export function bare(text: string): string {
  const inner = text.trim().replace(/^["'“”`]+|["'“”`?!.,;:]+$/g, '');
  return inner.replace(/^the\s+|\s+(?:time|please)$/gi, '').trim();
}

export function quotedIn(text: string): string[] {
  const quotes = text.matchAll(/"([^"]+)"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`/g);
  return [...quotes].map((match) => match.slice(1).find(Boolean) ?? '');
}

export function numbersIn(text: string): string[] {
  return withoutTimes(text).match(new RegExp(NUMBER, 'gu')) ?? [];
}

/** The number that belongs to a parameter: "limit 5", and if it counts something, "5 lines". */
export function numberNear(text: string, words: string, isCount: boolean): string | undefined {
  const named = new RegExp(`\\b(?:${words})s?\\s*(?:of|is|=|:|to)?\\s*(${NUMBER})`, 'iu').exec(text)?.[1];
  return named ?? (isCount ? new RegExp(`(${NUMBER})\\s+(?:${words})s?\\b`, 'iu').exec(text)?.[1] : undefined);
}

export function resultNumber(text: string): string | undefined {
  return find(`(?<==\\s*)${NUMBER}`, text) ?? numbersIn(text)[0];
}

export function clockIn(text: string): string | undefined {
  return find(`(?:${DATE}[ T])?(?:${CLOCK})`, text);
}

export function dateIn(text: string): string | undefined {
  return find(`${DATE}|\\b(?:today|tomorrow|yesterday)\\b`, text);
}

export function pathIn(text: string): string | undefined {
  return find(PATH, text.replace(/\bhttps?:\/\/\S+/g, ' '));
}

/** Capitalised names, except a word that is capitalised only because it comes first. */
export function namesIn(text: string): string[] {
  const runs = text.match(new RegExp(`(?<![\\p{L}\\d])${NAME}`, 'gu')) ?? [];
  const names = runs.map((run) =>
    run
      .split(/\s+/)
      .filter((word) => !QUESTION_WORD.test(bare(word)))
      .join(' '),
  );
  return names.filter((name) => name !== '' && text.indexOf(name) > 0);
}

/** What remains of a request without small words and the words of the tool: "weather london" leaves "london". */
export function leftover(text: string, toolWords: readonly string[]): string | undefined {
  const isKnown = (word: string) => toolWords.includes(word) || toolWords.includes(word.replace(/s$/, ''));
  const rest = (text.match(/[\p{L}\p{N}'_-]+/gu) ?? []).filter((word) => {
    const isSmall = QUESTION_WORD.test(word) || SMALL_WORD.test(word) || POINTER.test(word);
    return !isSmall && !wordsOf(word).every(isKnown);
  });
  return rest.length > 0 ? rest.join(' ') : undefined;
}

/** The arithmetic in a text as an expression, if there is any: `17% of 2380`, or "12 times 4" as `12 * 4`. */
export function arithmeticIn(text: string): string | undefined {
  const symbols = WORDED_ARITHMETIC.reduce(
    (result, [pattern, symbol]) => result.replace(new RegExp(pattern, 'gi'), symbol),
    withoutTimes(text),
  );
  const token = String.raw`\d[\d,]*(?:\.\d+)?%?|[-+*/^(),×÷−]|\b(?:of|${FUNCTIONS}|e)\b|\s`;
  const runs = symbols.match(new RegExp(`(?:${token})+`, 'gi')) ?? [];
  const trimmed = runs.map((run) => run.replace(/^(?:\s|,|of\b|[)*/^+])+|(?:\s|,|\bof|[(*/^+-])+$/gi, ''));
  const isExpression = new RegExp(String.raw`\d.*[-+*/^%×÷−]|\d\s*mod\s*\d|(?:${FUNCTIONS})\s*\(`, 'i');
  return trimmed.filter((run) => isExpression.test(run)).sort((left, right) => right.length - left.length)[0];
}

/** What is converted into what: "from A to B", "5 A in B", "how many B are in 5 A", "15:00 in A … in B". */
export function pairIn(text: string): { from: string; to: string } | undefined {
  const clock = clockIn(text);
  if (clock !== undefined) {
    const names = namesIn(text);
    const afterClock = text.slice(text.indexOf(clock) + clock.length);
    const from = names.find((name) => afterClock.includes(name));
    const to = names.find((name) => name !== from);
    if (from && to) return { from: bare(from), to: bare(to) };
  }
  const amount = `(?:${clock ? CLOCK : NUMBER})`;
  const patterns = [
    `how (?:many|much)\\s+(?<to>.+?)\\s+(?:(?:are|is|make|fit)\\s+)?(?:there\\s+)?(?:in|per)?\\s*(?:${NUMBER}|an?\\b)\\s*(?<from>.+)$`,
    String.raw`\bfrom\s+(?<from>.+?)\s+(?:to|into)\s+(?<to>.+)$`,
    `${amount}(?:\\s+in\\b)?\\s*(?<from>\\S.*?)\\s+(?:to|into|in|as)\\s+(?<to>.+)$`,
  ];
  const groups = patterns.map((pattern) => new RegExp(pattern, 'iu').exec(text)?.groups).find(Boolean);
  return groups?.from && groups.to ? { from: bare(groups.from), to: bare(groups.to) } : undefined;
}

const withoutTimes = (text: string) => text.replace(new RegExp(`${DATE}|${CLOCK}`, 'giu'), ' ; ');
