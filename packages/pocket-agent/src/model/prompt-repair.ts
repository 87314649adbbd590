// Adapts one message to a provider: what the provider would reject is changed or left out. The history stays as it is.
import type { LanguageModelV4FilePart, LanguageModelV4Prompt, LanguageModelV4TextPart } from '@ai-sdk/provider';
import { decodeUtf8, imageTypeOfBase64, isBase64, isTextual, sha256, standardBase64 } from '@pocket-agent/kit';
import type { AssistantMessage, Message, ToolMessage, UserMessage } from '../base/messages.ts';
import { sameItems } from '../base/same-items.ts';
import { validToolName } from '../base/tool-names.ts';
import { isFromAccount, isFromProvider, type WithOptions, withoutAccountData } from './account-parts.ts';
import type { ProviderRules } from './provider-rules.ts';

/** The provider and account that a message is built for. */
export interface PromptTarget {
  rules: ProviderRules;
  /** Undefined for the neutral prompt, which is adapted to a model later. */
  account: { id: string; provider: string } | undefined;
}

/** Replaces a user message without content. */
const NO_TEXT = '(no text)';

type AssistantPart = AssistantMessage['content'][number];
type UserPart = UserMessage['content'][number];
type ToolPart = ToolMessage['content'][number];

/** Undefined when nothing is left. The same object when nothing had to change. */
export function repairMessage(message: Message, target: PromptTarget): Message | undefined {
  switch (message.role) {
    case 'user':
      return repairUser(message, target);
    case 'assistant':
      return repairAssistant(message, target);
    case 'tool':
      return withContent(
        message,
        message.content.map((part) => repairToolPart(part, target)),
      );
  }
}

function repairUser(message: UserMessage, { rules }: PromptTarget): UserMessage {
  const content: UserPart[] = message.content
    .filter((part) => !isBlank(part))
    .map((part) => (part.type === 'file' ? repairFile(part, rules) : part));
  return withContent(message, content.length > 0 ? content : [{ type: 'text', text: NO_TEXT }]);
}

function repairAssistant(message: AssistantMessage, target: PromptTarget): AssistantMessage | undefined {
  const { rules } = target;
  const parts = message.content.map((part) => repairAssistantPart(part, target)).filter((part) => part !== undefined);
  // providers reject an answer that ends with reasoning or consists only of it
  const last = parts.findLastIndex((part) => isAnswer(part, rules));
  if (last < 0) return undefined;
  const content = parts.filter((part, index) => part.type !== 'reasoning' || index < last);
  return withContent(message, content);
}

function repairAssistantPart(part: AssistantPart, target: PromptTarget): AssistantPart | undefined {
  const { rules } = target;
  switch (part.type) {
    case 'text':
      if (isBlank(part) && !mustKeepSignature(part, rules)) return undefined;
      return withoutForeignData(part, target);
    case 'reasoning':
      return rules.sendsReasoning && !hasForeignData(part, target) ? part : undefined;
    case 'custom':
      return hasForeignData(part, target) ? undefined : part;
    case 'file':
      return rules.sendsGeneratedFiles ? withUrl(part) : { type: 'text', text: `[file of type ${part.mediaType}]` };
    case 'reasoning-file':
      return rules.sendsGeneratedFiles ? part : undefined;
    case 'tool-call':
      if (part.providerExecuted && !acceptsServerCall(part, target)) return undefined;
      return withoutForeignData(withoutSignature(withValidNames(part, rules), rules), target);
    case 'tool-result':
      return acceptsServerCall(part, target) ? withoutForeignData(part, target) : undefined;
  }
}

function repairToolPart(part: ToolPart, { rules }: PromptTarget): ToolPart {
  if (part.type !== 'tool-result') return part;
  const named = withValidNames(part, rules);
  const { output } = named;
  if ((output.type === 'text' || output.type === 'error-text') && output.value.trim() === '') {
    return { ...named, output: { ...output, value: '(no content)' } };
  }
  if (output.type !== 'content') return named;
  const kept = output.value.filter((item) => item.type !== 'text' || item.text.trim() !== '');
  const value = kept.map((item) => (item.type === 'file' ? repairFile(item, rules) : item));
  if (value.length === 0) return { ...named, output: { type: 'text', value: '(no content)' } };
  return sameItems(value, output.value) ? named : { ...named, output: { ...output, value } };
}

/** True for parts that are an answer by themselves, unlike reasoning and provider metadata. */
function isAnswer(part: AssistantPart, rules: ProviderRules): boolean {
  if (part.type === 'text') return !isBlank(part) || mustKeepSignature(part, rules);
  return part.type !== 'reasoning' && part.type !== 'reasoning-file' && part.type !== 'custom';
}

function isBlank(part: { type: string; text?: string }): boolean {
  return part.type === 'text' && (part.text ?? '').trim() === '';
}

function mustKeepSignature({ providerOptions: options }: LanguageModelV4TextPart, rules: ProviderRules): boolean {
  const isSigned = [options?.google, options?.googleVertex, options?.vertex].some((each) => each?.thoughtSignature);
  return rules.sendsSignedEmptyText && isSigned;
}

/** Signatures of tool calls are sent in a field of their own, which strict servers reject like reasoning. */
function withoutSignature<Part extends AssistantPart>(part: Part, { sendsReasoning }: ProviderRules): Part {
  if (sendsReasoning) return part;
  const options = Object.entries(part.providerOptions ?? {});
  if (!options.some(([, fields]) => 'thoughtSignature' in fields)) return part;
  const kept = options.map(([name, { thoughtSignature: _, ...fields }]) => [name, fields]);
  return { ...part, providerOptions: Object.fromEntries(kept) };
}

/** Data of another account, or data that the provider rejects. */
function hasForeignData(part: WithOptions, { rules, account }: PromptTarget): boolean {
  if (!account || withoutAccountData(part) === part) return false;
  return !rules.sendsStoredIds || !isFromAccount(part, account.id);
}

function withoutForeignData<Part extends AssistantPart>(part: Part, target: PromptTarget): Part {
  return hasForeignData(part, target) ? withoutAccountData(part) : part;
}

function acceptsServerCall(part: WithOptions, { rules, account }: PromptTarget): boolean {
  if (rules.serverCalls === 'all' || !account) return true;
  if (rules.serverCalls === 'none') return false;
  return rules.serverCalls === 'account' ? isFromAccount(part, account.id) : isFromProvider(part, account.provider);
}

/** Models invent tool names that no provider accepts, and providers differ in the ids they accept. */
function withValidNames<Part extends { toolName: string; toolCallId: string }>(part: Part, rules: ProviderRules): Part {
  const toolName = validToolName(part.toolName);
  const toolCallId = rules.shortCallIds ? shortId(part.toolCallId) : part.toolCallId;
  return toolName === part.toolName && toolCallId === part.toolCallId ? part : { ...part, toolName, toolCallId };
}

function shortId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : sha256(id).slice(0, 9);
}

/** The file in a form that the provider accepts, or a note in its place. */
function repairFile(
  part: LanguageModelV4FilePart,
  rules: ProviderRules,
): LanguageModelV4FilePart | LanguageModelV4TextPart {
  const key = rules.rejectedFiles.size > 0 ? fileKey(part) : undefined;
  if (key !== undefined && rules.rejectedFiles.has(key)) return leftOut(part.mediaType, 'the provider rejected it');
  if (!part.mediaType.startsWith('image/')) {
    if (rules.fileTypes?.test(part.mediaType) ?? true) return withUrl(part);
    return asText(part) ?? leftOut(part.mediaType, 'this model does not accept this type');
  }
  if (part.data.type !== 'data' || typeof part.data.data !== 'string') return withUrl(part);
  const data = standardBase64(part.data.data);
  const found = imageTypeOfBase64(data);
  const mediaType = found ?? part.mediaType;
  if (!isBase64(data)) return leftOut(mediaType, 'it is not valid base64');
  if (rules.imageTypes && !found) return leftOut(mediaType, 'its bytes are not those of an image');
  if (rules.imageTypes && !rules.imageTypes.includes(mediaType)) {
    return leftOut(mediaType, `this model accepts ${rules.imageTypes.map((type) => type.slice(6)).join(', ')}`);
  }
  if (data.length > rules.maxImageLength) return leftOut(mediaType, 'it is larger than this model accepts');
  if (data === part.data.data && mediaType === part.mediaType) return part;
  return { ...part, mediaType, data: { type: 'data', data } };
}

/** The content of a text file, for providers that take no files of its type. */
function asText({ mediaType, data }: LanguageModelV4FilePart): LanguageModelV4TextPart | undefined {
  if (data.type === 'text') return { type: 'text', text: data.text };
  if (!isTextual(mediaType) || data.type !== 'data' || typeof data.data !== 'string') return undefined;
  const text = decodeUtf8(Buffer.from(data.data, 'base64'));
  return text === undefined ? undefined : { type: 'text', text };
}

/** Identifies a file that was rejected. */
export function fileKey({ data }: LanguageModelV4FilePart): string | undefined {
  if (data.type === 'url') return sha256(String(data.url));
  return data.type === 'data' && typeof data.data === 'string' ? sha256(standardBase64(data.data)) : undefined;
}

export function filesIn(prompt: LanguageModelV4Prompt, kind: 'images' | 'others'): LanguageModelV4FilePart[] {
  const files = prompt.flatMap((message) => {
    if (message.role === 'user') return message.content.filter((part) => part.type === 'file');
    if (message.role !== 'tool') return [];
    const outputs = message.content.map((part) => (part.type === 'tool-result' ? part.output : undefined));
    const items = outputs.flatMap((output) => (output?.type === 'content' ? output.value : []));
    return items.filter((item) => item.type === 'file');
  });
  return files.filter(({ mediaType }) => mediaType.startsWith('image/') === (kind === 'images'));
}

function leftOut(mediaType: string, why: string): LanguageModelV4TextPart {
  return { type: 'text', text: `[file of type ${mediaType} left out: ${why}]` };
}

/** A history from JSON has URLs as strings; models expect URL objects. */
function withUrl(part: LanguageModelV4FilePart): LanguageModelV4FilePart {
  if (part.data.type !== 'url' || typeof part.data.url !== 'string') return part;
  return { ...part, data: { type: 'url', url: new URL(part.data.url) } };
}

function withContent<Any extends Message>(message: Any, content: Any['content']): Any {
  return sameItems(content, message.content) ? message : { ...message, content };
}
