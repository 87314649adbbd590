// One message to a remote agent, followed until the agent has an answer or a question. A broken stream is resumed and a
// busy agent is asked again later, so that the task is not lost.
import { delay, errorText, onAbort, PocketError } from '@pocket-agent/kit';
import type { A2aClient } from '../client/a2a-client.ts';
import { A2aError } from '../client/a2a-error.ts';
import { followTask } from '../client/follow-task.ts';
import { TaskCollector } from '../client/task-collector.ts';
import type { OutgoingMessage } from '../client/write-request.ts';
import { isAtRest, OMITTED, type Part, textOfParts, type Update } from '../wire/task.ts';

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 5_000;
/** Upper bound for the wait an agent asks for; its task may end earlier. */
const MAX_REQUESTED_WAIT_MS = 60_000;
const MAX_FAILURES = 6;
const CANCEL_MS = 5_000;

interface CalledAgent {
  client: A2aClient;
  isStreaming: boolean;
}

interface RemoteCallOptions {
  signal: AbortSignal;
  /** Artifacts beyond this size are dropped. */
  maxBytes: number;
  /** Receives the texts that the agent streams. */
  onProgress(text: string): void;
}

export class RemoteCall {
  readonly #agent: CalledAgent;
  readonly #signal: AbortSignal;
  readonly #onProgress: (text: string) => void;
  readonly collected: TaskCollector;
  /** The stream left out a part that is too large for it; the task has it. */
  #hasOmitted = false;

  constructor(agent: CalledAgent, { signal, maxBytes, onProgress }: RemoteCallOptions) {
    this.#agent = agent;
    this.#signal = signal;
    this.#onProgress = onProgress;
    this.collected = new TaskCollector({ maxBytes });
  }

  async send(message: OutgoingMessage): Promise<void> {
    const { client, isStreaming } = this.#agent;
    const stream = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const release = onAbort(this.#signal, (reason) => {
      if (this.collected.taskId) stream.abort(reason);
      // canceling the task needs its id, which may be on its way
      else timer = setTimeout(() => stream.abort(reason), CANCEL_MS).unref();
    });
    try {
      const { first, rest } = await client.start(message, { streams: isStreaming, signal: stream.signal });
      try {
        this.#take(first);
        this.#signal.throwIfAborted();
        await this.follow(rest);
      } finally {
        await rest?.return(undefined); // an agent may keep the stream of a finished task open
      }
    } catch (error) {
      this.#signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
      release();
    }
  }

  /** Sends the answer to a question of the task. The question may already be settled. */
  async reply(message: OutgoingMessage): Promise<void> {
    try {
      // the message names its question, so it counts once even if it is sent twice
      this.#take(await this.#withRetries(() => this.#agent.client.send(message, this.#signal)));
    } catch (error) {
      if (!(error instanceof A2aError && error.rpcCode !== undefined)) throw error;
      await this.refresh();
    }
  }

  /** Reads the task. */
  async refresh(): Promise<void> {
    const { taskId } = this.collected;
    if (!taskId) return;
    const task = await this.#withRetries(() => this.#agent.client.getTask(taskId, this.#signal));
    this.#take({ kind: 'task', task });
  }

  /** Waits until the task has ended or waits for the caller. `updates` is the stream of the message. */
  async follow(updates?: AsyncIterable<Update>): Promise<void> {
    const { collected } = this;
    const { client, isStreaming } = this.#agent;
    let wait = 0;
    let isFirstStream = updates !== undefined;
    if (!collected.isAnswered)
      await followTask({
        client,
        collected,
        signal: this.#signal,
        streams: isStreaming,
        updates,
        take: (update) => this.#take(update),
        pause: async (problem) => {
          isFirstStream = false;
          await delay(waitAfter(problem, wait), this.#signal);
          wait = nextWait(wait);
        },
        readTask: (taskId) => this.#withRetries(() => client.getTask(taskId, this.#signal)),
        canStreamAfter: (error) => {
          this.#signal.throwIfAborted();
          // an error in the first stream is the answer; an agent that refuses a subscription is polled
          const isRefused = !isFirstStream && error instanceof A2aError && error.rpcCode !== undefined;
          if (!isResumable(error) && !isRefused) throw error;
          return true;
        },
      });
    if (this.#hasOmitted) await this.refresh();
  }

  /** Best effort: the caller does not wait for it. */
  async cancel(): Promise<void> {
    const { taskId, isOver } = this.collected;
    if (!taskId || isOver) return;
    await this.#agent.client.cancelTask(taskId, AbortSignal.timeout(CANCEL_MS)).catch(() => {});
  }

  /** Repeats a request until it is answered: the task continues even if the agent cannot be reached. */
  async #withRetries<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    let failures = 0;
    for (let wait = FIRST_WAIT_MS; ; wait = nextWait(wait)) {
      try {
        return await request();
      } catch (error) {
        this.#signal.throwIfAborted();
        if (!isTemporary(error)) throw error;
        // a busy agent is asked again until the deadline
        if (!isBusy(error) && ++failures >= MAX_FAILURES) throw this.#lost(error);
        await delay(waitAfter(error, wait), this.#signal);
      }
    }
  }

  #lost(cause: unknown): PocketError {
    const text = `Task ${this.collected.taskId} was lost: ${errorText(cause)}`;
    return new PocketError('TOOL_OUTCOME_UNKNOWN', text, { cause });
  }

  #take(update: Update): void {
    this.collected.take(update);
    if (update.kind === 'task') this.#hasOmitted = false;
    else if (update.kind === 'status') {
      if (!isAtRest(update.status.state)) this.#report(update.status.message?.parts);
    } else if (update.kind === 'artifact') {
      const { parts } = update.artifact;
      this.#hasOmitted ||= parts.some(({ metadata }) => metadata?.[OMITTED] === true);
      this.#report(parts);
    }
  }

  #report(parts: readonly Part[] = []): void {
    const text = textOfParts(parts);
    if (text) this.#onProgress(text);
  }
}

/** Whether the same request may succeed later. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof A2aError) || error.rpcCode !== undefined) return false;
  return ['UNREACHABLE', 'TIMEOUT', 'RATE_LIMITED', 'AGENT_ERROR'].includes(error.code);
}

/** Whether a task can be followed in another way after its stream failed. */
function isResumable(error: unknown): boolean {
  return isTemporary(error) || (error instanceof A2aError && error.code === 'TOO_LARGE');
}

function isBusy(error: unknown): error is A2aError {
  return error instanceof A2aError && error.code === 'RATE_LIMITED';
}

function nextWait(wait: number): number {
  return Math.min(wait * 2 || FIRST_WAIT_MS, MAX_WAIT_MS);
}

function waitAfter(problem: unknown, wait: number): number {
  const requested = isBusy(problem) ? (problem.retryAfterMs ?? 0) : 0;
  return Math.max(wait, Math.min(requested, MAX_REQUESTED_WAIT_MS));
}
