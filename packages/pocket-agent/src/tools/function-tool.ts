// A plain function as a tool, in this process: no server, no protocol, the same rules.
import type {
  CallToolResult,
  JsonSchemaType,
  JsonSchemaValidator,
  JsonSchemaValidatorResult,
  StandardSchemaV1,
  Tool,
  ToolAnnotations,
} from '@modelcontextprotocol/client';
import { deepCopy, deepFreeze, errorText, OptionSet, PocketError, schemaIssuesText, snapshot } from '@pocket-agent/kit';
import { type Capability, checkCapability, type Judgement, judge } from '../access/access.ts';
import { isContentBlock, textResult } from './tool-result.ts';
import { FEW_TOOLS, type ToolCallContext, type ToolSource } from './tools.ts';

/** A JSON Schema of an object. */
export type JsonSchema = { type?: string; [keyword: string]: unknown };

/** What `run` may return: a string, any JSON value, nothing, or a complete MCP result. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is a fine tool
export type ToolReturn = CallToolResult | string | number | boolean | object | null | undefined | void;

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

export interface FunctionTool {
  readonly definition: Tool;
  call(args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult>;
  /** Overrides annotations and meta: for tools that have no rights of their own. */
  judgement?: Judgement;
  /** For a tool that remembers: one that remembers nothing yet, for another conversation. */
  fork?(): FunctionTool;
}

type NoObject = string | number | bigint | boolean | symbol | null | undefined | readonly unknown[];

/** The compiler refuses a schema of something else. */
type OfObject<Schema extends StandardSchemaV1> = StandardSchemaV1.InferInput<Schema> extends NoObject ? never : unknown;

const toolOptions = new OptionSet('A tool', {
  name: true,
  description: true,
  inputSchema: true,
  run: true,
  title: true,
  annotations: true,
  capability: true,
  meta: true,
  // fields of a tool that an MCP server listed, for code that wraps one
  outputSchema: true,
  icons: true,
  execution: true,
  _meta: true,
});

/** `inputSchema` is a zod schema (or another Standard Schema that can tell its JSON Schema) or a JSON Schema. */
export function tool<Schema extends StandardSchemaV1>(
  settings: ToolSettings & {
    inputSchema: Schema & OfObject<Schema>;
    run(args: StandardSchemaV1.InferOutput<Schema>, context: ToolCallContext): ToolReturn | Promise<ToolReturn>;
  },
): FunctionTool;
export function tool(
  settings: ToolSettings & {
    inputSchema?: JsonSchema;
    run(args: Record<string, unknown>, context: ToolCallContext): ToolReturn | Promise<ToolReturn>;
  },
): FunctionTool;
export function tool(
  settings: ToolSettings & {
    inputSchema?: JsonSchema | StandardSchemaV1;
    run(args: never, context: ToolCallContext): ToolReturn | Promise<ToolReturn>;
  },
): FunctionTool {
  const { name, description, title, annotations, inputSchema = { type: 'object' } } = settings;
  if (!name) throw new PocketError('CONFIG_INVALID', 'A tool needs a name: tool({ name, description, run }).');
  const wrong = toolOptions.findErrorOrMisspelling(settings, `Tool "${name}"`);
  if (wrong) throw wrong;
  if (settings.inputSchema === undefined && 'parameters' in settings)
    throw new PocketError('CONFIG_INVALID', `Tool "${name}" has no option "parameters". Did you mean "inputSchema"?`);
  const meta = metaOf(settings);
  if (typeof settings.run !== 'function')
    throw new PocketError('CONFIG_INVALID', `Tool "${name}" needs a function "run".`);
  // the overloads above tie `run` to the schema, and the schema is checked before each call
  const run = settings.run as (args: unknown, context: ToolCallContext) => ToolReturn | Promise<ToolReturn>;
  const definition: Tool = {
    name,
    description,
    inputSchema: isStandardSchema(inputSchema)
      ? sharedSchemaOf(name, inputSchema)
      : objectSchema(name, checkedSchema(name, inputSchema)),
  };
  if (title !== undefined) definition.title = title;
  if (annotations !== undefined) definition.annotations = annotations;
  if (meta !== undefined) definition._meta = meta;
  const shown = snapshot(definition);
  return {
    definition: shown,
    async call(args, context) {
      const checking = isStandardSchema(inputSchema)
        ? byStandard(inputSchema, args)
        : byJsonSchema(shown.inputSchema, args);
      const checked = checking instanceof Promise ? await checking : checking;
      if ('problem' in checked) {
        throw new PocketError('TOOL_ARGUMENTS_INVALID', `Bad arguments for "${definition.name}": ${checked.problem}`);
      }
      return toCallToolResult(await run(checked.value, context));
    },
  };
}

function metaOf({ name, meta, ...settings }: ToolSettings): Record<string, unknown> | undefined {
  const capability: unknown = settings.capability ?? meta?.capability;
  if (capability === undefined) return meta;
  checkCapability(`The capability of tool "${name}"`, capability);
  return { ...meta, capability };
}

/** Several function tools as one source. */
export function functionTools(tools: readonly FunctionTool[], name = 'functions'): ToolSource {
  return new FunctionTools(tools, name);
}

/** A class, for there may be one for every agent. */
class FunctionTools implements ToolSource {
  readonly name: string;
  readonly hasOwnSchemas = true;
  readonly #tools: readonly FunctionTool[];
  #byName: Map<string, FunctionTool> | undefined;

  constructor(tools: readonly FunctionTool[], name: string) {
    const names = new Set<string>();
    for (const { definition } of tools) {
      if (names.size === names.add(definition.name).size) {
        throw new PocketError('CONFIG_INVALID', `Two tools are called "${definition.name}"; give one another name.`);
      }
    }
    this.name = name;
    this.#tools = [...tools];
  }

  listTools(): Tool[] {
    return this.#tools.map(({ definition }) => definition);
  }

  callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    const found = this.#find(name);
    if (!found) throw new PocketError('TOOL_UNKNOWN', `There is no tool "${name}".`);
    return found.call(args, context);
  }

  judge(definition: Tool): Judgement {
    return this.#find(definition.name)?.judgement ?? judge(definition);
  }

  #find(wanted: string): FunctionTool | undefined {
    if (this.#tools.length <= FEW_TOOLS) return this.#tools.find(({ definition }) => definition.name === wanted);
    this.#byName ??= new Map(this.#tools.map((entry) => [entry.definition.name, entry]));
    return this.#byName.get(wanted);
  }
}

export function isFunctionTool(value: FunctionTool | ToolSource): value is FunctionTool {
  return 'definition' in value;
}

/** An MCP result as it is; text, numbers, objects and nothing made into one. */
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

/** Data may have a list called `content` too. */
function isCallToolResult(value: object): value is CallToolResult {
  if (!('content' in value) || !Array.isArray(value.content)) return false;
  return Object.keys(value).every((key) => resultKeys.includes(key)) && value.content.every(isContentBlock);
}

type Checked = { value: unknown } | { problem: string };

function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  const mayBe = (typeof schema === 'object' && schema !== null) || typeof schema === 'function';
  return mayBe && '~standard' in schema;
}

/** A JSON Schema without `type` has one of these, or nothing at all. */
const SCHEMA_KEYWORDS =
  /^(\$.+|.*[pP]roperties|propertyNames|required|dependen.+|definitions|allOf|anyOf|oneOf|not|if|enum|const|examples)$/;

/** A list of properties looks like a schema that allows everything. */
function checkedSchema(name: string, schema: JsonSchema): JsonSchema {
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) {
    const keys = Object.keys(schema);
    const isDescribed = typeof schema.description === 'string' || typeof schema.title === 'string';
    const isSchema =
      schema.type !== undefined || isDescribed || keys.length === 0 || keys.some((key) => SCHEMA_KEYWORDS.test(key));
    const parts = [...Object.values(schema), ...Object.values(schema.properties ?? {})];
    if (isSchema && !parts.some(isStandardSchema)) return schema;
  }
  throw new PocketError(
    'CONFIG_INVALID',
    `The inputSchema of tool "${name}" must be a zod schema, z.object({ … }), or a JSON Schema, { type: 'object', properties: { … } }.`,
  );
}

const sharedSchemas = new WeakMap<StandardSchemaV1, Tool['inputSchema']>();

/** Once for each schema, frozen: a program that makes its tools for every agent anew mostly has the schemas once. */
function sharedSchemaOf(name: string, schema: StandardSchemaV1): Tool['inputSchema'] {
  const known = sharedSchemas.get(schema);
  if (known) return known;
  const made: Tool['inputSchema'] = deepFreeze(deepCopy(objectSchema(name, jsonSchemaOf(name, schema))));
  sharedSchemas.set(schema, made);
  return made;
}

function jsonSchemaOf(name: string, schema: StandardSchemaV1): JsonSchema {
  const standard: object = schema['~standard'];
  if (!('jsonSchema' in standard)) {
    throw new PocketError(
      'CONFIG_INVALID',
      `The inputSchema of tool "${name}" cannot tell its JSON Schema: use zod 4.2 or newer, or pass a JSON Schema.`,
    );
  }
  const { jsonSchema } = standard as { jsonSchema: { input(options: { target: string }): JsonSchema } };
  try {
    return jsonSchema.input({ target: 'draft-2020-12' });
  } catch (error) {
    throw new PocketError(
      'CONFIG_INVALID',
      `The inputSchema of tool "${name}" has no JSON Schema: ${errorText(error)}`,
      {
        cause: error,
      },
    );
  }
}

function objectSchema(name: string, schema: JsonSchema): Tool['inputSchema'] {
  if (schema.type === undefined || schema.type === 'object') return { ...schema, type: 'object' };
  throw new PocketError(
    'CONFIG_INVALID',
    `The inputSchema of tool "${name}" must describe an object, not "${schema.type}".`,
  );
}

function byStandard(schema: StandardSchemaV1, args: unknown): Checked | Promise<Checked> {
  const result = schema['~standard'].validate(args);
  return result instanceof Promise ? result.then(readCheck) : readCheck(result);
}

function readCheck(result: StandardSchemaV1.Result<unknown>): Checked {
  if (!result.issues) return { value: result.value };
  return { problem: schemaIssuesText(result.issues) };
}

/** Made at the first call of a tool. */
const validators = new WeakMap<JsonSchema, JsonSchemaValidator<unknown>>();

function byJsonSchema(schema: JsonSchema, args: unknown): Checked | Promise<Checked> {
  const known = validators.get(schema);
  return known ? readValidation(known(args)) : makeValidator(schema).then((validate) => readValidation(validate(args)));
}

async function makeValidator(schema: JsonSchema): Promise<JsonSchemaValidator<unknown>> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv');
  const known = validators.get(schema);
  if (known) return known;
  const made = new AjvJsonSchemaValidator().getValidator(schema as JsonSchemaType);
  validators.set(schema, made);
  return made;
}

function readValidation(result: JsonSchemaValidatorResult<unknown>): Checked {
  return result.valid ? { value: result.data } : { problem: result.errorMessage };
}
