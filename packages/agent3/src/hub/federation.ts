// Federation: searches also ask other hubs, and their agents are shown and called from here. An agent of another hub has the
// id `id@host`.
//
// No search runs in a circle: each request names the hubs that it passed, a hub does not search again for one that names it, and
// a request passes at most MAX_HOPS hubs.
import { dropOldest } from '@pocket-agent/kit';
import type { SearchOptions } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import type {
  AgentDetails,
  AgentSummary,
  CardJson,
  Invocation,
  ListedAgent,
  SearchPage,
  SearchQuery,
} from '../base/agents.ts';
import type { Directory } from '../bridge/directory.ts';
import { RemoteAgent3 } from './remote.ts';

/** Another hub that searches ask. */
export interface PeerHub {
  url: string;
  /** An owner token of that hub; needed only if it is private. */
  token?: string | undefined;
  /** How long a search waits for it. Default 2,000. */
  timeoutMs?: number;
}

interface FederationOptions {
  peers: readonly PeerHub[];
  /** The same for all hubs of one database. */
  hubId: string;
  /** Checks a card from another hub as if it were registered here. */
  check(card: CardJson): Promise<Pick<ListedAgent, 'card' | 'digest' | 'verified'>>;
  now: () => number;
}

interface Peer {
  /** The host, as in ids. */
  name: string;
  url: string;
  client: RemoteAgent3;
  timeoutMs: number;
  /** A hub that did not answer is not asked again before this time. */
  restsUntil: number;
}

const MAX_HOPS = 2;
const SEARCH_MS = 2_000;
const REST_MS = 30_000;
const CACHE_MS = 60_000;
const MAX_CACHED = 1_000;
/** Ranks of several hubs are merged by reciprocal rank fusion with this constant. */
const FUSION = 60;
const DEFAULT_LIMIT = 10;

type Cached = { agent: ListedAgent; until: number };

export class Federation {
  readonly #options: FederationOptions;
  readonly #peers: readonly Peer[];
  readonly #listed = new Map<string, Cached>();

  constructor(options: FederationOptions) {
    this.#options = options;
    this.#peers = options.peers.map(({ url, token, timeoutMs = SEARCH_MS }) => {
      const client = new RemoteAgent3({ url, token });
      return { name: new URL(url).host, url: new URL(url).origin, client, timeoutMs, restsUntil: 0 };
    });
  }

  /** Adds what other hubs find. Only the first page is federated; further pages are of this hub. */
  async search(
    query: SearchQuery,
    searchHere: () => Promise<SearchPage>,
    { via = [] }: SearchOptions = {},
  ): Promise<SearchPage> {
    const { hubId } = this.#options;
    if (via.includes(hubId)) return { agents: [], totalFound: 0, searchTime: 0 };
    if (this.#peers.length === 0 || query.cursor !== undefined || via.length >= MAX_HOPS) return searchHere();
    const [page, ...answers] = await Promise.all([
      searchHere(),
      ...this.#peers.map((peer) => this.#ask(peer, query, [...via, hubId])),
    ]);
    const found = answers.map(({ page: other }) => other?.agents ?? []);
    return {
      ...page,
      agents: merged([page.agents, ...found], query.limit ?? DEFAULT_LIMIT),
      totalFound: page.totalFound + answers.reduce((sum, { page: other }) => sum + (other?.totalFound ?? 0), 0),
      hubs: answers.map(({ peer, page: other }) => ({ hub: peer.url, answered: other !== undefined })),
    };
  }

  /** Undefined for agents of this hub. */
  async select(agentId: string): Promise<AgentDetails | undefined> {
    const found = this.#find(agentId);
    return found && { ...(await found.peer.client.select(found.id)), id: agentId, hub: found.peer.url };
  }

  /** Undefined for agents of this hub. Credentials stay at the other hub, and calls are made from here. */
  async invoke(agentId: string): Promise<Invocation | undefined> {
    const found = this.#find(agentId);
    if (!found) return undefined;
    const invocation = await found.peer.client.invoke(found.id);
    const { card, digest, verified } = await this.#options.check(invocation.card);
    return { ...invocation, agentId, card, digest, verified };
  }

  isElsewhere(agentId: string): boolean {
    return this.#find(agentId) !== undefined;
  }

  /** Throws for agents of other hubs. */
  checkHere(agentId: string, what: string): void {
    const found = this.#find(agentId);
    if (found)
      throw new Agent3Error('INPUT_INVALID', `The agent is listed by the hub ${found.peer.url}: ${what} there`);
  }

  /** A directory that also knows the agents of other hubs. */
  directory(registry: Directory): Directory {
    return {
      fresh: (agentId, signal) => (this.isElsewhere(agentId) ? this.#agent(agentId) : registry.fresh(agentId, signal)),
      renewed: (agentId, signal) => {
        if (!this.isElsewhere(agentId)) return registry.renewed(agentId, signal);
        this.#listed.delete(agentId);
        return this.#agent(agentId);
      },
      credentials: async (agentId) => (this.isElsewhere(agentId) ? [] : registry.credentials(agentId)),
      admit: (agent, caller) => registry.admit(agent, caller),
      allowance: (caller) => registry.allowance(caller),
      spend: (spending) => registry.spend(spending),
      record: (call) => registry.record(call),
      saveTask: (task) => registry.saveTask(task),
      task: (taskHandle) => registry.task(taskHandle),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#peers.map(({ client }) => client.close()));
  }

  async #agent(agentId: string): Promise<ListedAgent | undefined> {
    const now = this.#options.now();
    const cached = this.#listed.get(agentId);
    if (cached && cached.until > now) return cached.agent;
    const found = this.#find(agentId);
    const invocation = await this.invoke(agentId).catch(unlessUnknown);
    if (!found || !invocation) return undefined;
    const { card, digest, verified, price } = invocation;
    const agent = {
      agentId,
      card,
      digest,
      verified,
      owner: `@${found.peer.name}`,
      idempotent: false,
      ...(price ? { price } : {}),
    };
    this.#listed.delete(agentId);
    this.#listed.set(agentId, { agent, until: now + CACHE_MS });
    dropOldest(this.#listed, MAX_CACHED);
    return agent;
  }

  /** The id at the other hub may name a further hub. */
  #find(agentId: string): { peer: Peer; id: string } | undefined {
    const end = agentId.lastIndexOf('@');
    const peer = end < 0 ? undefined : this.#peers.find(({ name }) => name === agentId.slice(end + 1));
    return peer && { peer, id: agentId.slice(0, end) };
  }

  async #ask(
    peer: Peer,
    query: SearchQuery,
    via: readonly string[],
  ): Promise<{ peer: Peer; page: SearchPage | undefined }> {
    const now = this.#options.now();
    if (peer.restsUntil > now) return { peer, page: undefined };
    try {
      const page = await peer.client.search(query, undefined, { via, signal: AbortSignal.timeout(peer.timeoutMs) });
      const agents = page.agents.map((agent) => ({
        ...agent,
        id: `${agent.id}@${peer.name}`,
        hub: agent.hub ?? peer.url,
      }));
      return { peer, page: { ...page, agents } };
    } catch {
      // the page says which hubs did not answer
      peer.restsUntil = now + REST_MS;
      return { peer, page: undefined };
    }
  }
}

/** Each hub ranks by its own figures, so only ranks can be compared. The same card counts once, where it was found first. */
function merged(lists: readonly (readonly AgentSummary[])[], limit: number): AgentSummary[] {
  const best = new Map<string, { agent: AgentSummary; score: number }>();
  for (const list of lists)
    for (const [rank, agent] of list.entries()) {
      const key = agent.digest ?? agent.id;
      const known = best.get(key);
      const score = (known?.score ?? 0) + 1 / (FUSION + rank);
      best.set(key, { agent: known?.agent ?? agent, score });
    }
  const ranked = [...best.values()].sort((a, b) => b.score - a.score);
  return ranked.slice(0, limit).map(({ agent }) => agent);
}

/** The call itself reports an unknown agent. */
function unlessUnknown(error: unknown): undefined {
  if (error instanceof Agent3Error && error.code === 'AGENT_UNKNOWN') return undefined;
  throw error;
}
