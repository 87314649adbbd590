// The history as a model wants it. Grows with the history and converts each message once, not once per step.
import type {
  LanguageModelV4,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import type { Message, ToolMessage } from './messages.ts';

export class PromptBuilder {
  #prompt: LanguageModelV4Prompt = [];
  #converted = 0;
  #key = '';

  /** The array is reused by the next call: a model that keeps it must copy it. */
  build(messages: readonly Message[], systemPrompt: string | undefined, liftImages: boolean): LanguageModelV4Prompt {
    const key = `${liftImages} ${systemPrompt ?? ''}`;
    if (key !== this.#key || messages.length < this.#converted) this.reset();
    this.#key = key;
    if (this.#prompt.length === 0 && systemPrompt) this.#prompt.push({ role: 'system', content: systemPrompt });

    let lifted: LanguageModelV4FilePart[] = [];
    for (; this.#converted < messages.length; this.#converted++) {
      const message = messages[this.#converted];
      if (!message) break;
      if (message.role !== 'tool') this.#pushLifted(lifted.splice(0));
      this.#prompt.push(liftImages && message.role === 'tool' ? liftFiles(message, lifted) : withUrls(message));
    }
    // Every tool call must be answered before a user message may follow, so the pictures come last.
    this.#pushLifted(lifted);
    lifted = [];
    return this.#prompt;
  }

  reset(): void {
    this.#prompt = [];
    this.#converted = 0;
  }

  #pushLifted(files: LanguageModelV4FilePart[]): void {
    if (files.length === 0) return;
    this.#prompt.push({
      role: 'user',
      content: [{ type: 'text', text: 'Files from the tool results above:' }, ...files],
    });
  }
}

/** Chat-completions style providers turn a picture in a tool result into text; it must go into a user message. */
export function needsLiftedImages(model: LanguageModelV4): boolean {
  return /\.(chat|completion)$/.test(model.provider);
}

function liftFiles(message: ToolMessage, lifted: LanguageModelV4FilePart[]): ToolMessage {
  const content = message.content.map((part) => {
    if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
    const value = part.output.value.map((item) => {
      if (item.type !== 'file') return item;
      lifted.push(item);
      return { type: 'text' as const, text: `[${item.mediaType}: see file ${lifted.length} in the next user message]` };
    });
    return { ...part, output: { ...part.output, value } };
  });
  return { ...message, content };
}

/** A history that went through JSON holds URLs as text; models expect URL objects. */
function withUrls(message: Message): LanguageModelV4Message {
  if (message.role === 'tool' || !message.content.some(hasTextUrl)) return message;
  const revive = <Part extends Message['content'][number]>(part: Part): Part =>
    hasTextUrl(part) ? { ...part, data: { type: 'url', url: new URL(part.data.url) } } : part;
  return message.role === 'user'
    ? { ...message, content: message.content.map(revive) }
    : { ...message, content: message.content.map(revive) };
}

function hasTextUrl(
  part: Message['content'][number],
): part is LanguageModelV4FilePart & { data: { type: 'url'; url: URL } } {
  return part.type === 'file' && part.data.type === 'url' && typeof part.data.url === 'string';
}
