// Decides whether a call may be made (policy, budget, approval, rate limits) and connects to the agent with credentials.

import { A2aClient, type Endpoint, endpointOf, INPUT_SCHEMA_EXTENSION, OAuthTokens } from '@pocket-agent/a2a/client';
import { type HttpFetch, isHost } from '@pocket-agent/http/fetch';
import { isRecord, recordsIn } from '@pocket-agent/kit';
import { CallFailure, suggestsStaleCard } from '../base/call-failure.ts';
import type { CallErrorCode, CallRequest } from '../base/calls.ts';
import { cleanLine, type Redactor } from '../base/clean-text.ts';
import { serverOf } from '../cards/mcp-server.ts';
import { authorize, secretsOf } from '../credentials/authorization.ts';
import type { BridgeOptions } from './bridge-options.ts';
import type { ConnectedAgent, FoundAgent, PendingCall } from './pending-call.ts';
import { checkAgent, checkHost } from './policy.ts';
import { Budget, checkAgreedPrice, checkMaxCost, tokenLimitOf } from './price.ts';

const UNKNOWN = 'unknown agent. Find one with agent3_search, or in a terminal with agent3 search.';
const MCP_ONLY =
  'it is an MCP server, which is connected and not called: agent3 gateway ID shows how, for a gateway or any MCP client.';
const ONLY_STARTED =
  'it charges by time or by the token, so a task that is only started can cost more than allowed. Call it without mode "start", with a timeout.';

const MAX_REASON_LENGTH = 300;

export class Admission {
  readonly #options: BridgeOptions;
  readonly #fetch: HttpFetch;
  readonly #fetchLarge: HttpFetch;
  readonly #tokens: OAuthTokens;
  readonly #budget: Budget;

  constructor(options: BridgeOptions, { fetch, fetchLarge }: { fetch: HttpFetch; fetchLarge: HttpFetch }) {
    this.#options = options;
    this.#fetch = fetch;
    this.#fetchLarge = fetchLarge;
    this.#tokens = new OAuthTokens({ fetch, isTrustedHost: this.#isTrustedHost });
    this.#budget = new Budget({
      limits: options.budget ?? {},
      directory: options.directory,
      now: options.now ?? Date.now,
    });
  }

  /** The agent with a fresh card, and its endpoint. Sends nothing. */
  async find(pending: PendingCall): Promise<FoundAgent> {
    const { policy = {}, directory } = this.#options;
    const { agentId, deadline } = pending;
    checkAgent(policy, agentId);
    const fetching = directory.fresh(agentId, deadline.signal);
    const agent = await orElse(deadline.race(fetching), 'UNREACHABLE', 'its card cannot be fetched. Try again later.');
    if (!agent) throw new CallFailure('AGENT_UNKNOWN', UNKNOWN);
    pending.agent = agent;
    if (agent.hidden !== undefined) throw new CallFailure('REFUSED', 'a moderator of this hub has hidden it.');
    if (serverOf(agent.card)) throw new CallFailure('PROTOCOL', MCP_ONLY);
    const endpoint = endpointOf(agent.card);
    checkHost(policy, endpoint.url);
    return { agent, endpoint };
  }

  /** Fetches the card again if the failure suggests that the agent has moved. Undefined if the card has not changed. */
  async findAgain(
    pending: PendingCall,
    { agent, endpoint }: FoundAgent,
    failure: CallFailure,
  ): Promise<FoundAgent | undefined> {
    const { agentId, deadline } = pending;
    if (!suggestsStaleCard(failure) || deadline.signal.aborted) return undefined;
    const renewed = await deadline.race(this.#options.directory.renewed(agentId, deadline.signal));
    if (!renewed || renewed.digest === agent.digest) return undefined;
    pending.agent = renewed;
    pending.retryCount++;
    const moved = endpointOf(renewed.card);
    checkHost(this.#options.policy ?? {}, moved.url);
    // an approval covers only the host that was shown
    if (moved.url.host !== endpoint.url.host) pending.isApproved = false;
    return { agent: renewed, endpoint: moved };
  }

  /** Throws unless the message is within the budget, approved and within the rate limits. */
  async admit(
    pending: PendingCall,
    { agent, endpoint }: FoundAgent,
    { message, mode, metadata = {} }: CallRequest,
  ): Promise<void> {
    const { caller, deadline } = pending;
    const { timeoutMs } = deadline;
    const { price } = agent;
    const { maxCost } = metadata;
    checkAgreedPrice(price, metadata.agreedPrice);
    const limit = { maxCost, timeoutMs };
    checkMaxCost(price, { ...limit, inputTokens: pending.inputTokens });
    pending.tokenLimit = tokenLimitOf(price, limit);
    const terms = await this.#budget.termsOf(caller.id, price);
    const isLimited = maxCost !== undefined || terms.isLimited;
    pending.mustEnd = isLimited && Boolean(price?.perMinute || price?.perToken);
    if (pending.mustEnd && mode === 'start') throw new CallFailure('BUDGET', ONLY_STARTED);
    pending.settle = await terms.reserve(limit);
    await this.approve(pending, endpoint, message);
    const wait = await deadline.race(this.#options.directory.admit(agent, caller.id));
    if (wait === undefined) return;
    const text = `too many calls. Try again in ${Math.ceil(wait)} s.`;
    throw new CallFailure('RATE_LIMITED', text, { retryAfterMs: wait * 1000 });
  }

  /** Creates the client, with the credentials the agent requires. */
  async connect(pending: PendingCall, { agent, endpoint }: FoundAgent, skillId?: string): Promise<ConnectedAgent> {
    const { deadline, redactor } = pending;
    const { signal } = deadline;
    const extensions = extensionsOf(agent.card);
    const reading = deadline.race(this.#options.directory.credentials(agent.agentId));
    const credentials = await orElse(reading, 'AUTH_MISSING', 'its credentials cannot be read by this hub.');
    const vault = { credentials, tokens: this.#tokens, isTrustedHost: this.#isTrustedHost };
    const conceal = (secrets: string[]) => redactor.add(secrets);
    const authorization = await authorize({ agent, endpoint, skillId, signal, conceal, ...vault });
    const client = new A2aClient({
      endpoint,
      authorization,
      extensions,
      fetch: async (url, init) => {
        const response = await this.#fetch(url, init);
        pending.statusCode = response.status;
        return response;
      },
      clean: (text) => cleanLine(text, MAX_REASON_LENGTH, redactor),
    });
    pending.client = client;
    return { agent, endpoint, client, fetchLarge: this.#fetchLarge };
  }

  /** Adds the agent's credentials to a redactor, because push notifications may echo them. */
  async conceal(agentId: string, redactor: Redactor): Promise<void> {
    const reading = this.#options.directory.credentials(agentId);
    const credentials = await orElse(reading, 'AUTH_MISSING', 'its credentials cannot be read by this hub.');
    redactor.add([...credentials.flatMap(secretsOf), ...this.#tokens.values]);
  }

  /** Whether the URL is https, or its host is trusted by configuration. */
  isSafe(url: URL): boolean {
    return url.protocol === 'https:' || this.#isTrustedHost(url);
  }

  async approve(pending: PendingCall, { url }: Endpoint, message: string): Promise<void> {
    if (pending.isApproved) return;
    const { agent, agentId, caller, deadline, label } = pending;
    const { signal } = deadline;
    const question = { agentId, name: label, host: url.host, price: agent?.price, message, caller: caller.id, signal };
    const answer = await deadline.race(this.#options.approve?.(question) ?? 'allow');
    if (answer !== 'allow') throw new CallFailure('REFUSED', 'the call was not approved.');
    pending.isApproved = true;
  }

  readonly #isTrustedHost = (url: URL): boolean => {
    const { guard, allowHosts = [] } = this.#options.network ?? {};
    return guard === 'none' || allowHosts.some((host) => isHost(host, url));
  };
}

/** Replaces errors of the directory, whose texts may contain addresses. */
async function orElse<Value>(value: Promise<Value>, code: CallErrorCode, text: string): Promise<Value> {
  try {
    return await value;
  } catch (cause) {
    throw cause instanceof CallFailure ? cause : new CallFailure(code, text, { cause });
  }
}

/** The supported extensions of the card. Throws if the card requires an unsupported one. */
function extensionsOf(card: Record<string, unknown>): string[] {
  const capabilities = isRecord(card.capabilities) ? card.capabilities : {};
  const declared = recordsIn(capabilities.extensions);
  if (declared.some(({ uri, required }) => required === true && uri !== INPUT_SCHEMA_EXTENSION))
    throw new CallFailure('PROTOCOL', 'it requires an A2A extension that is not supported.');
  return declared.some(({ uri }) => uri === INPUT_SCHEMA_EXTENSION) ? [INPUT_SCHEMA_EXTENSION] : [];
}
