// The state of one call, or of one request about a task: its deadline, its agent, and what was received so far.
import { randomUUID } from 'node:crypto';
import { type A2aClient, type A2aFetch, type Endpoint, TaskCollector, type Update } from '@pocket-agent/a2a/client';
import { isRecord } from '@pocket-agent/kit';
import type { Caller } from '../base/agent3.ts';
import type { ListedAgent } from '../base/agents.ts';
import { CallFailure, isRefusal } from '../base/call-failure.ts';
import type { CallProgress } from '../base/calls.ts';
import { cleanLine, cleanText, Redactor } from '../base/clean-text.ts';
import { textOf } from './content/result.ts';
import { OutputTokens } from './content/tokens.ts';
import type { Deadline } from './deadline.ts';
import type { SavedTask } from './directory.ts';

/** Characters of one progress message. */
const MAX_PROGRESS_LENGTH = 2000;

interface PendingCallOptions {
  agentId: string;
  caller: Caller;
  deadline: Deadline;
  startedAt: number;
  taskHandle: string;
  onProgress?: (update: CallProgress) => void;
}

export interface FoundAgent {
  agent: ListedAgent;
  endpoint: Endpoint;
}

export interface ConnectedAgent extends FoundAgent {
  client: A2aClient;
  /** Fetches responses that are too large for the client. */
  fetchLarge: A2aFetch;
}

export class PendingCall {
  readonly callId = randomUUID();
  readonly collected = new TaskCollector();
  readonly redactor = new Redactor();
  readonly agentId: string;
  readonly caller: Caller;
  readonly deadline: Deadline;
  readonly startedAt: number;
  taskHandle: string;
  /** The task that the call continues. */
  earlierTask: SavedTask | undefined;
  agent: ListedAgent | undefined;
  client: A2aClient | undefined;
  /** The HTTP status of the last response. */
  statusCode: number | undefined;
  retryCount = 0;
  /** Whether the message may have reached the agent. */
  isSent = false;
  isTaskSaved = false;
  /** Whether a person has approved the message to the agent's host. */
  isApproved = false;
  /** The task must end with the call, because its price depends on time or tokens and its cost is limited. */
  mustEnd = false;
  /** Estimated tokens of the message. */
  inputTokens = 0;
  /** How many tokens the agreed cost pays for, input and output together. */
  tokenLimit: number | undefined;
  readonly #outputTokens = new OutputTokens();
  settle: (cost: number | undefined) => Promise<void> | void = () => {};
  readonly #startTime = performance.now();
  /** The end of each artifact that may be the beginning of a secret. */
  readonly #held = new Map<string, string>();
  /** The artifact of the last reported piece. */
  #lastPiece: string | undefined;
  readonly #onProgress: ((update: CallProgress) => void) | undefined;

  constructor({ agentId, caller, deadline, startedAt, taskHandle, onProgress }: PendingCallOptions) {
    this.agentId = agentId;
    this.caller = caller;
    this.deadline = deadline;
    this.startedAt = startedAt;
    this.taskHandle = taskHandle;
    this.#onProgress = onProgress;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startTime;
  }

  /** The name of the agent for people. */
  get label(): string {
    const name = this.agent?.card.name;
    return cleanLine(typeof name === 'string' && name !== '' ? name : String(this.agentId), 80);
  }

  /** Whether the card declares this capability. */
  can(capability: 'streaming' | 'pushNotifications'): boolean {
    const capabilities = this.agent?.card.capabilities;
    return isRecord(capabilities) && capabilities[capability] === true;
  }

  /** Continues an earlier task. */
  continueTask(task: SavedTask): void {
    this.earlierTask = task;
    this.taskHandle = task.taskHandle;
    this.collected.contextId = task.contextId;
  }

  /** Whether the agent may charge: it answered, or its answer may have been lost. */
  mayHaveCost(failure: CallFailure | undefined): boolean {
    const { state, message } = this.collected;
    const isAnswered = state !== undefined || message !== undefined;
    return this.isSent && (isAnswered || (failure !== undefined && !isRefusal(failure)));
  }

  take(update: Update): void {
    this.collected.take(update);
    this.#checkTokens(update);
    if (!this.#onProgress) return;
    if (update.kind === 'artifact') {
      this.#takePiece(update);
      return;
    }
    if (this.collected.isAnswered) this.reportRest();
    this.#report({ message: textOf(partsOf(update), this.redactor, MAX_PROGRESS_LENGTH).trim() });
  }

  /** Throws if the answer exceeds the token limit. A complete answer is kept, because it has been charged for. */
  #checkTokens(update: Update): void {
    if (this.tokenLimit === undefined) return;
    this.#outputTokens.add(update);
    const used = this.inputTokens + this.#outputTokens.count;
    if (used <= this.tokenLimit || this.collected.isOver) return;
    throw new CallFailure('BUDGET', `it used about ${used} tokens; the maximum cost pays for ${this.tokenLimit}.`);
  }

  /** Reports held-back text when no more of it will arrive. */
  reportRest(): void {
    for (const [artifactId, text] of this.#held) this.#reportPiece(artifactId, text);
    this.#held.clear();
  }

  /** Holds back an end that may be the beginning of a secret, because secrets may arrive in pieces. */
  #takePiece({ artifact, append }: Extract<Update, { kind: 'artifact' }>): void {
    const { artifactId, parts } = artifact;
    const before = append ? this.#held.get(artifactId) : undefined;
    if (!append) this.#lastPiece = undefined;
    const text = [before, ...parts.map((part) => part.text)].join('');
    const { safe, held } = this.redactor.divide(cleanText(text));
    this.#reportPiece(artifactId, safe.slice(0, MAX_PROGRESS_LENGTH));
    this.#held.set(artifactId, held);
  }

  #reportPiece(artifactId: string, message: string): void {
    if (message === '') return;
    this.#report({ message, continues: this.#lastPiece === artifactId });
    this.#lastPiece = artifactId;
  }

  #report(progress: CallProgress): void {
    const { state } = this.collected;
    try {
      this.#onProgress?.({ ...progress, ...(state ? { state } : {}) });
    } catch {
      // errors of the listener do not break the call
    }
  }
}

function partsOf(update: Exclude<Update, { kind: 'artifact' }>) {
  switch (update.kind) {
    case 'message':
      return update.message.parts;
    case 'task':
      return update.task.status.message?.parts ?? [];
    case 'status':
      return update.status.message?.parts ?? [];
  }
}
