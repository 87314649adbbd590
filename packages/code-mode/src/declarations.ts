// Types of functions, as short TypeScript made from the JSON Schemas of tools. Schemas come from servers: however large,
// deep or odd they are, a declaration stays short.
import { isRecord } from '@pocket-agent/kit';
import type { ReachableTool } from 'pocket-agent';

const MAX_DEPTH = 6;
const MAX_ARGUMENTS = 1_500;
const MAX_RESULT = 600;
const MAX_DESCRIPTION = 200;
const MAX_NOTE = 100;
const MAX_NAME = 60;
const MAX_CHOICES = 12;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** `path` is how a script calls the tool. */
export function declarationOf(path: string, { tool }: ReachableTool): string {
  const about = line(tool.description ?? tool.title ?? '', MAX_DESCRIPTION);
  const args = new TypeText(tool.inputSchema, MAX_ARGUMENTS).text;
  const result = tool.outputSchema ? new TypeText(tool.outputSchema, MAX_RESULT).text : 'unknown';
  const optional = hasRequired(tool.inputSchema) ? '' : '?';
  return `${about && `// ${about}\n`}${path}(args${optional}: ${args}): Promise<${result}>`;
}

function hasRequired({ required }: { required?: unknown }): boolean {
  return Array.isArray(required) && required.length > 0;
}

class TypeText {
  readonly text: string;
  readonly #root: unknown;
  #left: number;

  constructor(schema: unknown, maxLength: number) {
    this.#root = schema;
    this.#left = maxLength;
    this.text = this.#typeOf(schema, 0);
  }

  #typeOf(schema: unknown, depth: number): string {
    // also parts without text count: references can repeat them without end
    this.#left--;
    if (!isRecord(schema) || depth > MAX_DEPTH || this.#left <= 0) return this.#take('unknown');
    const { $ref, const: only, enum: choices, anyOf, oneOf, allOf, type } = schema;
    if (typeof $ref === 'string') return this.#typeOf(this.#find($ref), depth + 1);
    if ('const' in schema) return this.#literals([only]);
    if (Array.isArray(choices)) return this.#literals(choices);
    for (const union of [anyOf, oneOf]) if (Array.isArray(union)) return this.#join(union, ' | ', depth);
    if (Array.isArray(allOf)) return this.#join(allOf, ' & ', depth);
    if (Array.isArray(type)) {
      return this.#join(
        type.map((each) => ({ ...schema, type: each })),
        ' | ',
        depth,
      );
    }
    return this.#plain(type, schema, depth);
  }

  #plain(type: unknown, schema: Record<string, unknown>, depth: number): string {
    if (type === 'integer') return this.#take('number');
    if (type === 'string' || type === 'number' || type === 'boolean' || type === 'null') return this.#take(type);
    if (type === 'array') {
      const items = this.#typeOf(schema.items, depth + 1);
      return /^[\w$]+$/.test(items) ? `${items}[]` : `(${items})[]`;
    }
    return type === 'object' || isRecord(schema.properties) ? this.#object(schema, depth) : this.#take('unknown');
  }

  #object({ properties, required, additionalProperties }: Record<string, unknown>, depth: number): string {
    const names = isRecord(properties) ? Object.keys(properties) : [];
    if (!isRecord(properties) || names.length === 0) {
      const values = isRecord(additionalProperties) ? this.#typeOf(additionalProperties, depth + 1) : 'unknown';
      return `Record<string, ${values}>`;
    }
    const needed = new Set<unknown>(Array.isArray(required) ? required : []);
    const fields: string[] = [];
    // a call without them is refused
    for (const name of [...names.filter((each) => needed.has(each)), ...names.filter((each) => !needed.has(each))]) {
      if (this.#left <= 0) return `{ ${fields.join('; ')}; … }`;
      if (name.length > MAX_NAME) {
        this.#left--;
        continue;
      }
      const key = this.#take(IDENTIFIER.test(name) ? name : JSON.stringify(name));
      const field = properties[name];
      const type = this.#typeOf(field, depth + 1);
      fields.push(`${key}${needed.has(name) ? '' : '?'}: ${type}${depth === 0 ? this.#note(field) : ''}`);
    }
    return `{ ${fields.join('; ')} }`;
  }

  #note(schema: unknown): string {
    const about = isRecord(schema) && typeof schema.description === 'string' ? line(schema.description, MAX_NOTE) : '';
    return about && this.#left > 0 ? this.#take(` /* ${about} */`) : '';
  }

  #join(schemas: readonly unknown[], separator: string, depth: number): string {
    const types = schemas.slice(0, MAX_CHOICES).map((each) => this.#typeOf(each, depth + 1));
    return [...new Set(types)].join(separator) || 'unknown';
  }

  #literals(values: readonly unknown[]): string {
    const shown = values.slice(0, MAX_CHOICES).map((each) => {
      if (typeof each === 'string' && each.length > MAX_NAME) return this.#take('string');
      // values may be of any size
      return this.#take(typeof each === 'object' && each !== null ? 'unknown' : JSON.stringify(each));
    });
    const more =
      values.length > shown.length ? [values.every((each) => typeof each === 'string') ? 'string' : 'unknown'] : [];
    return [...new Set([...shown, ...more])].join(' | ') || 'unknown';
  }

  /** Only references within the schema. */
  #find(reference: string): unknown {
    if (!reference.startsWith('#')) return undefined;
    const keys = reference.slice(1).split('/').slice(1);
    return keys.reduce<unknown>(
      (found, key) => (isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined),
      this.#root,
    );
  }

  #take(text: string): string {
    this.#left -= text.length;
    return text;
  }
}

/** The text on one line, and never the end of a comment. */
function line(text: string, maxLength: number): string {
  const short = text
    .slice(0, maxLength * 2)
    .replace(/\s+/g, ' ')
    .replaceAll('*/', '* /')
    .trim();
  return short.length > maxLength ? `${short.slice(0, maxLength - 1).trimEnd()}…` : short;
}
