// What came from an agent so far, put together from the updates of one task.

import { CallFailure } from '../../base/call-failure.ts';
import type { TaskStateName } from '../../base/types.ts';
import { type Artifact, isAtRest, isOver, type Message, type Metadata, type Part, type Update } from '../wire/wire.ts';

const MAX_ARTIFACTS = 1000;
const MAX_PARTS = 10_000;
const MAX_METADATA = 20;

export class Collected {
  taskId: string | undefined;
  contextId: string | undefined;
  state: TaskStateName | undefined;
  /** Set when the agent answered with a message, which is an answer by itself. */
  message: Message | undefined;
  statusMessage: Message | undefined;
  isTruncated = false;
  readonly metadata: Metadata[] = [];
  readonly #artifacts = new Map<string, Artifact>();

  /** There is an answer: a message, a task that is over, or one that waits for us. */
  get isAnswered(): boolean {
    return this.message !== undefined || (this.state !== undefined && isAtRest(this.state));
  }

  get isOver(): boolean {
    return this.message !== undefined || (this.state !== undefined && isOver(this.state));
  }

  get artifacts(): Artifact[] {
    return [...this.#artifacts.values()];
  }

  take(update: Update): void {
    switch (update.kind) {
      case 'message':
        this.message = update.message;
        this.contextId = update.message.contextId ?? this.contextId;
        this.#note(update.message.metadata);
        return;
      case 'task': {
        const { id, contextId, status, artifacts, metadata } = update.task;
        this.#ofTask(id, contextId);
        this.#artifacts.clear();
        for (const artifact of artifacts) this.#put(artifact, false);
        this.#status(status.state, status.message);
        this.#note(metadata);
        return;
      }
      case 'status':
        this.#ofTask(update.taskId, update.contextId);
        this.#status(update.status.state, update.status.message);
        this.#note(update.metadata);
        return;
      case 'artifact':
        this.#ofTask(update.taskId, update.contextId);
        this.#put(update.artifact, update.append);
        this.state ??= 'working';
    }
  }

  #ofTask(taskId: string, contextId: string | undefined): void {
    if (this.taskId !== undefined && this.taskId !== taskId)
      throw new CallFailure('PROTOCOL', 'it mixes up its tasks: an update belongs to another one.');
    this.taskId = taskId;
    this.contextId = contextId ?? this.contextId;
  }

  #status(state: TaskStateName, message: Message | undefined): void {
    this.state = state;
    this.statusMessage = message;
    this.#note(message?.metadata);
  }

  #note(metadata: Metadata | undefined): void {
    if (metadata) this.metadata.push(metadata);
    if (this.metadata.length > MAX_METADATA) this.metadata.shift();
  }

  #put(artifact: Artifact, append: boolean): void {
    this.#note(artifact.metadata);
    const known = this.#artifacts.get(artifact.artifactId);
    if (!known && this.#artifacts.size >= MAX_ARTIFACTS) {
      this.isTruncated = true;
      return;
    }
    if (!known || !append) {
      this.#artifacts.set(artifact.artifactId, { ...artifact, parts: artifact.parts.slice(0, MAX_PARTS) });
      return;
    }
    for (const part of artifact.parts) this.#append(known.parts, part);
  }

  #append(parts: Part[], part: Part): void {
    const last = parts.at(-1);
    // the chunks of one text are one text
    if (part.text !== undefined && last?.text !== undefined) last.text += part.text;
    else if (parts.length < MAX_PARTS) parts.push(part);
    else this.isTruncated = true;
  }
}
