// Which deployment a conversation was with last.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Deployment } from './deployment.ts';

const MOST = 10_000;
const LONGEST_TEXT = 2_000;

export class StickyMap {
  readonly #deployments = new Map<string, Deployment>();

  /** A conversation is known by how it began; two that began alike share a cache all the same. */
  keyOf(modelName: string, prompt: LanguageModelV4Prompt): string {
    let key = `${modelName}\0`;
    for (const message of prompt) {
      if (message.role === 'system') key += `${message.content.slice(0, LONGEST_TEXT)}\0`;
      if (message.role !== 'user') continue;
      for (const part of message.content) if (part.type === 'text') key += part.text.slice(0, LONGEST_TEXT);
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
    const [oldest] = this.#deployments.keys();
    if (this.#deployments.size > MOST && oldest !== undefined) this.#deployments.delete(oldest);
  }
}
