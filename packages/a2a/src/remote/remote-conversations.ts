// The conversations with a remote agent: one for each agent that uses it.
import { dropOldest, PocketError } from '@pocket-agent/kit';
import type { ToolCallContext } from 'pocket-agent';

export interface Conversation {
  contextId?: string | undefined;
  /** Tasks that wait for an answer, with their context ids. */
  waiting: Map<string, string | undefined>;
}

const MAX_CONVERSATIONS = 1_000;

export class RemoteConversations {
  readonly #conversations = new Map<string, Conversation>();

  /** Forks of an agent share its tool sources, but not their conversations. `isOfCaller`: each caller has its own, too. */
  forCall({ meta, caller = '' }: ToolCallContext, isOfCaller: boolean): Conversation {
    const key = JSON.stringify([meta.context_id ?? '', isOfCaller ? caller : '']);
    const conversation = this.#conversations.get(key) ?? { waiting: new Map<string, string | undefined>() };
    this.#conversations.delete(key);
    this.#conversations.set(key, conversation);
    dropOldest(this.#conversations, MAX_CONVERSATIONS);
    return conversation;
  }
}

/** The recipient of a message: a task that waits for an answer, or the conversation. */
export function recipientOf({ contextId, waiting }: Conversation, taskId: string | undefined, agent: string) {
  if (taskId === undefined) return { contextId };
  if (waiting.has(taskId)) return { taskId, contextId: waiting.get(taskId) };
  throw new PocketError('TOOL_ARGUMENTS_INVALID', `${agent} has no task "${taskId}" that waits for an answer.`);
}
