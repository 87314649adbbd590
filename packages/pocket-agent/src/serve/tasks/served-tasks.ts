// Calls of a served agent as tasks whose runs outlive the process. The state of a task is read from its run.
import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  type InputRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import {
  errorText,
  isRecord,
  neverAborted,
  PocketError,
  type PocketErrorCode,
  publicErrorText,
  sha256,
} from '@pocket-agent/kit';
import type { ApprovalRequest, ServedApprovals } from '../../access/approval.ts';
import type { Profile, ProfileName } from '../../access/capabilities.ts';
import type { UserInput } from '../../base/messages.ts';
import type { JsonSchema } from '../../base/value-schema.ts';
import { agentResult } from '../../tools/agent-tool.ts';
import { errorResult } from '../../tools/tool-result.ts';
import { approvalIn, approvalQuestion, clientCapabilities, profilesFor } from './client-questions.ts';
import type { DurableTasksOptions, TaskRun, TaskRunAnswer, TaskRunQuestion } from './durable-options.ts';
import { type DetailedTask, takesTasks, type WireTask } from './wire.ts';

interface ServedTasksParts {
  agent: { readonly name: string; readonly outputSchema?: JsonSchema | undefined };
  durable: DurableTasksOptions;
  options: {
    profile?: ProfileName | Profile;
    approvals?: ServedApprovals;
    maxRuns?: number;
    maxRunsPerCaller?: number;
  };
  /** The caller whose token a client sent; empty without one. */
  ownerOf(context: ServerContext): string;
  /** Adds the id of its conversation to a result. */
  withId(result: CallToolResult, conversation: TaskStart['conversation']): CallToolResult;
}

interface TaskStart {
  input: string | UserInput;
  context: ServerContext;
  /** The conversation of the call, and whether its answer must name the conversation. */
  conversation: { id: string; kind: 'new' | 'continued' | 'implicit' };
  /** Whether there are other callers. */
  isOneOfMany: boolean;
}

/** `about` of the run of a task. */
interface About {
  conversation: TaskStart['conversation'];
}

const POLL_MS = 1_000;
const DEFAULT_MAX_RUNS = 1_000;
const MAX_LISTED = 1_000;
const OPEN = ['queued', 'running', 'waiting'] as const;

export class ServedTasks {
  readonly #parts: ServedTasksParts;

  constructor(parts: ServedTasksParts) {
    this.#parts = parts;
  }

  /** Whether a call of this client becomes a task. */
  takes(server: Server, context: ServerContext): boolean {
    return context.mcpReq.envelope !== undefined && takesTasks(clientCapabilities(server, context));
  }

  /** Starts the run of a call. Returns a result that names the task, not the result of the call. */
  async start({ input, context, conversation, isOneOfMany }: TaskStart): Promise<CallToolResult> {
    const { durable, options, ownerOf } = this.#parts;
    const refusal = await this.#refusal(context, isOneOfMany);
    if (refusal !== undefined) return errorResult(refusal);
    const taskId = randomUUID();
    const profile = profilesFor(context, options);
    const caller = ownerOf(context);
    const about: About = { conversation };
    await durable.runs.start(durable.agent, input, {
      id: this.#runId(context, taskId),
      ...(caller === '' ? {} : { caller }),
      ...(profile.length > 0 ? { profile } : {}),
      conversation: this.#conversationKey(context, conversation.id),
      about: { ...about },
    });
    const now = new Date().toISOString();
    const task: WireTask = { taskId, status: 'working', ...common(now, now) };
    return { content: [], resultType: 'task', ...task };
  }

  /** Whether an earlier task of this caller belongs to the conversation. */
  async hasConversation(context: ServerContext, id: string): Promise<boolean> {
    const { runs } = this.#parts.durable;
    return (await runs.list({ conversation: this.#conversationKey(context, id), limit: 1 })).runs.length > 0;
  }

  async get(taskId: string, context: ServerContext, canAsk: boolean): Promise<DetailedTask> {
    const run = await this.#runOf(taskId, context);
    const about = { taskId, ...common(run.createdAt, run.updatedAt) };
    if (run.status === 'cancelled') return { ...about, status: 'cancelled' };
    if (run.status === 'finished' || run.status === 'failed')
      return { ...about, status: 'completed', result: { ...(await this.#callResult(run)), resultType: 'complete' } };
    const questions = await this.#parts.durable.runs.questions({ run: run.id });
    const asked = canAsk && this.#parts.options.approvals !== 'own' ? questions : questions.filter(isElicitation);
    if (asked.length > 0 && canAsk)
      return { ...about, status: 'input_required', inputRequests: Object.fromEntries(asked.map(requestOf)) };
    const waits = questions.length > 0 ? { statusMessage: 'The task waits for a person to answer a question.' } : {};
    return { ...about, status: 'working', ...waits };
  }

  async answer(taskId: string, context: ServerContext): Promise<void> {
    const { durable, options, ownerOf } = this.#parts;
    const run = await this.#runOf(taskId, context);
    const by = ownerOf(context) || 'the client';
    const responses: Record<string, unknown> = context.mcpReq.inputResponses ?? {}; // the SDK takes them out of the parameters
    for (const question of await durable.runs.questions({ run: run.id })) {
      const isAsked = isElicitation(question) || options.approvals !== 'own';
      if (!isAsked || !Object.hasOwn(responses, question.id)) continue;
      const response = responses[question.id];
      const answer = (isElicitation(question) ? response : approvalIn(response)) as TaskRunAnswer;
      await durable.runs.answer(question.id, answer, { by }).catch((error) => {
        if (isRecord(error) && error.code === 'QUESTION_CLOSED') return; // it was answered elsewhere
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, errorText(error));
      });
    }
  }

  /** The last event of a run that is over, as the result of its call. */
  async #callResult(run: TaskRun): Promise<CallToolResult> {
    const { agent, durable } = this.#parts;
    for await (const { type, data } of durable.runs.events(run.id, { after: run.events - 1, signal: neverAborted() })) {
      const { answer, code, message } = data as { answer: unknown; code: PocketErrorCode; message: string };
      const result =
        type === 'finished'
          ? agentResult(agent, answer ?? undefined)
          : errorResult(publicErrorText(new PocketError(code, message)));
      const { conversation } = run.about as unknown as About;
      return conversation.kind === 'implicit' ? result : this.#parts.withId(result, conversation);
    }
    throw new Error(`The run "${run.id}" has no end.`);
  }

  async cancel(taskId: string, context: ServerContext): Promise<void> {
    const { id } = await this.#runOf(taskId, context);
    await this.#parts.durable.runs.cancel(id);
  }

  async #runOf(taskId: string, context: ServerContext): Promise<TaskRun> {
    const run = await this.#parts.durable.runs.get(this.#runId(context, taskId));
    if (!run) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Task ${JSON.stringify(taskId)} is unknown.`);
    return run;
  }

  async #refusal(context: ServerContext, isOneOfMany: boolean): Promise<string | undefined> {
    const { maxRuns = DEFAULT_MAX_RUNS, maxRunsPerCaller } = this.#parts.options;
    const { name } = this.#parts.agent;
    const share = maxRunsPerCaller ?? (isOneOfMany ? Math.ceil(maxRuns / 4) : maxRuns);
    if ((await this.#open(this.#runId(context, ''), share)) >= share)
      return `You have ${share} open tasks of ${name}, which is the limit. Try again when one has ended.`;
    if ((await this.#open(this.#prefix, maxRuns)) < maxRuns) return undefined;
    return `${name} has ${maxRuns} open tasks, which is the limit. Try again later.`;
  }

  async #open(prefix: string, limit: number): Promise<number> {
    const { runs } = this.#parts.durable;
    const pages = OPEN.map((status) => runs.list({ prefix, status, limit: Math.min(limit, MAX_LISTED) }));
    return (await Promise.all(pages)).reduce((sum, page) => sum + page.runs.length, 0);
  }

  get #prefix(): string {
    return `mcp/${this.#parts.durable.agent}/`;
  }

  /** Only the caller that started a task finds its run. */
  #runId(context: ServerContext, taskId: string): string {
    return `${this.#prefix}${sha256(this.#parts.ownerOf(context)).slice(0, 32)}/${taskId}`;
  }

  #conversationKey(context: ServerContext, id: string): string {
    return this.#runId(context, `conversation/${sha256(id)}`);
  }
}

function common(createdAt: string, lastUpdatedAt: string) {
  return { createdAt, lastUpdatedAt, ttlMs: null, pollIntervalMs: POLL_MS };
}

function isElicitation({ request }: TaskRunQuestion): boolean {
  return request !== undefined;
}

/** A question by its id, as the client is asked. */
function requestOf({ id, hash, call, request }: TaskRunQuestion): [string, InputRequest] {
  if (request) return [id, { method: 'elicitation/create', params: request }];
  const asked = { ...call, description: call?.description, annotations: undefined, hash, signal: neverAborted() };
  return [id, approvalQuestion(asked as ApprovalRequest)];
}
