// How near tools are to a query in meaning, by embeddings. Those of tools are kept in memory, by fingerprint.
import { abortable, configError, inSlices } from '@pocket-agent/kit';
import { fingerprint } from '../access/fingerprints.ts';
import type { Embed } from './embedder.ts';
import type { SearchedTool } from './tool-words.ts';
import { wordsOf } from './words.ts';

const MAX_KEPT = 20_000;
const MAX_TEXT = 1_000;

interface Kept {
  vectors: Map<string, Float32Array>;
  /** Settles when the search that embeds tools now has done so. */
  embedding: Promise<unknown> | undefined;
}

const keptBy = new WeakMap<Embed, Kept>();

interface Compared {
  query: string;
  tools: readonly SearchedTool[];
  embed: Embed;
  signal: AbortSignal;
}

/** From -1 to 1 for each tool. Searches at the same time do not embed the same tools. */
export async function similarities({ query, tools, embed, signal }: Compared): Promise<Float64Array> {
  const kept: Kept = keptBy.get(embed) ?? { vectors: new Map(), embedding: undefined };
  keptBy.set(embed, kept);
  const { vectors } = kept;
  const texts = new Map<string, string>();
  const keys: string[] = [];
  await inSlices(tools, (each) => {
    const key = `${fingerprint(each.tool)} ${each.group?.name ?? ''}`;
    keys.push(key);
    if (!vectors.has(key)) texts.set(key, textOf(each));
  });
  const missing = () => [...texts].filter(([key]) => !vectors.has(key));
  while (kept.embedding && missing().length > 0) await abortable(kept.embedding, signal);
  const own = embedAll({ query, missing: missing(), vectors, embed, signal });
  if (missing().length > 0) kept.embedding = own.catch(() => {}).finally(() => (kept.embedding = undefined));
  const wanted = await own;
  const result = Float64Array.from(keys, (key) => product(wanted, vectors.get(key) ?? []));
  for (const key of vectors.keys()) {
    if (vectors.size <= MAX_KEPT) break;
    vectors.delete(key);
  }
  return result;
}

interface Embedding extends Pick<Compared, 'query' | 'embed' | 'signal'>, Pick<Kept, 'vectors'> {
  /** Texts of tools by key. */
  missing: readonly (readonly [key: string, text: string])[];
}

/** Keeps the vectors of the tools, and returns that of the query. */
async function embedAll({ query, missing, vectors, embed, signal }: Embedding): Promise<Float32Array> {
  const texts = [query.slice(0, MAX_TEXT), ...missing.map(([, text]) => text)];
  const [wanted = new Float32Array(), ...made] = read(await embed(texts, signal), texts.length);
  for (const [index, [key]] of missing.entries()) vectors.set(key, made[index] ?? new Float32Array());
  return wanted;
}

function textOf({ name, tool, group }: SearchedTool): string {
  const title = [group?.name, tool.title ?? wordsOf(name).join(' ')].filter(Boolean).join(': ');
  return `${title}. ${tool.description?.trim() ?? ''}`.slice(0, MAX_TEXT);
}

/** The vectors one after the other, each scaled to length 1. */
function read(vectors: readonly (readonly number[] | Float32Array)[], count: number): Float32Array[] {
  const [first] = vectors;
  const isWhole = vectors.length === count && first !== undefined && first.length > 0;
  if (!isWhole || vectors.some(({ length }) => length !== first.length))
    throw configError(`toolSearch.embed must return ${count} vectors of the same length, one for each text`);
  return vectors.map((vector) => {
    const length = Math.sqrt(product(vector, vector));
    if (!Number.isFinite(length)) throw configError('toolSearch.embed must return vectors of finite numbers');
    return Float32Array.from(vector, (value) => value / (length || 1));
  });
}

function product(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0);
  return sum;
}
