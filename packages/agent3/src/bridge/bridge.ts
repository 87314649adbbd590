// Calls to A2A agents: who may, what is sent, what comes back. One call is one record, whatever becomes of it.
import { randomUUID } from 'node:crypto';
import { type HttpFetch, makeFetch } from '@pocket-agent/http/fetch';
import { CallFailure, toFailure } from '../base/call-failure.ts';
import { localOwner } from '../base/owner-tokens.ts';
import type { Caller, CallOptions, CallRequest, CallResponse, KnownTask, TaskRequest } from '../base/types.ts';
import { answerOf, recordOf } from './answer.ts';
import type { Bridge, BridgeOptions } from './bridge-options.ts';
import { checkRequest, checkTimeout, MAX_TIMEOUT_MS, readInput } from './content/input.ts';
import { makeSchemaCheck } from './content/input-schema.ts';
import { estimatedTokens } from './content/tokens.ts';
import { type DeliveryOptions, deliver, follow } from './delivery.ts';
import { Errand, type Found, type Reached } from './errand.ts';
import { Gate } from './gate.ts';
import { checkSamePrice } from './price.ts';
import { Pushes, pushedTask } from './pushes.ts';
import { TaskBook, unknownTask } from './task-book.ts';
import { Tickets } from './tickets.ts';
import { DEFAULT_TIMEOUT_MS, Deadline } from './wire/deadline.ts';

export type { ApprovalQuestion, Bridge, BridgeOptions } from './bridge-options.ts';

type Look = Exclude<TaskRequest['action'], 'reply'>;

const DEFAULT_RETRIES = 1;
const DEFAULT_RETRY_DELAY_MS = 500;
const DEFAULT_LIMITS = { bytes: 256 * 1024, parts: 100 };
const CANCEL_MS = 2000;
/** Of one answer on the wire, a whole stream included. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Read to learn the state of a task that is larger than that. */
const MAX_LARGE_BYTES = 16 * MAX_BYTES;

export function createBridge(options: BridgeOptions): Bridge {
  return new A2aBridge(options);
}

class A2aBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #fetch: HttpFetch;
  readonly #fetchLarge: HttpFetch;
  readonly #gate: Gate;
  readonly #tickets: Tickets;
  readonly #tasks: TaskBook;
  readonly #pushes: Pushes;
  readonly #schemaCheckFor: ReturnType<typeof makeSchemaCheck>;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<CallResponse>>();

  constructor(options: BridgeOptions) {
    const { directory, network, pushUrl, key, logger, now = Date.now } = options;
    this.#options = options;
    this.#fetch = makeFetch({ maxBytes: MAX_BYTES, ...network, redirects: 'refuse' });
    this.#fetchLarge = makeFetch({ ...network, maxBytes: MAX_LARGE_BYTES, redirects: 'refuse' });
    this.#gate = new Gate(options, { fetch: this.#fetch, fetchLarge: this.#fetchLarge });
    this.#tickets = new Tickets(key);
    this.#tasks = new TaskBook({ directory, tickets: this.#tickets, now });
    this.#pushes = new Pushes({
      url: this.#offered(pushUrl),
      directory,
      tickets: this.#tickets,
      now,
      conceal: (agentId, redactor) => this.#gate.conceal(agentId, redactor),
    });
    this.#schemaCheckFor = makeSchemaCheck({
      now,
      report: (reason) => logger.warn('an agent declares a schema that cannot be used', { reason }),
    });
  }

  call(request: CallRequest, caller: Caller, options: CallOptions = {}): Promise<CallResponse> {
    return this.#during(this.#answerCall(request, caller, options));
  }

  task(request: TaskRequest, caller: Caller, options: CallOptions = {}): Promise<CallResponse> {
    return this.#during(this.#answerTask(request, caller, options));
  }

  receivePush(request: Request): Promise<Response> {
    return this.#pushes.receive(request);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#underWay);
    this.#fetch.close();
    this.#fetchLarge.close();
  }

  /** Agents refuse a whole message for an address that is not https. */
  #offered(pushUrl: string | undefined): string | undefined {
    if (pushUrl === undefined) return undefined;
    const url = URL.parse(pushUrl);
    if (url && this.#gate.isSafe(url)) return pushUrl;
    this.#options.logger.warn(
      'agents are asked for no push notifications: AGENT3_PUBLIC_URL must be https, or its host one of AGENT3_ALLOW_HOSTS',
    );
    return undefined;
  }

  #during(answer: Promise<CallResponse>): Promise<CallResponse> {
    const answered = answer.finally(() => this.#underWay.delete(answered));
    this.#underWay.add(answered);
    return answered;
  }

  async #answerCall(request: CallRequest, caller: Caller, options: CallOptions): Promise<CallResponse> {
    const { agentId, metadata = {} } = request;
    const errand = this.#start({ agentId, caller, timeoutMs: metadata.timeout, options });
    const failure = await this.#attempt(errand, () => this.#call(errand, request));
    if (failure && (failure.code === 'CANCELED' || errand.mustEnd)) await this.#cancel(errand);
    const response = await this.#answer(errand, failure);
    try {
      const receipt = await this.#options.directory.record(recordOf(errand, response, request));
      return errand.isSent ? { ...response, receipt } : response;
    } catch (error) {
      this.#complain('a call could not be recorded', errand, error);
      return response;
    }
  }

  async #answerTask(request: TaskRequest, caller: Caller, options: CallOptions): Promise<CallResponse> {
    const known = await this.#tasks.find(request.taskHandle, caller);
    const agentId = known?.agentId ?? '';
    if (request.action === 'reply' && known) {
      const { message, taskHandle, action: _action, ...metadata } = request;
      return this.call({ agentId, message, taskId: taskHandle, metadata }, caller, options);
    }
    const errand = this.#start({ agentId, caller, timeoutMs: request.timeout, options });
    const failure = await this.#attempt(errand, async () => {
      checkTimeout(request.timeout);
      if (!known || request.action === 'reply') throw unknownTask();
      await this.#look(errand, known, request.action);
    });
    return this.#answer(errand, failure, request.action);
  }

  async #call(errand: Errand, request: CallRequest): Promise<void> {
    const { agentId, metadata = {}, skillId, mode } = request;
    checkRequest(request);
    if (request.taskId !== undefined) await this.#tasks.goOn(errand, request.taskId);
    const whose = { caller: errand.caller.id, agentId };
    const given = request.contextId === undefined ? undefined : this.#tickets.openContext(request.contextId, whose);
    const found = await this.#gate.find(errand);
    const check = this.#schemaCheckFor({ origin: partyOf(found), signal: errand.deadline.signal });
    const parts = await readInput(request, found.agent.card, check);
    errand.inputTokens = estimatedTokens(parts);
    await this.#gate.admit(errand, found, request);
    const message = {
      messageId: randomUUID(),
      parts,
      taskId: errand.known?.taskId,
      contextId: errand.known?.contextId ?? given,
      metadata: skillId === undefined ? undefined : { skillId },
    };
    const { reached, delivery, updates } = await this.#byFreshCard(errand, found, async (target) => {
      checkSamePrice(found.agent.price, target.agent.price);
      await this.#gate.approve(errand, target.endpoint, request.message);
      const fitting = target === found ? parts : await readInput(request, target.agent.card, check);
      const reached = await this.#gate.reach(errand, target, skillId);
      const delivery = {
        retries: metadata.retries ?? DEFAULT_RETRIES,
        retryDelayMs: this.#retryDelayMs,
        streams: mode !== 'start' && metadata.streaming !== false && errand.can('streaming'),
      };
      const sending = { ...delivery, message: { ...message, parts: fitting } };
      return { reached, delivery, updates: await this.#deliver(errand, reached, sending) };
    });
    if (mode !== 'start') await this.#follow(errand, reached, { ...delivery, updates });
  }

  /** Once more with the card as it is now, if a failure suggests that the agent has moved. */
  async #byFreshCard<Value>(errand: Errand, found: Found, work: (target: Found) => Promise<Value>): Promise<Value> {
    try {
      return await work(found);
    } catch (error) {
      const moved = await this.#gate.findAgain(errand, found, toFailure(error));
      if (!moved) throw error;
      return work(moved);
    }
  }

  /** With the address for push notifications, where the agent sends some. */
  async #deliver(errand: Errand, reached: Reached, sending: Parameters<typeof deliver>[2]): ReturnType<typeof deliver> {
    const { taskHandle } = errand;
    const push = errand.can('pushNotifications') ? this.#pushes.open(taskHandle) : undefined;
    if (push) errand.redactor.add([push.token]);
    try {
      const updates = await deliver(errand, reached, { ...sending, message: { ...sending.message, push } });
      this.#tasks.rename(errand);
      if (push) await this.#save(errand);
      return updates;
    } finally {
      this.#pushes.opened(taskHandle);
    }
  }

  async #look(errand: Errand, known: KnownTask, action: Look): Promise<void> {
    errand.belongTo(known);
    errand.redactor.add([this.#tickets.pushToken(known.taskHandle)]);
    const found = await this.#gate.find(errand);
    const pushed = pushedTask(known);
    if (pushed) {
      await this.#gate.conceal(known.agentId, errand.redactor);
      return errand.take({ kind: 'task', task: pushed });
    }
    const { signal } = errand.deadline;
    const { reached, task } = await this.#byFreshCard(errand, found, async (target) => {
      const reached = await this.#gate.reach(errand, target);
      const { peer } = reached;
      const ask = action === 'cancel' ? peer.cancelTask(known.taskId, signal) : peer.getTask(known.taskId, signal);
      return { reached, task: await ask };
    });
    const { peer } = reached;
    errand.take({ kind: 'task', task });
    const delivery = { retries: DEFAULT_RETRIES, retryDelayMs: this.#retryDelayMs, streams: errand.can('streaming') };
    if (action !== 'wait' || errand.collected.isAnswered) return;
    const updates = delivery.streams ? peer.subscribe(known.taskId, signal) : undefined;
    await this.#follow(errand, reached, { ...delivery, updates });
  }

  async #follow(
    errand: Errand,
    reached: Reached,
    how: DeliveryOptions & Pick<Parameters<typeof follow>[2], 'updates'>,
  ): Promise<void> {
    try {
      await follow(errand, reached, { ...how, wake: () => this.#pushes.wake(errand.taskHandle) });
    } finally {
      this.#pushes.sleep(errand.taskHandle);
    }
  }

  #start(about: { agentId: string; caller: Caller; timeoutMs?: number; options: CallOptions }): Errand {
    const { agentId, caller, timeoutMs = DEFAULT_TIMEOUT_MS, options } = about;
    const { signal, onProgress } = options;
    const isUsable = timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS; // else it is refused as soon as it is read
    const closing = this.#closing.signal;
    const deadline = new Deadline({ timeoutMs: isUsable ? timeoutMs : DEFAULT_TIMEOUT_MS, signal, closing });
    const startedAt = (this.#options.now ?? Date.now)();
    const taskHandle = this.#tickets.newHandle();
    return new Errand({ agentId, caller, deadline, startedAt, taskHandle, onProgress });
  }

  async #attempt(errand: Errand, work: () => Promise<void>): Promise<CallFailure | undefined> {
    try {
      errand.deadline.signal.throwIfAborted();
      await work();
      return undefined;
    } catch (error) {
      if (!(error instanceof CallFailure)) this.#complain('a call failed for a reason of ours', errand, error);
      return toFailure(error);
    } finally {
      errand.tellRest();
      errand.deadline.release();
    }
  }

  async #answer(
    errand: Errand,
    failure: CallFailure | undefined,
    action?: TaskRequest['action'],
  ): Promise<CallResponse> {
    const limits = { ...DEFAULT_LIMITS, ...this.#options.limits };
    const response = answerOf(errand, failure, { limits, tickets: this.#tickets, action });
    await this.#settle(errand, errand.mayHaveCost(failure) ? response.metadata.cost : 0);
    const isUnfinished = response.task !== undefined && !errand.collected.isOver;
    if (isUnfinished || errand.known || errand.isTaskSaved) await this.#save(errand);
    return response;
  }

  /** Nobody wants it any more, or may pay for more of it: the agent is told, and waited for a moment only. */
  async #cancel(errand: Errand): Promise<void> {
    const { peer, collected, known, isSent } = errand;
    const taskId = collected.taskId ?? (isSent ? known?.taskId : undefined);
    if (!peer || taskId === undefined || collected.isOver || this.#closing.signal.aborted) return;
    try {
      const task = await peer.cancelTask(taskId, AbortSignal.timeout(CANCEL_MS));
      collected.take({ kind: 'task', task });
    } catch (error) {
      this.#complain('a task could not be canceled at its agent', errand, toFailure(error));
    }
  }

  async #settle(errand: Errand, cost: number | undefined): Promise<void> {
    try {
      await errand.settle(cost);
    } catch (error) {
      this.#complain('what a call cost could not be counted', errand, error);
    }
  }

  async #save(errand: Errand): Promise<void> {
    try {
      await this.#tasks.save(errand);
    } catch (error) {
      this.#complain('a task could not be saved', errand, error);
    }
  }

  #complain(what: string, { callId, agentId, redactor }: Errand, error: unknown): void {
    const reason = redactor.redact(error instanceof Error ? error.message : String(error));
    this.#options.logger.error(what, { callId, agentId, reason });
  }

  get #retryDelayMs(): number {
    return this.#options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS;
  }
}

/** An owner may register any number of cards. In a registry with a single owner the hosts are the parties. */
function partyOf({ agent, endpoint }: Found): string {
  return agent.owner === localOwner.id ? `host ${endpoint.url.host}` : `owner ${agent.owner}`;
}
