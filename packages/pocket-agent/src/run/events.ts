// The events of a running agent. A listener observes; it cannot change or break a run.
import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import type { AuditRecord } from '../access/audit.ts';
import type { Message } from '../base/messages.ts';
import type { ToolCall, ToolProgress, ToolResult } from '../base/tool-call.ts';
import type { RunTotals } from '../cost/budget.ts';
import type { Usage } from '../cost/usage.ts';

/** Where an event comes from: the agent, its run, and the agents above it. */
export interface EventMeta {
  agentName: string;
  agentId: string;
  isSubAgent: boolean;
  /** Names from the agent that was called first down to the one this event is from. */
  path: readonly string[];
  /** When it happened, in milliseconds since 1970. */
  time: number;
  /** The run (or single step) of this agent that it belongs to; undefined between runs. */
  runId: string | undefined;
  /** The run that called this one as a sub-agent. */
  parentRunId?: string;
  /** The tool call of that run which started this one: its `toolCallId`. */
  parentToolCallId?: string;
  [key: string]: unknown;
}

/** `connecting` is repeated, with a reason, for a server that keeps a run waiting. */
export type ServerStatus = 'connecting' | 'connected' | 'failed' | 'lost' | 'closed';

interface ProviderExecuted {
  /** The provider of the model ran the tool. */
  providerExecuted?: true;
}

interface NestedCall {
  /** The tool call that made this one: such calls and their results are not in the history. */
  parentToolCallId?: string;
}

interface EventData {
  new_message: Message;
  text_delta: { delta: string };
  reasoning_delta: { delta: string };
  /** The answer of a run with an `output`, as far as it has arrived. */
  output_delta: { value: unknown };
  /** A page or document that the model names as a source of its answer. */
  source: { sourceId: string; url?: string; title?: string; mediaType?: string; filename?: string };
  run_started: { input: string };
  /** Steps are counted from 1 in each run. */
  step_started: { step: number };
  /** `toolCallId` and `toolName` are its id and name, as in the other tool events. */
  tool_call: ToolCall & { toolCallId: string; toolName: string } & ProviderExecuted & NestedCall;
  tool_progress: { toolCallId: string; toolName: string } & ToolProgress & NestedCall;
  tool_result: ToolResult & { toolName: string } & ProviderExecuted & NestedCall;
  step_finished: { step: number; finishReason: LanguageModelV4FinishReason['unified']; usage: Usage };
  /** The run ended without an answer. `code` is that of a PocketError, else `FAILED`. */
  run_failed: { code: string; message: string };
  run_finished: { answer: unknown; totals: RunTotals };
  /** The prompt was shortened; tokens are estimates. `summary` replaces the older messages. */
  compacted: { tokensBefore: number; tokensAfter: number; summary?: string };
  model_retry: { attempt: number; delayMs: number; reason: string };
  server_status: { server: string; status: ServerStatus; reason?: string };
  server_log: { server: string; level: string; data: unknown; logger?: string };
  tool_changed: { toolName: string };
  audit: AuditRecord;
  /** Some tools are not in the prompt. How each tool is exposed, by name, with estimated tokens of definitions. */
  tools_exposed: {
    direct: string[];
    deferred: string[];
    /** Only code that the model writes can call them. */
    code: string[];
    hidden: string[];
    tokens: number;
    deferredTokens: number;
  };
  /** `ownName` is the name that its source gave it. */
  tool_renamed: { source: string; ownName: string; toolName: string; reason: string };
}

/** The names that `type` of an event can have; `custom:` begins those that tools and hooks emit. */
export type AgentEventType = keyof EventData | `custom:${string}`;

/** `type` determines `data`. Custom events are named `custom:…` and may carry anything. */
export type AgentEvent =
  | { [Type in keyof EventData]: { type: Type; data: EventData[Type]; meta: EventMeta } }[keyof EventData]
  | { type: `custom:${string}`; data: unknown; meta: EventMeta };

/** High-frequency events; slow listeners miss some of them. */
export function isMinor(type: AgentEventType): boolean {
  return type === 'tool_progress' || type === 'server_log';
}

/** Merges two deltas of one text, or of one answer, into one event; undefined for other events. */
export function joinDeltas(first: AgentEvent | undefined, second: AgentEvent): AgentEvent | undefined {
  if (second.type === 'output_delta' && first?.type === second.type)
    return first.meta.runId === second.meta.runId ? second : undefined;
  if (second.type !== 'text_delta' && second.type !== 'reasoning_delta') return undefined;
  if (first?.type !== second.type || first.meta.runId !== second.meta.runId) return undefined;
  return Object.freeze({ ...first, data: Object.freeze({ delta: first.data.delta + second.data.delta }) });
}

/** An event before the agent has signed it with its name and path. */
export type UnsignedEvent = AgentEvent extends infer Event
  ? Event extends AgentEvent
    ? Omit<Event, 'meta'>
    : never
  : never;

/** Gets events as they happen; what it throws is logged and stops nothing. */
export type EventListener = (event: AgentEvent) => void;
