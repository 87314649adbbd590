// One call, or one look at a task, under way: its time, its agent, and what came so far.
import { randomUUID } from 'node:crypto';
import type { Caller, CallProgress, KnownTask, ListedAgent } from '../types.ts';
import { cleanLine, Redactor } from './clean-text.ts';
import { Collected } from './collected.ts';
import type { Deadline } from './deadline.ts';
import type { Endpoint } from './endpoint.ts';
import type { CallFailure } from './failure.ts';
import type { Peer } from './peer.ts';
import { textOf } from './result.ts';
import { isRecord, type Update } from './wire.ts';

interface ErrandOptions {
  agentId: string;
  caller: Caller;
  deadline: Deadline;
  startedAt: number;
  taskHandle: string;
  onProgress?: (update: CallProgress) => void;
}

export interface Found {
  agent: ListedAgent;
  endpoint: Endpoint;
}

/** An agent that can be spoken to. */
export interface Reached extends Found {
  peer: Peer;
}

export class Errand {
  readonly callId = randomUUID();
  readonly collected = new Collected();
  readonly redactor = new Redactor();
  readonly agentId: string;
  readonly caller: Caller;
  readonly deadline: Deadline;
  readonly startedAt: number;
  taskHandle: string;
  /** The task it goes on with. */
  known: KnownTask | undefined;
  agent: ListedAgent | undefined;
  peer: Peer | undefined;
  retryCount = 0;
  /** From here on the message may have reached the agent. */
  isSent = false;
  isTaskSaved = false;
  settle: (cost: number | undefined) => Promise<void> | void = () => {};
  readonly #begun = performance.now();
  readonly #onProgress: ((update: CallProgress) => void) | undefined;

  constructor({ agentId, caller, deadline, startedAt, taskHandle, onProgress }: ErrandOptions) {
    this.agentId = agentId;
    this.caller = caller;
    this.deadline = deadline;
    this.startedAt = startedAt;
    this.taskHandle = taskHandle;
    this.#onProgress = onProgress;
  }

  get elapsedMs(): number {
    return performance.now() - this.#begun;
  }

  /** The agent, as people know it. */
  get label(): string {
    const name = this.agent?.card.name;
    return cleanLine(typeof name === 'string' && name !== '' ? name : String(this.agentId), 80);
  }

  /** What the agent says it can do. */
  can(capability: 'streaming' | 'pushNotifications'): boolean {
    const capabilities = this.agent?.card.capabilities;
    return isRecord(capabilities) && capabilities[capability] === true;
  }

  /** It goes on with a task of before. */
  belongTo(known: KnownTask): void {
    this.known = known;
    this.taskHandle = known.taskHandle;
    this.collected.contextId = known.contextId;
  }

  /** The agent answered, or may have begun without our knowing. */
  mayHaveCost(failure: CallFailure | undefined): boolean {
    const { state, message } = this.collected;
    const isUnknown = failure?.code === 'TIMEOUT' || failure?.code === 'UNREACHABLE' || failure?.code === 'CANCELED';
    return this.isSent && (state !== undefined || message !== undefined || (isUnknown && !failure.isUntouched));
  }

  take(update: Update): void {
    this.collected.take(update);
    if (!this.#onProgress) return;
    const { state } = this.collected;
    const text = textOf(partsOf(update), this.redactor, 2000);
    const isPiece = update.kind === 'artifact';
    if (text === '' && isPiece) return;
    // the spaces between pieces belong to the answer
    const told = isPiece ? { message: text, continues: update.append } : { message: text.trim() };
    try {
      this.#onProgress({ ...told, ...(state ? { state } : {}) });
    } catch {
      // whoever listens does not break the call
    }
  }
}

function partsOf(update: Update) {
  switch (update.kind) {
    case 'message':
      return update.message.parts;
    case 'task':
      return update.task.status.message?.parts ?? [];
    case 'status':
      return update.status.message?.parts ?? [];
    case 'artifact':
      return update.artifact.parts;
  }
}
