// The tool `run_code`. The code of the model runs in a sandbox; the calls that it makes are ordinary calls of the run.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { textFault } from '@pocket-agent/http/json-weight';
import { isRecord, PocketError } from '@pocket-agent/kit';
import type { ReachableTool, ShownCaller, ToolCallContext, ToolCaller, ToolSource, ToolsInReach } from 'pocket-agent';
import { RUN_CODE } from 'pocket-agent/internal';
import { declarationOf } from './declarations.ts';
import { ALL, FunctionNames } from './functions.ts';
import { type CodeModeOptions, readOptions } from './options.ts';
import { quickJs } from './quickjs.ts';
import type { Sandbox, Script, ScriptEnd } from './sandbox.ts';
import { ScriptOutput } from './script-output.ts';
import { resultValue, ScriptFiles } from './values.ts';

/** Longer lists of functions are found with `find_tools`. */
const MAX_DECLARATIONS = 8_000;
const MAX_NAMESPACES = 30;
const MAX_ARGUMENT_BYTES = 2 ** 20;
/** The part of `maxScripts` that one caller may use, so that the scripts of others can run. */
const CALLER_SHARE = 1 / 4;
const ARGUMENT_LIMITS = { maxValues: 100_000, maxDepth: 200 };
/** The part of the memory of a script that the JSON of one result may have: its values take several times as much. */
const RESULT_PART = 8;

const DESCRIPTION = `Runs JavaScript that calls tools as functions. Use it for several calls, loops over results and large results: only what the code returns or logs enters the conversation.
The code is the body of an async function. Each function takes one object and returns a promise; a call that fails or is refused throws an error. There are no imports, timers, files or network. Return a value, or use console.log.`;

const definition: Tool = Object.freeze({
  name: RUN_CODE,
  description: DESCRIPTION,
  inputSchema: {
    type: 'object',
    properties: {
      code: { type: 'string', minLength: 1, description: 'JavaScript, such as: return (await tools.a({})).length' },
    },
    required: ['code'],
    additionalProperties: false,
  },
} satisfies Tool);

/** Gives an agent the tool `run_code`: its model calls tools from JavaScript in a sandbox. Needs the package quickjs-wasi. */
export function codeMode(options?: CodeModeOptions): ToolSource {
  return new CodeMode(readOptions(options), quickJs());
}

class CodeMode implements ToolSource {
  readonly name = 'code-mode';
  readonly hasOwnSchemas = true;
  readonly revision = 0;
  readonly #options: Required<CodeModeOptions>;
  readonly #sandbox: Sandbox;
  /** Scripts in progress, by caller. */
  readonly #running = new Map<string | undefined, number>();

  constructor(options: Required<CodeModeOptions>, sandbox: Sandbox) {
    this.#options = options;
    this.#sandbox = sandbox;
  }

  listTools(): Tool[] {
    return [definition];
  }

  /** Code has no more rights than its caller, so running it needs no right of its own. */
  judge(): { capability: 'read'; from: 'sub-agent' } {
    return { capability: 'read', from: 'sub-agent' };
  }

  /** After a crash the script is run again; what it called is in the journal of the run. */
  resumes(): boolean {
    return true;
  }

  exposure(): 'direct' {
    return 'direct';
  }

  showCaller(tool: Tool, { only, others }: ToolsInReach): ShownCaller {
    const names = new FunctionNames([...only, ...others]);
    const parts = [DESCRIPTION];
    if (others.length > 0) parts.push(`Tools that you can call directly are functions, too: ${ALL}.NAME({ … }).`);
    if (only.length === 0) return { tool: described(tool, parts) };
    const declarations = declarationsWithin(only, names);
    if (declarations) return { tool: described(tool, [...parts, 'Functions:', ...declarations]) };
    parts.push(`There are ${only.length} functions${namespacesOf(only)}. find_tools returns their types.`);
    const byName = new Map(only.map((each) => [each.name, each]));
    return {
      tool: described(tool, parts),
      describe: (name) => {
        const found = byName.get(name);
        return found && declarationOf(names.pathOf(found), found);
      },
    };
  }

  async callTool(_name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    const { tools, canResume = false } = context;
    if (!tools) throw new PocketError('TOOL_FAILED', `${RUN_CODE} works only in a run of an agent.`);
    const { maxCodeBytes } = this.#options;
    const code = codeIn(args);
    if (Buffer.byteLength(code) > maxCodeBytes) {
      throw new PocketError(
        'TOOL_ARGUMENTS_INVALID',
        `The code may have at most ${maxCodeBytes} bytes. Write shorter code.`,
      );
    }
    const end = this.#begin(context.caller);
    try {
      return await this.#run(code, tools, canResume);
    } finally {
      end();
    }
  }

  /** Counts a script until the returned function is called. Throws if there are too many. */
  #begin(caller: string | undefined): () => void {
    const { maxScripts } = this.#options;
    const running = this.#running;
    const own = running.get(caller) ?? 0;
    const most = caller === undefined ? maxScripts : Math.ceil(maxScripts * CALLER_SHARE);
    const all = [...running.values()].reduce((sum, count) => sum + count, 0);
    if (all >= maxScripts) throw tooMany(`${maxScripts} scripts`);
    if (own >= most) throw tooMany(`${most} of your scripts`);
    running.set(caller, own + 1);
    return () => {
      const left = (running.get(caller) ?? 1) - 1;
      if (left > 0) running.set(caller, left);
      else running.delete(caller);
    };
  }

  async #run(code: string, tools: ToolCaller, canResume: boolean): Promise<CallToolResult> {
    const { maxMemoryBytes, maxOutputBytes } = this.#options;
    const files = new ScriptFiles(maxMemoryBytes);
    const output = new ScriptOutput(maxOutputBytes);
    let openQuestions = 0;
    const asking = (isAsked: boolean) => {
      openQuestions += isAsked ? 1 : -1;
    };
    const script: Script = {
      code,
      functions: new FunctionNames(tools.list()).table,
      limits: this.#limits,
      time: canResume ? tools.startedAt : undefined,
      signal: tools.signal,
      call: async (name, text) => {
        const result = await tools.call(name, argumentsIn(name, text), { via: 'code', asking });
        return jsonOf(name, resultValue(result, files), maxMemoryBytes / RESULT_PART);
      },
      log: (line) => output.log(line),
      isPaused: () => openQuestions > 0,
    };
    const end: ScriptEnd = await this.#sandbox.run(script);
    output.noteUnrepeated(tools.unrepeated);
    return 'error' in end ? output.failed(end.error) : output.returned(end.value, files);
  }

  get #limits(): Script['limits'] {
    const { maxMemoryBytes, maxCpuMs, timeoutMs, maxCalls, maxOutputBytes } = this.#options;
    return {
      memoryBytes: maxMemoryBytes,
      cpuMs: maxCpuMs,
      timeoutMs,
      calls: maxCalls,
      outputBytes: maxOutputBytes,
      argumentBytes: MAX_ARGUMENT_BYTES,
    };
  }
}

function tooMany(scripts: string): PocketError {
  return new PocketError('TOOL_FAILED', `${scripts} are running already. Try again later.`);
}

function described(tool: Tool, parts: readonly string[]): Tool {
  return Object.freeze({ ...tool, description: parts.join('\n') });
}

/** Undefined if they are too long for a description. */
function declarationsWithin(tools: readonly ReachableTool[], names: FunctionNames): string[] | undefined {
  const declarations: string[] = [];
  let length = 0;
  for (const tool of tools) {
    const declaration = declarationOf(names.pathOf(tool), tool);
    length += declaration.length;
    if (length > MAX_DECLARATIONS) return undefined;
    declarations.push(declaration);
  }
  return declarations;
}

function namespacesOf(tools: readonly ReachableTool[]): string {
  const groups = [...new Set(tools.flatMap(({ group }) => group?.name.slice(0, 40) ?? []))];
  if (groups.length === 0) return '';
  return ` of ${groups.slice(0, MAX_NAMESPACES).join(', ')}${groups.length > MAX_NAMESPACES ? ' and others' : ''}`;
}

/** Models like to write a Markdown block. */
function codeIn({ code }: Record<string, unknown>): string {
  if (typeof code !== 'string') throw new PocketError('TOOL_ARGUMENTS_INVALID', 'code must be a string.');
  return /^\s*```\w*\n([\s\S]*)\n```\s*$/.exec(code)?.[1] ?? code;
}

function argumentsIn(name: string, text: string): Record<string, unknown> {
  const fault = textFault(text, ARGUMENT_LIMITS);
  if (fault) throw new PocketError('TOOL_ARGUMENTS_INVALID', `The arguments of "${name}" are JSON ${fault}.`);
  const args: unknown = JSON.parse(text);
  if (isRecord(args)) return args;
  throw new PocketError('TOOL_ARGUMENTS_INVALID', `"${name}" takes one object with its arguments, such as { a: 1 }.`);
}

function jsonOf(name: string, value: unknown, maxLength: number): string {
  const text = JSON.stringify(value);
  if (text.length <= maxLength) return text;
  const size = `${text.length} characters; a script takes at most ${Math.floor(maxLength)}`;
  throw new PocketError('TOOL_FAILED', `The result of "${name}" has ${size}. Ask for less, such as one page.`);
}
