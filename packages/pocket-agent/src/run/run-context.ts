// The run that the current code is part of, found with an AsyncLocalStorage: deadline, abort, budget, access rules and
// listeners reach sub-agents even through a `run()` that a subclass has overridden.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import type { Logger } from '@pocket-agent/kit';
import type { Policy } from '../access/policy.ts';
import type { Budget } from '../cost/budget.ts';
import type { Prices } from '../cost/prices.ts';
import type { OutputRun } from '../output/output-run.ts';
import type { TracedContent } from '../tracing/content.ts';
import type { AgentEvent, EventListener } from './events.ts';
import type { ModelCallListener } from './model-calls.ts';

/** The running agent, as events and queues use it. */
export interface RunAgent {
  readonly name: string;
  readonly agentId: string;
  readonly logger: Logger;
  readonly hooks: { onEvent?(event: AgentEvent): void | Promise<void> };
}

/** Where a question comes from. */
export interface QuestionOrigin {
  server: string;
  /** The name that the server gave the question, in the 2026 era. */
  name?: string | undefined;
  /** Aborted when the answer is no longer needed: its call or run has ended, or the server has closed or cancelled it. */
  signal: AbortSignal;
}

/** Answers a question that an MCP server asks the user. */
export type ElicitationHandler = (
  params: ElicitRequest['params'],
  from: QuestionOrigin,
) => ElicitResult | Promise<ElicitResult>;

/** A run that was announced to listeners and has not ended. */
export interface OpenRun {
  readonly isAborted: boolean;
  /** Announces the failure of an aborted run; the run itself does not announce it again. */
  endAborted(): void;
}

/** Called with true when a person is asked something, and with false when the question is settled. */
export type Asking = (isAsked: boolean) => void;

interface SharedByRun {
  steps: number;
  runId?: string;
  runsInside?: Set<OpenRun>;
}

export interface RunContext {
  readonly agent: RunAgent;
  /** The run, or the tool call, that this run is part of. */
  readonly parent: RunContext | undefined;
  /** Names of the agents from the first one called down to this one. */
  readonly path: readonly string[];
  /** The path as one string: the key of the totals by agent. */
  readonly pathKey: string;
  readonly signal: AbortSignal;
  readonly budget: Budget;
  /** Prices that this agent and its parent agents were given. */
  readonly prices: Prices;
  readonly policy: Policy;
  /** Set if spans of this run may show the conversation. */
  readonly content: TracedContent | undefined;
  readonly elicit: ElicitationHandler | undefined;
  /** Notified while a person is asked, to pause clocks outside this run. */
  readonly asking: Asking | undefined;
  /** Gets the events of this run and of the runs inside it. */
  readonly listener: EventListener | undefined;
  /** Gets the requests to models of this run and of the runs inside it. */
  readonly modelListener: ModelCallListener | undefined;
  /** Whether the model is asked to stream. */
  readonly streaming: boolean;
  readonly traceparent: string | undefined;
  /** Set if the run returns a value instead of text. Runs inside this one do not inherit it. */
  readonly output: OutputRun | undefined;
  /** The metadata of this run, or of the run around it. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Set while a tool runs. The history waits for its result, so the agent cannot be run again from there. */
  readonly toolCallId: string | undefined;
  /** Shared by all contexts of one run. */
  readonly shared: SharedByRun;
  /** Unfinished runs and steps of the same agent inside this one. */
  open: number;
  /** Called when `open` is back at 0. */
  onAllClosed: (() => void) | undefined;
  /** Code that outlives its run, such as a timer, is no longer part of it; after an abort it starts no runs. */
  finished: boolean;
}

/** The metadata of all runs without any. */
export const NO_METADATA: Readonly<Record<string, unknown>> = Object.freeze({});

const storage = new AsyncLocalStorage<RunContext | undefined>();

/** The caller of runs for the clients of a server without tokens, who cannot be distinguished. */
export const ANONYMOUS = 'anonymous';

/** The run that the current code is part of. */
export function currentRun(): RunContext | undefined {
  const context = storage.getStore();
  return context?.finished ? undefined : context;
}

/** Also returns a finished run: its access rules still apply to code it started. */
export function lastRun(): RunContext | undefined {
  return storage.getStore();
}

/** Calls `work` with this run as the current one. */
export function inRun<Value>(context: RunContext | undefined, work: () => Value): Value {
  return storage.run(context, work);
}

/** The context of one tool call. Its events reach the listener once, through the run. */
export function toolCallContext(run: RunContext, toolCallId: string, asking?: Asking): RunContext {
  const clocks = bothAsking(asking, run.asking);
  return { ...run, parent: run, listener: undefined, toolCallId, asking: clocks, open: 0, onAllClosed: undefined };
}

export function bothAsking(one: Asking | undefined, other: Asking | undefined): Asking | undefined {
  if (!one || !other) return one ?? other;
  return (isAsked) => {
    one(isAsked);
    other(isAsked);
  };
}

/** Pauses the clocks until the answer arrives. */
export async function whileAsking<Answer>(asking: Asking | undefined, ask: () => Promise<Answer>): Promise<Answer> {
  asking?.(true);
  try {
    return await ask();
  } finally {
    asking?.(false);
  }
}
