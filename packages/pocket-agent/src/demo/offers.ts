// The tools that a request can choose: those of the prompt, functions that `run_code` calls, and skills.
import type { JSONSchema7, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { FIND_TOOLS, LOAD_SKILL, RUN_CODE } from '../base/tool-names.ts';

/** `via`: the tool that is called in its place. */
export type Offer = LanguageModelV4FunctionTool & { via?: string };

/** As in the description of `run_code` and in results of `find_tools`. */
const FUNCTION =
  /(?:^ *\/\/ (?<description>.*)\n)? *(?<name>[\w$]+(?:\.[\w$]+|\["[^"]+"\]))\(args\??: (?<type>.*)\): Promise<.*>$/gm;
const FIELD = /(?<=[{;] )("[^"]*"|[\w$]+)(\??): ([^;{}]*?)(?: \/\*.*?\*\/)?(?=;| \})/g;
/** As in the description of the parameter of `load_skill`. */
const SKILL = /^- (?<name>\S+): (?<description>.*)$/gm;

/** The tool itself, or what is called through it. `found`: what `find_tools` returned. */
export function offersOf(tool: LanguageModelV4FunctionTool, found = ''): Offer[] {
  const { skill } = tool.inputSchema.properties ?? {};
  if (tool.name === RUN_CODE) return listed(FUNCTION, { via: RUN_CODE, text: `${tool.description}\n${found}` });
  if (tool.name === LOAD_SKILL && typeof skill === 'object' && skill.description)
    return listed(SKILL, { via: LOAD_SKILL, text: skill.description });
  return tool.name === FIND_TOOLS ? [] : [tool];
}

function listed(pattern: RegExp, { via, text }: { via: string; text: string }): Offer[] {
  return [...text.matchAll(pattern)].map(({ groups: { name = '', description = '', type = '' } = {} }) => ({
    type: 'function',
    via,
    name,
    description,
    inputSchema: schemaOf(type),
  }));
}

/** `{ a: number; b?: string }` as a JSON Schema. */
function schemaOf(type: string): JSONSchema7 {
  const fields = [...type.matchAll(FIELD)].map(([, key = '', ...rest]) => [key.replaceAll('"', ''), ...rest] as const);
  return {
    properties: Object.fromEntries(fields.map(([name, , of = '']) => [name, fieldSchema(of)])),
    required: fields.flatMap(([name, optional]) => (optional ? [] : [name])),
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
