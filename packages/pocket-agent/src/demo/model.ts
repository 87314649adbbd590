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
import { configError } from '@pocket-agent/kit';
import { streamParts, usageOf } from '../base/stream-parts.ts';
import { FINAL_ANSWER, FIND_TOOLS, RUN_CODE } from '../base/tool-names.ts';
import { NOTICE, readConversation } from './conversation.ts';
import { codeFor, type Offer, offersOf } from './offers.ts';
import { planRequest, type Step } from './plan.ts';
import { shortened } from './words.ts';

const PARTLY_READ = 'I read only the beginning of the request; a real model reads all of it.';
const REAL_MODEL =
  'set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY and choose a model such as anthropic/claude-sonnet-5.';
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
  const usable = usableTools(options);
  const isTyped = usable.some(({ description }) => description?.startsWith(FINAL_ANSWER));
  if (isTyped || options.responseFormat?.type === 'json')
    throw configError(`The demo model cannot answer by a schema, because it follows rules: ${REAL_MODEL}`);
  const { request, results, found, characters } = readConversation(options.prompt);
  const tools = usable.flatMap((tool) => offersOf(tool, found));
  const mustCall = options.toolChoice?.type === 'required' || options.toolChoice?.type === 'tool';
  const { steps, isWhole } = planRequest(request, { tools, mustCall });
  const missing = steps.filter(({ tool }) => !tool);
  const isSearch = missing.length > 0 && found === undefined && usable.some(({ name }) => name === FIND_TOOLS);
  const next = isSearch ? missing.map(({ text }) => callOf(FIND_TOOLS, { query: text })) : callsFor(steps);
  const toolCalls = results.length > 0 ? [] : next;
  const hasTool = results.length > 0 || missing.length < steps.length;
  const answer = hasTool ? [...results, ...openSteps(steps)] : helpLines(steps, tools);
  const text = [NOTICE, ...(isWhole ? [] : [PARTLY_READ]), ...answer].join('\n');
  const unified = toolCalls.length > 0 ? 'tool-calls' : 'stop';
  const written = toolCalls.map((call) => call.input).join('') || text;
  return {
    content: toolCalls.length > 0 ? toolCalls : [{ type: 'text', text }],
    finishReason: { unified, raw: unified },
    response: { modelId: 'demo' },
    usage: usageOf(Math.ceil(characters / 4), Math.ceil(written.length / 4)),
    warnings: [],
  };
}

function usableTools({ tools = [], toolChoice }: LanguageModelV4CallOptions): LanguageModelV4FunctionTool[] {
  const chosen = toolChoice?.type === 'tool' ? tools.filter(({ name }) => name === toolChoice.toolName) : tools;
  return toolChoice?.type === 'none' ? [] : chosen.filter((tool) => tool.type === 'function');
}

function callsFor(steps: Step[]): LanguageModelV4ToolCall[] {
  const complete = steps.flatMap(({ tool }) => (tool && tool.missing.length === 0 ? [tool] : []));
  const { inCode = [], direct = [] } = Object.groupBy(complete, ({ via }) => (via === RUN_CODE ? 'inCode' : 'direct'));
  const calls = direct.map(({ name, via, input }) => (via ? callOf(via, { skill: name }) : callOf(name, input)));
  return inCode.length > 0 ? [...calls, callOf(RUN_CODE, { code: codeFor(inCode) })] : calls;
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

function helpLines(steps: Step[], tools: Offer[]): string[] {
  const request = shortened(steps.map(({ text }) => text).join('; '), 200);
  return [
    request ? `I found no tool for "${request}".` : 'Ask for something that a tool can do.',
    `I am only a demo that picks tools by their words. Tools here: ${tools.length || 'none'}`,
    ...tools.slice(0, MAX_LISTED_TOOLS).map(toolLine),
    `For real answers ${REAL_MODEL}`,
  ];
}

const toolLine = ({ name, description = '' }: Offer) =>
  `- ${name}: ${shortened(description.replace(/\s+/g, ' '), 100)}`;

/** Slow enough to watch. A long text comes in larger deltas, so that it does not take longer. */
async function* slowParts(answer: LanguageModelV4GenerateResult, signal: AbortSignal | undefined) {
  for (const part of streamParts(answer, MAX_DELTAS)) {
    if ('delta' in part) await sleep(DELTA_MS, undefined, { signal });
    yield part;
  }
}
