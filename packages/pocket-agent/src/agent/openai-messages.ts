// A conversation in the form of OpenAI's chat completions, converted into a history.

import { PocketError } from '@pocket-agent/kit';
import { type AssistantMessage, type Message, toolMessage, userMessage } from '../base/messages.ts';
import { readArguments } from '../tools/tool-calls.ts';

type OpenAiContent = string | readonly object[] | null;

/** As loose as the JSON people keep; what cannot be converted is refused at run time. */
export interface OpenAiMessage {
  role: string;
  content?: OpenAiContent | undefined;
  tool_calls?: readonly object[] | null | undefined;
  tool_call_id?: string | undefined;
  name?: string | undefined;
}

interface OpenAiCall {
  id: string;
  function: { name: string; arguments: string };
}

/** For the option `messages` and for `addMessage`. A system message is refused: it belongs in `systemPrompt`. */
export function fromOpenAiMessages(messages: readonly OpenAiMessage[]): Message[] {
  if (!Array.isArray(messages)) throw refusal('A conversation must be a list of messages.');
  const toolNames = new Map<string, string>();
  return messages.map((message, index) => convert(message, `Message ${index + 1}`, toolNames));
}

function convert(message: OpenAiMessage, what: string, toolNames: Map<string, string>): Message {
  switch (message?.role) {
    case 'user':
      return fromUser(message.content, what);
    case 'assistant':
      return fromAssistant(message, what, toolNames);
    case 'tool':
      return fromTool(message, what, toolNames);
    case 'system':
    case 'developer':
      throw refusal(`${what} is a ${message.role} message: put its text into systemPrompt.`);
    default:
      throw refusal(`${what} needs a role (user, assistant or tool), got ${JSON.stringify(message)?.slice(0, 120)}.`);
  }
}

function fromUser(content: OpenAiContent | undefined, what: string): Message {
  const parts = partsOf(content, what);
  const texts = parts.flatMap((part) => ('text' in part ? [part.text] : []));
  const images = parts.flatMap((part) => ('image' in part ? [part.image] : []));
  return userMessage(texts.join('\n'), images);
}

function fromAssistant(
  { content, tool_calls }: OpenAiMessage,
  what: string,
  toolNames: Map<string, string>,
): AssistantMessage {
  const text = textOnly(content, what);
  const calls = (tool_calls ?? []).map((call) => {
    if (!isCall(call)) throw refusal(`${what}: a tool call needs id, function.name and function.arguments.`);
    const { id, function: called } = call;
    toolNames.set(id, called.name);
    const { arguments: args, malformed } = readArguments(called.name, called.arguments);
    const input = malformed ? { malformed_arguments: called.arguments } : args;
    return { type: 'tool-call' as const, toolCallId: id, toolName: called.name, input };
  });
  return { role: 'assistant', content: [...(text ? [{ type: 'text' as const, text }] : []), ...calls] };
}

function fromTool(
  { content, tool_call_id: id, name }: OpenAiMessage,
  what: string,
  names: Map<string, string>,
): Message {
  if (typeof id !== 'string') throw refusal(`${what} needs a tool_call_id.`);
  return toolMessage(id, names.get(id) ?? name ?? 'unknown', {
    type: 'text',
    value: textOnly(content, what) || '(no content)',
  });
}

type Part = { text: string } | { image: string };

function textOnly(content: OpenAiContent | undefined, what: string): string {
  const parts = partsOf(content, what);
  if (parts.some((part) => 'image' in part)) throw refusal(`${what}: only user messages may hold images.`);
  return parts.map((part) => ('text' in part ? part.text : '')).join('\n');
}

function partsOf(content: OpenAiContent | undefined, what: string): Part[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ text: content }];
  if (!Array.isArray(content)) throw refusal(`${what}: content must be a string or a list of parts.`);
  return content.map((part) => partOf(part, what));
}

function partOf(part: unknown, what: string): Part {
  const { type, text, refusal: refused, image_url: image } = Object(part) as Record<string, unknown>;
  if (type === 'text' && typeof text === 'string') return { text };
  if (type === 'refusal' && typeof refused === 'string') return { text: refused };
  const url: unknown = typeof image === 'object' && image !== null && 'url' in image ? image.url : image;
  if (type === 'image_url' && typeof url === 'string') return { image: url };
  throw refusal(
    `${what}: a part of type ${JSON.stringify(type) ?? 'undefined'} cannot be converted; there are: text, image_url.`,
  );
}

function isCall(call: object): call is OpenAiCall {
  const { id, function: called } = call as Partial<OpenAiCall>;
  return typeof id === 'string' && typeof called?.name === 'string' && typeof called.arguments === 'string';
}

function refusal(text: string): PocketError {
  return new PocketError('CONFIG_INVALID', text);
}
