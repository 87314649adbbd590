// Helpers for tests: a model that follows a script, recordings of real models, an MCP server in the same process, a
// recorder of events.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import type { McpServer } from '@modelcontextprotocol/server';
import {
  checkValue,
  delay,
  isRecord,
  listOf,
  neverAborted,
  nullableString,
  type OptionRule,
  OptionSet,
} from '@pocket-agent/kit';
import { streamOf, usageOf } from './base/stream-parts.ts';
import type { AgentEvent } from './run/events.ts';
import { type FunctionTool, functionTools } from './tools/function-tool.ts';

export { type RecordOptions, recordModel } from './testing/record-model.ts';
export { ReplayedModel, replayModel } from './testing/replay-model.ts';

/** A tool call that a scripted model makes. */
export interface ScriptedCall {
  name: string;
  /** An object, or a string that is passed on as it is, even if it is not valid JSON. */
  arguments?: Record<string, unknown> | string;
  id?: string;
}

/** One answer: text, tool calls, parts as a provider returns them, or an error to throw. */
export interface ScriptedAnswer {
  text?: string;
  reasoning?: string;
  toolCalls?: readonly ScriptedCall[];
  content?: readonly LanguageModelV4Content[];
  finishReason?: LanguageModelV4FinishReason['unified'];
  /** Tokens. Default 10 and 5. */
  usage?: { input?: number; output?: number };
  error?: unknown;
  /** The delay before the answer. */
  delayMs?: number;
}

type Scripted = string | ScriptedAnswer | ((options: LanguageModelV4CallOptions) => string | ScriptedAnswer);

const number: OptionRule = { expected: 'a number', accepts: (value) => typeof value === 'number' };
const answerFields = new OptionSet<ScriptedAnswer>('An answer', {
  text: nullableString,
  reasoning: nullableString,
  toolCalls: listOf('a list such as [{ name, arguments }]', isRecord),
  content: listOf('a list of parts', isRecord),
  finishReason: nullableString,
  usage: { expected: '{ input, output }, in tokens', accepts: isRecord },
  error: true,
  delayMs: number,
});
const callFields = new OptionSet<ScriptedCall>('A tool call', {
  name: nullableString,
  arguments: true,
  id: nullableString,
});
const usageFields = new OptionSet<NonNullable<ScriptedAnswer['usage']>>('usage', { input: number, output: number });
const scriptRule: OptionRule = { expected: 'a list of answers', accepts: Array.isArray };
const answerRule: OptionRule = { expected: 'a string, a function or { text, toolCalls, … }', accepts: isRecord };

const answerName = (index: number) => `Answer ${index + 1} of a ScriptedModel`;

function checkAnswer(answer: Scripted, what: string): void {
  if (typeof answer === 'string' || typeof answer === 'function') return;
  checkValue(what, answer, answerRule);
  answerFields.check(answer, what);
  usageFields.check(answer.usage ?? {}, `${what}: usage`);
  for (const call of answer.toolCalls ?? []) {
    callFields.check(call, `${what}: a tool call`);
    checkValue(`${what}: the name of a tool call`, call.name ?? undefined, nullableString);
  }
}

/**
 * Returns the answers of a script in order. A call too many is an error, and `assertDone()` (also `using`) fails if
 * answers are left over.
 */
export class ScriptedModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider: string;
  readonly modelId: string;
  /** Accepts images by URL, so that tests download nothing. */
  readonly supportedUrls = { '*/*': [/./] };
  /** The options of every call. */
  readonly calls: LanguageModelV4CallOptions[] = [];
  readonly #script: readonly Scripted[];
  #callIds = 0;

  constructor(script: readonly Scripted[], { provider = 'scripted', modelId = 'script' } = {}) {
    checkValue('The script of a ScriptedModel', script, scriptRule);
    for (const [index, answer] of script.entries()) checkAnswer(answer, answerName(index));
    this.#script = script;
    this.provider = provider;
    this.modelId = modelId;
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    const answer = await this.#next(options);
    return { content: answer.content, finishReason: answer.finishReason, usage: answer.usage, warnings: [] };
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    return { stream: streamOf({ ...(await this.#next(options)), warnings: [] }) };
  }

  /** Throws if answers are left over. */
  assertDone(): void {
    const left = this.#script.length - this.calls.length;
    if (left > 0) throw new Error(`ScriptedModel: ${left} of ${this.#script.length} answers were not used.`);
  }

  [Symbol.dispose](): void {
    this.assertDone();
  }

  async #next(options: LanguageModelV4CallOptions) {
    const scripted = this.#script[this.calls.length];
    this.calls.push({ ...options, prompt: [...options.prompt] });
    if (scripted === undefined) {
      throw new Error(
        `ScriptedModel: called ${this.calls.length} times, but the script has ${this.#script.length} answers.`,
      );
    }
    const made = typeof scripted === 'function' ? scripted(options) : scripted;
    checkAnswer(made, answerName(this.calls.length - 1));
    const answer: ScriptedAnswer = typeof made === 'string' ? { text: made } : made;
    if (answer.delayMs !== undefined) await delay(answer.delayMs, options.abortSignal ?? neverAborted());
    if (answer.error !== undefined) throw answer.error;
    const content = answer.content ? [...answer.content] : this.#content(answer);
    const unified = answer.finishReason ?? (content.some((part) => part.type === 'tool-call') ? 'tool-calls' : 'stop');
    const { input = 10, output = 5 } = answer.usage ?? {};
    return { content, finishReason: { unified, raw: unified }, usage: usageOf(input, output) };
  }

  #content({ reasoning, text, toolCalls = [] }: ScriptedAnswer): LanguageModelV4Content[] {
    return [
      ...(reasoning === undefined ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
      ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
      ...toolCalls.map((call) => ({
        type: 'tool-call' as const,
        toolCallId: call.id ?? `call-${++this.#callIds}`,
        toolName: call.name,
        input: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
      })),
    ];
  }
}

/** Creates real MCP servers with the given tools, for `mcpConfig`. Each agent gets a server of its own. */
export async function scriptedServer(tools: readonly FunctionTool[], name = 'scripted'): Promise<() => McpServer> {
  const { McpServer, fromJsonSchema } = await import('@modelcontextprotocol/server');
  const source = functionTools(tools);
  return () => {
    const server = new McpServer({ name, version: '1.0.0' });
    for (const { definition } of tools) {
      const { name: toolName, inputSchema, _meta, ...rest } = definition;
      const schema = fromJsonSchema<Record<string, unknown>>(inputSchema as Parameters<typeof fromJsonSchema>[0]);
      const config = { ...rest, inputSchema: schema, ...(_meta ? { _meta } : {}) };
      server.registerTool(toolName, config as { inputSchema: typeof schema }, (args, context) => {
        const { signal, _meta: meta = {} } = context.mcpReq;
        const progressToken = meta.progressToken;
        return source.callTool(toolName, args, {
          toolCallId: typeof meta.tool_call_id === 'string' ? meta.tool_call_id : String(context.mcpReq.id),
          signal,
          meta,
          progress: (update) => {
            if (progressToken === undefined) return;
            const params = { progressToken, ...update };
            context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
          },
        });
      });
    }
    return server;
  };
}

/** Hooks that record every event. */
export function recordEvents(): { onEvent(event: AgentEvent): void; events: AgentEvent[]; types(): string[] } {
  const events: AgentEvent[] = [];
  return { events, onEvent: (event) => void events.push(event), types: () => events.map((event) => event.type) };
}
