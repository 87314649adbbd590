// Collects the updates of one call: the task with its artifacts, or the message that answers without a task.
import {
  type Artifact,
  isAtRest,
  isOver,
  type Message,
  type Metadata,
  type Part,
  type TaskStateName,
  type TaskStatus,
  type Update,
} from '../wire/task.ts';
import { A2aError } from './a2a-error.ts';

const MAX_ARTIFACTS = 1_000;
const MAX_PARTS = 10_000;
const MAX_METADATA = 20;
/** Minimum size of a part, so that empty ones count, too. */
const OVERHEAD_BYTES = 100;

export class TaskCollector {
  readonly #maxBytes: number;
  readonly #artifacts = new Map<string, Artifact>();
  #bytes = 0;
  taskId: string | undefined;
  contextId: string | undefined;
  status: TaskStatus | undefined;
  /** Set if the agent answered without a task. */
  message: Message | undefined;
  /** Whether parts of the artifacts were dropped because they are too large or too many. */
  isTruncated = false;
  /** The latest metadata, oldest first. */
  readonly metadata: Metadata[] = [];

  /** Artifacts beyond `maxBytes` are dropped. */
  constructor({ maxBytes = Number.POSITIVE_INFINITY }: { maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Whether there is nothing to wait for: a message, a task that has ended, or one that waits for the caller. */
  get isAnswered(): boolean {
    return this.message !== undefined || (this.status !== undefined && isAtRest(this.status.state));
  }

  get state(): TaskStateName | undefined {
    return this.status?.state;
  }

  get isOver(): boolean {
    return this.message !== undefined || (this.status !== undefined && isOver(this.status.state));
  }

  get artifacts(): Artifact[] {
    return [...this.#artifacts.values()];
  }

  take(update: Update): void {
    switch (update.kind) {
      case 'message':
        this.message = update.message;
        this.contextId = update.message.contextId ?? this.contextId;
        this.#keepMetadata(update.message.metadata);
        return;
      case 'task': {
        const { id, contextId, status, artifacts, metadata } = update.task;
        this.#setTask(id, contextId);
        this.#artifacts.clear();
        this.#bytes = 0;
        this.isTruncated = false;
        for (const artifact of artifacts ?? []) this.#put(artifact, false);
        this.#setStatus(status);
        this.#keepMetadata(metadata);
        return;
      }
      case 'status':
        this.#setTask(update.taskId, update.contextId);
        this.#setStatus(update.status);
        this.#keepMetadata(update.metadata);
        return;
      case 'artifact':
        this.#setTask(update.taskId, update.contextId);
        this.#put(update.artifact, update.append);
        this.status ??= { state: 'working' };
    }
  }

  #setTask(taskId: string, contextId: string | undefined): void {
    if (this.taskId !== undefined && this.taskId !== taskId)
      throw new A2aError('PROTOCOL', 'it sent an update that belongs to another task.');
    this.taskId = taskId;
    this.contextId = contextId ?? this.contextId;
  }

  #setStatus(status: TaskStatus): void {
    this.status = status;
    this.#keepMetadata(status.message?.metadata);
  }

  #keepMetadata(metadata: Metadata | undefined): void {
    if (metadata) this.metadata.push(metadata);
    if (this.metadata.length > MAX_METADATA) this.metadata.shift();
  }

  #put(artifact: Artifact, append: boolean): void {
    this.#keepMetadata(artifact.metadata);
    const { artifactId, parts } = artifact;
    const existing = this.#artifacts.get(artifactId);
    if (existing && append) {
      for (const part of parts) this.#append(existing.parts, part);
      return;
    }
    if (existing) this.#bytes -= this.#sizeOf(existing.parts);
    if (!existing && (this.#isFull || this.#artifacts.size >= MAX_ARTIFACTS)) {
      this.isTruncated = true;
      return;
    }
    if (parts.length > MAX_PARTS) this.isTruncated = true;
    const kept = parts.slice(0, MAX_PARTS);
    this.#artifacts.set(artifactId, { ...artifact, parts: kept });
    this.#bytes += this.#sizeOf(kept);
  }

  #append(parts: Part[], part: Part): void {
    const last = parts.at(-1);
    const lastText = part.text === undefined ? undefined : last?.text;
    if (this.#isFull || (lastText === undefined && parts.length >= MAX_PARTS)) {
      this.isTruncated = true;
      return;
    }
    this.#bytes += this.#sizeOf([part]);
    // chunks of a text are joined
    if (last && lastText !== undefined) last.text = lastText + part.text;
    else parts.push(part);
  }

  get #isFull(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  #sizeOf(parts: readonly Part[]): number {
    if (this.#maxBytes === Number.POSITIVE_INFINITY) return 0;
    return parts.reduce((sum, part) => sum + OVERHEAD_BYTES + contentSize(part), 0);
  }
}

function contentSize({ text, raw, data }: Part): number {
  if (data !== undefined) return JSON.stringify(data).length;
  return Buffer.byteLength(text ?? raw ?? '');
}
