// A zod schema whose descriptions say what is expected at each path.
import { z } from 'zod';

export type Path = readonly PropertyKey[];

export interface DescribedSchema<Value> {
  readonly zod: z.ZodType<Value>;
  /** A description of the value that is expected at a path. */
  expectedAt(path: Path): string;
  /** The allowed keys of the mapping at a path. */
  keysAt(path: Path): string[];
  /** Whether problems must not show the value at a path. */
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
  const along = (path: Path): Described[] => {
    described ??= z.toJSONSchema(zod, { target: 'draft-7', io: 'input' }) as Described;
    const passed = [described];
    for (const step of path) {
      const { properties, items, additionalProperties }: Described = passed.at(-1) ?? {};
      const other = typeof additionalProperties === 'object' ? additionalProperties : undefined;
      const next = typeof step === 'number' ? items : (properties?.[String(step)] ?? other);
      if (!next) break;
      passed.push(next);
    }
    return passed;
  };
  return {
    zod,
    isSecret,
    expectedAt: (path) => along(path).findLast(({ description }) => description)?.description ?? 'another value',
    keysAt: (path) => Object.keys(along(path).at(-1)?.properties ?? {}),
  };
}
