// Finds tools by words: BM25 over the fields of a tool and of its server, with word families and small typing errors.
import { TimeSlices } from '@pocket-agent/kit';
import { Postings, Scores, type Variant } from './postings.ts';
import { type GroupWords, readGroup, readTool, type SearchedTool, Vocabulary, type Words } from './tool-words.ts';
import { stopWords, weakWords, wordFamilies } from './word-families.ts';
import { stemOf, wordsOf } from './words.ts';

export interface FoundTool {
  position: number;
  /** Positions of nearly the same tool in other groups, such as a second server that writes files. */
  alternatives: number[];
}

/** A word of the same family counts this much. The weights are measured: see bench/tool-search/run.ts. */
const FAMILY_WEIGHT = 0.65;
const TYPO_WEIGHT = 0.6;
const WEAK_WORD_WEIGHT = 0.65;
/** How much a tool gains if its group as a whole fits the query. */
const GROUP_WEIGHT = 0.27;
/** How much a tool loses that matches a part of the query. */
const COVERAGE_POWER = 0.5;
/** How much an embedding counts beside words, and from which similarity on it finds a tool without a common word. */
const MEANING_SHARE = 0.3;
const MIN_MEANING = 0.4;
/** Part of the first sentence that two tools share if they are nearly the same. */
const SAME_SENTENCE = 0.5;
/** The candidates of a search: more than it returns, because some are joined. */
const CANDIDATES = 200;
const MAX_QUERY = 1_000;
const MAX_QUERY_WORDS = 40;

const familyOf = new Map<string, Set<string>>();
for (const family of wordFamilies) {
  const stems = new Set(family.map(stemOf));
  for (const stem of stems) familyOf.set(stem, new Set([...(familyOf.get(stem) ?? []), ...stems]));
}
const weakStems = new Set(weakWords.map(stemOf));

/** Built once for a list of tools, without a long turn of the event loop. It knows nothing of other tools. */
export class ToolIndex {
  readonly tools: readonly SearchedTool[];
  readonly #vocabulary = new Vocabulary();
  /** Words of the first sentence of each tool. */
  readonly #sentences: (readonly number[])[] = [];
  readonly #groupOf: number[] = [];
  #ofTools = new Postings(0);
  #ofGroups = new Postings(0);

  private constructor(tools: readonly SearchedTool[]) {
    this.tools = tools;
  }

  static async of(tools: readonly SearchedTool[]): Promise<ToolIndex> {
    const index = new ToolIndex(tools);
    await index.#build();
    return index;
  }

  async #build(): Promise<void> {
    const slices = new TimeSlices();
    const groups = new Map<string, GroupWords>();
    const wordsOfTools: Words[] = [];
    for (const searched of this.tools) {
      wordsOfTools.push(this.#read(searched, groups));
      if (slices.isOver) await slices.next();
    }
    this.#ofTools = new Postings(this.#vocabulary.size);
    this.#ofGroups = new Postings(this.#vocabulary.size);
    await this.#ofTools.fill(wordsOfTools, slices);
    const wordsOfGroups = [...groups.values()].map(({ words }) => words);
    await this.#ofGroups.fill(wordsOfGroups, slices);
  }

  #read(searched: SearchedTool, groups: Map<string, GroupWords>): Words {
    const name = searched.group?.name ?? '';
    const group = groups.get(name) ?? readGroup(searched.group, groups.size, this.#vocabulary);
    groups.set(name, group);
    const words = readTool(searched, group, this.#vocabulary);
    for (const word of new Set(words.name)) group.words.name.push(word);
    for (const word of words.firstSentence) group.words.firstSentence.push(word);
    this.#sentences.push(words.firstSentence);
    this.#groupOf.push(group.number);
    return words;
  }

  /** The best first. `meanings`: how near each tool is to the query, if that is known. */
  search(query: string, limit: number, meanings?: Float64Array): FoundTool[] {
    const scores = new Scores(this.#ofTools);
    const groupScores = new Scores(this.#ofGroups);
    const compared = { count: 0 };
    for (const [stem, weight] of queryStems(query)) {
      const variants = this.#variants(stem, compared);
      scores.add(weight, variants);
      groupScores.add(weight, variants);
    }
    const totals = new Float64Array(this.#groupOf.length);
    for (const [position, group] of this.#groupOf.entries()) {
      const own = scores.of(position) * scores.coverage(position) ** COVERAGE_POWER;
      totals[position] = own + GROUP_WEIGHT * groupScores.of(group);
    }
    return this.#joined(bestOf(meanings ? withMeanings(totals, meanings) : totals), limit);
  }

  #joined(ranked: readonly number[], limit: number): FoundTool[] {
    const found: FoundTool[] = [];
    for (const position of ranked) {
      const same = found.find((each) => this.#isNearlySame(each.position, position));
      if (same) same.alternatives.push(position);
      else if (found.length === limit) break;
      else found.push({ position, alternatives: [] });
    }
    return found;
  }

  #isNearlySame(one: number, other: number): boolean {
    const isSameGroup = this.#groupOf[one] === this.#groupOf[other];
    if (isSameGroup || this.tools[one]?.name.toLowerCase() !== this.tools[other]?.name.toLowerCase()) return false;
    const first = new Set(this.#sentences[one]);
    const second = new Set(this.#sentences[other]);
    const shared = [...first].filter((word) => second.has(word)).length;
    return shared >= SAME_SENTENCE * Math.max(first.size, second.size);
  }

  #variants(stem: string, compared: { count: number }): Variant[] {
    const word = this.#vocabulary.find(stem);
    const others = [...(familyOf.get(stem) ?? [])].flatMap((member) => this.#vocabulary.find(member) ?? []);
    const family = others.filter((other) => other !== word).map((other) => ({ word: other, part: FAMILY_WEIGHT }));
    if (word !== undefined) return [{ word, part: 1 }, ...family];
    const similar = this.#vocabulary.similarTo(stem, compared).map((each) => ({ word: each, part: TYPO_WEIGHT }));
    return [...similar, ...family];
  }
}

function withMeanings(totals: Float64Array, meanings: Float64Array): Float64Array {
  const most = totals.reduce((one, other) => Math.max(one, other), 0) || 1;
  return totals.map((total, position) => {
    const meaning = meanings[position] ?? 0;
    if (total === 0 && meaning < MIN_MEANING) return 0;
    return (1 - MEANING_SHARE) * (total / most) + MEANING_SHARE * meaning;
  });
}

/** Positions of the highest totals, the best first. */
function bestOf(totals: Float64Array): number[] {
  const least = totals.toSorted().at(-CANDIDATES) ?? 0;
  const positions: number[] = [];
  for (let position = 0; position < totals.length; position++) {
    const total = totals[position] ?? 0;
    if (total > 0 && total >= least) positions.push(position);
  }
  return positions.sort((one, other) => (totals[other] ?? 0) - (totals[one] ?? 0) || one - other);
}

function queryStems(query: string): Map<string, number> {
  const stems = new Map<string, number>();
  for (const word of wordsOf(withoutPaths(query.slice(0, MAX_QUERY)))) {
    if (stopWords.has(word.toLowerCase())) continue;
    const stem = stemOf(word);
    stems.set(stem, weakStems.has(stem) ? WEAK_WORD_WEIGHT : 1);
    if (stems.size === MAX_QUERY_WORDS) break;
  }
  return stems;
}

/** Replaces web addresses and paths by their kind, which is all that they say about tools. */
function withoutPaths(query: string): string {
  return query
    .replace(/\bhttps?:\/\/\S+/g, ' url ')
    .replace(/(?<!\S)~?\/\S*?(?:\.(\w{1,5}))?(?=[,.;:)]*(?:\s|$))/g, (_path, ending = '') => ` file ${ending} `);
}
