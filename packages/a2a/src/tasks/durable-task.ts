// One task whose run outlives the process. Its state is always read from the run.
import { PocketError, type PocketErrorCode, publicErrorText, sha256 } from '@pocket-agent/kit';
import type { DurableTasksOptions, PocketAgent, TaskRun, TaskRunAnswer, TaskRunQuestion } from 'pocket-agent';
import { agentResult, savedRequest } from 'pocket-agent/internal';
import {
  type Artifact,
  agentMessage,
  isAtRest,
  isOver,
  type Message,
  type Part,
  type Task,
  type TaskStateName,
  type Update,
} from '../wire/task.ts';
import { ANSWER, generatedFiles } from './sent-artifacts.ts';
import { partsOf } from './served-task.ts';
import {
  approvalQuestion,
  elicitationQuestion,
  howToAnswer,
  questionParts,
  readAnswers,
  type ShownQuestion,
} from './shown-questions.ts';

/** The data of a task in `about` of its run. */
interface About {
  contextId: string;
  message: Message;
}

interface DurableTaskOptions extends DurableTasksOptions {
  /** The served agent, which converts answers to results. */
  served: PocketAgent<unknown>;
  /** The id of its run. */
  runId: string;
  id: string;
  /** Whether the caller is asked. */
  asksCaller: boolean;
}

interface OpenQuestion extends ShownQuestion<TaskRunAnswer> {
  /** The id of the question in the runs. */
  question: string;
}

const states: Record<TaskRun['status'], TaskStateName> = {
  queued: 'submitted',
  running: 'working',
  waiting: 'working',
  finished: 'completed',
  failed: 'failed',
  cancelled: 'canceled',
};

export class DurableTask {
  readonly #options: DurableTaskOptions;

  constructor(options: DurableTaskOptions) {
    this.#options = options;
  }

  /** `withFiles`: also finds the files that the model generated, which takes a look at the whole run. */
  async snapshot({ withFiles = true } = {}): Promise<Task> {
    return (await this.#read({ withFiles })).task;
  }

  /**
   * The task, then its changes until it ends or waits for an answer. With `evenIfAtRest`, it also watches a task that already
   * waits for an answer.
   */
  async *watch(signal: AbortSignal, { evenIfAtRest = false } = {}): AsyncGenerator<Update> {
    const { runs, runId } = this.#options;
    const { task, events: after } = await this.#read();
    yield { kind: 'task', task };
    if (isOver(task.status.state) || (isAtRest(task.status.state) && !evenIfAtRest)) return;
    let lastStatus = JSON.stringify(task.status.message ?? task.status.state);
    const { id: taskId, contextId = '' } = task;
    try {
      for await (const { type } of runs.events(runId, { after, signal })) {
        if (type === 'result' || type === 'intent' || type === 'inner') continue;
        const { task: now } = await this.#read();
        const { status, artifacts = [] } = now;
        const newStatus = JSON.stringify(status.message ?? status.state);
        if (newStatus === lastStatus) continue;
        lastStatus = newStatus;
        for (const artifact of artifacts)
          yield { kind: 'artifact', taskId, contextId, artifact, append: false, lastChunk: true };
        yield { kind: 'status', taskId, contextId, status };
        if (isAtRest(status.state)) return;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** The answers in a message of the caller. Undefined if no question is open, or one of the answers cannot be read. */
  async readAnswers(
    parts: readonly Part[],
  ): Promise<{ give(by: string): Promise<void> } | { howTo: string } | undefined> {
    const { open, count } = await this.#questions();
    if (open.size === 0) return undefined;
    const answers = readAnswers<TaskRunAnswer, OpenQuestion>({ open, count, parts });
    if (!answers) return { howTo: howToAnswer(open, count) };
    return {
      give: async (by) => {
        for (const { question, answer } of answers) await this.#options.runs.answer(question.question, answer, { by });
      },
    };
  }

  async #read({ withFiles = true } = {}): Promise<{ task: Task; events: number }> {
    const { runs, runId, id } = this.#options;
    const run = await runs.get(runId);
    if (!run) throw new Error(`The run of task ${id} was deleted.`);
    const { contextId, message } = run.about as unknown as About;
    const { open, count } = isOver(states[run.status]) ? noQuestions : await this.#questions();
    const about = { id, contextId };
    const end = await this.#end(run, withFiles);
    const messageParts = open.size > 0 ? questionParts(open, count) : end.messageParts;
    const status: Task['status'] = {
      state: open.size > 0 ? 'input-required' : states[run.status],
      timestamp: run.updatedAt,
      ...(messageParts
        ? { message: { ...agentMessage(messageParts, about), messageId: sha256(`${id} ${run.events}`).slice(0, 32) } }
        : {}),
    };
    const history = [{ ...message, taskId: id, contextId }, ...(status.message ? [status.message] : [])];
    return { task: { ...about, status, artifacts: end.artifacts, history }, events: run.events };
  }

  /** The outcome of a finished run, from its last event. */
  async #end(
    run: TaskRun,
    withFiles: boolean,
  ): Promise<{ artifacts: NonNullable<Task['artifacts']>; messageParts?: Part[] }> {
    if (!isOver(states[run.status])) return { artifacts: [] };
    const { runs, served } = this.#options;
    const signal = new AbortController().signal;
    for await (const { type, data } of runs.events(run.id, { after: run.events - 1, signal })) {
      if (type === 'finished') {
        const { answer } = data as { answer: unknown };
        const result = agentResult(served, answer ?? undefined);
        const files = withFiles ? await this.#files(run) : [];
        return { artifacts: [{ artifactId: ANSWER, name: ANSWER, parts: partsOf(result) }, ...files] };
      }
      if (type === 'failed') {
        const { code, message } = data as { code: PocketErrorCode; message: string };
        return { artifacts: [], messageParts: [{ text: publicErrorText(new PocketError(code, message)) }] };
      }
    }
    return { artifacts: [] };
  }

  async #files({ id, events }: TaskRun): Promise<Artifact[]> {
    const found: Artifact[] = [];
    const signal = new AbortController().signal;
    for await (const { number, type, data, subAgent } of this.#options.runs.events(id, { after: 0, signal })) {
      if (type === 'message' && subAgent === undefined) found.push(...generatedFiles(data, found.length + 1));
      if (number >= events) break;
    }
    return found;
  }

  /** The questions by the ids that the caller sees. Questions of a run are numbered in the order in which they were asked. */
  async #questions(): Promise<{ open: Map<string, OpenQuestion>; count: number }> {
    const { runs, runId, asksCaller } = this.#options;
    if (!asksCaller) return noQuestions;
    const questions = await runs.questions({ run: runId });
    if (questions.length === 0) return noQuestions;
    const numbers = await this.#numbers(runId);
    const open = new Map<string, OpenQuestion>();
    for (const question of questions) {
      const id = `q${numbers.get(question.id) ?? 0}-${question.id.slice(0, 8)}`;
      const shown = shownQuestion(id, question);
      if (shown) open.set(id, { ...shown, question: question.id });
    }
    return { open, count: numbers.size };
  }

  async #numbers(run: string): Promise<Map<string, number>> {
    const { runs } = this.#options;
    const { events = 0 } = (await runs.get(run)) ?? {};
    const numbers = new Map<string, number>();
    if (events === 0) return numbers;
    for await (const { number, type, data } of runs.events(run, { after: 0, signal: new AbortController().signal })) {
      if (type === 'question') numbers.set((data as { id: string }).id, numbers.size + 1);
      if (number >= events) break;
    }
    return numbers;
  }
}

const noQuestions = { open: new Map<string, OpenQuestion>(), count: 0 };

function shownQuestion(
  id: string,
  { hash, call, request, server }: TaskRunQuestion,
): ShownQuestion<TaskRunAnswer> | undefined {
  if (request) return elicitationQuestion(id, request, server ?? '');
  if (!call) return undefined;
  return approvalQuestion(id, savedRequest({ hash, call }));
}
