// The conversations of those who talk to a served agent: an agent of their own each, forgotten when it is long unused.
import type { PocketAgent } from './agent.ts';
import { oldestOfLargest } from './fair-share.ts';

type Agent = PocketAgent<unknown>;

interface ConversationsOptions {
  most: number;
  make(): Agent;
  onError(error: unknown): void;
}

/** The conversations used last; older ones that nobody waits for are forgotten. */
export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #kept = new Map<string, { agent: Agent; owner: string; uses: number }>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  /** `owner` is whoever speaks in it; nobody else does. */
  async use<Result>(
    { owner, id }: { owner: string; id: string },
    work: (agent: Agent) => Promise<Result>,
  ): Promise<Result> {
    const key = JSON.stringify([owner, id]);
    const conversation = this.#kept.get(key) ?? { agent: this.#options.make(), owner, uses: 0 };
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
    while (this.#kept.size > this.#options.most) {
      const idle = [...this.#kept].filter(([, { uses }]) => uses === 0);
      const oldest = oldestOfLargest(idle.map(([key, { owner }]) => [key, owner] as const));
      if (oldest === undefined) return;
      const found = this.#kept.get(oldest);
      this.#kept.delete(oldest);
      if (found) this.#end(found.agent);
    }
  }

  #end(agent: Agent): void {
    agent.close().catch(this.#options.onError);
  }
}
