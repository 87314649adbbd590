// A conversation in the form of OpenAI's chat completions, converted into a history. LiteLLM uses the same form, with
// fields of its own for reasoning. What a history has no field for is kept in `providerOptions.openAiMessage`.
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider';
import { configError, isRecord } from '@pocket-agent/kit';
import { type AssistantMessage, imagePart, type Message, toolMessage } from '../base/messages.ts';
import { readArguments } from '../tools/tool-calls.ts';

type OpenAiContent = string | readonly object[] | null;

/** A loose type, for JSON from any source. What cannot be converted is refused at run time. */
export interface OpenAiMessage {
  role: string;
  content?: OpenAiContent | undefined;
  refusal?: string | null | undefined;
  tool_calls?: readonly object[] | null | undefined;
  tool_call_id?: string | undefined;
  name?: string | undefined;
  /** LiteLLM: the reasoning of the model. */
  reasoning_content?: string | null | undefined;
  /** LiteLLM: reasoning with the signature that Anthropic wants back. */
  thinking_blocks?: readonly object[] | null | undefined;
}

interface OpenAiCall {
  id: string;
  function: { name: string; arguments: string };
}

type Part = LanguageModelV4TextPart | LanguageModelV4FilePart;
type Reasoning = Extract<AssistantMessage['content'][number], { type: 'reasoning' }>;

/** For the option `messages` and for `addMessage`. A system message is refused: it belongs in `systemPrompt`. */
export function fromOpenAiMessages(messages: readonly OpenAiMessage[]): Message[] {
  if (!Array.isArray(messages)) throw configError('A conversation must be a list of messages.');
  const toolNames = new Map<string, string>();
  return messages.map((message, index) => {
    const what = `Message ${index + 1}`;
    return withName(convert(message, what, toolNames), message);
  });
}

function convert(message: OpenAiMessage, what: string, toolNames: Map<string, string>): Message {
  switch (message?.role) {
    case 'user':
      return { role: 'user', content: partsOf(message.content, what) };
    case 'assistant':
      return fromAssistant(message, what, toolNames);
    case 'tool':
      return fromTool(message, what, toolNames);
    case 'system':
    case 'developer':
      throw configError(`${what} is a ${message.role} message: put its text into systemPrompt.`);
    default:
      throw configError(
        `${what} needs a role (user, assistant or tool), got ${JSON.stringify(message)?.slice(0, 120)}.`,
      );
  }
}

/** The name of a person or an agent; a tool is named by its call. */
function withName(message: Message, { name }: OpenAiMessage): Message {
  if (typeof name !== 'string' || message.role === 'tool') return message;
  return { ...message, providerOptions: { openAiMessage: { name } } };
}

function fromAssistant(message: OpenAiMessage, what: string, toolNames: Map<string, string>): AssistantMessage {
  const { content, refusal: refused, tool_calls } = message;
  const texts = partsOf(content === '' ? null : content, what).map((part) => {
    if (part.type === 'text') return part;
    throw configError(`${what}: only user messages and tool results may hold images.`);
  });
  if (typeof refused === 'string') texts.push(refusalPart(refused));
  if ('function_call' in message && message.function_call)
    throw configError(`${what} has a function_call, the form before tool_calls: make a tool call of it.`);
  if (!Array.isArray(tool_calls ?? [])) throw configError(`${what}: tool_calls must be a list.`);
  const calls = (tool_calls ?? []).map((call) => {
    if (!isCall(call)) throw configError(`${what}: a tool call needs id, function.name and function.arguments.`);
    const { id, function: called } = call;
    toolNames.set(id, called.name);
    const { arguments: args, malformed } = readArguments(called.name, called.arguments);
    const input = malformed ? { malformed_arguments: called.arguments } : args;
    return { type: 'tool-call' as const, toolCallId: id, toolName: called.name, input };
  });
  return { role: 'assistant', content: [...reasoningIn(message), ...texts, ...calls] };
}

function reasoningIn({ thinking_blocks: blocks, reasoning_content: text }: OpenAiMessage): Reasoning[] {
  if (Array.isArray(blocks) && blocks.length > 0) return blocks.filter(isRecord).map(thinkingPart);
  return typeof text === 'string' && text !== '' ? [{ type: 'reasoning', text }] : [];
}

function thinkingPart({ thinking, signature, data }: Record<string, unknown>): Reasoning {
  const anthropic = {
    ...(typeof signature === 'string' ? { signature } : {}),
    ...(typeof data === 'string' ? { redactedData: data } : {}),
  };
  const part: Reasoning = { type: 'reasoning', text: typeof thinking === 'string' ? thinking : '' };
  return Object.keys(anthropic).length > 0 ? { ...part, providerOptions: { anthropic } } : part;
}

function fromTool({ content, tool_call_id: id, name }: OpenAiMessage, what: string, names: Map<string, string>) {
  if (typeof id !== 'string') throw configError(`${what} needs a tool_call_id.`);
  const toolName = names.get(id) ?? name ?? 'unknown';
  if (Array.isArray(content)) return toolMessage(id, toolName, { type: 'content', value: partsOf(content, what) });
  const [part] = partsOf(content, what);
  return toolMessage(id, toolName, { type: 'text', value: part?.type === 'text' ? part.text : '' });
}

function partsOf(content: OpenAiContent | undefined, what: string): Part[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw configError(`${what}: content must be a string or a list of parts.`);
  return content.map((part) => partOf(Object(part), what));
}

function partOf(part: Record<string, unknown>, what: string): Part {
  const { type, text, refusal: refused } = part;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type === 'refusal' && typeof refused === 'string') return refusalPart(refused);
  const converted =
    (type === 'image_url' && fromImage(part.image_url)) ||
    (type === 'file' && fromFile(part.file)) ||
    (type === 'input_audio' && fromAudio(part.input_audio));
  if (converted) return converted;
  const known = 'text, refusal, image_url, file, input_audio';
  const given = JSON.stringify(type) ?? 'undefined';
  throw configError(`${what}: a part of type ${given} cannot be converted; complete ones can be: ${known}.`);
}

function refusalPart(text: string): LanguageModelV4TextPart {
  return { type: 'text', text, providerOptions: { openAiMessage: { refusal: true } } };
}

function fromImage(image: unknown): Part | undefined {
  const { url, detail } = isRecord(image) ? image : { url: image };
  if (typeof url !== 'string') return undefined;
  const part = imagePart(url);
  return typeof detail === 'string' ? { ...part, providerOptions: { openai: { imageDetail: detail } } } : part;
}

function fromFile(file: unknown): Part | undefined {
  const { file_data: data, file_id: id, filename } = isRecord(file) ? file : {};
  const named = typeof filename === 'string' ? { filename } : {};
  if (typeof id === 'string') {
    const reference = { type: 'reference' as const, reference: { openai: id } };
    return { type: 'file', mediaType: 'application/pdf', data: reference, ...named };
  }
  const [header = '', mediaType = ''] = (typeof data === 'string' && /^data:([^;,]+);base64,/.exec(data)) || [];
  if (typeof data !== 'string' || header === '') return undefined;
  return { type: 'file', mediaType, data: { type: 'data', data: data.slice(header.length) }, ...named };
}

function fromAudio(audio: unknown): Part | undefined {
  const { data, format } = isRecord(audio) ? audio : {};
  if (typeof data !== 'string' || typeof format !== 'string') return undefined;
  return { type: 'file', mediaType: format === 'mp3' ? 'audio/mpeg' : `audio/${format}`, data: { type: 'data', data } };
}

function isCall(call: unknown): call is OpenAiCall {
  const { id, function: called } = isRecord(call) ? call : {};
  if (typeof id !== 'string' || !isRecord(called)) return false;
  return typeof called.name === 'string' && typeof called.arguments === 'string';
}
