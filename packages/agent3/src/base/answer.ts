// Building blocks of response schemas. Unknown fields are kept, because a newer hub may send them.
import { z } from 'zod';

/** The type has only the known fields. */
export function answer<Fields extends z.core.$ZodLooseShape>(fields: Fields) {
  return z.looseObject(fields) as unknown as z.ZodObject<Fields, z.core.$strip>;
}

export const count = z.int().min(0);
