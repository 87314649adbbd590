// The fields of a form from the JSON Schema of an object, and what was typed into them as JSON.
import type { FormValue } from '../../src/wire/wire.ts';

export interface Field {
  name: string;
  title: string;
  type: string;
  description: string;
  choices: readonly { value: string; label: string }[] | undefined;
  isMultiple: boolean;
  isRequired: boolean;
  first: string;
}

/** What is typed, by name of the field. */
export type Values = Readonly<Record<string, string>>;

export function fieldsOf(schema: unknown): Field[] {
  const { properties, required } = asRecord(schema);
  return Object.entries(asRecord(properties)).map(([name, property]) => {
    const field = asRecord(property);
    const { type, title, description, items } = field;
    const isMultiple = type === 'array' && choicesOf(asRecord(items)) !== undefined;
    const first = field.default;
    return {
      name,
      title: typeof title === 'string' ? title : name,
      type: typeof type === 'string' ? type : 'JSON',
      description: typeof description === 'string' ? description : '',
      choices: choicesOf(isMultiple ? asRecord(items) : field),
      isMultiple,
      isRequired: Array.isArray(required) && required.includes(name),
      first: first === undefined ? '' : typeof first === 'string' ? first : JSON.stringify(first),
    };
  });
}

export function firstValues(fields: readonly Field[]): Values {
  return Object.fromEntries(fields.map(({ name, first }) => [name, first]));
}

/** Texts as they are, everything else as JSON. Empty fields are left out. */
export function readValues(fields: readonly Field[], values: Values): Record<string, FormValue> {
  const filledIn = fields.filter(({ name }) => typedIn(values, name) !== '');
  return Object.fromEntries(filledIn.map((field) => [field.name, readValue(field, typedIn(values, field.name))]));
}

/** Servers name fields as they like, also `constructor`. */
export function typedIn(values: Values, name: string): string {
  return Object.hasOwn(values, name) ? (values[name] ?? '') : '';
}

function readValue({ name, type }: Field, text: string) {
  if (type === 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    if (type === 'JSON') return text;
    throw new Error(`${name} must be ${type === 'integer' ? 'a whole number' : `JSON of the type ${type}`}.`);
  }
}

function choicesOf({ enum: values, enumNames, oneOf, anyOf, type }: Record<string, unknown>): Field['choices'] {
  if (type === 'boolean') return ['true', 'false'].map((value) => ({ value, label: value }));
  if (Array.isArray(values)) {
    const labels = Array.isArray(enumNames) ? enumNames : values;
    return values.map((value, index) => ({ value: String(value), label: String(labels[index] ?? value) }));
  }
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : [];
  const named = titled.map(asRecord).filter((each) => typeof each.const === 'string');
  if (named.length === 0) return undefined;
  return named.map((each) => ({ value: String(each.const), label: String(each.title ?? each.const) }));
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
