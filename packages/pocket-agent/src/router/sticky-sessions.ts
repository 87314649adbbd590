// Sticky sessions: remembers which deployment last answered a conversation, so that the next call finds its prompt cache.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { dropOldest } from '@pocket-agent/kit';
import type { Deployment } from './deployment.ts';

const MAX_CONVERSATIONS = 10_000;
const MAX_KEY_TEXT = 2_000;

export class StickySessions {
  readonly #deployments = new Map<string, Deployment>();

  /** A conversation is known by its beginning. Two with the same beginning share a prompt cache anyway. */
  keyOf(modelName: string, prompt: LanguageModelV4Prompt): string {
    let key = `${modelName}\0`;
    for (const message of prompt) {
      if (message.role === 'system') key += `${message.content.slice(0, MAX_KEY_TEXT)}\0`;
      if (message.role !== 'user') continue;
      for (const part of message.content) if (part.type === 'text') key += part.text.slice(0, MAX_KEY_TEXT);
      break;
    }
    return key;
  }

  get(key: string): Deployment | undefined {
    return this.#deployments.get(key);
  }

  set(key: string, deployment: Deployment): void {
    this.#deployments.delete(key);
    this.#deployments.set(key, deployment);
    dropOldest(this.#deployments, MAX_CONVERSATIONS);
  }
}
