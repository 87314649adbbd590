// The conversation of one agent: its messages, frozen, and what is derived from them.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Message } from '../base/messages.ts';
import { PromptBuilder, type PromptStart } from '../model/prompt.ts';
import { callIdsIn } from '../tools/tool-calls.ts';
import type { SavedHistory } from './saved-history.ts';

type Meta = Record<string, unknown>;

export class History {
  /** Set if the conversation is saved. */
  saved: SavedHistory | undefined;
  #messages: Message[];
  readonly #onAdded: (message: Message, meta: Meta | undefined) => void;
  /** The value of `messages`, until the history changes. */
  #shown: readonly Message[] | undefined;
  #callIds: Set<string> | undefined;
  #resets = 0;
  #loads = 0;
  readonly #prompt = new PromptBuilder();

  constructor(messages: Message[], onAdded: (message: Message, meta: Meta | undefined) => void) {
    this.#messages = messages;
    this.#onAdded = onAdded;
  }

  /** Oldest first, frozen. */
  get messages(): readonly Message[] {
    this.#shown ??= Object.freeze([...this.#messages]);
    return this.#shown;
  }

  get length(): number {
    return this.#messages.length;
  }

  get resets(): number {
    return this.#resets;
  }

  /** How often messages were loaded or dropped, not added one by one. */
  get loads(): number {
    return this.#loads;
  }

  /** Ids of all tool calls in the history; read when the first answer comes. */
  get callIds(): Set<string> {
    this.#callIds ??= callIdsIn(this.#messages);
    return this.#callIds;
  }

  /** The messages are frozen; the array is reused by the next call. */
  prompt(systemPrompt: string | undefined): LanguageModelV4Prompt {
    return this.#prompt.build(this.#messages, systemPrompt);
  }

  /** Builds later prompts with this start instead of older messages. */
  startPromptWith(start: PromptStart | undefined): void {
    this.#prompt.startWith(start);
  }

  /** True if the last prompt contains files by URL. */
  get hasUrls(): boolean {
    return this.#prompt.hasUrls;
  }

  /** Adds a frozen message: at the end, or after another one, unless a reset has removed that. */
  add(message: Message, { after, meta }: { after?: Message; meta?: Meta | undefined } = {}): void {
    if (!after || after === this.#messages.at(-1)) this.#messages.push(message);
    else {
      const index = this.#messages.lastIndexOf(after);
      if (index < 0) return;
      this.#messages.splice(index + 1, 0, message);
      this.#prompt.reset(); // later messages may be in the prompt already
    }
    this.#shown = undefined;
    this.#onAdded(message, meta);
  }

  since(index: number): Message[] {
    return this.#messages.slice(index);
  }

  /** Replaces `count` messages from an index on by frozen ones. Counts as a reset if messages are removed. */
  replace(index: number, count: number, messages: readonly Message[]): void {
    this.#messages = [...this.#messages.slice(0, index), ...messages, ...this.#messages.slice(index + count)];
    this.#shown = undefined;
    this.#callIds = undefined;
    this.#loads++;
    if (count > 0) {
      this.#resets++;
      this.#prompt.startWith(undefined);
    } else this.#prompt.reset();
  }

  reset(): void {
    this.#messages = [];
    this.#shown = undefined;
    this.#callIds = undefined;
    this.#resets++;
    this.#prompt.startWith(undefined);
  }

  /** Records the call ids of a message added by the caller; the loop records its own. */
  noteCallIds(message: Message): void {
    if (this.#callIds) for (const id of callIdsIn([message])) this.#callIds.add(id);
  }
}
