// Hooks change a run: they are awaited, may replace or deny a call, and an error in them stops the step.
import type { CallToolResult } from '@modelcontextprotocol/client';
import { closest, errorText, type Logger, nullableFunction, OptionSet, withDeadline, within } from '@pocket-agent/kit';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import type { ModelResponse } from '../model/model-call.ts';
import type { AgentEvent } from '../run/events.ts';
import type { RunContext } from '../run/run-context.ts';
import type { Awaitable, OrNothing, ToolDenial, ToolHooks } from '../tools/step-calls.ts';
import type { PocketAgent } from './agent.ts';

/** One per step, shared by all hooks of that step. */
export interface HookContext {
  agent: PocketAgent<unknown>;
  /** Begins as a copy of the `metadata` of the run. */
  metadata: Record<string, unknown>;
  /** `caller` of the run. */
  caller?: string | undefined;
  /** Aborted when the run is aborted or out of time; a waiting hook should stop then. */
  signal: AbortSignal;
}

/** Extend it, or pass any object that has some of its methods. */
export class AgentHooks implements ToolHooks<HookContext> {
  /** Before the model is asked. */
  preStep?(context: HookContext): Awaitable<void>;
  /** At the end of the step, also when it failed. */
  postStep?(context: HookContext): Awaitable<void>;
  /** Right before a tool runs. Return a changed call, `{ deny: reason }` for the model to read, or nothing. */
  preToolCall?(context: HookContext, call: ToolCall): Awaitable<OrNothing<ToolCall | ToolDenial>>;
  /** Right after a tool ran, or failed. Return a changed result, or nothing. */
  postToolCall?(context: HookContext, call: ToolCall, result: ToolResult): Awaitable<OrNothing<ToolResult>>;
  /** The model answered; nothing is in the history yet. */
  onLlmResponse?(context: HookContext, response: ModelResponse): Awaitable<void>;
  /** Every event of this agent and of its sub-agents. Errors in it are logged and change nothing. */
  onEvent?(event: AgentEvent): Awaitable<void>;
  /**
   * Every failure of a tool: an error result, transport, timeout, unknown name, bad arguments.
   * A string goes to the model as the result; `false` stops the run with a typed error; nothing means the default:
   * the error, and for bad arguments the tool's input schema, go to the model.
   */
  onToolError?(context: HookContext, call: ToolCall, error: Error): Awaitable<OrNothing<string | false>>;
  /** Replaces the conversion of what a tool returned into what the model sees. */
  onToolResult?(context: HookContext, call: ToolCall, result: CallToolResult): Awaitable<ToolResult>;
}

const hooksByName = new OptionSet<AgentHooks>('hooks', {
  preStep: nullableFunction,
  postStep: nullableFunction,
  preToolCall: nullableFunction,
  postToolCall: nullableFunction,
  onLlmResponse: nullableFunction,
  onEvent: nullableFunction,
  onToolError: nullableFunction,
  onToolResult: nullableFunction,
});

/** Throws for a misspelt hook, which would never be called. Other methods are allowed. */
export function checkHooks(hooks: object): void {
  for (let level = hooks; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    // getters are not called
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (hooksByName.has(key)) hooksByName.check({ [key]: value });
      const meant = typeof value === 'function' ? closest(key, Object.keys(hooksByName.rules)) : undefined;
      if (meant && !(meant in hooks)) throw hooksByName.unknownOption(key);
    }
  }
}

/** A new object: what `createHookContext` returned may be frozen, or shared by several steps. */
export function hookContextOf({ signal, policy }: RunContext, given: Omit<HookContext, 'signal'>): HookContext {
  const context: HookContext = { caller: policy.caller, ...given, signal };
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === Object.prototype ? context : Object.setPrototypeOf(context, prototype as object);
}

/** How long a failed step waits for postStep, within the deadline of the run. */
const POST_STEP_MS = 5_000;
/** How long it waits after the run was aborted. */
const LATE_POST_STEP_MS = 100;

export async function postStepAfterFailure(hooks: AgentHooks, context: HookContext, logger: Logger): Promise<void> {
  const { signal } = context;
  const grace = signal.aborted
    ? { what: 'hooks.postStep', timeoutMs: LATE_POST_STEP_MS }
    : { what: 'hooks.postStep', timeoutMs: POST_STEP_MS, signals: [signal] };
  try {
    await withDeadline(grace, async (until) => within(until, hooks.postStep?.(context)));
  } catch (error) {
    logger.error(`hooks.postStep failed after a failed step: ${errorText(error)}`);
  }
}
