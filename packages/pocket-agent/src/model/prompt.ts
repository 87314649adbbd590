// Builds prompts: a provider-neutral prompt that grows with the history, and its adaptation to one provider.
import type {
  LanguageModelV4,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import { snapshot } from '@pocket-agent/kit';
import type { Message, ToolMessage } from '../base/messages.ts';
import { accountOf } from './account-parts.ts';
import { type PromptTarget, repairMessage } from './prompt-repair.ts';
import { neutralRules, type ProviderRules, rulesOf } from './provider-rules.ts';

/** The start of a prompt: `before` replaces the messages before the index `from`. */
export interface PromptStart {
  before: readonly Message[];
  from: number;
}

const anyModel: PromptTarget = { rules: neutralRules, account: undefined };

/** Converts each message of the history once, not once per step. */
export class PromptBuilder {
  #prompt: LanguageModelV4Prompt = [];
  #converted = 0;
  #systemPrompt: string | undefined;
  #hasUrls = false;
  #start: PromptStart | undefined;

  /** True if the prompt contains files by URL, which some providers do not fetch. */
  get hasUrls(): boolean {
    return this.#hasUrls;
  }

  /** The messages are frozen; the array is reused by the next call, so models get a copy of it. */
  build(messages: readonly Message[], systemPrompt: string | undefined): LanguageModelV4Prompt {
    if (systemPrompt !== this.#systemPrompt || messages.length < this.#converted) this.reset();
    this.#systemPrompt = systemPrompt;
    if (this.#prompt.length === 0 && systemPrompt?.trim())
      this.#prompt.push(snapshot({ role: 'system', content: systemPrompt }));
    const added = this.#unconverted(messages).flatMap((message) => repairMessage(message, anyModel) ?? []);
    const last = this.#prompt.at(-1);
    if (last?.role === 'tool' && added[0]?.role === 'tool') {
      this.#prompt.pop();
      added.unshift(last);
    }
    for (const message of withJoinedResults(added)) this.#prompt.push(snapshot(message));
    this.#hasUrls ||= added.some(containsUrl);
    this.#converted = messages.length;
    return this.#prompt;
  }

  /** Builds the prompt again from its beginning: with this start, or from all messages. */
  startWith(start: PromptStart | undefined): void {
    this.#start = start;
    this.reset();
  }

  reset(): void {
    this.#prompt = [];
    this.#converted = 0;
    this.#hasUrls = false;
  }

  #unconverted(messages: readonly Message[]): readonly Message[] {
    if (!this.#start || this.#converted > 0) return messages.slice(this.#converted);
    return [...this.#start.before, ...messages.slice(this.#start.from)];
  }
}

function containsUrl({ role, content }: Message): boolean {
  return role === 'user' && content.some((part) => part.type === 'file' && part.data.type === 'url');
}

/** Gemini requires the results of all calls of a turn in one message; other providers accept that. */
function withJoinedResults(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role !== 'tool') joined.push(message);
    else if (last?.role === 'tool') last.content.push(...message.content);
    else joined.push({ ...message, content: [...message.content] });
  }
  return joined;
}

const repairedByRules = new WeakMap<ProviderRules, WeakMap<Message, Message | 'nothing'>>();

/** Adapts the prompt to the provider of the model. For an unknown provider it stays the same. */
export function promptFor(model: LanguageModelV4, prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const rules = rulesOf(model);
  if (rules === neutralRules) return prompt;
  const target = { rules, account: { id: accountOf(model), provider: model.provider } };
  const known = repairedByRules.get(rules) ?? new WeakMap<Message, Message | 'nothing'>();
  repairedByRules.set(rules, known);
  const messages = prompt.flatMap((message): LanguageModelV4Message[] => {
    if (message.role === 'system') return message.content.trim() === '' ? [] : [message];
    const result = known.get(message) ?? snapshot(repairMessage(message, target)) ?? 'nothing';
    known.set(message, result);
    return result === 'nothing' ? [] : [result];
  });
  const lifted = rules.liftsFiles ? withLiftedFiles(messages) : messages;
  return rules.needsAnswerAfterResults ? withAnswerAfterResults(lifted) : lifted;
}

/** Moves files of tool results into a user message after all results, because every call must be answered first. */
function withLiftedFiles(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.flatMap((message): LanguageModelV4Message[] => {
    if (message.role !== 'tool') return [message];
    const files: LanguageModelV4FilePart[] = [];
    const results = liftFiles(message, files);
    if (files.length === 0) return [results];
    const note = { type: 'text' as const, text: 'Files from the tool results above:' };
    return [results, { role: 'user', content: [note, ...files] }];
  });
}

function liftFiles(message: ToolMessage, lifted: LanguageModelV4FilePart[]): ToolMessage {
  const content = message.content.map((part) => {
    if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
    const texts = part.output.value.map((item) => {
      if (item.type === 'text') return item.text;
      if (item.type !== 'file') return JSON.stringify(item);
      lifted.push(item);
      return `[${item.mediaType}: see file ${lifted.length} in the next user message]`;
    });
    // as plain text: these providers would pass a list of parts to the model as JSON
    return { ...part, output: { type: 'text' as const, value: texts.join('\n') } };
  });
  return { ...message, content };
}

function withAnswerAfterResults(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const seen: LanguageModelV4Message = { role: 'assistant', content: [{ type: 'text', text: 'I see the results.' }] };
  return prompt.flatMap((message, index) =>
    message.role === 'user' && prompt[index - 1]?.role === 'tool' ? [seen, message] : [message],
  );
}
