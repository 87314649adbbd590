// Reads the tool calls in a model's answer: models write broken JSON, and some repeat or omit ids.

import { deepFreeze, errorText, isRecord, PocketError } from '@pocket-agent/kit';
import { openCalls } from '../base/history-repair.ts';
import { parseModelJson } from '../base/json-text.ts';
import {
  type AssistantMessage,
  generatedPart,
  type Message,
  providerResultPart,
  toolCallPart,
} from '../base/messages.ts';
import type { ToolCall } from '../base/tool-call.ts';
import type { ModelResponse } from '../model/model-call.ts';
import type { RequestedCall } from './step-calls.ts';
import type { ToolTable } from './tool-table.ts';

/** Accepted by every provider, so that a conversation can continue with another one. */
const acceptedId = /^[a-zA-Z0-9_-]{1,64}$/;

interface ReadAnswer {
  message: AssistantMessage;
  requested: RequestedCall[];
}

/** `ids` holds the call ids in the history; those of the answer are added to it. */
export function readModelAnswer(
  { content, finishReason }: Pick<ModelResponse, 'content' | 'finishReason'>,
  ids: Set<string>,
  tools: ToolTable,
): ReadAnswer {
  const cutOff = isCutOff(finishReason) ? content.at(-1) : undefined;
  const message: AssistantMessage = { role: 'assistant', content: [] };
  const requested: RequestedCall[] = [];
  let newIds: Map<string, string> | undefined;
  for (const part of content) {
    if (part.type === 'tool-call') {
      const { toolCallId } = part;
      const name = nameOf(part);
      const input = inputOf(part);
      const id = isUsableId(toolCallId, ids) ? toolCallId : crypto.randomUUID();
      ids.add(id);
      if (id !== toolCallId) {
        newIds ??= new Map();
        newIds.set(toolCallId, id);
      }
      const { arguments: args, malformed } = part === cutOff ? unfinished(name, input) : readArguments(name, input);
      const call = deepFreeze({ id, name, arguments: args });
      const called = malformed ? { malformed_arguments: input } : call.arguments;
      message.content.push(toolCallPart(part, { toolCallId: id, toolName: name, input: called }));
      if (!part.providerExecuted) requested.push(requestedCall(call, malformed, tools));
    } else if (part.type === 'tool-result') {
      message.content.push(providerResultPart(part, newIds?.get(part.toolCallId) ?? part.toolCallId));
    } else {
      const kept = generatedPart(part);
      if (kept) message.content.push(kept);
    }
  }
  return { message: deepFreeze(message), requested };
}

/** The calls in an answer of the history, in the form that `readModelAnswer` returns. */
export function requestedIn(message: AssistantMessage, tools: ToolTable): RequestedCall[] {
  return openCalls(message).map(({ toolCallId: id, toolName: name, input }) => {
    const written = isRecord(input) ? input.malformed_arguments : undefined;
    if (typeof written !== 'string') {
      const args = isRecord(input) ? input : {};
      return requestedCall(deepFreeze({ id, name, arguments: args }), undefined, tools);
    }
    const { malformed = unfinished(name, written).malformed } = readArguments(name, written);
    return requestedCall(deepFreeze({ id, name, arguments: {} }), malformed, tools);
  });
}

function requestedCall(call: ToolCall, malformed: PocketError | undefined, tools: ToolTable): RequestedCall {
  const ownArguments = tools.ownArguments(call);
  const own = ownArguments === call.arguments ? call : deepFreeze({ ...call, arguments: ownArguments });
  return malformed ? { call: own, malformed } : { call: own };
}

/** Models and providers sometimes omit the name, without which a saved history cannot be loaded. */
export function nameOf({ toolName }: { toolName: unknown }): string {
  return typeof toolName === 'string' && toolName !== '' ? toolName : 'unnamed';
}

/** The arguments as JSON text, which some providers have parsed already. */
export function inputOf({ input }: { input: unknown }): string {
  return typeof input === 'string' ? input : (JSON.stringify(input ?? undefined) ?? '');
}

/** Whether a call keeps its id: every provider accepts it, and no other call has it. */
export function isUsableId(id: unknown, taken: ReadonlySet<string>): id is string {
  return typeof id === 'string' && acceptedId.test(id) && !taken.has(id);
}

export function callIdsIn(messages: readonly Message[]): Set<string> {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  return new Set(parts.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])));
}

function isCutOff({ unified }: ModelResponse['finishReason']): boolean {
  return unified === 'length' || unified === 'interrupted';
}

/** The last call of a truncated answer may lack arguments, even if its JSON is valid. */
function unfinished(tool: string, input: string): ReadArguments {
  const text = `The answer was cut off while it called "${tool}", so the call was not made. Use shorter arguments.`;
  return { arguments: {}, malformed: new PocketError('TOOL_ARGUMENTS_INVALID', text, { details: { text: input } }) };
}

interface ReadArguments {
  arguments: Record<string, unknown>;
  malformed?: PocketError;
}

/** The arguments of a call as a model wrote them. */
export function readArguments(tool: string, input: string): ReadArguments {
  if (input.trim() === '') return { arguments: {} }; // some models write nothing for a tool without arguments
  let problem = 'it is not an object';
  try {
    const value = parseModelJson(input);
    if (isRecord(value)) return { arguments: value };
  } catch (error) {
    problem = errorText(error);
  }
  const malformed = new PocketError(
    'TOOL_ARGUMENTS_INVALID',
    `The arguments of "${tool}" must be a JSON object: ${problem}. You wrote: ${input.slice(0, 500)}`,
    { details: { text: input } },
  );
  return { arguments: {}, malformed };
}
