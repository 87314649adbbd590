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

/** The value that a reference such as `#/$defs/name` leads to. */
export function atReference(root: Schema, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  const path = decoded(reference).split('/').slice(1).map(unescapePointer);
  return path.reduce<unknown>((node, key) => {
    return typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined;
  }, root);
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
