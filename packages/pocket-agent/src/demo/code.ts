// Code mode for the demo model: reads the types of functions, and writes code that calls them.
import type { JSONSchema7, LanguageModelV4FunctionTool } from '@ai-sdk/provider';

/** As in the description of `run_code` and in results of `find_tools`. */
const DECLARATION = /(?:^ *\/\/ (.*)\n)? *([\w$]+(?:\.[\w$]+|\["[^"]+"\]))\(args\??: (.*)\): Promise<.*>$/gm;
const FIELD = /(?<=[{;] )("[^"]*"|[\w$]+)(\??): ([^;{}]*?)(?: \/\*.*?\*\/)?(?=;| \})/g;

export function functionsIn(text: string): LanguageModelV4FunctionTool[] {
  const found = [...text.matchAll(DECLARATION)];
  return found.map(([, description = '', name = '', type = '']) => ({
    type: 'function',
    name,
    description,
    inputSchema: schemaOf(type),
  }));
}

/** `{ a: number; b?: string }` as a JSON Schema. */
function schemaOf(type: string): JSONSchema7 {
  const fields = [...type.matchAll(FIELD)].map(([, key = '', optional, of = '']) => ({
    name: key.replaceAll('"', ''),
    isRequired: optional === '',
    schema: fieldSchema(of),
  }));
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    required: fields.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  };
}

function fieldSchema(type: string): JSONSchema7 {
  const choices = type.match(/"[^"]*"/g);
  if (choices) return { enum: choices.map((each) => each.slice(1, -1)) };
  if (type.endsWith('[]')) return { type: 'array', items: fieldSchema(type.slice(0, -2)) };
  return type === 'number' || type === 'boolean' ? { type } : { type: 'string' };
}

/** Code that makes the calls and returns their results. */
export function codeFor(calls: readonly { name: string; input: object }[]): string {
  const made = calls.map(({ name, input }) => `await ${name}(${JSON.stringify(input)})`);
  return `return ${made.length === 1 ? made[0] : `[${made.join(', ')}]`};`;
}
