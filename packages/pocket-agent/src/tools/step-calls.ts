// What the tool calls of one step need, and one call between the request of the model and its result.
import type { CallToolResult } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import type { CallRecord } from '../access/audit.ts';
import type { CallVerdict } from '../access/policy.ts';
import type { ToolMessage } from '../base/messages.ts';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import type { UnsignedEvent } from '../run/events.ts';
import type { InnerJournal } from '../run/inner-journal.ts';
import type { Asking, ElicitationHandler, RunContext } from '../run/run-context.ts';
import type { InnerCalls } from './inner-calls.ts';
import type { ToolResultOptions } from './tool-result.ts';
import type { ToolTable } from './tool-table.ts';

/** Returned by a hook to refuse a call; the model reads the reason. */
export interface ToolDenial {
  deny: string;
}

export type Awaitable<Value> = Value | Promise<Value>;
// biome-ignore lint/suspicious/noConfusingVoidType: what TypeScript calls the result of a hook that returns nothing
export type OrNothing<Value = undefined> = Value | undefined | void;

/** The hooks of an agent that concern one tool call; `AgentHooks` describes them. */
export interface ToolHooks<Context> {
  preToolCall?(context: Context, call: ToolCall): Awaitable<OrNothing<ToolCall | ToolDenial>>;
  postToolCall?(context: Context, call: ToolCall, result: ToolResult): Awaitable<OrNothing<ToolResult>>;
  onToolError?(context: Context, call: ToolCall, error: Error): Awaitable<OrNothing<string | false>>;
  onToolResult?(context: Context, call: ToolCall, result: CallToolResult): Awaitable<ToolResult>;
}

/** A call as the model wrote it, or the reason why it cannot be read. */
export interface RequestedCall {
  call: ToolCall;
  malformed?: PocketError;
  /** Set if a tool makes the call. */
  from?: CallingTool;
  /** It was begun in a process that has ended, and may have taken effect. */
  isLost?: boolean;
}

export interface CallingTool {
  toolCallId: string;
  /** Its name, and those of the tools that called it: a tool does not call itself. */
  names: readonly string[];
  via: string;
  asking?: Asking | undefined;
  /** Set if the tool goes on after a crash: before a call that must not be made twice. */
  begin?: ((call: ToolCall) => Promise<void>) | undefined;
}

/** What may be called. */
export interface Reach {
  table: ToolTable;
  hidden: ReadonlySet<string>;
}

/** What the tool calls of one step share. */
export interface StepCalls {
  /** The run: its signal, policy, budget and metadata. Each call has a context of its own below it. */
  context: RunContext;
  hooks: ToolHooks<unknown>;
  hookContext: unknown;
  /** What the model may call. */
  table: ToolTable;
  /** Names of tools that the model may not call by itself. A hook may. */
  hidden: ReadonlySet<string>;
  /** What tools that call others may call; undefined if that is what the model may call. */
  reach: Reach | undefined;
  /** The tools there are now, as lists change during a step; undefined if they must be collected again. */
  knownTable(): ToolTable | undefined;
  collectTools(): Promise<ToolTable>;
  settings: ToolResultOptions & { maxParallelToolCalls: number };
  /** Keeps the whole text of a result that was cut. */
  keepResult(call: ToolCall, text: string): Promise<KeptResult | undefined>;
  /** Asks a person, if the run has no `elicit`. */
  elicit?: ElicitationHandler | undefined;
  /** `_meta` of a call to an MCP server. */
  metaOf(toolCallId: string): Record<string, unknown>;
  /** Undefined if the run cannot be resumed in another process. */
  journal?: StepJournal | undefined;
  /** Undefined if records are neither kept nor observed. */
  audit: ((record: CallRecord) => void) | undefined;
  /** Undefined if there is no listener. */
  emit: ((event: UnsignedEvent) => void) | undefined;
}

/** Where the calls of one step are saved one by one, so that another process can continue the step. */
export interface StepJournal {
  /** Before a call that must not be made twice. */
  begin(call: ToolCall): Promise<void>;
  /** `result` as it will be in the history. */
  end(result: ToolMessage): Promise<void>;
  /** The journal of the calls that a call makes; undefined if they are not saved. */
  inner(madeBy: string): InnerJournal | undefined;
}

/** A result that can be read again. */
export interface KeptResult {
  /** Tells the model how to read it. */
  note: string;
  /** A hook has changed the result: what it removed must not be read. */
  discard(): Promise<void>;
}

/** Ends the run after its current step. */
export class RunStop {
  /** Why the run ends now, and goes on later: a call waits. Its other calls end first. */
  suspended: PocketError | undefined;
  #reason: unknown;
  #controller: AbortController | undefined;

  /** Why; undefined if the run goes on. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Aborted when the run is to end. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** The first reason counts. */
  stop(reason: unknown): void {
    this.#reason ??= reason ?? new PocketError('ABORTED', 'The run was stopped.');
    this.#controller?.abort(this.#reason);
  }
}

/** A call between the request of the model and its result. */
export interface ActiveCall {
  step: StepCalls;
  /** `request.call` is what the model asked for. It never changes. */
  request: RequestedCall;
  /** The audit record. `record.call` is the call that is made: `preToolCall` or an approver may have changed it. */
  record: CallRecord;
  /** Shared by the calls of the step. */
  stop: RunStop;
  /** What the tool returned, unless a hook changed it. */
  returned?: CallToolResult;
  /** The calls that the tool makes. */
  inner?: InnerCalls;
  /** The tool goes on after a crash by itself. */
  resumes?: boolean;
  /** The call waits: it has no result yet. */
  suspended?: PocketError;
}

export function newCall(step: StepCalls, request: RequestedCall, stop: RunStop): ActiveCall {
  const record: CallRecord = {
    call: request.call,
    decision: 'refused',
    by: 'policy',
    reason: 'the call ended before it was decided',
    capability: undefined,
    outcome: 'not run',
    durationMs: 0,
  };
  if (request.from) record.via = request.from.via;
  return { step, request, record, stop };
}

/** Notes in the record what was decided. */
export function note(
  record: CallRecord,
  { decision, by, reason }: Pick<CallVerdict, 'decision' | 'by' | 'reason'>,
): void {
  record.decision = decision;
  record.by = by;
  record.reason = reason;
}

/** Before a call that must not be made twice; undefined if the call, or the tool that makes it, cannot be resumed. */
export function beginOf({ step, request }: Pick<ActiveCall, 'step' | 'request'>): StepJournal['begin'] | undefined {
  return request.from ? request.from.begin : step.journal?.begin;
}

/** Whether the run can end before this call, and make it when it is resumed. */
export function maySuspend(call: Pick<ActiveCall, 'step' | 'request'>): boolean {
  return beginOf(call) !== undefined;
}
