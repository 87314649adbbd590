// The model that needs no key: rules that match words with tools. It is not an LLM, and every answer says so.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4GenerateResult,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider';
import { streamParts } from '../base/stream-parts.ts';
import { FIND_TOOLS, RUN_CODE } from '../base/tool-names.ts';
import { codeFor, functionsIn } from './code.ts';
import { NOTICE, readConversation } from './conversation.ts';
import { planRequest, type Step } from './plan.ts';
import { shortened } from './words.ts';

const PARTLY_READ = 'I read only the beginning of the request; a real model reads all of it.';
const REAL_MODEL =
  'For real answers set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY and choose a model such as anthropic/claude-sonnet-5.';
const MAX_LISTED_TOOLS = 20;
const MAX_DELTAS = 30;
const DELTA_MS = 10;

export function createDemoModel(): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'pocket-agent',
    modelId: 'demo',
    supportedUrls: {},
    doGenerate: async (options) => reply(options),
    doStream: async (options) => ({ stream: ReadableStream.from(slowParts(reply(options), options.abortSignal)) }),
  };
}

/** Calls all tools that the request needs in one step, and answers when their results are there. */
function reply(options: LanguageModelV4CallOptions): LanguageModelV4GenerateResult {
  options.abortSignal?.throwIfAborted();
  const { request, results, found, characters } = readConversation(options.prompt);
  const usable = usableTools(options);
  const canSearch = usable.some(({ name }) => name === FIND_TOOLS);
  const runCode = usable.find(({ name }) => name === RUN_CODE);
  const functions = runCode ? functionsIn(`${runCode.description}\n${found ?? ''}`) : [];
  const tools = [...usable.filter(({ name }) => name !== FIND_TOOLS && name !== RUN_CODE), ...functions];
  const mustCall = options.toolChoice?.type === 'required' || options.toolChoice?.type === 'tool';
  const { steps, isWhole } = planRequest(request, { tools, mustCall });
  const missing = steps.filter(({ tool }) => !tool);
  const isSearch = canSearch && found === undefined && missing.length > 0;
  const next = isSearch ? missing.map(({ text }) => callOf(FIND_TOOLS, { query: text })) : callsFor(steps, functions);
  const toolCalls = results.length > 0 ? [] : next;
  const answer = results.length > 0 ? [...results, ...openSteps(steps)] : helpLines(steps, tools);
  const text = [NOTICE, ...(isWhole ? [] : [PARTLY_READ]), ...answer].join('\n');
  const unified = toolCalls.length > 0 ? 'tool-calls' : 'stop';
  const input = Math.ceil(characters / 4);
  const output = Math.ceil((toolCalls.map((call) => call.input).join('').length || text.length) / 4);
  return {
    content: toolCalls.length > 0 ? toolCalls : [{ type: 'text', text }],
    finishReason: { unified, raw: unified },
    response: { modelId: 'demo' },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: output, text: output, reasoning: 0 },
    },
    warnings: options.responseFormat?.type === 'json' ? [{ type: 'unsupported', feature: 'responseFormat' }] : [],
  };
}

function usableTools({ tools = [], toolChoice }: LanguageModelV4CallOptions): LanguageModelV4FunctionTool[] {
  const functions = tools.filter((tool) => tool.type === 'function');
  if (toolChoice?.type === 'none') return [];
  return toolChoice?.type === 'tool' ? functions.filter(({ name }) => name === toolChoice.toolName) : functions;
}

/** Functions are called by code. */
function callsFor(steps: Step[], functions: LanguageModelV4FunctionTool[]): LanguageModelV4ToolCall[] {
  const names = new Set(functions.map(({ name }) => name));
  const complete = steps.flatMap(({ tool }) => (tool && tool.missing.length === 0 ? [tool] : []));
  const inCode = complete.filter(({ name }) => names.has(name));
  const direct = complete.filter(({ name }) => !names.has(name)).map(({ name, input }) => callOf(name, input));
  return inCode.length > 0 ? [...direct, callOf(RUN_CODE, { code: codeFor(inCode) })] : direct;
}

function callOf(toolName: string, input: object): LanguageModelV4ToolCall {
  return { type: 'tool-call', toolCallId: `demo-${randomUUID()}`, toolName, input: JSON.stringify(input) };
}

/** The steps that cannot be done, and why. */
function openSteps(steps: Step[]): string[] {
  return steps.flatMap(({ text, tool }) => {
    if (!tool) return [`No tool here fits "${text}".`];
    const missing = tool.missing.join(' and ');
    return missing ? [`For "${text}" I would call ${tool.name}, but I do not know its ${missing}.`] : [];
  });
}

function helpLines(steps: Step[], tools: LanguageModelV4FunctionTool[]): string[] {
  if (steps.some(({ tool }) => tool)) return openSteps(steps);
  const request = shortened(steps.map(({ text }) => text).join('; '), 200);
  const listed = tools.slice(0, MAX_LISTED_TOOLS);
  return [
    request ? `I found no tool for "${request}".` : 'Ask for something that a tool can do.',
    `I am only a demo that picks tools by their words. Tools here: ${tools.length || 'none'}`,
    ...listed.map(({ name, description = '' }) => `- ${name}: ${shortened(description.replace(/\s+/g, ' '), 100)}`),
    REAL_MODEL,
  ];
}

/** Slow enough to watch. A long text comes in larger deltas, so that it does not take longer. */
async function* slowParts(answer: LanguageModelV4GenerateResult, signal: AbortSignal | undefined) {
  for (const part of streamParts(answer, MAX_DELTAS)) {
    if ('delta' in part) await sleep(DELTA_MS, undefined, { signal });
    yield part;
  }
}
