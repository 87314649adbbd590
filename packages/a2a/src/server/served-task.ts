// One task: a run of the agent, its state so far, and the clients that watch it.
import type { CallToolResult } from '@modelcontextprotocol/client';
import { isPublicError, onAbort, PocketError, publicErrorText, redactSecrets } from '@pocket-agent/kit';
import type { AgentEvent } from 'pocket-agent';
import { EventQueue } from 'pocket-agent/internal';
import {
  agentMessage,
  assemble,
  isAtRest,
  isOver,
  type Message,
  type Part,
  type StreamUpdate,
  type Task,
  type TaskState,
} from '../wire/wire.ts';
import { Questions } from './questions.ts';

const ANSWER = 'answer';
/** A watcher with more unread updates is disconnected; it can subscribe again. */
const MAX_UNREAD = 10_000;

interface ServedTaskOptions {
  id: string;
  contextId: string;
  message: Message;
  inputTimeoutMs: number;
  /** Called when the state or the open questions change. */
  changed(task: Task): void;
  /** Logs an error whose text callers do not see. */
  onError(error: unknown): void;
}

export class ServedTask {
  readonly questions: Questions;
  readonly #options: ServedTaskOptions;
  readonly #task: Task;
  readonly #controller = new AbortController();
  readonly #watchers = new Set<(update: StreamUpdate) => void>();
  /** The next text replaces the answer: the text so far led to a tool call. */
  #restarts = true;
  #asking: NodeJS.Immediate | undefined;

  constructor(options: ServedTaskOptions) {
    const { id, contextId, message, inputTimeoutMs } = options;
    this.#options = options;
    this.#task = { id, contextId, status: status('TASK_STATE_SUBMITTED'), artifacts: [], history: [] };
    this.remember(message);
    this.questions = new Questions({ timeoutMs: inputTimeoutMs, changed: () => this.#questionsChanged() });
  }

  get id(): string {
    return this.#task.id;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get state(): TaskState {
    return this.#task.status.state;
  }

  get contextId(): string {
    return this.#task.contextId;
  }

  snapshot(): Task {
    return structuredClone(this.#task);
  }

  /** Adds a message of the caller to the history, without the bytes of files. */
  remember({ parts, ...message }: Message): void {
    const { id: taskId, contextId } = this.#task;
    const kept = parts.map(({ raw, ...part }) => (raw === undefined ? part : { ...part, text: '(left out)' }));
    this.#task.history?.push({ ...message, taskId, contextId, parts: kept });
  }

  async run(work: () => Promise<CallToolResult>): Promise<void> {
    try {
      this.#setStatus('TASK_STATE_WORKING');
      const result = await work();
      if (isOver(this.state)) return;
      this.#finish(partsOf(result));
      this.#setStatus(result.isError ? 'TASK_STATE_FAILED' : 'TASK_STATE_COMPLETED');
    } catch (error) {
      if (isOver(this.state)) return;
      if (!isPublicError(error)) this.#options.onError(error);
      this.#setStatus('TASK_STATE_FAILED', [{ text: publicErrorText(error) }]);
    } finally {
      this.questions.close();
      clearImmediate(this.#asking);
    }
  }

  /** Publishes an event of the run to the watchers. */
  show(event: AgentEvent): void {
    if (isOver(this.state)) return;
    const { path, isSubAgent } = event.meta;
    if (event.type === 'text_delta' && !isSubAgent) this.#chunk(event.data.delta, false);
    if (event.type === 'tool_call') {
      this.#restarts ||= !isSubAgent;
      this.#report(`${path.join(' → ')} calls "${event.data.name}".`);
    }
    if (event.type === 'tool_progress' && event.data.message) this.#report(redactSecrets(event.data.message));
  }

  cancel(): void {
    this.#setStatus('TASK_STATE_CANCELED');
    this.#controller.abort(new PocketError('ABORTED', 'The task was cancelled.'));
  }

  reject(reason: string): void {
    this.#setStatus('TASK_STATE_REJECTED', [{ text: reason }]);
  }

  /**
   * The task, then every update until it ends or waits for an answer. With `evenIfAtRest`, also a task that already
   * waits for an answer is watched.
   */
  watch(signal: AbortSignal, { evenIfAtRest = false } = {}): AsyncIterable<StreamUpdate> {
    const queue = new EventQueue<StreamUpdate>();
    let unread = 0;
    let removeListener = () => {};
    const end = () => {
      this.#watchers.delete(take);
      removeListener();
      queue.end();
    };
    const take = (update: StreamUpdate) => {
      queue.push(update);
      const state = update.statusUpdate?.status.state;
      if ((state && isAtRest(state)) || ++unread > MAX_UNREAD) end();
    };
    queue.push({ task: this.snapshot() });
    if (signal.aborted || isOver(this.state) || (isAtRest(this.state) && !evenIfAtRest)) queue.end();
    else {
      this.#watchers.add(take);
      removeListener = onAbort(signal, end);
    }
    return (async function* () {
      try {
        for await (const update of queue) {
          unread--;
          yield update;
        }
      } finally {
        end();
      }
    })();
  }

  #report(text: string): void {
    const { id: taskId, contextId } = this.#task;
    if (this.state !== 'TASK_STATE_WORKING') return;
    this.#task.status = status('TASK_STATE_WORKING', agentMessage([{ text }], this.#task));
    this.#publish({ statusUpdate: { taskId, contextId, status: this.#task.status } });
  }

  #chunk(text: string, lastChunk: boolean): void {
    const append = !this.#restarts;
    this.#restarts = false;
    this.#update([{ text }], { append, lastChunk });
  }

  /** Ends the streamed answer, or replaces it if the final answer differs. */
  #finish(parts: Part[]): void {
    const [only, ...others] = parts;
    const [artifact] = this.#task.artifacts ?? [];
    const isStreamed = !this.#restarts && others.length === 0 && only?.text === artifact?.parts[0]?.text;
    if (isStreamed) this.#chunk('', true);
    else this.#update(parts, { append: false, lastChunk: true });
  }

  #update(parts: Part[], how: { append: boolean; lastChunk: boolean }): void {
    const { id: taskId, contextId, artifacts = [] } = this.#task;
    const update = { taskId, contextId, artifact: { artifactId: ANSWER, name: ANSWER, parts }, ...how };
    assemble(artifacts, update);
    this.#publish({ artifactUpdate: update });
  }

  /** Questions of the same moment are shown in one message. */
  #questionsChanged(): void {
    if (this.questions.areOpen && this.state !== 'TASK_STATE_INPUT_REQUIRED') {
      this.#asking ??= setImmediate(() => {
        this.#asking = undefined;
        this.#showQuestions();
      });
    } else this.#showQuestions();
  }

  #showQuestions(): void {
    if (this.questions.areOpen) this.#setStatus('TASK_STATE_INPUT_REQUIRED', this.questions.parts);
    else if (this.state === 'TASK_STATE_INPUT_REQUIRED') this.#setStatus('TASK_STATE_WORKING');
  }

  #setStatus(state: TaskState, parts?: Part[]): void {
    const { id: taskId, contextId, history } = this.#task;
    if (isOver(this.state)) return;
    const message = parts && agentMessage(parts, this.#task);
    this.#task.status = status(state, message);
    if (message) history?.push(message);
    this.#publish({ statusUpdate: { taskId, contextId, status: this.#task.status } });
    this.#options.changed(this.snapshot());
  }

  #publish(update: StreamUpdate): void {
    for (const take of [...this.#watchers]) take(update);
  }
}

function status(state: TaskState, message?: Message): Task['status'] {
  return { state, timestamp: new Date().toISOString(), ...(message ? { message } : {}) };
}

function partsOf({ content, structuredContent }: CallToolResult): Part[] {
  const parts = content.map((block): Part => {
    if (block.type === 'text') return { text: block.text };
    if (block.type === 'image' || block.type === 'audio') return { raw: block.data, mediaType: block.mimeType };
    return { data: block, mediaType: 'application/json' };
  });
  return structuredContent === undefined
    ? parts
    : [...parts, { data: structuredContent, mediaType: 'application/json' }];
}
