// One message to a remote agent, followed until the agent is done or wants to know something: a stream that is cut is
// taken up again and an agent that is busy asked later, so that the task is not lost.
import { A2AError } from '@a2a-js/sdk/errors';
import { FetchError } from '@pocket-agent/http/fetch';
import { delay, errorText, isPocketError, PocketError } from '@pocket-agent/kit';
import {
  type Artifact,
  isAtRest,
  isOver,
  type Message,
  OMITTED,
  type StreamUpdate,
  type TaskStatus,
  textOfParts,
} from '../wire/wire.ts';
import { Artifacts } from './artifacts.ts';
import type { RemoteLink } from './remote-link.ts';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
/** However long an agent asks us to wait: its task may be over by then. */
const LONGEST_ASKED_WAIT_MS = 60_000;
const MOST_FAILURES = 6;
const CANCEL_MS = 5_000;

export interface RemoteCallOptions {
  signal: AbortSignal;
  /** More than this is not kept of the artifacts. */
  maxBytes: number;
  /** Told what the agent says on the way. */
  tell(text: string): void;
}

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
  readonly #artifacts: Artifacts;
  /** A part was too large for the stream. */
  #hasOmitted = false;

  constructor(link: RemoteLink, { signal, maxBytes, tell }: RemoteCallOptions) {
    this.#link = link;
    this.#signal = signal;
    this.#tell = tell;
    this.#artifacts = new Artifacts(maxBytes);
  }

  get artifacts(): readonly Artifact[] {
    return this.#artifacts.list;
  }

  /** Whether there was more in the artifacts than was kept. */
  get isCut(): boolean {
    return this.#artifacts.isCut;
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
      // it names its question, so that it counts once even if it was taken and the answer to it was lost
      this.#take(await this.#insist(() => this.#link.post(message, this.#signal)));
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      await this.refresh();
    }
  }

  /** Reads how the task is. */
  async refresh(): Promise<void> {
    const { taskId } = this;
    if (taskId) this.#take({ task: await this.#insist(() => this.#link.get(taskId, this.#signal)) });
  }

  /** Waits until the task rests. */
  async follow(): Promise<void> {
    for (let wait = FIRST_WAIT_MS; !this.#rests && this.taskId; wait = longer(wait)) {
      await this.refresh();
      const problem = await this.#watch(this.taskId);
      if (!this.#rests) await delay(waitAfter(problem, wait), this.#signal);
    }
    if (this.#hasOmitted) await this.refresh();
  }

  /** Best effort: whoever called has gone already. */
  async cancel(): Promise<void> {
    if (!this.taskId || (this.status && isOver(this.status.state))) return;
    await this.#link.cancel(this.taskId, AbortSignal.timeout(CANCEL_MS)).catch(() => {});
  }

  /** Takes what the agent streams, if it does. What broke the stream off is returned: whether it matters, reading tells. */
  async #watch(taskId: string): Promise<unknown> {
    if (this.#rests || !this.#link.isStreaming) return undefined;
    try {
      for await (const update of this.#link.subscribe(taskId, this.#signal)) this.#take(update);
      return undefined;
    } catch (error) {
      this.#signal.throwIfAborted();
      if (isPocketError(error) && !isBusy(error)) throw error;
      return error;
    }
  }

  /** Asks again until there is an answer: the task goes on, whether it can be reached or not. */
  async #insist<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    let failures = 0;
    for (let wait = FIRST_WAIT_MS; ; wait = longer(wait)) {
      try {
        return await ask();
      } catch (error) {
        this.#signal.throwIfAborted();
        if (isFinal(error)) throw error;
        // an agent that says "later" is still there; if it says so until our time is over, the task is cancelled
        if (!isBusy(error) && ++failures >= MOST_FAILURES) throw this.#lost(error);
        await delay(waitAfter(error, wait), this.#signal);
      }
    }
  }

  #lost(cause: unknown): PocketError {
    return new PocketError('TOOL_OUTCOME_UNKNOWN', `Task ${this.taskId} was lost: ${errorText(cause)}`, { cause });
  }

  get #rests(): boolean {
    return this.message !== undefined || (this.status !== undefined && isAtRest(this.status.state));
  }

  #take({ task, message, statusUpdate, artifactUpdate }: StreamUpdate): void {
    if (task) {
      this.taskId = task.id;
      this.contextId = task.contextId;
      this.status = task.status;
      this.#artifacts.replaceAll(task.artifacts ?? []);
      this.#hasOmitted = false;
    } else if (message) {
      this.message = message;
      this.contextId = message.contextId ?? this.contextId;
    } else if (statusUpdate) {
      this.taskId ??= statusUpdate.taskId;
      this.status = statusUpdate.status;
      const text = textOfParts(statusUpdate.status.message?.parts);
      if (text && !isAtRest(statusUpdate.status.state)) this.#tell(text);
    } else if (artifactUpdate) {
      this.#artifacts.add(artifactUpdate);
      this.#hasOmitted ||= artifactUpdate.artifact.parts?.some(({ metadata }) => metadata?.[OMITTED] === true) ?? false;
      const text = textOfParts(artifactUpdate.artifact.parts);
      if (text) this.#tell(text);
    }
  }
}

/** What the agent itself has answered will not be another answer the next time, unless it only had too much to do. */
function isFinal(error: unknown): boolean {
  if (error instanceof FetchError) return error.code !== 'TIMEOUT';
  return error instanceof A2AError || (isPocketError(error) && !isBusy(error));
}

function isBusy(error: unknown): error is PocketError {
  return isPocketError(error, 'RATE_LIMITED');
}

function longer(wait: number): number {
  return Math.min(wait * 2, LONGEST_WAIT_MS);
}

function waitAfter(problem: unknown, wait: number): number {
  const asked = isBusy(problem) ? Number(problem.details.retryAfterMs ?? 0) : 0;
  return Math.max(wait, Math.min(asked, LONGEST_ASKED_WAIT_MS));
}
