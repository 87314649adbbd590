// The journal of a durable run as runs of a trace: that of its agent, and those of its sub-agents.
import type { RunEvent } from '@pocket-agent/runs';
import type { Message } from 'pocket-agent';
import type { DurableRunDetails } from '../../src/wire/wire.ts';
import { textIn } from './history.ts';
import type { GivenAnswer, ResultPart, RunState, StepState, ToolState } from './model.ts';
import { callKey, durableKey } from './questions.ts';

type Writable<Value> = { -readonly [Key in keyof Value]: Value[Key] };
type OpenStep = Writable<Omit<StepState, 'tools'>> & { tools: Writable<ToolState>[] };
type ToolMessage = Extract<Message, { role: 'tool' }>;
type Output = Extract<ToolMessage['content'][number], { type: 'tool-result' }>['output'];

interface OpenRun extends Writable<Omit<RunState, 'steps'>> {
  steps: OpenStep[];
  /** When the last thing happened that the model waits for. */
  lastAt: number;
}

export interface DurableTrace {
  run: RunState;
  runs: ReadonlyMap<string, RunState>;
  answers: ReadonlyMap<string, GivenAnswer>;
}

/** Undefined before its first event. */
export function durableTrace({ id, agent, status, events, usage }: DurableRunDetails): DurableTrace | undefined {
  const runs = new Map<string, OpenRun>();
  const asked = new Map<string, { call: string; askedAt: number }>();
  const answers = new Map<string, GivenAnswer>();
  for (const event of events) {
    const at = Date.parse(event.time);
    const run = runOf(event, at);
    switch (event.type) {
      case 'started':
        run.input = typeof event.data.input === 'string' ? event.data.input : event.data.input.text;
        break;
      case 'message':
        addMessage(run, event.data, at);
        break;
      case 'result':
        addResults(run, event.data, at);
        break;
      case 'question':
        if (event.data.call) {
          const { path, toolCallId } = event.data.call;
          asked.set(event.data.id, { call: callKey(durableKey(id, path), toolCallId), askedAt: at });
        }
        break;
      case 'answer': {
        const question = asked.get(event.data.question);
        const text = answerText(event.data.answer);
        if (question) answers.set(question.call, { text, askedAt: question.askedAt, closedAt: at });
        break;
      }
      case 'failed':
      case 'cancelled':
        run.error = event.type === 'failed' ? event.data.message : 'The run was cancelled.';
        for (const each of runs.values()) each.endedAt ??= at;
        break;
      case 'finished':
        for (const each of runs.values()) each.endedAt ??= at;
    }
  }
  const run = runs.get(id);
  if (!run) return undefined;
  if (usage) run.usage = usage;
  const asking = [...runs.values()].findLast(waitsForModel);
  if (status === 'running' && asking) asking.steps.push(newStep(asking, asking.lastAt));
  return { run, runs, answers };

  function runOf({ subAgent }: RunEvent, at: number): OpenRun {
    const key = subAgent === undefined ? id : `${id}/${subAgent}`;
    const known = runs.get(key);
    if (known) return known;
    const [parent, name] = subAgent === undefined ? [undefined, agent] : parentOf(key);
    const made: OpenRun = {
      ...{ id: key, chatId: '', agentName: name, input: '', startedAt: at, lastAt: at, steps: [] },
      ...(parent === undefined ? {} : { parentRunId: parent, ...callBy(runs.get(parent), name) }),
    };
    runs.set(key, made);
    return made;
  }
}

function parentOf(key: string): [parent: string, name: string] {
  const at = key.lastIndexOf('/');
  return [key.slice(0, at), key.slice(at + 1).replaceAll('%2F', '/')];
}

/** The open call of a run that a sub-agent answers. */
function callBy(parent: OpenRun | undefined, name: string): { parentToolCallId?: string } {
  const open = parent?.steps.at(-1)?.tools.filter(({ endedAt }) => endedAt === undefined) ?? [];
  const call = open.find((tool) => tool.name.includes(name)) ?? open[0];
  return call ? { parentToolCallId: call.id } : {};
}

/** Whether all calls of its last step are answered. */
function waitsForModel({ steps }: OpenRun): boolean {
  const last = steps.at(-1);
  return !last || (last.tools.length > 0 && last.endedAt !== undefined);
}

function newStep({ steps }: OpenRun, startedAt: number): OpenStep {
  return { number: steps.length + 1, startedAt, calls: [], tools: [], retries: [] };
}

function addMessage(run: OpenRun, message: Message, at: number): void {
  if (message.role === 'tool') addResults(run, message, at);
  if (message.role === 'assistant') {
    const step = newStep(run, run.lastAt);
    step.answeredAt = at;
    step.answer = textIn(message);
    step.tools = message.content.flatMap((part) => {
      if (part.type !== 'tool-call') return [];
      const { toolCallId, toolName, input } = part;
      return [{ id: toolCallId, name: toolName, arguments: asArguments(input), startedAt: at }];
    });
    if (step.tools.length === 0) step.endedAt = at;
    // a sub-agent that has answered may be asked again
    if (run.parentRunId !== undefined && step.endedAt !== undefined) run.endedAt = at;
    else delete run.endedAt;
    run.steps.push(step);
  }
  run.lastAt = at;
}

function addResults({ steps }: OpenRun, { content }: ToolMessage, at: number): void {
  const step = steps.at(-1);
  if (!step) return;
  for (const part of content) {
    const tool = part.type === 'tool-result' && step.tools.find(({ id }) => id === part.toolCallId);
    if (!tool || tool.endedAt !== undefined) continue;
    const { type } = part.output;
    tool.endedAt = at;
    tool.isError = type === 'error-text' || type === 'error-json' || type === 'execution-denied';
    if (type === 'execution-denied') tool.decision = 'denied';
    tool.result = shownOutput(part.output);
  }
  if (step.tools.every(({ endedAt }) => endedAt !== undefined)) step.endedAt = at;
}

function shownOutput(output: Output): ResultPart[] {
  if (output.type === 'execution-denied') return [{ type: 'text', text: output.reason ?? '' }];
  if (output.type !== 'content') return [textPart(output.value)];
  return output.value.map((part): ResultPart => {
    if (part.type === 'text') return part;
    if (part.type === 'file' && part.data.type === 'data' && typeof part.data.data === 'string')
      return { type: 'file', mediaType: part.mediaType, data: part.data.data };
    return textPart(`[${part.type}]`);
  });
}

function textPart(value: unknown): ResultPart {
  return { type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) };
}

function asArguments(input: unknown): Record<string, unknown> {
  return typeof input === 'object' && input !== null ? { ...input } : {};
}

function answerText(answer: Extract<RunEvent, { type: 'answer' }>['data']['answer']): string {
  if (typeof answer === 'string') return answer === 'allow' ? 'allowed' : 'denied';
  if ('action' in answer) return answer.action;
  if ('deny' in answer) return `denied: ${answer.deny}`;
  return answer.allow === true ? 'allowed' : 'allowed with other arguments';
}
