// The rows of a trace: runs, their steps, and what each step waited for, with sub-agents below the call that asked them.
import type { ModelCallInfo } from '../../src/wire/wire.ts';
import { dollars } from '../parts/format.ts';
import type { RunState, State, StepState, ToolState } from './model.ts';
import { approvals, callKey } from './questions.ts';

/** Of an error in a row; its details have the whole text. */
const NOTE_LENGTH = 200;

/** Shorter waits for room at a router are not shown. */
const SHORTEST_WAIT_MS = 10;

export interface Row {
  /** Begins with the id of its run. */
  key: string;
  depth: number;
  label: string;
  start: number;
  /** Undefined while it runs. */
  end: number | undefined;
  /** wait: for a person, for room at a router, or before the model is asked again. */
  kind: 'run' | 'step' | 'model' | 'tool' | 'wait';
  isFailed: boolean;
  /** Tokens in and out, or a decision. */
  note: string;
  run: RunState;
  step?: StepState;
  tool?: ToolState;
  call?: ModelCallInfo;
}

/** The keys of the rows of a model call and of a tool call. */
export function modelKey(run: RunState, step: StepState): string {
  return `${run.id} ${step.number} model`;
}

export function toolKey(run: RunState, step: StepState, tool: ToolState): string {
  return `${run.id} ${step.number} ${tool.id}`;
}

type Parts = Pick<State, 'runs' | 'questions' | 'answers'>;

export function traceRows(run: RunState, { runs, questions, answers }: Parts): Row[] {
  const inside = Map.groupBy(
    [...runs.values()].filter(({ parentRunId }) => parentRunId !== undefined),
    ({ parentRunId = '', parentToolCallId = '' }) => callKey(parentRunId, parentToolCallId),
  );
  const waiting = approvals(questions);
  return runRows(run, 0);

  function runRows(each: RunState, depth: number): Row[] {
    const own: Row = {
      key: each.id,
      depth,
      label: each.agentName,
      start: each.startedAt,
      end: each.endedAt,
      ...runPart(each),
    };
    const steps = each.steps.flatMap((step) => stepRows(each, step, depth + 1));
    return [own, ...steps, ...(inside.get(callKey(each.id, '')) ?? []).flatMap((inner) => runRows(inner, depth + 1))];
  }

  function stepRows(each: RunState, step: StepState, depth: number): Row[] {
    const key = `${each.id} ${step.number}`;
    const base = { run: each, step, isFailed: false, note: '' };
    const end = step.endedAt ?? each.endedAt;
    return [
      { ...base, key, depth, label: `step ${step.number}`, kind: 'step', start: step.startedAt, end },
      ...[...modelRows(each, step, depth + 1), ...waitRows(each, step, depth + 2)].sort((a, b) => a.start - b.start),
      ...step.tools.flatMap((tool) => toolRows(each, step, tool, depth + 1)),
    ];
  }

  function toolRows(each: RunState, step: StepState, tool: ToolState, depth: number): Row[] {
    const key = toolKey(each, step, tool);
    const call = callKey(each.id, tool.id);
    const asked = waiting.get(call);
    const answer = answers.get(call);
    const base = { run: each, step, tool, isFailed: false };
    const approval = { ...base, key: `${key} approval`, depth: depth + 1, label: 'approval', kind: 'wait' as const };
    return [
      {
        ...{
          ...base,
          key,
          depth,
          label: tool.name,
          kind: 'tool',
          start: tool.startedAt,
          end: tool.endedAt ?? each.endedAt,
        },
        ...{ isFailed: tool.isError === true, note: asked ? 'waits for an answer' : noteOf(tool) },
      },
      ...(asked ? [{ ...approval, start: asked.askedAt, end: undefined, note: 'waits for an answer' }] : []),
      ...(!asked && answer ? [{ ...approval, start: answer.askedAt, end: answer.closedAt, note: answer.text }] : []),
      ...(inside.get(call) ?? []).flatMap((inner) => runRows(inner, depth + 1)),
    ];
  }
}

function runPart(run: RunState): Pick<Row, 'kind' | 'isFailed' | 'note' | 'run'> {
  return { kind: 'run', isFailed: run.error !== undefined, note: run.error ?? '', run };
}

/** The call that was answered, and the others of the step: attempts that failed, summaries, and those of servers. */
function modelRows(run: RunState, step: StepState, depth: number): Row[] {
  const end = step.answeredAt ?? step.endedAt ?? run.endedAt;
  const base = { run, step, depth, kind: 'model' as const, isFailed: false };
  const answering = answeringCall(step);
  if (!answering)
    return [{ ...base, key: modelKey(run, step), label: 'model', start: step.startedAt, end, note: usageNote(step) }];
  return step.calls.map((call) => {
    const { id, startedAt, endedAt, error } = call;
    const [key, note] = call === answering ? [modelKey(run, step), usageNote(step)] : [callKey(run.id, id), ''];
    const outcome = { isFailed: error !== undefined, note: error ?? note, end: endedAt ?? end };
    return { ...base, ...outcome, key, label: modelName(call), start: startedAt, call };
  });
}

/** What the calls of a step waited for: room at a router, and the pauses before they were repeated. */
function waitRows(run: RunState, step: StepState, depth: number): Row[] {
  const over = step.answeredAt ?? step.endedAt ?? run.endedAt ?? Number.POSITIVE_INFINITY;
  const base = { run, step, depth, kind: 'wait' as const, isFailed: false };
  const routers = step.calls.flatMap(({ id, startedAt: start, waitedMs = 0, deployment = '' }) => {
    const row = { key: callKey(run.id, `${id} wait`), label: 'router', note: `waited for ${deployment}` };
    return waitedMs < SHORTEST_WAIT_MS ? [] : [{ ...base, ...row, start, end: start + waitedMs }];
  });
  const retries = step.retries.map(({ at: start, delayMs, reason: note }, index) => ({
    ...{ ...base, key: `${run.id} ${step.number} retry ${index + 1}`, label: `retry ${index + 1}`, note },
    ...{ start, end: Math.min(start + delayMs, over) },
  }));
  return [...routers, ...retries];
}

/** The last attempt; not a call of a server, which comes after the answer. */
export function answeringCall({ calls, answeredBy }: StepState): ModelCallInfo | undefined {
  return calls.find(({ id }) => id === answeredBy) ?? calls.at(-1);
}

/** Without its provider. */
export function modelName(call: ModelCallInfo | undefined): string {
  return call?.model.split('/').at(-1) ?? 'model';
}

/** Tokens, cache and cost of an answer; empty until it is there. */
function usageNote({ inputTokens, cachedInputTokens = 0, outputTokens = 0, costUsd }: StepState): string {
  if (inputTokens === undefined) return '';
  const cached = cachedInputTokens > 0 ? ` (${cachedInputTokens.toLocaleString('en')} from the cache)` : '';
  const cost = costUsd === undefined ? '' : ` · ${dollars(costUsd)}`;
  return `${inputTokens.toLocaleString('en')}${cached} → ${outputTokens.toLocaleString('en')} tokens${cost}`;
}

/** How the gate decided, or why the call failed. */
function noteOf({ decision = 'allowed', isError, result = [] }: ToolState): string {
  if (decision !== 'allowed' || !isError) return decision === 'allowed' ? '' : decision;
  const [first] = result;
  return first?.type === 'text' ? first.text.slice(0, NOTE_LENGTH) : '';
}

/** The run that a row of its trace belongs to, or that of the agent above. */
export function rootOf(key: string, runs: State['runs']): RunState | undefined {
  let run = runs.get(key.split(' ')[0] ?? '');
  for (let above = run; above; above = above.parentRunId === undefined ? undefined : runs.get(above.parentRunId))
    run = above;
  return run;
}

/** The calls of a conversation by `callKey`. */
export function toolsOf(runs: Iterable<RunState>, chatId: string): ReadonlyMap<string, ToolState> {
  const own = [...runs].filter((run) => run.chatId === chatId);
  return new Map(
    own.flatMap(({ id, steps }) =>
      steps.flatMap(({ tools }) => tools.map((tool) => [callKey(id, tool.id), tool] as const)),
    ),
  );
}

/** Runs that were not started by another one, newest first. */
export function rootRuns(state: Pick<State, 'runs'>): RunState[] {
  return [...state.runs.values()].filter(({ parentRunId }) => parentRunId === undefined).reverse();
}

/** Undefined cost: the price of a model is not known. */
export function usageOf(run: RunState, state: Pick<State, 'runs'>) {
  const runs = [run, ...descendants(run, state)];
  const steps = runs.flatMap((each) => each.steps);
  const sum = (read: (step: StepState) => number | undefined) =>
    steps.reduce((total, step) => total + (read(step) ?? 0), 0);
  const isPriced = steps.every(({ costUsd, endedAt }) => endedAt === undefined || costUsd !== undefined);
  const counts = { toolCalls: sum(({ tools }) => tools.length), modelCalls: steps.length };
  if (run.usage) return { ...run.usage, ...counts };
  return {
    ...counts,
    inputTokens: sum((step) => step.inputTokens),
    cachedInputTokens: sum((step) => step.cachedInputTokens),
    outputTokens: sum((step) => step.outputTokens),
    costUsd: isPriced ? sum((step) => step.costUsd) : undefined,
  };
}

function descendants({ id }: RunState, state: Pick<State, 'runs'>): RunState[] {
  const inner = [...state.runs.values()].filter(({ parentRunId }) => parentRunId === id);
  return inner.flatMap((run) => [run, ...descendants(run, state)]);
}
