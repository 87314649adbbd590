// The model that answers without a key: rules that match words with tools, no language model, and it says so.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  JSONValue,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4GenerateResult,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { type PlannedPart, planPart, splitRequest } from './plan.ts';
import { wordsOf } from './text.ts';

const NOTICE = '(demo model: rules, not an LLM)';
const REAL_MODEL =
  'For real answers whoever runs this sets ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY and chooses a real model, ' +
  'for example anthropic/claude-sonnet-5.';
const NOT_READ = 'I read only the first wishes of the first paragraph: it takes a real model to work with the rest.';
const MAX_ROUNDS = 3;
const MAX_RESULT = 2_000;
const MAX_FLATTENED = 500;
const MAX_LISTED_TOOLS = 20;
const DELTA_MS = 10;
const LONGEST_STREAM_MS = 300;
/** What programs write around a question, to tell whose words they are, is no part of it. */
const TAG = /<\/?[a-z][^<>]*>/gi;
/** Nor is what they quote: the bots mark it so. */
const QUOTED = /<untrusted\b[^<>]*>.*?<\/untrusted>|^Said before:\n.*\n\nNow:\n/gs;

type Outcome = { part: number; input: unknown; toolName: string; text: string; failure?: string };
type Conversation = { request: string; rounds: number; outcomes: Outcome[]; characters: number };
type Reply = Pick<LanguageModelV4GenerateResult, 'finishReason' | 'usage' | 'warnings'> & {
  text: string;
  toolCalls: LanguageModelV4ToolCall[];
};

export function createDemoModel(): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'pocket-agent',
    modelId: 'demo',
    supportedUrls: {},
    doGenerate: async (options) => {
      options.abortSignal?.throwIfAborted();
      const { text, toolCalls, ...rest } = reply(options);
      return { content: text ? [{ type: 'text', text }] : toolCalls, ...rest };
    },
    doStream: async (options) => {
      options.abortSignal?.throwIfAborted();
      return { stream: ReadableStream.from(streamParts(reply(options), options.abortSignal)) };
    },
  };
}

function reply(options: LanguageModelV4CallOptions): Reply {
  const conversation = readConversation(options.prompt);
  const { tools, insist } = usableTools(options);
  const done = new Set(conversation.outcomes.map((outcome) => outcome.part));
  const { wishes, isWhole } = splitRequest(conversation.request, tools);
  const plans = wishes.map((text) => planPart(text, { tools, insist }));
  const parts = plans.map((plan, index) => {
    // a part that depends on the answer before it ("read it") is planned again when that answer is there
    const before = plans.findLastIndex(
      (other, position) => position < index && (other.lacking || other.calls.length > 0),
    );
    const answer = conversation.outcomes.findLast(
      (outcome) => outcome.part === before && outcome.failure === undefined,
    );
    if (!plan.lacking || !answer) return plan;
    const waiting = tools.filter((tool) => tool.name === plan.lacking?.toolName);
    return planPart(plan.text, { tools: waiting, insist: true, earlier: answer.text });
  });
  const toolCalls = conversation.rounds < MAX_ROUNDS ? callsFor(parts, done) : [];
  const notices = isWhole ? [NOTICE] : [NOTICE, NOT_READ];
  const text = toolCalls.length > 0 ? '' : [...notices, answerText(parts, conversation.outcomes, tools)].join('\n');
  const outputTokens = tokens(text.length + toolCalls.reduce((sum, call) => sum + call.input.length, 0));
  const inputTokens = tokens(conversation.characters);
  const unified = toolCalls.length > 0 ? 'tool-calls' : 'stop';
  return {
    text,
    toolCalls,
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
    },
    warnings: options.responseFormat?.type === 'json' ? [{ type: 'unsupported', feature: 'responseFormat' }] : [],
  };
}

/** Only the last user message counts as the request; what came after it is the work on that request. */
function readConversation(prompt: LanguageModelV4Prompt): Conversation {
  const conversation: Conversation = { request: '', rounds: 0, outcomes: [], characters: 0 };
  const inputs = new Map<string, unknown>();
  for (const message of prompt) {
    conversation.characters += lengthOf(message.content);
    if (message.role === 'user') {
      const text = message.content
        .map((part) => (part.type === 'text' ? part.text : ''))
        .join('\n')
        .replace(QUOTED, '')
        .replace(TAG, ' ')
        .trim();
      if (text) Object.assign(conversation, { request: text, rounds: 0, outcomes: [] });
    }
    if (message.role === 'assistant') {
      const calls = message.content.filter((part) => part.type === 'tool-call');
      for (const call of calls) inputs.set(call.toolCallId, call.input);
      if (calls.length > 0) conversation.rounds += 1;
    }
    if (message.role === 'tool') {
      for (const part of message.content) {
        if (part.type !== 'tool-result') continue;
        conversation.outcomes.push(outcomeOf(part, inputs.get(part.toolCallId), conversation.outcomes.length));
      }
    }
  }
  return conversation;
}

/** The id of a call carries the number of the part it answers; calls of other models are counted through. */
function outcomeOf(
  { toolCallId, toolName, output }: LanguageModelV4ToolResultPart,
  input: unknown,
  position: number,
): Outcome {
  const part = Number(/^demo-.*-(\d+)$/.exec(toolCallId)?.[1] ?? position);
  const text = resultText(output);
  if (output.type === 'execution-denied') return { part, input, toolName, text, failure: `was not allowed: ${text}` };
  if (output.type.startsWith('error')) return { part, input, toolName, text, failure: `failed: ${text}` };
  return { part, input, toolName, text };
}

function resultText(output: LanguageModelV4ToolResultPart['output']): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return readable(output.value);
    case 'json':
    case 'error-json':
      return readable(JSON.stringify(output.value));
    case 'execution-denied':
      return output.reason ?? 'no reason given';
    case 'content':
      return output.value
        .map((item) => (item.type === 'text' ? readable(item.text) : item.type === 'file' ? `[${item.mediaType}]` : ''))
        .join('\n');
  }
}

/** JSON becomes "key: value"; a line of JSON after plain text says the same again and is left out. */
function readable(text: string): string {
  const lines = text
    .trim()
    .split('\n')
    .filter((line) => line !== NOTICE);
  if (lines.length > 1 && /^\{.*\}$/.test(lines.at(-1) ?? '')) lines.pop();
  const plain = lines.join('\n');
  if (plain.length > MAX_FLATTENED) return plain;
  try {
    const value: JSONValue = JSON.parse(plain);
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return plain;
    return Object.entries(value)
      .map(([key, item]) => `${key}: ${typeof item === 'string' ? item : JSON.stringify(item)}`)
      .join(', ');
  } catch {
    return plain;
  }
}

function usableTools({ tools = [], toolChoice }: LanguageModelV4CallOptions): {
  tools: LanguageModelV4FunctionTool[];
  insist: boolean;
} {
  const all = tools.filter((tool) => tool.type === 'function');
  if (toolChoice?.type === 'none') return { tools: [], insist: false };
  if (toolChoice?.type === 'tool')
    return { tools: all.filter((tool) => tool.name === toolChoice.toolName), insist: true };
  return { tools: all, insist: toolChoice?.type === 'required' };
}

function callsFor(parts: PlannedPart[], done: Set<number>): LanguageModelV4ToolCall[] {
  return parts.flatMap((part, index) => {
    if (done.has(index)) return [];
    return part.calls.map(({ toolName, input }) => ({
      type: 'tool-call' as const,
      toolCallId: `demo-${randomUUID().slice(0, 8)}-${index}`,
      toolName,
      input: JSON.stringify(input),
    }));
  });
}

function answerText(parts: PlannedPart[], outcomes: Outcome[], tools: LanguageModelV4FunctionTool[]): string {
  if (outcomes.length === 0 && parts.every((part) => !part.lacking)) return helpText(parts, tools);
  const lines = parts.flatMap(({ text, lacking }, index) => {
    const own = outcomes.filter((outcome) => outcome.part === index);
    if (own.length > 0) return own.map((outcome) => sentence(outcome, outcomes.length > 1));
    if (!lacking) return [`No tool here fits "${text}".`];
    return [
      `For "${text}" I would call ${lacking.toolName}, but I cannot tell its ${lacking.parameters.join(' and ')} from your words.`,
    ];
  });
  const beyond = outcomes.filter((outcome) => outcome.part >= parts.length).map((outcome) => sentence(outcome, true));
  return [...lines, ...beyond].join('\n');
}

function sentence({ toolName, input, text, failure }: Outcome, isOneOfSeveral: boolean): string {
  if (failure !== undefined) return `The tool ${toolName} ${failure}`;
  const shown =
    text.length > MAX_RESULT ? `${text.slice(0, MAX_RESULT)} … (${text.length - MAX_RESULT} more characters)` : text;
  const about = Object.values(input ?? {}).find((value) => typeof value === 'string');
  const isClear =
    about === undefined || about.length > 40 || wordsOf(shown).join(' ').includes(wordsOf(about).join(' '));
  return isOneOfSeveral && !isClear ? `${about}: ${shown}` : shown;
}

function helpText(parts: PlannedPart[], tools: LanguageModelV4FunctionTool[]): string {
  const request = parts.map((part) => part.text).join('; ');
  const subject = request
    ? `I found no tool for "${shortened(request, 200)}".`
    : 'Ask for something that a tool can do.';
  const listed = tools
    .slice(0, MAX_LISTED_TOOLS)
    .map(({ name, description = '' }) => `- ${name}: ${shortened(firstSentence(description), 100)}`);
  const more = tools.length > MAX_LISTED_TOOLS ? [`- … and ${tools.length - MAX_LISTED_TOOLS} more`] : [];
  const known =
    tools.length > 0
      ? ['I am only a demo that picks tools by their words. I have these:', ...listed, ...more]
      : ['I am only a demo that picks tools by their words, and I have none here.'];
  return [subject, ...known, REAL_MODEL].join('\n');
}

async function* streamParts(
  { text, toolCalls, finishReason, usage, warnings }: Reply,
  signal: AbortSignal | undefined,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const words = text.match(/\s*\S+\s*/g) ?? [];
  const inputs = toolCalls.map((call) => ({ call, deltas: call.input.match(/[\s\S]{1,16}/g) ?? [] }));
  const due = pace(words.length + inputs.flatMap(({ deltas }) => deltas).length, signal);
  yield { type: 'stream-start', warnings };
  yield { type: 'response-metadata', modelId: 'demo' };
  if (text) {
    yield { type: 'text-start', id: 'text' };
    for (const delta of words) {
      await due();
      yield { type: 'text-delta', id: 'text', delta };
    }
    yield { type: 'text-end', id: 'text' };
  }
  for (const { call, deltas } of inputs) {
    yield { type: 'tool-input-start', id: call.toolCallId, toolName: call.toolName };
    for (const delta of deltas) {
      await due();
      yield { type: 'tool-input-delta', id: call.toolCallId, delta };
    }
    yield { type: 'tool-input-end', id: call.toolCallId };
    yield call;
  }
  yield { type: 'finish', usage, finishReason };
}

/** Waits until the next of `count` deltas is due: slowly enough to be seen, and never long for all of them. */
function pace(count: number, signal: AbortSignal | undefined): () => Promise<void> {
  const everyMs = Math.min(DELTA_MS, LONGEST_STREAM_MS / count);
  let dueAt = performance.now();
  return async () => {
    dueAt += everyMs;
    const waitMs = dueAt - performance.now();
    if (waitMs >= 1) await sleep(waitMs, undefined, { signal });
    else signal?.throwIfAborted();
  };
}

const tokens = (characters: number) => Math.ceil(characters / 4);
/** Whole words, with a mark where some are left out. */
function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most).replace(/\s+\S*$/, '')} …`;
}

const firstSentence = (text: string) => /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;

function lengthOf(content: LanguageModelV4Prompt[number]['content']): number {
  if (typeof content === 'string') return content.length;
  return content.reduce((sum, part) => {
    if (part.type === 'text') return sum + part.text.length;
    if (part.type === 'tool-call') return sum + JSON.stringify(part.input).length;
    return part.type === 'tool-result' ? sum + resultText(part.output).length : sum;
  }, 0);
}
