// Agent3 in this process: a registry and a bridge to its agents.
import { makeFetch } from '@pocket-agent/http/fetch';
import { type Logger, stderrLogger } from '@pocket-agent/kit';
import type { Agent3, TokenStore } from '../base/agent3.ts';
import { type BridgeOptions, createBridge } from '../bridge/bridge.ts';
import { openRegistry, type RegistryOptions } from '../registry/registry.ts';
import { Federation, type PeerHub } from './federation.ts';

/** A registry and the bridge that calls its agents, without a hub. */
export type LocalAgent3 = Awaited<ReturnType<typeof openAgent3>>;

/** Database, network rules, policy and budget. */
export interface LocalAgent3Options
  extends Omit<RegistryOptions, 'fetch'>,
    Pick<BridgeOptions, 'policy' | 'approve' | 'budget' | 'pushUrl' | 'key'> {
  /** Other hubs that searches ask; their agents have ids such as `weather-1234@hub.example`. */
  peers?: readonly PeerHub[];
  logger?: Logger;
}

const CARD_TIMEOUT_MS = 15_000;

/** Agent3 in this process: a registry and a bridge to its agents. */
export async function openAgent3(options: LocalAgent3Options = {}) {
  const { policy, approve, budget, pushUrl, key, logger = stderrLogger(), allowHosts = [], ...rest } = options;
  const { peers = [], ...registered } = rest;
  const fetch = makeFetch({ allowHosts, timeoutMs: CARD_TIMEOUT_MS, redirects: 'follow' });
  const registry = await openRegistry({ ...registered, allowHosts, fetch });
  const federation = new Federation({
    peers,
    hubId: registry.hubId,
    check: (card) => registry.check(card),
    now: registered.now ?? Date.now,
  });
  const bridge = createBridge({
    directory: federation.directory(registry),
    logger,
    network: { allowHosts },
    policy,
    approve,
    budget,
    pushUrl,
    key,
    now: registered.now,
  });
  return {
    /** Names this hub in searches that pass it. */
    hubId: registry.hubId,
    search: (query, _caller?, options?) => federation.search(query, () => registry.search(query), options),
    select: async (agentId, caller?) => (await federation.select(agentId)) ?? registry.select(agentId, caller),
    invoke: async (agentId, caller?) => (await federation.invoke(agentId)) ?? registry.invoke(agentId, caller),
    call: (request, caller, callOptions?) => bridge.call(request, caller, callOptions),
    task: (request, caller, callOptions?) => bridge.task(request, caller, callOptions),
    feedback: async (feedback, caller) => {
      federation.checkHere(feedback.agentId, 'rate it');
      return registry.feedback(feedback, caller);
    },
    register: (registration, caller) => registry.register(registration, caller),
    unregister: (agentId, caller) => registry.unregister(agentId, caller),
    calls: (query, caller) => registry.calls(query, caller),
    list: (query) => registry.list(query),
    claim: (agentId, caller) => registry.claim(agentId, caller),
    setCredentials: (agentId, credentials, caller) => registry.setCredentials(agentId, credentials, caller),
    report: (agentId, reason, caller) => registry.report(agentId, reason, caller),
    moderate: (agentId, hidden, caller) => registry.moderate(agentId, hidden, caller),
    reports: (caller) => registry.reports(caller),
    account: (caller) => registry.account(caller),
    setLimits: (limits, caller) => registry.setLimits(limits, caller),
    statement: (query, caller) => registry.statement(query, caller),
    receipt: (receipt, caller) => registry.receipt(receipt, caller),
    addToken: (request, caller) => registry.addToken(request, caller),
    revokeToken: (id, caller) => registry.revokeToken(id, caller),
    isValidToken: (owner, id) => registry.isValidToken(owner, id),
    statistics: (query) => registry.statistics(query),
    health: () => registry.health(),
    /** Handles a push notification of an agent. */
    receivePush: (request) => bridge.receivePush(request),
    async close() {
      await bridge.close();
      await federation.close();
      await registry.close();
      fetch.close();
    },
  } satisfies Agent3 & TokenStore & { hubId: string; receivePush(request: Request): Promise<Response> };
}
