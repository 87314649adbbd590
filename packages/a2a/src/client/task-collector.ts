// Collects the updates of one call: the task with its artifacts, or the message that answers without a task.

import { ChunkedParts } from '../wire/chunked-parts.ts';
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
  readonly #artifacts = new Map<string, { about: Omit<Artifact, 'parts'>; parts: ChunkedParts; bytes: number }>();
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
    return [...this.#artifacts.values()].map(({ about, parts }) => ({ ...about, parts: parts.all }));
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
    const { parts, ...about } = artifact;
    const { artifactId } = about;
    const existing = this.#artifacts.get(artifactId);
    if (existing && append) {
      for (const part of parts) existing.bytes += this.#append(existing.parts, part);
      return;
    }
    if (existing) this.#bytes -= existing.bytes;
    if (!existing && (this.#isFull || this.#artifacts.size >= MAX_ARTIFACTS)) {
      this.isTruncated = true;
      return;
    }
    if (parts.length > MAX_PARTS) this.isTruncated = true;
    const kept = parts.slice(0, MAX_PARTS);
    const bytes = this.#sizeOf(kept);
    this.#artifacts.set(artifactId, { about, parts: new ChunkedParts(kept), bytes });
    this.#bytes += bytes;
  }

  /** Returns the size of what was added. */
  #append(parts: ChunkedParts, part: Part): number {
    if (this.#isFull || (!parts.continues(part) && parts.length >= MAX_PARTS)) {
      this.isTruncated = true;
      return 0;
    }
    const bytes = this.#sizeOf([part]);
    this.#bytes += bytes;
    parts.append(part);
    return bytes;
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
