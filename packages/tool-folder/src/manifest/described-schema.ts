// A zod schema that knows, from its descriptions, what is expected at each path of a value.
import { z } from 'zod';

export type Path = readonly PropertyKey[];

export interface DescribedSchema<Value> {
  readonly zod: z.ZodType<Value>;
  /** Describes the value that is expected at a path. */
  expectedAt(path: Path): string;
  /** The allowed keys of the mapping at a path. */
  keysAt(path: Path): string[];
  /** Whether the value at a path may be a secret, which problems must not show. */
  isSecret(path: Path): boolean;
}

interface Described {
  description?: string;
  properties?: Record<string, Described>;
  items?: Described;
  additionalProperties?: Described | boolean;
}

export function describedSchema<Value>(
  zod: z.ZodType<Value>,
  isSecret: (path: Path) => boolean = () => false,
): DescribedSchema<Value> {
  let described: Described | undefined;
  /** The schemas from the root to the path, as far as they are known. */
  const schemasTo = (path: Path): Described[] => {
    described ??= z.toJSONSchema(zod, { target: 'draft-7', io: 'input' }) as Described;
    const found = [described];
    for (const step of path) {
      const { properties, items, additionalProperties }: Described = found.at(-1) ?? {};
      const other = typeof additionalProperties === 'object' ? additionalProperties : undefined;
      const next = typeof step === 'number' ? items : (properties?.[String(step)] ?? other);
      if (!next) break;
      found.push(next);
    }
    return found;
  };
  return {
    zod,
    isSecret,
    expectedAt: (path) => schemasTo(path).findLast(({ description }) => description)?.description ?? 'another value',
    keysAt: (path) => Object.keys(schemasTo(path).at(-1)?.properties ?? {}),
  };
}
