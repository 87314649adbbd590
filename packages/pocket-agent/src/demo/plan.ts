// Splits a request into steps and picks a tool for each by comparing words.
import { type Filled, fillArguments, readText } from './arguments.ts';
import type { Offer } from './offers.ts';
import { FILLER_WORDS, QUOTE, SYNONYMS, stem, wordsOf } from './words.ts';

/** `tool` is called only if none of its required arguments is missing. */
export type Step = { text: string; tool?: Filled & Pick<Offer, 'name' | 'via'> };
type PlanOptions = { tools: readonly Offer[]; mustCall: boolean };

const MIN_SCORE = 1.5;
const ADDRESSED_SCORE = 6;
/** Keeps the regular expressions fast. */
const MAX_REQUEST = 2_000;
const MAX_STEPS = 5;
const GREETING = /^(?:(?:hi|hello|hey|please|thanks|thank you|ok|okay)\b[\s,!.]*)+/i;
const STARTERS = 'what|how|who|where|when|which|why|list|show|read|search|find|convert|tell|ask|send|write|count|add';

/** `isWhole` is false if part of the request was ignored. */
export function planRequest(request: string, options: PlanOptions): { steps: Step[]; isWhole: boolean } {
  const start = request.slice(0, MAX_REQUEST).replace(GREETING, '');
  const [paragraph = '', ...others] = start.split(/\n\s*\n/);
  const texts = splitSentences(paragraph, options.tools);
  const isWhole = request.length <= MAX_REQUEST && others.length === 0 && texts.length <= MAX_STEPS;
  return { steps: texts.slice(0, MAX_STEPS).map((text) => planStep(text, options)), isWhole };
}

/** Splits at the end of sentences, and at "and" if the next word starts a request. Quotes stay whole. */
function splitSentences(text: string, tools: PlanOptions['tools']): string[] {
  const toolWords = tools.flatMap(({ name }) => wordsOf(name)).filter((word) => word.length > 3);
  const starter = `(?:the\\s+)?(?:${[STARTERS, ...toolWords].join('|')})\\b`;
  const separator = new RegExp(`\\n|[?!;.](?=\\s|$)|,?\\s+(?:and|then|also)\\s+(?=${starter})`, 'i');
  const quotes: string[] = [];
  const masked = text.replace(QUOTE, (quote) => `"${quotes.push(quote) - 1}"`);
  const sentences = masked.split(separator).map((sentence) => sentence.trim());
  return sentences.filter(Boolean).map((sentence) => sentence.replace(/"(\d+)"/g, (_, index) => quotes[index] ?? ''));
}

function planStep(text: string, { tools, mustCall }: PlanOptions): Step {
  const scores = scoreTools(text, tools);
  const candidates = tools.map((tool, index) => {
    const filled = fillArguments(tool.inputSchema, readText(text, tool));
    const score = scores[index] ?? 0;
    return { ...tool, ...filled, score: filled.missing.length > 0 ? score / 2 : score + filled.evidence };
  });
  const [best] = candidates.sort((left, right) => right.score - left.score);
  return best && (best.score >= MIN_SCORE || mustCall) ? { text, tool: best } : { text };
}

function scoreTools(text: string, tools: PlanOptions['tools']): number[] {
  const [, addressed = ''] = /\b(?:ask|tell|use|call)\s+(?:(?:the|tool|agent)\s+)*(\w+)/.exec(text.toLowerCase()) ?? [];
  const scores: number[] = tools.map(({ name }) => (wordsOf(name).includes(addressed) ? ADDRESSED_SCORE : 0));
  const weights = tools.map(wordWeights);
  const words = wordsOf(text.replace(QUOTE, ' ')).filter((word) => SYNONYMS.has(word) || !FILLER_WORDS.has(word));
  for (const word of new Set(words)) {
    const stems = [word, SYNONYMS.get(word) ?? word].map(stem);
    const own = weights.map((known) => Math.max(...stems.map((each) => known.get(each) ?? 0)));
    // a word that many tools share says little about any of them
    const sharedBy = own.filter((weight) => weight > 0).length || 1;
    for (const [index, weight] of own.entries()) scores[index] = (scores[index] ?? 0) + weight / Math.sqrt(sharedBy);
  }
  return scores;
}

/** The name counts most; then parameters and, in the description, what follows "when"; then the rest of it. */
function wordWeights({ name, description = '', inputSchema }: Offer): Map<string, number> {
  const parameters = Object.keys(inputSchema.properties ?? {}).join(' ');
  const [occasions = ''] = /\bwhen\b.*/is.exec(description) ?? [];
  const weighed = (text: string, weight: number) => wordsOf(text).map((word) => [stem(word), weight] as const);
  return new Map([...weighed(description, 1), ...weighed(`${parameters} ${occasions}`, 1.5), ...weighed(name, 3)]);
}
