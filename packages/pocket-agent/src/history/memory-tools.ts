// Tools with which an agent keeps facts beyond a conversation: remember, recall and forget. Callers of runs have separate
// memories.
import { configError, isRecord, nullable, PocketError } from '@pocket-agent/kit';
import { ANONYMOUS, currentRun } from '../run/run-context.ts';
import { type FunctionTool, ownTools, tool } from '../tools/function-tool.ts';
import type { ToolSource } from '../tools/tool-source.ts';

/** A fact that the model has saved with `remember`. */
export interface Memory {
  id: string;
  text: string;
  createdAt: Date;
}

/** Where memories are kept. `openConversations()` of `@pocket-agent/store` has one. */
export interface AgentMemory {
  /** `owner` of the memory. Undefined: the owner of the conversation. */
  remember(options: { owner: string | undefined; text: string }): Promise<Memory>;
  /** Memories that contain words of the query, best first. An empty query finds the newest. */
  recall(options: { owner: string | undefined; query: string; limit?: number }): Promise<Memory[]>;
  /** False if there is no such memory. */
  forget(options: { owner: string | undefined; id: string }): Promise<boolean>;
}

/** `true`: the memory in the store of the conversation that the agent continues. */
export type MemoryOption = boolean | AgentMemory | { readonly memory: AgentMemory };

export const memoryRule = nullable(
  'true, or the result of openConversations()',
  (value) => typeof value === 'boolean' || (isRecord(value) && ('remember' in value || 'memory' in value)),
);

/** Undefined without memory. `ofConversation` returns the memory of the conversation, if the agent continues one. */
export function memoryTools(
  option: MemoryOption | undefined,
  ofConversation: () => AgentMemory | undefined,
): ToolSource | undefined {
  if (!option) return undefined;
  if (option !== true) return memorySource('memory' in option ? option.memory : option);
  const find = () => {
    const memory = ofConversation();
    if (memory) return memory;
    const wayOut =
      'open the agent with chats.open(id, agent), or set memory: chats, where chats = await openConversations(…)';
    throw configError(`memory: true needs a saved conversation: ${wayOut}.`);
  };
  const source = toolsOf(find);
  return {
    name: source.name,
    hasOwnSchemas: true,
    listTools: () => {
      find();
      return source.listTools();
    },
    callTool: (name, args, context) => source.callTool(name, args, context),
    exposure: () => 'direct',
  };
}

export function memorySource(memory: AgentMemory): ToolSource {
  return toolsOf(() => memory);
}

function toolsOf(find: () => AgentMemory): ToolSource {
  return ownTools([rememberTool(find), recallTool(find), forgetTool(find)], 'memory');
}

/** The owner of the memory that a run uses. */
function owner(): string | undefined {
  const caller = currentRun()?.policy.caller;
  if (caller !== ANONYMOUS) return caller;
  const wayOut = 'give the server a token, or tokens, so that callers can be told apart';
  throw new PocketError('TOOL_FAILED', `Anonymous callers have no memory, because they would share it: ${wayOut}.`);
}

function rememberTool(memory: () => AgentMemory): FunctionTool {
  return tool({
    name: 'remember',
    description: 'Keeps a fact for later conversations with the same person, as one short sentence.',
    capability: 'create',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run: async ({ text }) => {
      const { id } = await memory().remember({ owner: owner(), text: String(text) });
      return `Remembered as ${id}.`;
    },
  });
}

function recallTool(memory: () => AgentMemory): FunctionTool {
  return tool({
    name: 'recall',
    description: 'Finds remembered facts by words in them. Without a query: the newest.',
    capability: 'read',
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer', minimum: 1, maximum: 50 } },
    },
    run: async ({ query = '', limit = 10 }) => {
      const found = await memory().recall({ owner: owner(), query: String(query), limit: Number(limit) });
      const lines = found.map(({ id, text, createdAt }) => `${id} (${createdAt.toISOString().slice(0, 10)}): ${text}`);
      return lines.join('\n') || 'Nothing was found.';
    },
  });
}

function forgetTool(memory: () => AgentMemory): FunctionTool {
  return tool({
    name: 'forget',
    description: 'Deletes a remembered fact by the id that recall shows.',
    capability: 'delete',
    inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    run: async ({ id }) => {
      const isForgotten = await memory().forget({ owner: owner(), id: String(id) });
      return isForgotten ? 'Forgotten.' : `There is no memory ${String(id)}.`;
    },
  });
}
