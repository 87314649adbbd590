// Messages as the semantic conventions of OpenTelemetry write them: gen_ai.input.messages and gen_ai.output.messages.
import type { LanguageModelV4Content, LanguageModelV4Prompt } from '@ai-sdk/provider';

interface ConventionMessage {
  role: string;
  parts: object[];
  finish_reason?: string;
}

type PromptMessage = Exclude<LanguageModelV4Prompt[number], { role: 'system' }>;
type Part = PromptMessage['content'][number] | LanguageModelV4Content;

export function instructionsIn(prompt: LanguageModelV4Prompt): object[] {
  return prompt.flatMap((message) => (message.role === 'system' ? [{ type: 'text', content: message.content }] : []));
}

export function inputMessages(prompt: LanguageModelV4Prompt): ConventionMessage[] {
  return prompt.flatMap((message) =>
    message.role === 'system' ? [] : [{ role: message.role, parts: message.content.map(partOf) }],
  );
}

export function outputMessage(content: readonly LanguageModelV4Content[], finishReason: string): ConventionMessage {
  return { role: 'assistant', parts: content.map(partOf), finish_reason: finishReason };
}

/** A part as a span shows it: a file without its data. */
function partOf(part: Part): object {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text };
    case 'tool-call':
      return { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: parsed(part.input) };
    case 'tool-result':
      return { type: 'tool_call_response', id: part.toolCallId, result: resultOf(part) };
    case 'file':
      return { type: 'file', mime_type: part.mediaType };
    default:
      return { type: part.type };
  }
}

function resultOf(part: Extract<Part, { type: 'tool-result' }>): unknown {
  if (!('output' in part)) return part.result;
  const { output } = part;
  if (output.type !== 'content') return 'value' in output ? output.value : output.type;
  return output.value.map((item) => (item.type === 'text' ? item.text : `[${item.type}]`));
}

/** Providers return the arguments of a call as JSON text. */
function parsed(input: unknown): unknown {
  if (typeof input !== 'string') return input;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}
