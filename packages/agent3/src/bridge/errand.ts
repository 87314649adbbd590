// One call, or one look at a task, under way: its time, its agent, and what came so far.
import { randomUUID } from 'node:crypto';
import { CallFailure, isRefusal } from '../base/call-failure.ts';
import { cleanLine, cleanText, Redactor } from '../base/clean-text.ts';
import { isRecord } from '../base/json.ts';
import type { Caller, CallProgress, KnownTask, ListedAgent } from '../base/types.ts';
import { Collected } from './content/collected.ts';
import { textOf } from './content/result.ts';
import { OutputTokens } from './content/tokens.ts';
import type { Deadline } from './wire/deadline.ts';
import type { Endpoint } from './wire/endpoint.ts';
import type { Peer } from './wire/peer.ts';
import type { Update } from './wire/wire.ts';

/** Characters of one progress. */
const MAX_PROGRESS_LENGTH = 2000;

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
  /** For the host of its agent. */
  isApproved = false;
  /** Its task ends with the call: it is charged by time or by tokens, and its cost is limited. */
  mustEnd = false;
  /** Estimated. */
  inputTokens = 0;
  /** Tokens of both messages together that the agreed cost pays for. */
  tokenLimit: number | undefined;
  readonly #outputTokens = new OutputTokens();
  settle: (cost: number | undefined) => Promise<void> | void = () => {};
  readonly #begun = performance.now();
  /** Of each artifact, the end that was not told yet. */
  readonly #held = new Map<string, string>();
  /** The artifact of which a piece was told last. */
  #lastPiece: string | undefined;
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

  /** The agent answered, or may have done the work although its answer was lost or unreadable. */
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
    if (this.collected.isAnswered) this.tellRest();
    this.#tell({ message: textOf(partsOf(update), this.redactor, MAX_PROGRESS_LENGTH).trim() });
  }

  /** An answer that is complete has been charged for, so it is kept. */
  #checkTokens(update: Update): void {
    if (this.tokenLimit === undefined) return;
    this.#outputTokens.add(update);
    const used = this.inputTokens + this.#outputTokens.count;
    if (used <= this.tokenLimit || this.collected.isOver) return;
    throw new CallFailure('BUDGET', `it used about ${used} tokens; its maximum cost pays for ${this.tokenLimit}.`);
  }

  /** What was held back of the answer: no more of it comes. */
  tellRest(): void {
    for (const [artifactId, text] of this.#held) this.#tellPiece(artifactId, text);
    this.#held.clear();
  }

  /** A secret may come in pieces, so an end that looks like the beginning of one waits for what follows it. */
  #takePiece({ artifact, append }: Extract<Update, { kind: 'artifact' }>): void {
    const { artifactId, parts } = artifact;
    const before = append ? this.#held.get(artifactId) : undefined;
    if (!append) this.#lastPiece = undefined;
    const text = [before, ...parts.map((part) => part.text)].join('');
    const { safe: told, held } = this.redactor.divide(cleanText(text));
    this.#tellPiece(artifactId, told.slice(0, MAX_PROGRESS_LENGTH));
    this.#held.set(artifactId, held);
  }

  /** The spaces between pieces belong to the answer. */
  #tellPiece(artifactId: string, message: string): void {
    if (message === '') return;
    this.#tell({ message, continues: this.#lastPiece === artifactId });
    this.#lastPiece = artifactId;
  }

  #tell(told: CallProgress): void {
    const { state } = this.collected;
    try {
      this.#onProgress?.({ ...told, ...(state ? { state } : {}) });
    } catch {
      // whoever listens does not break the call
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
