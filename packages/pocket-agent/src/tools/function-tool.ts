// A function as a tool, in this process.
import type { CallToolResult, StandardSchemaV1, Tool, ToolAnnotations } from '@modelcontextprotocol/client';
import {
  configError,
  nullableString,
  OptionSet,
  PocketError,
  readable,
  snapshot,
  withoutUndefined,
} from '@pocket-agent/kit';
import { type Capability, checkCapability, type Judgement, judge } from '../access/capabilities.ts';
import { type JsonSchema, readValueSchema, type ValueSchema } from '../base/value-schema.ts';
import { isContentBlock, textResult } from './tool-result.ts';
import type { ToolCallContext, ToolSource } from './tool-source.ts';

/** The return value of `run`: a string, any JSON value, nothing, or a complete MCP result. */
export type ToolReturn =
  | CallToolResult
  | string
  | number
  | boolean
  | object
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is a fine tool
  | void;

interface ToolSettings {
  name: string;
  description: string;
  title?: string;
  annotations?: ToolAnnotations;
  /** Decides which profiles and approvals apply. Without it and without annotations: `delete`. */
  capability?: Capability;
  /** `_meta` of the tool. */
  meta?: Record<string, unknown>;
}

/** A tool of this process, as `tool()` makes it and `tools` of an agent takes it. */
export interface FunctionTool {
  readonly definition: Tool;
  call(args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult>;
  /** Takes precedence over annotations and meta: for tools without rights of their own. */
  judgement?: Judgement;
  /** For a tool with a conversation: returns the same tool with a new conversation. */
  fork?(): FunctionTool;
  /** The agent behind the tool. In a run that can be resumed, its answers and calls are in the journal of the run. */
  agent?: CalledAgent;
}

/** An agent behind a tool, such as a sub-agent. */
export interface CalledAgent {
  readonly name: string;
  /** Whether a run of it can be resumed. */
  readonly resumes?: boolean;
}

type NotAnObject = string | number | bigint | boolean | symbol | null | undefined | readonly unknown[];

/** Makes a non-object schema a type error. */
type OfObject<Schema extends StandardSchemaV1> =
  StandardSchemaV1.InferInput<Schema> extends NotAnObject ? 'an inputSchema must describe an object' : unknown;

const toolOptions = new OptionSet('A tool', {
  name: true,
  description: nullableString,
  inputSchema: true,
  run: true,
  title: nullableString,
  annotations: true,
  capability: true,
  meta: true,
  // fields of a tool that an MCP server listed, for code that wraps one
  outputSchema: true,
  icons: true,
  execution: true,
  _meta: true,
});

/** Options of other frameworks, and what to use instead. */
const foreignOptions = Object.entries({
  parameters: 'Did you mean "inputSchema"?',
  execute: 'Did you mean "run"?',
  needsApproval: 'Set "access.confirm" and "approve" of the agent.',
  requireApproval: 'Set "access.confirm" and "approve" of the agent.',
});

/** `inputSchema` is a zod schema (or another Standard Schema that can be converted to JSON Schema) or a JSON Schema. */
export function tool(
  settings: ToolSettings & {
    inputSchema?: JsonSchema;
    run(args: Record<string, unknown>, context: ToolCallContext): ToolReturn | Promise<ToolReturn>;
  },
): FunctionTool;
// last, because the compiler explains only why the last one does not match
export function tool<Schema extends StandardSchemaV1>(
  settings: ToolSettings & {
    inputSchema: Schema & OfObject<Schema>;
    run(args: StandardSchemaV1.InferOutput<Schema>, context: ToolCallContext): ToolReturn | Promise<ToolReturn>;
  },
): FunctionTool;
export function tool(
  settings: ToolSettings & {
    inputSchema?: JsonSchema | StandardSchemaV1;
    run(args: never, context: ToolCallContext): ToolReturn | Promise<ToolReturn>;
  },
): FunctionTool {
  return readable('The options of a tool', () => checkedTool(settings));
}

function checkedTool(
  settings: ToolSettings & { inputSchema?: JsonSchema | StandardSchemaV1; run: unknown },
): FunctionTool {
  const { name, description, title, annotations, inputSchema = { type: 'object' } } = settings;
  if (typeof name !== 'string' || name === '')
    throw configError('A tool needs a name: tool({ name, description, run }).');
  toolOptions.checkSpelling(settings, `Tool "${name}"`);
  for (const [key, advice] of foreignOptions) {
    if (key in settings) throw configError(`Tool "${name}" has no option "${key}". ${advice}`);
  }
  if (typeof settings.run !== 'function') throw configError(`Tool "${name}" needs a function "run".`);
  // the overloads above tie `run` to the schema, and the schema is checked before each call
  const run = settings.run as (args: unknown, context: ToolCallContext) => ToolReturn | Promise<ToolReturn>;
  const input = readInputSchema(name, inputSchema);
  const optional = withoutUndefined({ title, annotations, _meta: metaOf(settings) });
  return {
    definition: snapshot({ name, description, inputSchema: input.json, ...optional }),
    async call(args, context) {
      return toCallToolResult(await run(await input.parse(args), context));
    },
  };
}

function metaOf({ name, meta, ...settings }: ToolSettings): Record<string, unknown> | undefined {
  const capability: unknown = settings.capability ?? meta?.capability;
  if (capability === undefined) return meta;
  checkCapability(`The capability of tool "${name}"`, capability);
  return { ...meta, capability };
}

/** The schema of a tool: for the model, and for checking arguments. */
interface InputSchema {
  json: Tool['inputSchema'];
  /** Returns the arguments as the schema parsed them; throws if they do not match. */
  parse(args: Record<string, unknown>): Promise<unknown>;
}

function readInputSchema(tool: string, schema: JsonSchema | StandardSchemaV1): InputSchema {
  const what = `The inputSchema of tool "${tool}"`;
  const read = readValueSchema(what, schema);
  const json = objectSchemas.get(read.json) ?? snapshot(objectSchema(what, read.json));
  objectSchemas.set(read.json, json);
  return { json, parse: (args) => parseInput(tool, read, args) };
}

/** Cache: tools created per agent usually share schema objects. */
const objectSchemas = new WeakMap<JsonSchema, Tool['inputSchema']>();

async function parseInput(tool: string, schema: ValueSchema, args: unknown): Promise<unknown> {
  const checked = await schema.check(args);
  if ('value' in checked) return checked.value;
  if ('problems' in checked) {
    const text = `Bad arguments for "${tool}": ${checked.problems.join('; ')}`;
    throw new PocketError('TOOL_ARGUMENTS_INVALID', text);
  }
  throw new PocketError('TOOL_FAILED', `The inputSchema of tool "${tool}" cannot be used: ${checked.unusable}`);
}

function objectSchema(what: string, schema: JsonSchema): Tool['inputSchema'] {
  if (schema.type === undefined || schema.type === 'object') return { ...schema, type: 'object' };
  throw configError(`${what} must describe an object, not "${schema.type}".`);
}

/** Several function tools as one source. */
export function functionTools(tools: readonly FunctionTool[], name = 'functions'): ToolSource {
  return new FunctionTools(tools, name);
}

/** Tools of the agent itself, which are always in the prompt. */
export function ownTools(tools: readonly FunctionTool[], name: string): ToolSource & { readonly revision: number } {
  return Object.assign(new FunctionTools(tools, name), { revision: 0, exposure: () => 'direct' as const });
}

class FunctionTools implements ToolSource {
  readonly name: string;
  readonly hasOwnSchemas = true;
  readonly #tools: ReadonlyMap<string, FunctionTool>;

  constructor(tools: readonly FunctionTool[], name: string) {
    const byName = new Map<string, FunctionTool>();
    for (const entry of tools) {
      const { name: toolName } = entry.definition;
      if (byName.has(toolName)) throw configError(`Two tools are called "${toolName}"; rename one of them.`);
      byName.set(toolName, entry);
    }
    this.name = name;
    this.#tools = byName;
  }

  listTools(): Tool[] {
    return [...this.#tools.values()].map(({ definition }) => definition);
  }

  callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    const found = this.#tools.get(name);
    if (!found) throw new PocketError('TOOL_UNKNOWN', `There is no tool "${name}".`);
    return found.call(args, context);
  }

  judge(definition: Tool): Judgement {
    return this.#tools.get(definition.name)?.judgement ?? judge(definition);
  }

  resumes({ name }: Tool): boolean {
    return this.#tools.get(name)?.agent?.resumes ?? false;
  }
}

export function isFunctionTool(value: FunctionTool | ToolSource): value is FunctionTool {
  return 'definition' in value;
}

/** Wraps strings, numbers, objects and undefined in an MCP result; an MCP result stays as it is. */
export function toCallToolResult(value: ToolReturn): CallToolResult {
  if (value === undefined || value === null) return textResult('No result returned');
  if (typeof value === 'string') return textResult(value);
  if (typeof value !== 'object') return textResult(String(value));
  if (isCallToolResult(value)) return value;
  const text = textResult(JSON.stringify(value));
  const isPlain = Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? { ...text, structuredContent: value } : text;
}

const resultKeys = ['content', 'structuredContent', 'isError', '_meta'];

/** Other data may have a list called `content`, too. */
function isCallToolResult(value: object): value is CallToolResult {
  if (!('content' in value) || !Array.isArray(value.content)) return false;
  return Object.keys(value).every((key) => resultKeys.includes(key)) && value.content.every(isContentBlock);
}
