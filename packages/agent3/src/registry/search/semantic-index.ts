// Semantic similarity by an embedding model. If the model fails, the search uses words alone.
import { type Kysely, sql } from 'kysely';
import type { RegistrySchema } from '../records/schema.ts';

/** Returns one vector per text, all of the same length. */
export type Embedder = (texts: readonly string[]) => Promise<readonly Float32Array[]>;

/** In a larger registry, only agents found by words are compared. */
const MAX_COMPARED = 2_000;
const MAX_TEXT_LENGTH = 2_000;

export class SemanticIndex {
  readonly #db: Kysely<RegistrySchema>;
  readonly #embed: Embedder;

  constructor(db: Kysely<RegistrySchema>, embed: Embedder) {
    this.#db = db;
    this.#embed = embed;
  }

  /** Skips agents that have been removed. */
  async learn(agents: readonly { id: string; text: string }[]): Promise<void> {
    const vectors = await this.#vectors(agents.map(({ text }) => text));
    for (const [index, { id }] of agents.entries()) {
      const vector = vectors[index];
      if (!vector) continue;
      const encoded = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');
      await this.#db
        .insertInto('agent3_vectors')
        .columns(['agent_number', 'vector'])
        .expression((query) =>
          query
            .selectFrom('agent3_agents')
            .select(['number', sql<string>`${encoded}`.as('vector')])
            .where('id', '=', id),
        )
        .onConflict((conflict) => conflict.column('agent_number').doUpdateSet({ vector: encoded }))
        .execute();
    }
  }

  /** Similarity to the query, 0 to 1, of the candidates and, in a small registry, of all other agents. */
  async similarity(query: string, candidates: readonly number[]): Promise<Map<number, number>> {
    const [queryVector] = await this.#vectors([query]);
    if (!queryVector) return new Map();
    const { total } = await this.#db
      .selectFrom('agent3_vectors')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    const all = this.#db.selectFrom('agent3_vectors').selectAll();
    const rows = await (total <= MAX_COMPARED ? all : all.where('agent_number', 'in', [...candidates, 0])).execute();
    return new Map(rows.map(({ agent_number, vector }) => [agent_number, cosine(queryVector, decodeVector(vector))]));
  }

  async #vectors(texts: readonly string[]): Promise<readonly Float32Array[]> {
    try {
      return await this.#embed(texts.map((text) => text.slice(0, MAX_TEXT_LENGTH)));
    } catch {
      return [];
    }
  }
}

function decodeVector(vector: string): Float32Array {
  return new Float32Array(new Uint8Array(Buffer.from(vector, 'base64')).buffer);
}

/** Vectors of another model have no similarity. */
function cosine(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return 0;
  const lengths = Math.sqrt(product(a, a) * product(b, b));
  return lengths === 0 ? 0 : Math.max(0, product(a, b) / lengths);
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
