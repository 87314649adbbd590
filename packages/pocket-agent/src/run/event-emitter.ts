// Shows an event to the hooks of its agent, to the listeners of its run, and to parent agents. A listener cannot break
// a run: its errors are logged.
import { errorText, snapshot } from '@pocket-agent/kit';
import { type AgentEvent, type EventListener, type EventMeta, isMinor, type UnsignedEvent } from './events.ts';
import type { RunAgent, RunContext } from './run-context.ts';

/** A listener with this many pending events misses minor ones, which a server may send without end. */
const MAX_PENDING_LISTENERS = 1_000;

/** Calls of listeners so far, in this process. */
let listenerCalls = 0;

/** Promises of async listeners that have not settled, by the number of the call. */
const pending = new WeakMap<RunAgent, Map<number, Promise<void>>>();

interface Emission {
  agent: RunAgent;
  /** The run that the event belongs to; undefined between runs. */
  context: RunContext | undefined;
  event: UnsignedEvent;
  meta?: Record<string, unknown> | undefined;
}

export function emitEvent({ agent, context, event, meta }: Emission): void {
  if (!isObserved(agent, context)) return;
  if (isMinor(event.type) && (pending.get(agent)?.size ?? 0) >= MAX_PENDING_LISTENERS) return;
  const signed = signEvent({ agent, context, event, meta });
  show(signed, agent, agent.hooks.onEvent);
  let inner = agent;
  let listener: EventListener | undefined;
  for (let run = context; run; run = run.parent) {
    if (run.finished) continue;
    // a listener that two runs share, or hooks that two agents share, get an event once
    if (run.listener !== listener) show(signed, run.agent, run.listener);
    listener = run.listener ?? listener;
    if (run.agent !== inner && run.agent.hooks !== inner.hooks) show(signed, run.agent, run.agent.hooks.onEvent);
    inner = run.agent;
  }
}

/** Whether an event would reach a listener. */
export function isObserved(agent: RunAgent, context: RunContext | undefined): boolean {
  if (agent.hooks.onEvent) return true;
  for (let run = context; run; run = run.parent) {
    if (!run.finished && (run.listener || run.agent.hooks.onEvent)) return true;
  }
  return false;
}

/** A mark for `pendingListeners`: listeners that are called from now on. */
export function nextListenerCall(): number {
  return listenerCalls + 1;
}

/**
 * Resolves when async listeners have handled the events since `first`; undefined if they have. Earlier calls may wait
 * for the step that asks.
 */
export function pendingListeners(agent: RunAgent, first: number): Promise<unknown> | undefined {
  const calls = pending.get(agent);
  if (!calls?.size) return undefined;
  return Promise.all([...calls].flatMap(([number, done]) => (number >= first ? [done] : [])));
}

function signEvent({ agent, context, event: { type, data }, meta }: Emission): AgentEvent {
  const signature = metaOf(agent, context);
  return Object.freeze({
    type,
    // the data of custom events belongs to the program, which may share an object and change it
    data: type.startsWith('custom:') ? data : snapshot(data),
    meta: meta ? snapshot({ ...meta, ...signature }) : Object.freeze(signature),
  }) as AgentEvent;
}

/** Where something that happens now comes from. */
export function metaOf(agent: RunAgent, context: RunContext | undefined): EventMeta {
  const path = context?.path ?? Object.freeze([agent.name]);
  const isSubAgent = path.length > 1;
  const caller = isSubAgent && context ? callingRun(context) : undefined;
  const signature: EventMeta = {
    agentName: agent.name,
    agentId: agent.agentId,
    isSubAgent,
    path,
    time: Date.now(),
    runId: context && runIdOf(context),
  };
  if (caller) signature.parentRunId = runIdOf(caller);
  if (caller?.toolCallId !== undefined) signature.parentToolCallId = caller.toolCallId;
  return signature;
}

/** Generated with the first event of the run. */
function runIdOf({ shared }: RunContext): string {
  shared.runId ??= crypto.randomUUID();
  return shared.runId;
}

/** The run of another agent that called this one, or the tool call of that run. */
function callingRun(context: RunContext): RunContext | undefined {
  for (let run = context.parent; run; run = run.parent) {
    if (run.agent !== context.agent && !run.finished) return run;
  }
  return undefined;
}

function show(event: AgentEvent, agent: RunAgent, listener: RunAgent['hooks']['onEvent']): void {
  if (!listener) return;
  const call = ++listenerCalls;
  const failed = (error: unknown) => agent.logger.error(`A listener to events failed: ${errorText(error)}`);
  try {
    const result: unknown = listener.call(agent.hooks, event);
    if (!(result instanceof Promise)) return;
    const calls = pending.get(agent) ?? new Map<number, Promise<void>>();
    pending.set(agent, calls);
    const done = result.then(() => {}, failed).finally(() => calls.delete(call));
    calls.set(call, done);
  } catch (error) {
    failed(error);
  }
}
