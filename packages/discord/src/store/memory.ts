// What the bot remembers about people, separate for each server and for direct messages: what a person says in one place is
// never shown in another.
import type { Conversations, Memory } from '@pocket-agent/store';
import type { AgentMemory } from 'pocket-agent';

export interface MemoryPlace {
  userId: string;
  /** Null in direct messages. */
  guildId: string | null;
}

export interface PlacedMemory extends Memory {
  guildId: string | null;
}

const DIRECT = 'dm';
const MAX_OWNERS = 1_000;

/** The memory that an agent uses while it answers this person. */
export function agentMemory({ memory }: Conversations, place: MemoryPlace): AgentMemory {
  const owner = ownerOf(place);
  return {
    remember: ({ text }) => memory.remember({ owner, text }),
    recall: ({ query, limit }) => memory.recall({ owner, query, ...(limit === undefined ? {} : { limit }) }),
    forget: ({ id }) => memory.forget({ owner, id }),
  };
}

/** In a server, the memories of this place. In direct messages, which no one else reads, those of all places. */
export async function memoriesOf(chats: Conversations, place: MemoryPlace): Promise<PlacedMemory[]> {
  const found = await Promise.all(
    (await placesOf(chats, place)).map(async (each) => {
      const memories = await chats.memory.list({ owner: ownerOf(each) });
      return memories.map((memory) => ({ ...memory, guildId: each.guildId }));
    }),
  );
  return found.flat();
}

/** False if no memory in these places has the id. */
export async function forget(chats: Conversations, place: MemoryPlace, id: string): Promise<boolean> {
  for (const each of await placesOf(chats, place))
    if (await chats.memory.forget({ owner: ownerOf(each), id })) return true;
  return false;
}

/** Returns the number of erased memories. */
export async function eraseMemories(chats: Conversations, place: MemoryPlace): Promise<number> {
  let erased = 0;
  for (const each of await placesOf(chats, place)) erased += await chats.memory.erase({ owner: ownerOf(each) });
  return erased;
}

/** Erases the memories of a server that the bot has left. */
export async function eraseMemoriesOfGuild(chats: Conversations, guildId: string): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await chats.owners({ limit: MAX_OWNERS, ...(cursor === undefined ? {} : { cursor }) });
    for (const { owner } of page.owners) if (owner.endsWith(`/${guildId}`)) await chats.memory.erase({ owner });
    cursor = page.next;
  } while (cursor !== undefined);
}

async function placesOf(chats: Conversations, place: MemoryPlace): Promise<MemoryPlace[]> {
  if (place.guildId !== null) return [place];
  const prefix = `${place.userId}/`;
  const { owners } = await chats.owners({ prefix, limit: MAX_OWNERS });
  return owners.map(({ owner }) => {
    const guildId = owner.slice(prefix.length);
    return { userId: place.userId, guildId: guildId === DIRECT ? null : guildId };
  });
}

function ownerOf({ userId, guildId }: MemoryPlace): string {
  return `${userId}/${guildId ?? DIRECT}`;
}
