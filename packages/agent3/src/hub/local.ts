// Agent3 in this process: a registry and a bridge to its agents.
import { makeFetch } from '@pocket-agent/http/fetch';
import { type Logger, stderrLogger } from '@pocket-agent/kit';
import type { Agent3, Caller, HubHealth } from '../base/agent3.ts';
import type { AgentDetails, Invocation, Registration, SearchPage, SearchQuery } from '../base/agents.ts';
import type {
  CallLog,
  CallLogQuery,
  Feedback,
  FeedbackResult,
  Statistics,
  StatisticsQuery,
} from '../base/call-records.ts';
import type { CallOptions, CallRequest, CallResponse, TaskRequest } from '../base/calls.ts';
import { type Bridge, type BridgeOptions, createBridge } from '../bridge/bridge.ts';
import { openRegistry, type Registry, type RegistryOptions } from '../registry/registry.ts';

export interface LocalAgent3Options
  extends Omit<RegistryOptions, 'fetch'>,
    Pick<BridgeOptions, 'policy' | 'approve' | 'budget' | 'pushUrl' | 'key'> {
  logger?: Logger;
}

const MAX_CARD_BYTES = 1_000_000;
const CARD_TIMEOUT_MS = 15_000;

export async function openAgent3(options: LocalAgent3Options = {}): Promise<LocalAgent3> {
  const { policy, approve, budget, pushUrl, key, logger = stderrLogger(), allowHosts = [], ...registered } = options;
  const limits = { maxBytes: MAX_CARD_BYTES, timeoutMs: CARD_TIMEOUT_MS };
  const fetch = makeFetch({ allowHosts, ...limits, redirects: 'follow' });
  const directory = await openRegistry({ ...registered, allowHosts, fetch });
  const bridge = createBridge({
    directory,
    logger,
    network: { allowHosts },
    ...(policy ? { policy } : {}),
    ...(approve ? { approve } : {}),
    ...(budget ? { budget } : {}),
    ...(pushUrl ? { pushUrl } : {}),
    ...(key ? { key } : {}),
  });
  return new LocalAgent3({ registry: directory, bridge, closeFetch: () => fetch.close() });
}

interface Parts {
  registry: Registry;
  bridge: Bridge;
  closeFetch(): void;
}

export class LocalAgent3 implements Agent3 {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  search(query: SearchQuery): Promise<SearchPage> {
    return this.#parts.registry.search(query);
  }

  select(agentId: string): Promise<AgentDetails> {
    return this.#parts.registry.select(agentId);
  }

  invoke(agentId: string): Promise<Invocation> {
    return this.#parts.registry.invoke(agentId);
  }

  call(request: CallRequest, caller: Caller, options?: CallOptions): Promise<CallResponse> {
    return this.#parts.bridge.call(request, caller, options);
  }

  task(request: TaskRequest, caller: Caller, options?: CallOptions): Promise<CallResponse> {
    return this.#parts.bridge.task(request, caller, options);
  }

  feedback(feedback: Feedback, caller: Caller): Promise<FeedbackResult> {
    return this.#parts.registry.feedback(feedback, caller);
  }

  register(registration: Registration, caller: Caller): Promise<AgentDetails> {
    return this.#parts.registry.register(registration, caller);
  }

  unregister(agentId: string, caller: Caller): Promise<void> {
    return this.#parts.registry.unregister(agentId, caller);
  }

  calls(query: CallLogQuery, caller: Caller): Promise<CallLog> {
    return this.#parts.registry.calls(query, caller);
  }

  statistics(query: StatisticsQuery): Promise<Statistics> {
    return this.#parts.registry.statistics(query);
  }

  health(): Promise<HubHealth> {
    return this.#parts.registry.health();
  }

  /** Handles a push notification of an agent. */
  receivePush(request: Request): Promise<Response> {
    return this.#parts.bridge.receivePush(request);
  }

  async close(): Promise<void> {
    await this.#parts.bridge.close();
    await this.#parts.registry.close();
    this.#parts.closeFetch();
  }
}
