// The conversations of a served agent: one agent for each, the least recently used are dropped.
import { estimateBytes, fairEvictionKey } from '@pocket-agent/kit';
import type { ServedAgent } from './served-agent.ts';

export const MAX_ID_LENGTH = 512;

interface ConversationsOptions {
  maxConversations: number;
  memory: ConversationMemory;
  make(): ServedAgent;
  onError(error: unknown): void;
}

export interface ConversationKey {
  /** The token of the client that owns it. */
  owner: string;
  id: string;
}

interface Conversation {
  agent: ServedAgent;
  owner: string;
  uses: number;
  /** The size of its messages after the last use. */
  bytes: number;
  /** Forgets it and closes its agent. */
  drop(): void;
}

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #kept = new Map<string, Conversation>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  async use<Result>({ owner, id }: ConversationKey, work: (agent: ServedAgent) => Promise<Result>): Promise<Result> {
    const key = JSON.stringify([owner, id]);
    const conversation = this.#kept.get(key) ?? this.#begin(key, owner);
    this.#kept.delete(key);
    this.#kept.set(key, conversation); // the last entry is the most recently used
    conversation.uses++;
    this.#forgetOldest();
    try {
      return await work(conversation.agent);
    } finally {
      conversation.uses--;
      if (this.#kept.get(key) === conversation) this.#options.memory.measure(conversation);
    }
  }

  has({ owner, id }: ConversationKey): boolean {
    return this.#kept.has(JSON.stringify([owner, id]));
  }

  close(): void {
    for (const conversation of [...this.#kept.values()]) conversation.drop();
  }

  #begin(key: string, owner: string): Conversation {
    const { make, memory, onError } = this.#options;
    const agent = make();
    const conversation: Conversation = {
      agent,
      owner,
      uses: 0,
      bytes: 0,
      drop: () => {
        this.#kept.delete(key);
        memory.delete(conversation);
        agent.close().catch(onError);
      },
    };
    return conversation;
  }

  #forgetOldest(): void {
    while (this.#kept.size > this.#options.maxConversations) {
      const idle = [...this.#kept.values()].filter(({ uses }) => uses === 0);
      const oldest = fairEvictionKey(idle.map((one) => [one, one.owner] as const));
      if (!oldest) return;
      oldest.drop();
    }
  }
}

/** Limits the memory of conversations, also of several `Conversations` together. */
export class ConversationMemory {
  readonly #maxBytes: number;
  /** The last one is the most recently used. */
  readonly #measured = new Set<Conversation>();
  #bytes = 0;

  constructor(maxBytes = 134_217_728) {
    this.#maxBytes = maxBytes;
  }

  /** Measures a conversation after its use, then drops idle ones while all together are too large. */
  measure(conversation: Conversation): void {
    this.delete(conversation);
    conversation.bytes = estimateBytes(conversation.agent.messages);
    this.#measured.add(conversation);
    this.#bytes += conversation.bytes;
    while (this.#bytes > this.#maxBytes) {
      const idle = [...this.#measured].filter(({ uses }) => uses === 0);
      const oldest = fairEvictionKey(idle.map((one) => [one, one.owner, one.bytes] as const));
      if (!oldest) return;
      oldest.drop();
    }
  }

  delete(conversation: Conversation): void {
    if (this.#measured.delete(conversation)) this.#bytes -= conversation.bytes;
  }
}
