// What stands between a caller and an agent: policy, budget, approval, rate limits, and the right credentials.
import { type HttpFetch, isHost } from '@pocket-agent/http/fetch';
import { CallFailure, suggestsStaleCard } from '../base/call-failure.ts';
import type { Redactor } from '../base/clean-text.ts';
import { isRecord, recordsIn } from '../base/json.ts';
import type { CallErrorCode, CallRequest } from '../base/types.ts';
import { authorize, secretsOf } from '../credentials/authorization.ts';
import { OAuthTokens } from '../credentials/oauth-tokens.ts';
import type { BridgeOptions } from './bridge-options.ts';
import { INPUT_SCHEMA_EXTENSION } from './content/input-schema.ts';
import type { Errand, Found, Reached } from './errand.ts';
import { checkAgent, checkHost } from './policy.ts';
import { Budget, checkAgreedPrice, checkMaxCost, tokenLimitOf } from './price.ts';
import { type Endpoint, endpointOf } from './wire/endpoint.ts';
import { Peer } from './wire/peer.ts';

/** For those who call by a tool, and those who call in a terminal. */
const UNKNOWN = 'there is no such agent. Find one with agent3_search, or in a terminal with agent3 search.';
const ONLY_STARTED =
  'it charges by time or by the token, so a task that is only started can cost more than is allowed. Call it without mode "start", with a timeout.';

export class Gate {
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

  /** The agent as it is now, and where it is spoken to; nothing is sent yet. */
  async find(errand: Errand): Promise<Found> {
    const { policy = {}, directory } = this.#options;
    const { agentId, deadline } = errand;
    checkAgent(policy, agentId);
    const fetching = directory.fresh(agentId, deadline.signal);
    const agent = await orElse(deadline.race(fetching), 'UNREACHABLE', 'its card is not to be had. Try again later.');
    if (!agent) throw new CallFailure('AGENT_UNKNOWN', UNKNOWN);
    errand.agent = agent;
    const endpoint = endpointOf(agent.card);
    checkHost(policy, endpoint.url);
    return { agent, endpoint };
  }

  /** The same by a card that was fetched again, if the failure suggests it and the card is another one now. */
  async findAgain(errand: Errand, { agent, endpoint }: Found, failure: CallFailure): Promise<Found | undefined> {
    const { agentId, deadline } = errand;
    if (!suggestsStaleCard(failure) || deadline.signal.aborted) return undefined;
    const renewed = await deadline.race(this.#options.directory.renewed(agentId, deadline.signal));
    if (!renewed || renewed.digest === agent.digest) return undefined;
    errand.agent = renewed;
    errand.retryCount++;
    const moved = endpointOf(renewed.card);
    checkHost(this.#options.policy ?? {}, moved.url);
    // an approval covers only the host that was shown
    if (moved.url.host !== endpoint.url.host) errand.isApproved = false;
    return { agent: renewed, endpoint: moved };
  }

  /** Whether this message may go out: it can be paid for, is approved, and not one too many. */
  async admit(
    errand: Errand,
    { agent, endpoint }: Found,
    { message, mode, metadata = {} }: CallRequest,
  ): Promise<void> {
    const { caller, deadline } = errand;
    const { timeoutMs } = deadline;
    const { price } = agent;
    const { maxCost } = metadata;
    checkAgreedPrice(price, metadata.agreedPrice);
    const limit = { maxCost, timeoutMs };
    checkMaxCost(price, { ...limit, inputTokens: errand.inputTokens });
    errand.tokenLimit = tokenLimitOf(price, limit);
    const isLimited = maxCost !== undefined || this.#budget.isLimited(caller.id);
    errand.mustEnd = isLimited && Boolean(price?.perMinute || price?.perToken);
    if (errand.mustEnd && mode === 'start') throw new CallFailure('BUDGET', ONLY_STARTED);
    errand.settle = await this.#budget.reserve(caller.id, price, limit);
    await this.approve(errand, endpoint, message);
    const wait = await deadline.race(this.#options.directory.admit(agent, caller.id));
    if (wait === undefined) return;
    const text = `too many calls. Try again in ${Math.ceil(wait)} s.`;
    throw new CallFailure('RATE_LIMITED', text, { retryAfterMs: wait * 1000 });
  }

  /** The agent, ready to be spoken to with the credentials it wants. */
  async reach(errand: Errand, { agent, endpoint }: Found, skillId?: string): Promise<Reached> {
    const { deadline, redactor } = errand;
    const { signal } = deadline;
    const extensions = extensionsOf(agent.card);
    const reading = deadline.race(this.#options.directory.credentials(agent.agentId));
    const credentials = await orElse(reading, 'AUTH_MISSING', 'its credentials cannot be read by this hub.');
    const vault = { credentials, tokens: this.#tokens, isTrustedHost: this.#isTrustedHost };
    const conceal = (secrets: string[]) => redactor.add(secrets);
    const authorization = await authorize({ agent, endpoint, skillId, signal, conceal, ...vault });
    errand.peer = new Peer({
      endpoint,
      authorization,
      extensions,
      fetch: this.#fetch,
      fetchLarge: this.#fetchLarge,
      redactor,
    });
    return { agent, endpoint, peer: errand.peer };
  }

  /** For what an agent says without being asked: it may echo what it was sent before. */
  async conceal(agentId: string, redactor: Redactor): Promise<void> {
    const reading = this.#options.directory.credentials(agentId);
    const credentials = await orElse(reading, 'AUTH_MISSING', 'its credentials cannot be read by this hub.');
    redactor.add([...credentials.flatMap(secretsOf), ...this.#tokens.values]);
  }

  /** Nobody on the way reads or changes what goes there, or whoever runs the bridge trusts in it all the same. */
  isSafe(url: URL): boolean {
    return url.protocol === 'https:' || this.#isTrustedHost(url);
  }

  async approve(errand: Errand, { url }: Endpoint, message: string): Promise<void> {
    if (errand.isApproved) return;
    const { agent, agentId, caller, deadline, label } = errand;
    const { signal } = deadline;
    const about = { agentId, name: label, host: url.host, price: agent?.price, message, caller: caller.id, signal };
    const answer = await deadline.race(this.#options.approve?.(about) ?? 'allow');
    if (answer !== 'allow') throw new CallFailure('REFUSED', 'the call was not approved.');
    errand.isApproved = true;
  }

  readonly #isTrustedHost = (url: URL): boolean => {
    const { guard, allowHosts = [] } = this.#options.network ?? {};
    return guard === 'none' || allowHosts.some((host) => isHost(host, url));
  };
}

/** What the directory throws is told in our words: its own may name addresses. */
async function orElse<Value>(value: Promise<Value>, code: CallErrorCode, text: string): Promise<Value> {
  try {
    return await value;
  } catch (cause) {
    throw cause instanceof CallFailure ? cause : new CallFailure(code, text, { cause });
  }
}

/** The extensions of the card that are used; one that must be used and is not known here is the end. */
function extensionsOf(card: Record<string, unknown>): string[] {
  const capabilities = isRecord(card.capabilities) ? card.capabilities : {};
  const declared = recordsIn(capabilities.extensions);
  if (declared.some(({ uri, required }) => required === true && uri !== INPUT_SCHEMA_EXTENSION))
    throw new CallFailure('PROTOCOL', 'it requires an extension of A2A that the bridge does not speak.');
  return declared.some(({ uri }) => uri === INPUT_SCHEMA_EXTENSION) ? [INPUT_SCHEMA_EXTENSION] : [];
}
