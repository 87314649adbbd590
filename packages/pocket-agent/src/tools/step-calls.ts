// The tool calls of one step: their shared data and functions, and the state of each call from its request to its result.
import type { CallToolResult } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import type { CallRecord } from '../access/audit.ts';
import type { CallVerdict } from '../access/verdict.ts';
import type { ToolMessage } from '../base/messages.ts';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import type { UnsignedEvent } from '../run/events.ts';
import type { InnerJournal } from '../run/inner-journal.ts';
import { type Asking, type ElicitationHandler, inRun, type RunContext, toolCallContext } from '../run/run-context.ts';
import { inToolSpan } from '../tracing/tool-span.ts';
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
  /** Another process began it and ended; it may have taken effect. */
  isLost?: boolean;
}

/** A tool that calls another one, such as a script. */
interface CallingTool {
  toolCallId: string;
  /** Its name, and those of the tools that called it: a tool cannot call itself. */
  names: readonly string[];
  via: string;
  asking?: Asking | undefined;
  /** Set if the tool can resume after a crash: saves that a call begins which must not be repeated. */
  saveBegin?: ((call: ToolCall) => Promise<void>) | undefined;
}

/** The tools that tools which call others may call. */
export interface Reach {
  table: ToolTable;
  hidden: ReadonlySet<string>;
}

/** Shared by the tool calls of one step. */
export interface StepCalls {
  /** The run: its signal, policy, budget and metadata. Each call has a context of its own below it. */
  context: RunContext;
  hooks: ToolHooks<unknown>;
  hookContext: unknown;
  /** The tools that the model may call. */
  table: ToolTable;
  /** Names of tools that only a hook may choose, not the model. */
  hidden: ReadonlySet<string>;
  /** Undefined if tools that call others may call what the model may call. */
  reach: Reach | undefined;
  /** The current tools, because lists change during a step; undefined if they must be collected again. */
  knownTable(): ToolTable | undefined;
  collectTools(): Promise<ToolTable>;
  settings: ToolResultOptions & { maxParallelToolCalls: number };
  /** Keeps the full text of a result that was cut. */
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

/** Saves the calls of one step one by one, so that another process can continue the step. */
export interface StepJournal {
  /** Saves that a call begins which must not be repeated. */
  begin(call: ToolCall): Promise<void>;
  /** Before any other call: resolves when the answer that asks for it is saved. */
  ready(): Promise<void>;
  /** Saves a result in the form of the history. */
  end(result: ToolMessage): Promise<void>;
  /** The journal of the calls that a call makes; undefined if they are not saved. */
  inner(madeBy: string): InnerJournal | undefined;
}

/** A result that can be read again. */
export interface KeptResult {
  /** Tells the model how to read it. */
  note: string;
  /** Called when a hook has changed the result, because the model must not read what the hook removed. */
  discard(): Promise<void>;
}

/** Ends the run after its current step. */
export class RunStop {
  /** Set when a call is suspended: the run ends after its other calls, and can be resumed. */
  suspended: PocketError | undefined;
  #reason: unknown;
  #controller: AbortController | undefined;

  /** Undefined if the run continues. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Aborted when the run is stopped. */
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

/** A call between its request and its result. */
export interface ActiveCall {
  step: StepCalls;
  /** The context in which hooks and the tool run. */
  context: RunContext;
  /** `request.call` is what the model asked for. It never changes. */
  request: RequestedCall;
  /** The audit record. `record.call` is the call that is made: `preToolCall` or an approver may have changed it. */
  record: CallRecord;
  /** Shared by the calls of the step. */
  stop: RunStop;
  /** The result of the tool, unless a hook changed it. */
  returned?: CallToolResult;
  /** The calls that the tool makes. */
  inner?: InnerCalls;
  /** The tool can continue this call after a crash. */
  canResume?: boolean;
  /** Set if the call is suspended: it has no result yet. */
  suspended?: PocketError;
}

export function newCall({ step, request, stop }: Pick<ActiveCall, 'step' | 'request' | 'stop'>): ActiveCall {
  const { call, from } = request;
  const context = toolCallContext(step.context, call.id, from?.asking);
  const record: CallRecord = {
    call,
    decision: 'refused',
    by: 'policy',
    reason: 'the call ended before it was decided',
    capability: undefined,
    outcome: 'not run',
    durationMs: 0,
  };
  if (from) record.via = from.via;
  return { step, context, request, record, stop };
}

/** Calls `work` in the context and the span of a call. */
export function inCall(active: ActiveCall, work: () => Promise<ToolResult>): Promise<ToolResult> {
  return inRun(active.context, () => inToolSpan(active, work));
}

export function noteVerdict(
  record: CallRecord,
  { decision, by, reason }: Pick<CallVerdict, 'decision' | 'by' | 'reason'>,
): void {
  record.decision = decision;
  record.by = by;
  record.reason = reason;
}

/** Saves that a call begins; undefined if the call, or the tool that makes it, cannot be resumed. */
export function beginSaver({ step, request }: Pick<ActiveCall, 'step' | 'request'>): StepJournal['begin'] | undefined {
  return request.from ? request.from.saveBegin : step.journal?.begin;
}

/** Whether the run can end before this call, and make it when the run is resumed. */
export function maySuspend(call: Pick<ActiveCall, 'step' | 'request'>): boolean {
  return beginSaver(call) !== undefined;
}
