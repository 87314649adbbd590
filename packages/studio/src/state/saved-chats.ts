// The conversations in the database. The owner of each is its agent.
import type { Conversations } from '@pocket-agent/store';
import type { PocketAgent } from 'pocket-agent';
import type { SavedChat } from '../wire/wire.ts';

/** How many the page lists of each agent. */
const LISTED = 100;

export class SavedChats {
  readonly #store: Conversations;
  readonly #agents: readonly string[];

  constructor(store: Conversations, agents: readonly string[]) {
    this.#store = store;
    this.#agents = agents;
  }

  /** The newest, or those that contain the words. */
  async list(words: string): Promise<SavedChat[]> {
    const lists = this.#agents.map(async (agent) => {
      const own = this.#store.forOwner(agent);
      const page = words === '' ? await own.list({ limit: LISTED }) : await own.search(words, { limit: LISTED });
      return page.conversations.map(({ id, title, updatedAt }) => ({
        id,
        agent,
        title,
        updatedAt: updatedAt.getTime(),
      }));
    });
    return (await Promise.all(lists)).flat().sort((a, b) => b.updatedAt - a.updatedAt);
  }

  /** The agent of a conversation, and its title. */
  async find(id: string): Promise<{ agent: string; title: string } | undefined> {
    for (const agent of this.#agents) {
      const found = await this.#store.forOwner(agent).get(id);
      if (found) return { agent, title: found.title };
    }
    return undefined;
  }

  /** From now on, and with what was saved. */
  async attach(id: string, agent: PocketAgent<unknown>, agentName: string): Promise<void> {
    await this.#store.forOwner(agentName).attach(id, agent);
  }

  async delete(id: string): Promise<boolean> {
    const found = await this.find(id);
    return found !== undefined && this.#store.forOwner(found.agent).delete(id);
  }
}
