// The tool calls in an answer of a model, read with care: models write broken JSON, and some repeat or forget ids.
import { randomUUID } from 'node:crypto';
import type { LanguageModelV4Content } from '@ai-sdk/provider';
import { PocketError } from './errors.ts';
import { type AssistantMessage, assistantMessage, type Message } from './messages.ts';
import type { RequestedCall } from './tool-runner.ts';

/** What the strictest provider takes, so that a conversation can go on with any of them. */
const acceptedId = /^[a-zA-Z0-9_-]{1,64}$/;

export interface ReadAnswer {
  message: AssistantMessage;
  requested: RequestedCall[];
}

/** `ids` are those the history has already; those of this answer are added. */
export function readAnswer(content: readonly LanguageModelV4Content[], ids: Set<string>): ReadAnswer {
  const requested: RequestedCall[] = [];
  const inputs = new Map<string, unknown>();
  const renamed = new Map<string, string>();
  const named = content.map((part) => {
    if (part.type === 'tool-result') return { ...part, toolCallId: renamed.get(part.toolCallId) ?? part.toolCallId };
    if (part.type !== 'tool-call') return part;
    const id = acceptedId.test(part.toolCallId) && !ids.has(part.toolCallId) ? part.toolCallId : randomUUID();
    ids.add(id);
    renamed.set(part.toolCallId, id);
    const read = readArguments(part.toolName, part.input);
    inputs.set(id, read.malformed ? { malformed_arguments: part.input } : read.arguments);
    if (!part.providerExecuted) {
      const call = { id, name: part.toolName, arguments: read.arguments };
      requested.push(read.malformed ? { call, malformed: read.malformed } : { call });
    }
    return { ...part, toolCallId: id };
  });
  return { message: assistantMessage(named, (toolCallId) => inputs.get(toolCallId)), requested };
}

/** The ids of all tool calls in a history. */
export function callIdsIn(messages: readonly Message[]): Set<string> {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  return new Set(parts.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])));
}

function readArguments(tool: string, input: string): { arguments: Record<string, unknown>; malformed?: PocketError } {
  if (input.trim() === '') return { arguments: {} }; // some models write nothing for a tool without arguments
  let problem = 'it is not an object';
  try {
    const value: unknown = JSON.parse(input);
    if (isTooDeep(value)) problem = `it is nested more than ${DEEPEST} levels deep`;
    else if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { arguments: { ...value } };
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  const malformed = new PocketError(
    'TOOL_ARGUMENTS_INVALID',
    `The arguments of "${tool}" must be a JSON object: ${problem}. You wrote: ${input.slice(0, 500)}`,
  );
  return { arguments: {}, malformed };
}

/** Nobody means it, and much that looks into arguments would run out of stack. */
const DEEPEST = 100;

function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth >= DEEPEST || Object.values(value).some((item) => isTooDeep(item, depth + 1));
}
