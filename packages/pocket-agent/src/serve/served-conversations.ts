// The conversations of a served agent: one agent for each, the least recently used are dropped. With a store they are saved,
// and continue after they were dropped and after a restart.
import { configError, estimateBytes, fairEvictionKey, sha256 } from '@pocket-agent/kit';
import type { ConversationLog } from '../history/conversation-log.ts';
import { ANONYMOUS } from '../run/run-context.ts';
import type { ServedAgent } from './served-agent.ts';

export const MAX_ID_LENGTH = 512;
const MAX_SAVED_ID = 400;
const MAX_SAVED_NAME = 100;
const MAX_SAVED_OWNER = 256;
const OTHER_OUTPUT =
  'makes agents with another output than the served agent, whose schema clients read: give both the same output.';

/** Where conversations are saved: what `openConversations()` of `@pocket-agent/store` returns. */
export interface ConversationStore {
  forOwner(owner: string): {
    attach(id: string, agent: { continueConversation(log: ConversationLog): Promise<void> }): Promise<void>;
    get(id: string): Promise<unknown>;
  };
}

interface ConversationsOptions {
  /** The name of the served agent: several may share a store. */
  name: string;
  store?: ConversationStore | undefined;
  /** The saved id of the conversation without an id. */
  defaultId?: string;
  maxConversations: number;
  memory: ConversationMemory;
  /** The schema of answers that clients have read. Every agent must have the same. */
  outputSchema?: ServedAgent['outputSchema'];
  make(): ServedAgent;
  onError(error: unknown): void;
}

export interface ConversationKey {
  /** The caller that owns it; empty for clients that cannot be distinguished. */
  owner: string;
  id: string;
}

interface Conversation {
  agent: ServedAgent;
  /** Settles when the saved conversation was read; undefined without a store. */
  ready: Promise<void> | undefined;
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

  async use<Result>(reference: ConversationKey, work: (agent: ServedAgent) => Promise<Result>): Promise<Result> {
    const key = JSON.stringify([reference.owner, reference.id]);
    const conversation = this.#kept.get(key) ?? this.#begin(key, reference);
    this.#kept.delete(key);
    this.#kept.set(key, conversation); // the last entry is the most recently used
    conversation.uses++;
    this.#forgetOldest();
    try {
      if (conversation.ready) await conversation.ready;
      return await work(conversation.agent);
    } finally {
      conversation.uses--;
      if (this.#kept.get(key) === conversation) this.#options.memory.measure(conversation);
    }
  }

  async has({ owner, id }: ConversationKey): Promise<boolean> {
    if (this.#kept.has(JSON.stringify([owner, id]))) return true;
    return (await this.#saved(owner)?.get(this.#savedId(id))) !== undefined;
  }

  close(): void {
    for (const conversation of [...this.#kept.values()]) conversation.drop();
  }

  #begin(key: string, { owner, id }: ConversationKey): Conversation {
    const { make, memory, onError, defaultId = 'default' } = this.#options;
    const agent = make();
    if (JSON.stringify(agent.outputSchema) !== JSON.stringify(this.#options.outputSchema)) {
      agent.close().catch(onError);
      throw configError(`createAgent() of ${this.#options.name} ${OTHER_OUTPUT}`);
    }
    const store = this.#saved(owner);
    const conversation: Conversation = {
      agent,
      ready: store && attach(agent, (log) => store.attach(this.#savedId(id || defaultId), log)),
      owner,
      uses: 0,
      bytes: 0,
      drop: () => {
        this.#kept.delete(key);
        memory.delete(conversation);
        agent.close().catch(onError);
      },
    };
    conversation.ready?.catch(() => conversation.drop()); // the next message tries again
    return conversation;
  }

  /** An operator finds all conversations of a caller, with any agent, as those of one owner. */
  #saved(owner: string): ReturnType<ConversationStore['forOwner']> | undefined {
    return this.#options.store?.forOwner(savable(owner || ANONYMOUS, MAX_SAVED_OWNER));
  }

  /** Begins with the name of the agent: several may share a store. */
  #savedId(id: string): string {
    const { name } = this.#options;
    // a slash in the name could make two agents share an id
    const prefix = name.includes('/') ? sha256(name) : savable(name, MAX_SAVED_NAME);
    return `${prefix}/${savable(id, MAX_SAVED_ID)}`;
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

/** Clients choose ids; a database cannot store all of them. */
function savable(text: string, maxLength: number): string {
  return text.length > maxLength || text.includes('\0') || !text.isWellFormed() ? sha256(text) : text;
}

type SavableAgent = ServedAgent & Required<Pick<ServedAgent, 'continueConversation'>>;

async function attach(agent: ServedAgent, work: (agent: SavableAgent) => Promise<void>): Promise<void> {
  if (!isSavable(agent)) {
    const text = 'The option "conversations" needs agents with continueConversation(): check createAgent.';
    throw configError(text);
  }
  await work(agent);
}

function isSavable(agent: ServedAgent): agent is SavableAgent {
  return typeof agent.continueConversation === 'function';
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
