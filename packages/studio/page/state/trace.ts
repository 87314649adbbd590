// The rows of a trace: runs, their steps, and what each step waited for, with sub-agents below the call that asked them.
import type { ModelCallInfo } from '../../src/wire/wire.ts';
import { dollars } from '../parts/format.ts';
import type { RunState, State, StepState, ToolState } from './model.ts';

export interface Row {
  key: string;
  depth: number;
  label: string;
  start: number;
  /** Undefined while it runs. */
  end: number | undefined;
  kind: 'run' | 'step' | 'model' | 'tool' | 'question';
  isFailed: boolean;
  /** Tokens in and out, or a decision. */
  note: string;
  run: RunState;
  step?: StepState;
  tool?: ToolState;
  call?: ModelCallInfo;
}

export function traceRows(run: RunState, state: Pick<State, 'runs' | 'questions'>): Row[] {
  const inside = Map.groupBy(
    [...state.runs.values()].filter(({ parentRunId }) => parentRunId !== undefined),
    ({ parentToolCallId, parentRunId }) => parentToolCallId ?? parentRunId,
  );
  const waiting = new Set([...state.questions.values()].map((asked) => asked.kind === 'approval' && asked.toolCallId));
  const runRows = (each: RunState, depth: number): Row[] => [
    {
      ...{ key: each.id, depth, label: each.agentName, start: each.startedAt, end: each.endedAt, kind: 'run' },
      ...{ isFailed: each.error !== undefined, note: each.error ?? '', run: each },
    },
    ...each.steps.flatMap((step, index) => stepRows(each, step, index, depth + 1)),
    ...(inside.get(each.id) ?? []).flatMap((inner) => runRows(inner, depth + 1)),
  ];
  const stepRows = (each: RunState, step: StepState, index: number, depth: number): Row[] => {
    const call = each.calls[index];
    const base = { run: each, step };
    return [
      {
        ...{ key: `${each.id} ${step.number}`, depth, label: `step ${step.number}`, start: step.startedAt },
        ...{ end: step.endedAt ?? each.endedAt, kind: 'step', isFailed: false, note: '', ...base },
      },
      {
        ...{
          key: `${each.id} ${step.number} model`,
          depth: depth + 1,
          label: call?.model.split('/').at(-1) ?? 'model',
        },
        ...{ start: step.startedAt, end: step.answeredAt ?? step.endedAt ?? each.endedAt, kind: 'model', ...base },
        ...{ isFailed: call?.error !== undefined, note: call?.error ?? usageNote(step), ...(call ? { call } : {}) },
      },
      ...step.tools.flatMap((tool): Row[] => [
        {
          ...{ key: tool.id, depth: depth + 1, label: tool.name, start: tool.startedAt },
          ...{ end: tool.endedAt ?? each.endedAt, kind: waiting.has(tool.id) ? 'question' : 'tool', ...base, tool },
          ...{ isFailed: tool.isError === true, note: waiting.has(tool.id) ? 'waits for an answer' : noteOf(tool) },
        },
        ...(inside.get(tool.id) ?? []).flatMap((inner) => runRows(inner, depth + 2)),
      ]),
    ];
  };
  return runRows(run, 0);
}

/** Tokens, cache and cost of an answer; empty until it is there. */
function usageNote({ inputTokens, cachedInputTokens = 0, outputTokens = 0, costUsd }: StepState): string {
  if (inputTokens === undefined) return '';
  const cached = cachedInputTokens > 0 ? ` (${cachedInputTokens.toLocaleString('en')} from the cache)` : '';
  const cost = costUsd === undefined ? '' : ` · ${dollars(costUsd)}`;
  return `${inputTokens.toLocaleString('en')}${cached} → ${outputTokens.toLocaleString('en')} tokens${cost}`;
}

function noteOf({ decision }: ToolState): string {
  return decision === undefined || decision === 'allowed' ? '' : decision;
}

/** The calls of a conversation by their id. */
export function toolsOf(runs: Iterable<RunState>, chatId: string): ReadonlyMap<string, ToolState> {
  const own = [...runs].filter((run) => run.chatId === chatId);
  return new Map(own.flatMap((run) => run.steps.flatMap((step) => step.tools.map((tool) => [tool.id, tool] as const))));
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
  return {
    inputTokens: sum((step) => step.inputTokens),
    cachedInputTokens: sum((step) => step.cachedInputTokens),
    outputTokens: sum((step) => step.outputTokens),
    costUsd: isPriced ? sum((step) => step.costUsd) : undefined,
    toolCalls: sum(({ tools }) => tools.length),
    modelCalls: steps.length,
  };
}

function descendants({ id }: RunState, state: Pick<State, 'runs'>): RunState[] {
  const inner = [...state.runs.values()].filter(({ parentRunId }) => parentRunId === id);
  return inner.flatMap((run) => [run, ...descendants(run, state)]);
}
