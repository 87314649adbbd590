// The command `!memory` in a direct message: lets people read and erase what the agent remembers about them, whatever the
// profile of the agent.
import type { AgentMemory, Memory } from 'pocket-agent';

/** `memory` of `openConversations()`. */
export interface UserMemory extends AgentMemory {
  /** Newest first. */
  list(options: { owner: string }): Promise<Memory[]>;
  /** Returns the number of erased memories. */
  erase(options: { owner: string }): Promise<number>;
}

interface Command {
  text: string;
  userId: string;
  /** Whether it was sent in a direct message. */
  isDirect: boolean;
}

const COMMAND = /^!memory(?:\s+(.*))?$/is;
const MAX_LISTED = 100;
const USAGE =
  '`!memory` lists what I remember about you, `!memory WORDS` searches it, `!memory erase ID` and `!memory erase all` erase it.';

export function isMemoryCommand(text: string): boolean {
  return COMMAND.test(text.trim());
}

/** The answer to the command; undefined for other messages. */
export async function answerMemoryCommand(
  memory: UserMemory,
  { text, userId: owner, isDirect }: Command,
): Promise<string | undefined> {
  const [command, parameters = ''] = COMMAND.exec(text.trim()) ?? [];
  if (command === undefined) return undefined;
  if (!isDirect) return 'Write this to me in a direct message, so that only you read the answer.';
  const [action, ...ids] = parameters.split(/\s+/);
  if (action?.toLowerCase() !== 'erase') return list(memory, owner, parameters.trim());
  if (ids.length === 0) return USAGE;
  if (ids.length === 1 && ids[0]?.toLowerCase() === 'all') {
    const erased = await memory.erase({ owner });
    return erased === 1 ? 'Erased 1 memory.' : `Erased ${erased} memories.`;
  }
  const unknown: string[] = [];
  for (const id of ids) if (!(await memory.forget({ owner, id }))) unknown.push(id);
  return unknown.length === 0 ? 'Erased.' : `No memory about you has the id ${unknown.join(', ')}. ${USAGE}`;
}

async function list(memory: UserMemory, owner: string, query: string): Promise<string> {
  const found = query === '' ? await memory.list({ owner }) : await memory.recall({ owner, query, limit: MAX_LISTED });
  if (found.length === 0) return query === '' ? 'I remember nothing about you.' : 'No memory matches.';
  const lines = found.slice(0, MAX_LISTED).map(({ id, text, createdAt }) => {
    return `- \`${id}\` (${createdAt.toISOString().slice(0, 10)}): ${text.replace(/\s+/g, ' ')}`;
  });
  const more = found.length - lines.length;
  return [...lines, ...(more > 0 ? [`- and ${more} older ones`] : []), '', USAGE].join('\n');
}
