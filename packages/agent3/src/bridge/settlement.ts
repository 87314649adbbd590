// Settles a call: response, cost, saved task, record. Errors here are logged; the caller still gets the response.
import { errorText } from '@pocket-agent/kit';
import { type CallFailure, toFailure } from '../base/call-failure.ts';
import type { CallRequest, CallResponse, TaskRequest } from '../base/calls.ts';
import type { BridgeOptions } from './bridge-options.ts';
import type { PendingCall } from './pending-call.ts';
import { buildRecord, buildResponse } from './response.ts';
import type { SignedIds } from './signed-ids.ts';
import type { TaskStore } from './task-store.ts';

interface SettlementOptions extends Pick<BridgeOptions, 'directory' | 'limits' | 'logger'> {
  tasks: TaskStore;
  signedIds: SignedIds;
  /** Aborted when the bridge is closed. */
  closing: AbortSignal;
}

const DEFAULT_LIMITS = { bytes: 256 * 1024, parts: 100 };
const CANCEL_MS = 2000;

export class Settlement {
  readonly #options: SettlementOptions;

  constructor(options: SettlementOptions) {
    this.#options = options;
  }

  /** Counts the cost, saves the task if it can be continued, and returns the response. */
  async settle(
    pending: PendingCall,
    failure: CallFailure | undefined,
    action?: TaskRequest['action'],
  ): Promise<CallResponse> {
    const { signedIds } = this.#options;
    const limits = { ...DEFAULT_LIMITS, ...this.#options.limits };
    const response = buildResponse(pending, failure, { limits, signedIds, action });
    const cost = pending.mayHaveCost(failure) ? response.metadata.cost : 0;
    await this.#attempt('the cost of a call could not be counted', pending, () => pending.settle(cost));
    const isUnfinished = response.task !== undefined && !pending.collected.isOver;
    if (isUnfinished || pending.earlierTask || pending.isTaskSaved) await this.saveTask(pending);
    return response;
  }

  /** Writes the call to the log. Returns the response, with a receipt if the message was sent. */
  async record(pending: PendingCall, response: CallResponse, request: CallRequest): Promise<CallResponse> {
    const receipt = await this.#attempt('a call could not be recorded', pending, () =>
      this.#options.directory.record(buildRecord(pending, response, request)),
    );
    return receipt !== undefined && pending.isSent ? { ...response, receipt } : response;
  }

  async saveTask(pending: PendingCall): Promise<void> {
    await this.#attempt('a task could not be saved', pending, () => this.#options.tasks.save(pending));
  }

  /** Cancels the task at the agent. Waits only briefly for its answer. */
  async cancelTask(pending: PendingCall): Promise<void> {
    const { client, collected, earlierTask, isSent } = pending;
    const taskId = collected.taskId ?? (isSent ? earlierTask?.taskId : undefined);
    if (!client || taskId === undefined || collected.isOver || this.#options.closing.aborted) return;
    await this.#attempt('a task could not be canceled at its agent', pending, async () => {
      try {
        const task = await client.cancelTask(taskId, AbortSignal.timeout(CANCEL_MS));
        collected.take({ kind: 'task', task });
      } catch (error) {
        throw toFailure(error);
      }
    });
  }

  logError(what: string, { callId, agentId, redactor }: PendingCall, error: unknown): void {
    const reason = redactor.redact(errorText(error));
    this.#options.logger.error(what, { callId, agentId, reason });
  }

  async #attempt<Value>(
    problem: string,
    pending: PendingCall,
    work: () => Value | Promise<Value>,
  ): Promise<Value | undefined> {
    try {
      return await work();
    } catch (error) {
      this.logError(problem, pending, error);
      return undefined;
    }
  }
}
