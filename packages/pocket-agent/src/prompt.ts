// The history as a model wants it. Grows with the history and converts each message once, not once per step.
import type {
  LanguageModelV4,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import type { AssistantMessage, Message, ToolMessage, UserMessage } from './messages.ts';

const promptsWithUrls = new WeakSet<LanguageModelV4Prompt>();

export class PromptBuilder {
  #prompt: LanguageModelV4Prompt = [];
  #converted = 0;
  #systemPrompt: string | undefined;
  #liftsImages = false;

  /** The array is reused by the next call: a model that keeps it must copy it. */
  build(messages: readonly Message[], systemPrompt: string | undefined, liftImages: boolean): LanguageModelV4Prompt {
    const isOther = liftImages !== this.#liftsImages || systemPrompt !== this.#systemPrompt;
    if (isOther || messages.length < this.#converted) this.reset();
    this.#liftsImages = liftImages;
    this.#systemPrompt = systemPrompt;
    if (this.#prompt.length === 0 && systemPrompt) this.#prompt.push({ role: 'system', content: systemPrompt });

    let lifted: LanguageModelV4FilePart[] = [];
    for (; this.#converted < messages.length; this.#converted++) {
      const message = messages[this.#converted];
      if (!message) break;
      if (message.role === 'tool') {
        this.#pushTool(liftImages ? liftFiles(message, lifted) : toolPart(message));
        continue;
      }
      this.#pushLifted(lifted);
      lifted = [];
      const converted = message.role === 'user' ? userPart(message) : assistantPart(message);
      if (converted) this.#push(converted);
    }
    // every tool call must be answered before a user message may follow, so the pictures come last
    this.#pushLifted(lifted);
    return this.#prompt;
  }

  reset(): void {
    this.#prompt = [];
    this.#converted = 0;
  }

  #push(message: LanguageModelV4Message): void {
    if (message.role === 'user' && message.content.some((part) => part.type === 'file' && part.data.type === 'url')) {
      promptsWithUrls.add(this.#prompt);
    }
    this.#prompt.push(message);
  }

  // Gemini wants the answers to all calls of a turn in one message, the others do not mind
  #pushTool(message: ToolMessage): void {
    const last = this.#prompt.at(-1);
    if (last?.role !== 'tool') this.#push(message);
    else last.content.push(...message.content);
  }

  #pushLifted(files: LanguageModelV4FilePart[]): void {
    if (files.length === 0) return;
    this.#push({ role: 'user', content: [{ type: 'text', text: 'Files from the tool results above:' }, ...files] });
  }
}

/** Whether a prompt made here holds images by URL, which some providers do not fetch. */
export function hasUrls(prompt: LanguageModelV4Prompt): boolean {
  return promptsWithUrls.has(prompt);
}

/** Chat-completions style providers turn a picture in a tool result into text; it must go into a user message. */
export function needsLiftedImages(model: LanguageModelV4): boolean {
  return /\.(chat|completion|deepseek)$/.test(model.provider);
}

/** A prompt for a provider that takes no files in tool results; the same one when it holds none. */
export function liftedPrompt(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  if (!prompt.some(hasFilesInResults)) return prompt;
  const messages = prompt.filter((message): message is Message => message.role !== 'system');
  const system = prompt.filter((message) => message.role === 'system');
  return [...system, ...new PromptBuilder().build(messages, undefined, true)];
}

function hasFilesInResults(message: LanguageModelV4Message): boolean {
  if (message.role !== 'tool') return false;
  return message.content.some((part) => part.type === 'tool-result' && part.output.type === 'content');
}

function liftFiles(message: ToolMessage, lifted: LanguageModelV4FilePart[]): ToolMessage {
  const content = message.content.map((part) => {
    if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
    const texts = part.output.value.map((item) => {
      if (item.type === 'text') return item.text;
      if (item.type !== 'file') return JSON.stringify(item);
      lifted.push(withUrl(item));
      return `[${item.mediaType}: see file ${lifted.length} in the next user message]`;
    });
    // as plain text: these providers would show the model a list of parts as JSON
    return { ...part, output: { type: 'text' as const, value: texts.join('\n') } };
  });
  return { ...message, content };
}

function toolPart(message: ToolMessage): ToolMessage {
  const content = message.content.map((part) => {
    if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
    const value = part.output.value.map((item) => (item.type === 'file' ? withUrl(item) : item));
    return { ...part, output: { ...part.output, value } };
  });
  return { ...message, content };
}

function userPart(message: UserMessage): UserMessage {
  if (!message.content.some((part) => isEmptyText(part) || hasTextUrl(part))) return message;
  const content = message.content.filter((part) => !isEmptyText(part)).map(withUrl);
  return content.length > 0 ? { ...message, content } : message;
}

/** Undefined when nothing is left to show: providers refuse empty messages and reasoning that led to nothing. */
function assistantPart(message: AssistantMessage): AssistantMessage | undefined {
  const says = message.content.some((part) => !isEmptyText(part) && part.type !== 'reasoning');
  if (!says) return undefined;
  if (!message.content.some((part) => isEmptyText(part) || hasTextUrl(part))) return message;
  return { ...message, content: message.content.filter((part) => !isEmptyText(part)).map(withUrl) };
}

type Part = Message['content'][number];

// an empty text may carry what its provider wants back, for example the signature of a thought
function isEmptyText(part: Part): boolean {
  return part.type === 'text' && part.text === '' && !part.providerOptions;
}

/** A history that went through JSON holds URLs as text; models expect URL objects. */
function withUrl<Any extends Part | LanguageModelV4FilePart>(part: Any): Any {
  return hasTextUrl(part) ? { ...part, data: { type: 'url', url: new URL(part.data.url) } } : part;
}

function hasTextUrl(
  part: Part | LanguageModelV4FilePart,
): part is LanguageModelV4FilePart & { data: { type: 'url'; url: URL } } {
  return part.type === 'file' && part.data.type === 'url' && typeof part.data.url === 'string';
}
