// The history: AI SDK prompt messages as plain JSON, so that `JSON.parse(JSON.stringify(messages))` resumes it.
import type {
  JSONObject,
  LanguageModelV4Content,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import {
  configError,
  imageTypeOfBase64,
  isRecord,
  nullable,
  type OptionRule,
  OptionSet,
  type PocketError,
  readable,
  snapshot,
  standardBase64,
} from '@pocket-agent/kit';
import { type FileInput, type FilePart, refuseLarge, toBase64 } from './file-input.ts';

/** One message of a history, as plain JSON; the system prompt is not part of it. */
export type Message = Exclude<LanguageModelV4Message, { role: 'system' }>;
/** A message to the model: text, images and files. */
export type UserMessage = Extract<Message, { role: 'user' }>;
/** A message of the model: text, reasoning, files and tool calls. */
export type AssistantMessage = Extract<Message, { role: 'assistant' }>;
/** The results of one or more tool calls, in the history after the message that made them. */
export type ToolMessage = Extract<Message, { role: 'tool' }>;

type ResultItem = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number];

/** An image of a user message: bytes, base64 text (with or without a `data:` header), or an http(s) URL. */
export type ImageInput = string | URL | Uint8Array;

/** A question with files, for `run` and `stream`. */
export interface UserInput {
  text: string;
  images?: readonly ImageInput[];
  /** PDF, audio, video and text, for models that take them. */
  files?: readonly FileInput[];
}

/** The options of `addUserMessage`: what it adds to the text. */
export interface UserMessageOptions {
  images?: readonly ImageInput[];
  /** With `data` or `url`; only `run` and `stream` read a `path`. */
  files?: readonly FileInput[];
  /** Added to `meta` of the `new_message` event. */
  meta?: Record<string, unknown>;
}

const imagesHint = (key: string) => (key === 'imageBase64s' ? ' Did you mean "images"?' : undefined);
const imageList: OptionRule = {
  expected: 'a list of images: bytes, base64 text, data: URLs or http(s) URLs',
  accepts: Array.isArray,
  isSecret: true,
};
const fileList: OptionRule = { expected: "a list of files: [{ path: 'report.pdf' }]", accepts: Array.isArray };
const userInput = new OptionSet<UserInput>(
  'The input of a run',
  { text: true, images: imageList, files: fileList },
  imagesHint,
);
export const userMessageOptions = new OptionSet<UserMessageOptions>(
  'addUserMessage()',
  { images: imageList, files: fileList, meta: nullable('an object', isRecord) },
  imagesHint,
);

/** The input of a run as an object. */
export function readInput(input: string | UserInput): UserInput {
  if (typeof input !== 'object' || input === null) return { text: input };
  if (typeof input.text === 'string') userInput.check(input);
  return input;
}

/** The text of the input; empty if only an overridden `run` can read it. */
export function textOfInput(input: unknown): string {
  const text = typeof input === 'object' && input !== null && 'text' in input ? input.text : input;
  return typeof text === 'string' ? text : '';
}

export function userMessage(
  text: string,
  images: readonly ImageInput[] = [],
  files: readonly FilePart[] = [],
): UserMessage {
  if (typeof text !== 'string') {
    const given = text === null ? null : typeof text;
    throw configError(`An agent takes a string, or { text, images, files }; here the text is ${given}.`);
  }
  return { role: 'user', content: [{ type: 'text', text }, ...Array.from(images, imagePart), ...files] };
}

/** `calls`: the log of calls that the tool made. It is kept in the history and not sent to models. */
export function toolMessage(
  toolCallId: string,
  toolName: string,
  output: LanguageModelV4ToolResultOutput,
  calls?: readonly JSONObject[],
): ToolMessage {
  const providerOptions = calls ? { providerOptions: { pocketAgent: { calls: [...calls] } } } : {};
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output, ...providerOptions }] };
}

type GeneratedCall = Extract<LanguageModelV4Content, { type: 'tool-call' }>;
type GeneratedResult = Extract<LanguageModelV4Content, { type: 'tool-result' }>;
type AssistantPart = AssistantMessage['content'][number];

/** Generated content other than tool calls and results, in the form of the history. */
export function generatedPart(
  part: Exclude<LanguageModelV4Content, GeneratedCall | GeneratedResult>,
): AssistantPart | undefined {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return withOptions({ type: part.type, text: part.text }, part);
    case 'file':
    case 'reasoning-file':
      return withOptions(
        { type: part.type, mediaType: part.mediaType, data: snapshot(plainFileData(part.data)) },
        part,
      );
    case 'custom':
      return withOptions({ type: 'custom', kind: part.kind }, part);
    case 'source':
    case 'tool-approval-request':
      return undefined; // a prompt has no place for these; they stay visible in the response given to onLlmResponse
  }
}

/** A call with an id and a name that every provider accepts, and its input parsed. */
export function toolCallPart(
  call: GeneratedCall,
  read: { toolCallId: string; toolName: string; input: unknown },
): AssistantPart {
  const part = { type: 'tool-call' as const, ...read };
  return withOptions(call.providerExecuted ? { ...part, providerExecuted: true } : part, call);
}

/** The result of a call that the provider made itself. */
export function providerResultPart({ toolName, isError, result, ...part }: GeneratedResult, toolCallId: string) {
  const output = { type: isError ? ('error-json' as const) : ('json' as const), value: snapshot(result) };
  return withOptions({ type: 'tool-result' as const, toolCallId, toolName, output }, part);
}

/** Provider metadata is sent back as `providerOptions`. */
function withOptions<Part extends AssistantPart>(
  part: Part,
  { providerMetadata }: Pick<LanguageModelV4Content, 'providerMetadata'>,
): Part {
  return providerMetadata ? { ...part, providerOptions: snapshot(providerMetadata) } : part;
}

/** The text of a message or an answer, without reasoning. */
export function textOf({ content }: Pick<Message, 'content'> | { content: readonly LanguageModelV4Content[] }): string {
  let text = '';
  for (const part of content) if (part.type === 'text') text += part.text;
  return text;
}

/** The output of a tool as text; files are named by their type. */
export function outputText(output: LanguageModelV4ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return output.reason ?? 'The call was denied.';
    case 'content':
      return output.value.map(itemText).join('\n');
  }
}

function itemText(item: ResultItem): string {
  if (item.type === 'text') return item.text;
  return item.type === 'file' ? `[file of type ${item.mediaType}]` : `[${item.type}]`;
}

/** A copy of a message that came from outside, safe to keep: plain JSON, bytes as base64, URLs as strings. */
export function copyMessage(message: Message): Message {
  const isKnown = ['user', 'assistant', 'tool'].includes(message?.role);
  const isOpenAi = isOpenAiMessage(message);
  if (isOpenAi || !isKnown || !Array.isArray(message.content) || !message.content.every(isPart)) {
    const converter = isOpenAi ? ' Convert messages in the form of OpenAI with fromOpenAiMessages(messages).' : '';
    throw configError(
      `A history message needs a role (user, assistant or tool) and a list of whole content parts, got ${JSON.stringify(message)?.slice(0, 120)}. The system prompt goes into systemPrompt.${converter}`,
    );
  }
  return JSON.parse(JSON.stringify(message, plainBytes));
}

function isOpenAiMessage(message: unknown): boolean {
  if (typeof message !== 'object' || message === null || !('role' in message)) return false;
  if ('tool_calls' in message || 'tool_call_id' in message) return true;
  const content: unknown = Reflect.get(message, 'content');
  const hasImage = Array.isArray(content) && content.some((part) => part?.type === 'image_url');
  return hasImage || (typeof content === 'string' && message.role !== 'system');
}

const partNeeds: Record<string, readonly string[]> = {
  text: ['text'],
  reasoning: ['text'],
  file: ['data'],
  'tool-call': ['toolCallId', 'toolName'],
  'tool-result': ['toolCallId', 'output'],
};

/** Whether a part has the fields a prompt needs; the provider checks the rest. */
function isPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null || !('type' in part) || typeof part.type !== 'string') return false;
  const needs = Object.hasOwn(partNeeds, part.type) ? partNeeds[part.type] : [];
  return needs?.every((name) => (Reflect.get(part, name) ?? undefined) !== undefined) ?? true;
}

/** A replacer for JSON. It looks at the original, because a Buffer has turned itself into a list of numbers already. */
function plainBytes(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const original = this[key];
  return original instanceof Uint8Array ? toBase64(original) : value;
}

type FileData = LanguageModelV4FilePart['data'];

function plainFileData<Data extends FileData>(data: Data): Data {
  if (data.type === 'data' && data.data instanceof Uint8Array) return { ...data, data: toBase64(data.data) };
  return data;
}

/** An image of a message; URLs stay strings, because a history is plain JSON. */
export function imagePart(image: ImageInput): LanguageModelV4FilePart {
  if (typeof image !== 'string' && !ArrayBuffer.isView(image) && !readable('An image', () => image instanceof URL))
    throw notAnImage();
  if (image instanceof URL || (typeof image === 'string' && /^https?:\/\//i.test(image))) {
    // kept as text, because a history is plain JSON; a prompt gets the URL object that the type promises
    const url = new URL(image).href as unknown as URL;
    return { type: 'file', mediaType: 'image/*', data: { type: 'url', url } };
  }
  refuseLarge('An image', image);
  if (image instanceof Uint8Array) return base64Image(toBase64(image));
  const header = /^data:([^;,]+);base64,/.exec(image);
  const data = header ? image.slice(header[0].length) : image;
  if (typeof data !== 'string' || data.trim() === '' || /[^A-Za-z0-9+/=_\r\n-]/.test(data)) {
    throw notAnImage();
  }
  return base64Image(standardBase64(data), header?.[1]);
}

function notAnImage(): PocketError {
  return configError('An image must be bytes, base64 text, a data: URL or an http(s) URL.');
}

function base64Image(data: string, mediaType = imageTypeOfBase64(data) ?? 'image/jpeg'): LanguageModelV4FilePart {
  return { type: 'file', mediaType, data: { type: 'data', data } };
}
