// A history converted into the form of OpenAI's chat completions, which LiteLLM and most tools for conversations read.
import type { LanguageModelV4FilePart, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import { configError, isRecord } from '@pocket-agent/kit';
import { type AssistantMessage, copyMessage, type Message, outputText, type ToolMessage } from '../base/messages.ts';
import type { OpenAiMessage } from './openai-messages.ts';

type AssistantPart = AssistantMessage['content'][number];
type Part<Type extends AssistantPart['type']> = Extract<AssistantPart, { type: Type }>;
type ResultItem = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number];
type ContentPart = Message['content'][number] | ResultItem;

/**
 * `fromOpenAiMessages` converts them back. Calls that a provider ran itself and provider metadata are left out: this form
 * has no place for them. `systemPrompt` becomes the first message.
 */
export function toOpenAiMessages(
  messages: readonly Message[],
  { systemPrompt }: { systemPrompt?: string | undefined } = {},
): OpenAiMessage[] {
  if (!Array.isArray(messages)) throw configError('A conversation must be a list of messages.');
  const system = systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt }];
  return [...system, ...messages.flatMap((message: Message) => convert(copyMessage(message)))];
}

function convert(message: Message): OpenAiMessage[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', ...nameOf(message), content: contentOf(message.content) }];
    case 'assistant':
      return [fromAssistant(message)];
    case 'tool':
      return fromTool(message);
  }
}

function nameOf({ providerOptions }: Message): { name?: string } {
  const name = providerOptions?.openAiMessage?.name;
  return typeof name === 'string' ? { name } : {};
}

function fromAssistant(message: AssistantMessage): OpenAiMessage {
  const { content } = message;
  const texts = content.filter((part) => part.type === 'text' || part.type === 'file');
  const refused = texts.filter(isRefusal);
  const said = texts.filter((part) => !isRefusal(part));
  const calls = partsOfType(content, 'tool-call').filter((part) => !part.providerExecuted);
  return {
    role: 'assistant',
    ...nameOf(message),
    content: said.length > 0 ? contentOf(said) : calls.length + refused.length > 0 ? null : '',
    ...(refused.length > 0 ? { refusal: refused.map((part) => ('text' in part ? part.text : '')).join('\n') } : {}),
    ...reasoningOf(partsOfType(content, 'reasoning')),
    ...(calls.length > 0 ? { tool_calls: calls.map(callOf) } : {}),
  };
}

function isRefusal({ providerOptions }: ContentPart): boolean {
  return providerOptions?.openAiMessage?.refusal === true;
}

function callOf({ toolCallId, toolName, input }: Part<'tool-call'>): object {
  const isMalformed = isRecord(input) && typeof input.malformed_arguments === 'string';
  const args = isMalformed && Object.keys(input).length === 1 ? input.malformed_arguments : JSON.stringify(input ?? {});
  return { id: toolCallId, type: 'function', function: { name: toolName, arguments: args } };
}

function reasoningOf(
  parts: readonly Part<'reasoning'>[],
): Pick<OpenAiMessage, 'reasoning_content' | 'thinking_blocks'> {
  if (parts.length === 0) return {};
  const text = parts.map((part) => part.text).join('\n');
  const isPlain = parts.length === 1 && parts[0]?.providerOptions?.anthropic === undefined;
  if (isPlain) return { reasoning_content: text };
  return { reasoning_content: text, thinking_blocks: parts.map(thinkingBlock) };
}

function thinkingBlock({ text, providerOptions }: Part<'reasoning'>): object {
  const { signature, redactedData } = providerOptions?.anthropic ?? {};
  if (typeof redactedData === 'string') return { type: 'redacted_thinking', data: redactedData };
  return { type: 'thinking', thinking: text, ...(typeof signature === 'string' ? { signature } : {}) };
}

/** One message per result. */
function fromTool({ content }: ToolMessage): OpenAiMessage[] {
  return content.flatMap((part) =>
    part.type === 'tool-result'
      ? [{ role: 'tool', tool_call_id: part.toolCallId, content: outputOf(part.output) }]
      : [],
  );
}

function outputOf(output: LanguageModelV4ToolResultOutput): OpenAiMessage['content'] {
  return output.type === 'content' ? output.value.map(contentPart) : outputText(output);
}

/** One text is a string. */
function contentOf(parts: readonly ContentPart[]): OpenAiMessage['content'] {
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? only.text : parts.map(contentPart);
}

function contentPart(part: ContentPart): object {
  if (part.type === 'text') return { type: 'text', text: part.text };
  return part.type === 'file' ? filePart(part) : { type: 'text', text: JSON.stringify(part) };
}

function filePart({ data, mediaType, filename, providerOptions }: LanguageModelV4FilePart): object {
  const named = filename === undefined ? {} : { filename };
  if (data.type === 'text') return { type: 'text', text: data.text };
  if (data.type === 'reference') return { type: 'file', file: { file_id: Object.values(data.reference)[0], ...named } };
  if (data.type === 'data' && mediaType.startsWith('audio/')) {
    const format = mediaType === 'audio/mpeg' ? 'mp3' : mediaType.slice('audio/'.length);
    return { type: 'input_audio', input_audio: { data: data.data, format } };
  }
  const url = data.type === 'url' ? String(data.url) : `data:${mediaType};base64,${data.data}`;
  if (!mediaType.startsWith('image')) return { type: 'file', file: { file_data: url, ...named } };
  const detail = providerOptions?.openai?.imageDetail;
  return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' ? { detail } : {}) } };
}

function partsOfType<Type extends AssistantPart['type']>(content: readonly AssistantPart[], type: Type): Part<Type>[] {
  return content.filter((part): part is Part<Type> => part.type === type);
}
