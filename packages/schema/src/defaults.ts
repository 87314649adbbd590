// Fills in the defaults of a JSON Schema.
import { isSchema, resolveReference, type Schema } from './references.ts';

interface Place {
  root: Schema;
  /** Schemas that were applied to this value: a schema may refer to itself. */
  applied: Set<Schema>;
  /** Properties whose default is being filled in: inside it they get no default again, which would never end. */
  filling: readonly unknown[];
  /** Defaults filled in so far in the whole value: they can grow exponentially. */
  added: { count: number };
}

const MAX_DEFAULTS = 10_000;

/** A copy of the value. Defaults in anyOf, oneOf and if are left out: it is unknown which branch applies. */
export function withDefaults(schema: Schema, value: unknown): unknown {
  const place = { root: schema, applied: new Set<Schema>(), filling: [], added: { count: 0 } };
  return fill(schema, structuredClone(value), place);
}

function fill(schema: unknown, value: unknown, place: Place): unknown {
  if (!isSchema(schema) || place.applied.has(schema)) return value;
  place.applied.add(schema);
  let filled = value;
  const referred = resolveReference(schema, place.root);
  if (referred) filled = fill(referred, filled, place);
  for (const part of listOf(schema.allOf)) filled = fill(part, filled, place);
  if (Array.isArray(filled)) return filledItems(schema, filled, place);
  if (isSchema(filled)) return filledProperties(schema, filled, place);
  return filled;
}

function inside(place: Place, filling: readonly unknown[] = place.filling): Place {
  return { ...place, applied: new Set(), filling };
}

function filledItems(schema: Schema, items: unknown[], place: Place): unknown[] {
  const first = listOf(schema.prefixItems ?? schema.items);
  const rest = schema.prefixItems === undefined && Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  return items.map((item, index) => fill(index < first.length ? first[index] : rest, item, inside(place)));
}

function filledProperties(schema: Schema, value: Schema, place: Place): Schema {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const present = Object.entries(value).map(([name, item]): [string, unknown] => {
    const own = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    return [name, fill(own, item, inside(place))];
  });
  const added = Object.entries(properties).flatMap(([name, property]): [string, unknown][] => {
    if (Object.hasOwn(value, name) || place.filling.includes(property)) return [];
    const defaultValue = defaultOf(property, place.root);
    if (defaultValue === undefined) return [];
    if (++place.added.count > MAX_DEFAULTS) throw new Error(`its defaults add more than ${MAX_DEFAULTS} values`);
    return [[name, fill(property, structuredClone(defaultValue), inside(place, [...place.filling, property]))]];
  });
  return Object.fromEntries([...present, ...added]);
}

/** The default of the property itself, or of the first schema it refers to that has one. */
function defaultOf(property: unknown, root: Schema): unknown {
  const passed = new Set<unknown>();
  for (let schema = property; isSchema(schema) && !passed.has(schema); schema = resolveReference(schema, root)) {
    if (schema.default !== undefined) return schema.default;
    passed.add(schema);
  }
  return undefined;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
