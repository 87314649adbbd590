// How near tools are to a query in meaning, by embeddings. Those of tools are kept in memory, by fingerprint.
import { configError, inSlices } from '@pocket-agent/kit';
import { fingerprint } from '../access/fingerprints.ts';
import type { Embed } from './embedder.ts';
import type { SearchedTool } from './tool-words.ts';
import { wordsOf } from './words.ts';

const MAX_KEPT = 20_000;
const MAX_TEXT = 1_000;

type Vectors = Map<string, Float32Array>;

const kept = new WeakMap<Embed, Vectors>();

interface Compared {
  query: string;
  tools: readonly SearchedTool[];
  embed: Embed;
  signal: AbortSignal;
}

/** From -1 to 1 for each tool. */
export async function similarities({ query, tools, embed, signal }: Compared): Promise<Float64Array> {
  const vectors: Vectors = kept.get(embed) ?? new Map();
  kept.set(embed, vectors);
  const keys: string[] = [];
  const missing = new Map<string, string>();
  await inSlices(tools, (each) => {
    const key = `${fingerprint(each.tool)} ${each.group?.name ?? ''}`;
    keys.push(key);
    if (!vectors.has(key)) missing.set(key, textOf(each));
  });
  const texts = [query.slice(0, MAX_TEXT), ...missing.values()];
  const [wanted = new Float32Array(), ...made] = read(await embed(texts, signal), texts.length);
  for (const [index, key] of [...missing.keys()].entries()) vectors.set(key, made[index] ?? new Float32Array());
  const result = Float64Array.from(keys, (key) => product(wanted, vectors.get(key) ?? new Float32Array()));
  for (const key of vectors.keys()) {
    if (vectors.size <= MAX_KEPT) break;
    vectors.delete(key);
  }
  return result;
}

function textOf({ name, tool, group }: SearchedTool): string {
  const title = [group?.name, tool.title ?? wordsOf(name).join(' ')].filter(Boolean).join(': ');
  return `${title}. ${tool.description?.trim() ?? ''}`.slice(0, MAX_TEXT);
}

/** Of length 1 each. */
function read(vectors: readonly (readonly number[] | Float32Array)[], count: number): Float32Array[] {
  const [first] = vectors;
  const isWhole = vectors.length === count && first !== undefined && first.length > 0;
  if (!isWhole || vectors.some(({ length }) => length !== first.length))
    throw configError(`toolSearch.embed must return ${count} vectors of the same length, one for each text`);
  return vectors.map((vector) => {
    const length = Math.hypot(...vector);
    if (!Number.isFinite(length)) throw configError('toolSearch.embed must return vectors of finite numbers');
    return Float32Array.from(vector, (value) => value / (length || 1));
  });
}

function product(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0);
  return sum;
}
