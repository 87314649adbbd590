// Calls A2A agents. Every call is recorded once, whatever its outcome.
import { randomUUID } from 'node:crypto';
import { A2aError, makeSchemaCheck } from '@pocket-agent/a2a/client';
import { type HttpFetch, makeFetch } from '@pocket-agent/http/fetch';
import { z } from 'zod';
import type { Caller } from '../base/agent3.ts';
import { type CallFailure, toFailure } from '../base/call-failure.ts';
import type { CallOptions, CallRequest, CallResponse, TaskRequest } from '../base/calls.ts';
import { cleanLine } from '../base/clean-text.ts';
import { localOwner } from '../base/owner-tokens.ts';
import { bridgeCall, MAX_TIMEOUT_MS, taskRequest } from '../base/requests.ts';
import { Admission } from './admission.ts';
import type { Bridge, BridgeOptions } from './bridge-options.ts';
import { checkRequest, readInput } from './content/input.ts';
import { estimatedTokens } from './content/tokens.ts';
import { DEFAULT_TIMEOUT_MS, Deadline } from './deadline.ts';
import { type DeliveryOptions, deliver, follow } from './delivery.ts';
import type { SavedTask } from './directory.ts';
import { type ConnectedAgent, type FoundAgent, PendingCall } from './pending-call.ts';
import { checkSamePrice } from './price.ts';
import { PushNotifications, pushedTask } from './push-notifications.ts';
import { Settlement } from './settlement.ts';
import { SignedIds } from './signed-ids.ts';
import { TaskStore, unknownTask } from './task-store.ts';

export type { ApprovalQuestion, Bridge, BridgeOptions } from './bridge-options.ts';

type TaskAction = Exclude<TaskRequest['action'], 'reply'>;

const DEFAULT_RETRIES = 1;
const DEFAULT_RETRY_DELAY_MS = 500;
/** Size of one response, including a whole stream. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Size of a response that is read only for the state of the task. */
const MAX_LARGE_BYTES = 16 * MAX_BYTES;

export function createBridge(options: BridgeOptions): Bridge {
  return new A2aBridge(options);
}

class A2aBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #fetch: HttpFetch;
  readonly #fetchLarge: HttpFetch;
  readonly #admission: Admission;
  readonly #signedIds: SignedIds;
  readonly #tasks: TaskStore;
  readonly #settlement: Settlement;
  readonly #push: PushNotifications;
  readonly #schemaCheckFor: ReturnType<typeof makeSchemaCheck>;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<CallResponse>>();

  constructor(options: BridgeOptions) {
    const { directory, network, pushUrl, key, logger, now = Date.now } = options;
    this.#options = options;
    this.#fetch = makeFetch({ maxBytes: MAX_BYTES, ...network, redirects: 'refuse' });
    this.#fetchLarge = makeFetch({ ...network, maxBytes: MAX_LARGE_BYTES, redirects: 'refuse' });
    this.#admission = new Admission(options, { fetch: this.#fetch, fetchLarge: this.#fetchLarge });
    this.#signedIds = new SignedIds(key);
    this.#tasks = new TaskStore({ directory, signedIds: this.#signedIds, now });
    const tasks = { tasks: this.#tasks, signedIds: this.#signedIds, closing: this.#closing.signal };
    this.#settlement = new Settlement({ ...options, ...tasks });
    this.#push = new PushNotifications({
      url: this.#usablePushUrl(pushUrl),
      directory,
      signedIds: this.#signedIds,
      now,
      conceal: (agentId, redactor) => this.#admission.conceal(agentId, redactor),
    });
    this.#schemaCheckFor = makeSchemaCheck({
      now,
      report: (reason) => logger.warn('an agent declares an unusable input schema', { reason: cleanLine(reason, 200) }),
    });
  }

  call(request: CallRequest, caller: Caller, options: CallOptions = {}): Promise<CallResponse> {
    return this.#track(this.#answerCall(request, caller, options));
  }

  task(request: TaskRequest, caller: Caller, options: CallOptions = {}): Promise<CallResponse> {
    return this.#track(this.#answerTask(request, caller, options));
  }

  receivePush(request: Request): Promise<Response> {
    return this.#push.receive(request);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    this.#fetch.close();
    this.#fetchLarge.close();
  }

  /** Undefined if the URL is not https: agents may refuse a message with an http push address. */
  #usablePushUrl(pushUrl: string | undefined): string | undefined {
    if (pushUrl === undefined) return undefined;
    const url = URL.parse(pushUrl);
    if (url && this.#admission.isSafe(url)) return pushUrl;
    this.#options.logger.warn(
      'push notifications are off: AGENT3_PUBLIC_URL must be https, or its host must be in AGENT3_ALLOW_HOSTS',
    );
    return undefined;
  }

  #track(response: Promise<CallResponse>): Promise<CallResponse> {
    const tracked = response.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
    return tracked;
  }

  async #answerCall(request: CallRequest, caller: Caller, options: CallOptions): Promise<CallResponse> {
    const { agentId, metadata = {} } = request;
    const pending = this.#start({ agentId, caller, timeoutMs: metadata.timeout, options });
    const failure = await this.#attempt(pending, () => this.#call(pending, request));
    if (failure && (failure.code === 'CANCELED' || pending.mustEnd)) await this.#settlement.cancelTask(pending);
    const response = await this.#settlement.settle(pending, failure);
    return this.#settlement.record(pending, response, request);
  }

  async #answerTask(request: TaskRequest, caller: Caller, options: CallOptions): Promise<CallResponse> {
    const task = await this.#tasks.find(request.taskHandle, caller);
    const agentId = task?.agentId ?? '';
    if (request.action === 'reply' && task) {
      const { message, taskHandle, action: _action, ...metadata } = request;
      return this.call({ agentId, message, taskId: taskHandle, metadata }, caller, options);
    }
    const pending = this.#start({ agentId, caller, timeoutMs: request.timeout, options });
    const failure = await this.#attempt(pending, async () => {
      checkRequest(z.object(taskRequest.shape), request);
      if (!task || request.action === 'reply') throw unknownTask();
      await this.#runTaskAction(pending, task, request.action);
    });
    return this.#settlement.settle(pending, failure, request.action);
  }

  async #call(pending: PendingCall, request: CallRequest): Promise<void> {
    const { agentId, metadata = {}, skillId, mode } = request;
    checkRequest(bridgeCall, request);
    if (request.taskId !== undefined) await this.#tasks.resume(pending, request.taskId);
    const scope = { caller: pending.caller.id, agentId };
    const contextId =
      request.contextId === undefined ? undefined : this.#signedIds.openContext(request.contextId, scope);
    const found = await this.#admission.find(pending);
    const check = this.#schemaCheckFor({ origin: schemaOriginOf(found), signal: pending.deadline.signal });
    const parts = await readInput(request, found.agent.card, check);
    pending.inputTokens = estimatedTokens(parts);
    await this.#admission.admit(pending, found, request);
    const message = {
      messageId: randomUUID(),
      parts,
      taskId: pending.earlierTask?.taskId,
      contextId: pending.earlierTask?.contextId ?? contextId,
      metadata: skillId === undefined ? undefined : { skillId },
    };
    const { connected, delivery, updates } = await this.#withFreshCard(pending, found, async (target) => {
      checkSamePrice(found.agent.price, target.agent.price);
      await this.#admission.approve(pending, target.endpoint, request.message);
      const targetParts = target === found ? parts : await readInput(request, target.agent.card, check);
      const connected = await this.#admission.connect(pending, target, skillId);
      const delivery = {
        retries: metadata.retries ?? DEFAULT_RETRIES,
        retryDelayMs: this.#retryDelayMs,
        streams: mode !== 'start' && metadata.streaming !== false && pending.can('streaming'),
      };
      const sending = { ...delivery, message: { ...message, parts: targetParts } };
      return { connected, delivery, updates: await this.#deliver(pending, connected, sending) };
    });
    if (mode !== 'start') await this.#follow(pending, connected, { ...delivery, updates });
  }

  /** Repeats the work with a new card if the failure suggests that the agent has moved. */
  async #withFreshCard<Value>(
    pending: PendingCall,
    found: FoundAgent,
    work: (target: FoundAgent) => Promise<Value>,
  ): Promise<Value> {
    try {
      return await work(found);
    } catch (error) {
      const moved = await this.#admission.findAgain(pending, found, toFailure(error));
      if (!moved) throw error;
      return work(moved);
    }
  }

  /** Offers a push address if the agent supports push notifications. */
  async #deliver(
    pending: PendingCall,
    connected: ConnectedAgent,
    sending: Parameters<typeof deliver>[2],
  ): ReturnType<typeof deliver> {
    const { taskHandle } = pending;
    const push = pending.can('pushNotifications') ? this.#push.offer(taskHandle) : undefined;
    if (push) pending.redactor.add([push.token]);
    try {
      const updates = await deliver(pending, connected, { ...sending, message: { ...sending.message, push } });
      this.#tasks.renewHandle(pending);
      if (push) await this.#settlement.saveTask(pending);
      return updates;
    } finally {
      this.#push.taskSaved(taskHandle);
    }
  }

  async #runTaskAction(pending: PendingCall, saved: SavedTask, action: TaskAction): Promise<void> {
    pending.continueTask(saved);
    pending.redactor.add([this.#signedIds.pushToken(saved.taskHandle)]);
    const found = await this.#admission.find(pending);
    const pushed = pushedTask(saved);
    if (pushed) {
      await this.#admission.conceal(saved.agentId, pending.redactor);
      return pending.take({ kind: 'task', task: pushed });
    }
    const { signal } = pending.deadline;
    const { connected, task } = await this.#withFreshCard(pending, found, async (target) => {
      const connected = await this.#admission.connect(pending, target);
      const { client } = connected;
      const request =
        action === 'cancel' ? client.cancelTask(saved.taskId, signal) : client.getTask(saved.taskId, signal);
      return { connected, task: await request };
    });
    const { client } = connected;
    pending.take({ kind: 'task', task });
    const delivery = { retries: DEFAULT_RETRIES, retryDelayMs: this.#retryDelayMs, streams: pending.can('streaming') };
    if (action !== 'wait' || pending.collected.isAnswered) return;
    const updates = delivery.streams ? client.subscribe(saved.taskId, signal) : undefined;
    await this.#follow(pending, connected, { ...delivery, updates });
  }

  async #follow(
    pending: PendingCall,
    connected: ConnectedAgent,
    options: DeliveryOptions & Pick<Parameters<typeof follow>[2], 'updates'>,
  ): Promise<void> {
    const { taskHandle } = pending;
    try {
      await follow(pending, connected, { ...options, nextNotification: () => this.#push.next(taskHandle) });
    } finally {
      this.#push.stopWaiting(taskHandle);
    }
  }

  #start(about: { agentId: string; caller: Caller; timeoutMs?: number; options: CallOptions }): PendingCall {
    const { agentId, caller, timeoutMs = DEFAULT_TIMEOUT_MS, options } = about;
    const { signal, onProgress } = options;
    const isUsable = timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS; // other timeouts are refused later
    const closing = this.#closing.signal;
    const deadline = new Deadline({ timeoutMs: isUsable ? timeoutMs : DEFAULT_TIMEOUT_MS, signal, closing });
    const startedAt = (this.#options.now ?? Date.now)();
    const taskHandle = this.#signedIds.newTaskHandle();
    return new PendingCall({ agentId, caller, deadline, startedAt, taskHandle, onProgress });
  }

  async #attempt(pending: PendingCall, work: () => Promise<void>): Promise<CallFailure | undefined> {
    try {
      pending.deadline.signal.throwIfAborted();
      await work();
      return undefined;
    } catch (error) {
      if (!(error instanceof A2aError)) this.#settlement.logError('a call failed unexpectedly', pending, error);
      return toFailure(error);
    } finally {
      pending.reportRest();
      pending.deadline.release();
    }
  }

  get #retryDelayMs(): number {
    return this.#options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS;
  }
}

/** Schema checks are limited per owner, who may register many cards. A local registry has one owner, so there the limit is per host. */
function schemaOriginOf({ agent, endpoint }: FoundAgent): string {
  return agent.owner === localOwner.id ? `host ${endpoint.url.host}` : `owner ${agent.owner}`;
}
