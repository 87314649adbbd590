// The conversations of those who talk to a served agent: an agent of their own each, forgotten when it is long unused.
import type { PocketAgent } from './agent.ts';

type Agent = PocketAgent<unknown>;

interface ConversationsOptions {
  most: number;
  make(): Agent;
  onError(error: unknown): void;
}

/** The conversations used last; older ones that nobody waits for are forgotten. */
export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #kept = new Map<string, { agent: Agent; uses: number }>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  async use<Result>(key: string, work: (agent: Agent) => Promise<Result>): Promise<Result> {
    const conversation = this.#kept.get(key) ?? { agent: this.#options.make(), uses: 0 };
    this.#kept.delete(key);
    this.#kept.set(key, conversation); // the last one is the one used last
    conversation.uses++;
    this.#forgetOldest();
    try {
      return await work(conversation.agent);
    } finally {
      conversation.uses--;
    }
  }

  /** A conversation of one message. */
  async useOnce<Result>(work: (agent: Agent) => Promise<Result>): Promise<Result> {
    const agent = this.#options.make();
    try {
      return await work(agent);
    } finally {
      this.#end(agent);
    }
  }

  close(): void {
    for (const { agent } of this.#kept.values()) this.#end(agent);
    this.#kept.clear();
  }

  #forgetOldest(): void {
    for (const [key, { agent, uses }] of this.#kept) {
      if (this.#kept.size <= this.#options.most) return;
      if (uses > 0) continue;
      this.#kept.delete(key);
      this.#end(agent);
    }
  }

  #end(agent: Agent): void {
    agent.close().catch(this.#options.onError);
  }
}
