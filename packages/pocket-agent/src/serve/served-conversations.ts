// The conversations of a served agent: one agent for each, the least recently used are dropped.
import { fairEvictionKey } from '@pocket-agent/kit';
import type { ServedAgent } from './served-agent.ts';

interface ConversationsOptions {
  maxConversations: number;
  make(): ServedAgent;
  onError(error: unknown): void;
}

export interface ConversationKey {
  /** The token of the client that owns it. */
  owner: string;
  id: string;
}

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #kept = new Map<string, { agent: ServedAgent; owner: string; uses: number }>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  async use<Result>({ owner, id }: ConversationKey, work: (agent: ServedAgent) => Promise<Result>): Promise<Result> {
    const key = JSON.stringify([owner, id]);
    const conversation = this.#kept.get(key) ?? { agent: this.#options.make(), owner, uses: 0 };
    this.#kept.delete(key);
    this.#kept.set(key, conversation); // the last entry is the most recently used
    conversation.uses++;
    this.#forgetOldest();
    try {
      return await work(conversation.agent);
    } finally {
      conversation.uses--;
    }
  }

  has({ owner, id }: ConversationKey): boolean {
    return this.#kept.has(JSON.stringify([owner, id]));
  }

  close(): void {
    for (const { agent } of this.#kept.values()) this.#end(agent);
    this.#kept.clear();
  }

  #forgetOldest(): void {
    while (this.#kept.size > this.#options.maxConversations) {
      const idle = [...this.#kept].filter(([, { uses }]) => uses === 0);
      const oldest = fairEvictionKey(idle.map(([key, { owner }]) => [key, owner] as const));
      if (oldest === undefined) return;
      const found = this.#kept.get(oldest);
      this.#kept.delete(oldest);
      if (found) this.#end(found.agent);
    }
  }

  #end(agent: ServedAgent): void {
    agent.close().catch(this.#options.onError);
  }
}
