// One task: a run of the agent, its state so far, and the clients that watch it.
import type { CallToolResult } from '@modelcontextprotocol/client';
import { EventQueue, isPublicError, onAbort, PocketError, publicErrorText, redactSecrets } from '@pocket-agent/kit';
import type { AgentEvent } from 'pocket-agent';
import {
  type Artifact,
  agentMessage,
  isAtRest,
  isOver,
  type Message,
  type Part,
  type SentMessage,
  type Task,
  type TaskStateName,
  type Update,
} from '../wire/task.ts';
import { Questions } from './questions.ts';
import { ANSWER, type Chunk, filesInEvent, SentArtifacts } from './sent-artifacts.ts';

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
  readonly #task: Omit<Task, 'artifacts'>;
  readonly #artifacts = new SentArtifacts();
  #answerText = '';
  #files = 0;
  readonly #controller = new AbortController();
  readonly #watchers = new Set<(update: Update) => void>();
  /** The next text replaces the answer: the text so far led to a tool call. */
  #restarts = true;
  #asking: NodeJS.Immediate | undefined;

  constructor(options: ServedTaskOptions) {
    const { id, contextId, message, inputTimeoutMs } = options;
    this.#options = options;
    this.#task = { id, contextId, status: status('submitted'), history: [] };
    this.remember(message);
    this.questions = new Questions({ timeoutMs: inputTimeoutMs, changed: () => this.#questionsChanged() });
  }

  get id(): string {
    return this.#task.id;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get state(): TaskStateName {
    return this.#task.status.state;
  }

  get contextId(): string {
    return this.#options.contextId;
  }

  snapshot(): Task {
    return structuredClone({ ...this.#task, artifacts: this.#artifacts.all });
  }

  /** Adds a message of the caller to the history, without the bytes of files. */
  remember(message: Message): void {
    const { id: taskId, contextId } = this.#task;
    this.#task.history?.push({ ...withoutBytes(message), taskId, contextId });
  }

  async run(work: () => Promise<CallToolResult>): Promise<void> {
    try {
      this.#setStatus('working');
      const result = await work();
      if (isOver(this.state)) return;
      this.#finish(partsOf(result));
      this.#setStatus(result.isError ? 'failed' : 'completed');
    } catch (error) {
      if (isOver(this.state)) return;
      if (!isPublicError(error)) this.#options.onError(error);
      this.#setStatus('failed', [{ text: publicErrorText(error) }]);
    } finally {
      this.questions.close();
      clearImmediate(this.#asking);
    }
  }

  /** Publishes an event of the run to the watchers. */
  show(event: AgentEvent): void {
    if (isOver(this.state)) return;
    const { path, isSubAgent } = event.meta;
    for (const artifact of filesInEvent(event, this.#files + 1)) {
      this.#files++;
      this.send(artifact, { append: false, lastChunk: true });
    }
    if (event.type === 'text_delta' && !isSubAgent) this.#chunk(event.data.delta, false);
    if (event.type === 'tool_call') {
      this.#restarts ||= !isSubAgent;
      this.#report(`${path.join(' → ')} calls "${event.data.toolName}".`);
    }
    if (event.type === 'tool_progress' && event.data.message) this.#report(redactSecrets(event.data.message));
  }

  /** Sends an artifact beside the answer. Returns false if the task has ended. */
  send(artifact: Artifact, chunk: Chunk): boolean {
    if (isOver(this.state)) return false;
    const { id: taskId, contextId } = this.#task;
    this.#artifacts.set(artifact, chunk);
    this.#publish({ kind: 'artifact', taskId, contextId, artifact, ...chunk });
    return true;
  }

  cancel(): void {
    this.#setStatus('canceled');
    this.#controller.abort(new PocketError('ABORTED', 'The task was canceled.'));
  }

  reject(reason: string): void {
    this.#setStatus('rejected', [{ text: reason }]);
  }

  /**
   * The task, then every update until it ends or waits for an answer. With `evenIfAtRest`, it also watches a task that
   * already waits for an answer.
   */
  watch(signal: AbortSignal, { evenIfAtRest = false } = {}): AsyncIterable<Update> {
    const queue = new EventQueue<Update>();
    let unread = 0;
    let removeListener = () => {};
    const end = () => {
      this.#watchers.delete(take);
      removeListener();
      queue.end();
    };
    const take = (update: Update) => {
      queue.push(update);
      const isLast = update.kind === 'status' && isAtRest(update.status.state);
      if (isLast || ++unread > MAX_UNREAD) end();
    };
    queue.push({ kind: 'task', task: this.snapshot() });
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
    if (this.state !== 'working') return;
    this.#task.status = status('working', agentMessage([{ text }], this.#task));
    this.#publish({ kind: 'status', taskId, contextId, status: this.#task.status });
  }

  #chunk(text: string, lastChunk: boolean): void {
    const append = !this.#restarts;
    const before = append ? this.#answerText : '';
    this.#restarts = false;
    this.#answerText = before + text;
    this.#sendAnswer([{ text }], { append, lastChunk });
  }

  /** Ends the streamed answer, or replaces it if the final answer differs. */
  #finish(parts: Part[]): void {
    const [only, ...others] = parts;
    const isStreamed = !this.#restarts && others.length === 0 && only?.text === this.#answerText;
    if (isStreamed) {
      this.#chunk('', true);
      return;
    }
    this.#sendAnswer(parts, { append: false, lastChunk: true });
  }

  #sendAnswer(parts: Part[], chunk: Chunk): void {
    this.send({ artifactId: ANSWER, name: ANSWER, parts }, chunk);
  }

  /** Questions of the same moment are shown in one message. */
  #questionsChanged(): void {
    if (this.questions.areOpen && this.state !== 'input-required') {
      this.#asking ??= setImmediate(() => {
        this.#asking = undefined;
        this.#showQuestions();
      });
    } else this.#showQuestions();
  }

  #showQuestions(): void {
    if (this.questions.areOpen) this.#setStatus('input-required', this.questions.parts);
    else if (this.state === 'input-required') this.#setStatus('working');
  }

  #setStatus(state: TaskStateName, parts?: Part[]): void {
    const { id: taskId, contextId, history } = this.#task;
    if (isOver(this.state)) return;
    const message = parts && agentMessage(parts, this.#task);
    this.#task.status = status(state, message);
    if (message) history?.push(message);
    this.#publish({ kind: 'status', taskId, contextId, status: this.#task.status });
    this.#options.changed(this.snapshot());
  }

  #publish(update: Update): void {
    for (const take of [...this.#watchers]) take(update);
  }
}

/** The message without the bytes of files. */
export function withoutBytes({ parts, ...message }: Message): Message {
  const kept = parts.map(({ raw, ...part }) => (raw === undefined ? part : { ...part, text: '(left out)' }));
  return { ...message, parts: kept };
}

function status(state: TaskStateName, message?: SentMessage): Task['status'] {
  return { state, timestamp: new Date().toISOString(), ...(message ? { message } : {}) };
}

export function partsOf({ content, structuredContent }: CallToolResult): Part[] {
  const parts = content.map((block): Part => {
    if (block.type === 'text') return { text: block.text };
    if (block.type === 'image' || block.type === 'audio') return { raw: block.data, mediaType: block.mimeType };
    if (block.type === 'resource') return partOfResource(block.resource);
    if (block.type === 'resource_link' && /^https?:/.test(block.uri))
      return { url: block.uri, filename: block.name, ...(block.mimeType ? { mediaType: block.mimeType } : {}) };
    return { data: block, mediaType: 'application/json' };
  });
  return structuredContent === undefined
    ? parts
    : [...parts, { data: structuredContent, mediaType: 'application/json' }];
}

function partOfResource(resource: Extract<CallToolResult['content'][number], { type: 'resource' }>['resource']): Part {
  const filename = resource.uri.split('/').at(-1) || 'file';
  const about = { filename, ...(resource.mimeType ? { mediaType: resource.mimeType } : {}) };
  return 'text' in resource ? { text: resource.text, ...about } : { raw: resource.blob, ...about };
}
