// References inside a JSON Schema.

export type Schema = Record<string, unknown>;

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The schema that the `$ref` of a schema leads to; undefined if it leads out of the root schema. */
export function resolveReference({ $ref }: Schema, root: Schema): Schema | undefined {
  const found = typeof $ref === 'string' ? atReference(root, $ref) : undefined;
  return isSchema(found) ? found : undefined;
}

/** Longer references are not followed: a schema may hold thousands of them. */
const MAX_LENGTH = 1_000;

/** The value that a reference such as `#/$defs/name` leads to. */
export function atReference(root: Schema, reference: string): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/') || reference.length > MAX_LENGTH) return undefined;
  const pointer = decoded(reference);
  let node: unknown = root;
  for (let start = 2; start <= pointer.length; ) {
    const slash = pointer.indexOf('/', start);
    const end = slash === -1 ? pointer.length : slash;
    const key = unescapePointer(pointer.slice(start, end));
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = Reflect.get(node, key);
    start = end + 1;
  }
  return node;
}

export function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

function decoded(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}
