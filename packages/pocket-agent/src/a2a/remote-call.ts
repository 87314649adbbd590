// One message to a remote agent, followed until the agent is done or wants to know something: a stream that is cut is
// taken up again, so that the task is not lost.
import { A2AError } from '@a2a-js/sdk/errors';
import { delay } from '../abort.ts';
import { errorText, isPocketError, PocketError } from '../errors.ts';
import type { RemoteLink } from './remote-link.ts';
import {
  type Artifact,
  assemble,
  isAtRest,
  isOver,
  type Message,
  type StreamUpdate,
  type TaskStatus,
  textOfParts,
} from './wire.ts';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
const MOST_FAILURES = 6;
const CANCEL_MS = 5_000;

export class RemoteCall {
  readonly #link: RemoteLink;
  readonly #signal: AbortSignal;
  readonly #tell: (text: string) => void;
  taskId: string | undefined;
  contextId: string | undefined;
  /** Of the task, if it is one. */
  status: TaskStatus | undefined;
  /** The answer, if it is no task. */
  message: Message | undefined;
  artifacts: Artifact[] = [];

  constructor(link: RemoteLink, signal: AbortSignal, tell: (text: string) => void) {
    this.#link = link;
    this.#signal = signal;
    this.#tell = tell;
  }

  async send(message: Message): Promise<void> {
    const stream = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const stop = () => {
      if (this.taskId) stream.abort(this.#signal.reason);
      // it can only be cancelled by its name, which may be on its way
      else timer = setTimeout(() => stream.abort(this.#signal.reason), CANCEL_MS).unref();
    };
    this.#signal.addEventListener('abort', stop, { once: true });
    try {
      for await (const update of this.#link.send(message, stream.signal)) {
        this.#take(update);
        this.#signal.throwIfAborted();
      }
    } catch (error) {
      this.#signal.throwIfAborted();
      // without a task there is nothing to go on with, and nobody knows whether it was begun
      if (!this.taskId || isFinal(error)) throw error;
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener('abort', stop);
    }
    if (!this.taskId && !this.message)
      throw new PocketError('TOOL_FAILED', 'The agent ended its answer before it began.');
    await this.follow();
  }

  /** Sends what answers a question of the task. The question may have gone meanwhile, which is no error. */
  async reply(message: Message): Promise<void> {
    try {
      this.#take(await this.#link.post(message, this.#signal));
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      await this.refresh();
    }
  }

  /** Reads how the task is. */
  async refresh(): Promise<void> {
    if (this.taskId) this.#take({ task: await this.#link.get(this.taskId, this.#signal) });
  }

  /** Waits until the task rests. */
  async follow(): Promise<void> {
    let wait = FIRST_WAIT_MS;
    let failures = 0;
    while (!this.#rests && this.taskId) {
      try {
        await this.refresh();
        if (this.#rests) return;
        if (this.#link.isStreaming) {
          for await (const update of this.#link.subscribe(this.taskId, this.#signal)) {
            this.#take(update);
            failures = 0;
          }
        }
      } catch (error) {
        this.#signal.throwIfAborted();
        if (isFinal(error)) throw error;
        if (++failures >= MOST_FAILURES)
          throw new PocketError('TOOL_OUTCOME_UNKNOWN', `Task ${this.taskId} was lost: ${errorText(error)}`, {
            cause: error,
          });
      }
      if (this.#rests) return;
      await delay(wait, this.#signal);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }

  /** Best effort: whoever called has gone already. */
  async cancel(): Promise<void> {
    if (!this.taskId || (this.status && isOver(this.status.state))) return;
    await this.#link.cancel(this.taskId, AbortSignal.timeout(CANCEL_MS)).catch(() => {});
  }

  get #rests(): boolean {
    return this.message !== undefined || (this.status !== undefined && isAtRest(this.status.state));
  }

  #take({ task, message, statusUpdate, artifactUpdate }: StreamUpdate): void {
    if (task) {
      this.taskId = task.id;
      this.contextId = task.contextId;
      this.status = task.status;
      this.artifacts = task.artifacts ?? [];
    } else if (message) {
      this.message = message;
      this.contextId = message.contextId ?? this.contextId;
    } else if (statusUpdate) {
      this.taskId ??= statusUpdate.taskId;
      this.status = statusUpdate.status;
      const text = textOfParts(statusUpdate.status.message?.parts);
      if (text && !isAtRest(statusUpdate.status.state)) this.#tell(text);
    } else if (artifactUpdate) {
      assemble(this.artifacts, {
        ...artifactUpdate,
        artifact: { ...artifactUpdate.artifact, parts: artifactUpdate.artifact.parts ?? [] },
      });
      const text = textOfParts(artifactUpdate.artifact.parts);
      if (text) this.#tell(text);
    }
  }
}

/** What the agent itself has answered will not be another answer the next time. */
function isFinal(error: unknown): boolean {
  return error instanceof A2AError || isPocketError(error);
}
