// Events of agents, as the conversation and the trace show them.
import type { AgentEvent } from 'pocket-agent';
import type { ModelCallInfo } from '../../src/wire/wire.ts';
import { changeChat, withEntry } from './change.ts';
import { filesIn, textIn } from './history.ts';
import type { ChatState, Item, ResultPart, RunState, State, StepState, ToolState } from './model.ts';

export function withEvent(state: State, chatId: string, event: AgentEvent): State {
  const { runId } = event.meta;
  if (runId === undefined) return state;
  const run = state.runs.get(runId) ?? newRun(chatId, runId, event);
  const changed = changedRun(run, event);
  const withRun = changed === state.runs.get(runId) ? state : { ...state, runs: withEntry(state.runs, runId, changed) };
  // what sub-agents do is in the trace
  return event.meta.isSubAgent ? withRun : changeChat(withRun, chatId, (chat) => changedChat(chat, runId, event));
}

/** A request belongs to the step in which it was sent. */
export function withModelCall(state: State, call: ModelCallInfo): State {
  const run = state.runs.get(call.runId ?? '');
  if (!run) return state;
  const known = run.steps.findLastIndex(({ calls }) => calls.some(({ id }) => id === call.id));
  const index = known < 0 ? run.steps.length - 1 : known;
  const step = run.steps[index];
  if (!step) return state;
  const calls = known < 0 ? [...step.calls, call] : step.calls.map((each) => (each.id === call.id ? call : each));
  return {
    ...state,
    runs: withEntry(state.runs, run.id, { ...run, steps: run.steps.with(index, { ...step, calls }) }),
  };
}

function newRun(chatId: string, id: string, { meta }: AgentEvent): RunState {
  const { agentName, parentRunId, parentToolCallId, time } = meta;
  return {
    ...{ id, chatId, agentName, input: '', startedAt: time, steps: [] },
    ...(parentRunId === undefined ? {} : { parentRunId }),
    ...(parentToolCallId === undefined ? {} : { parentToolCallId }),
  };
}

function changedRun(run: RunState, { type, data, meta: { time } }: AgentEvent): RunState {
  switch (type) {
    case 'run_started':
      return { ...run, input: data.input, startedAt: time };
    case 'run_finished':
      return { ...run, endedAt: time };
    case 'run_failed':
      return { ...run, endedAt: time, error: data.message };
    case 'step_started':
      return {
        ...run,
        steps: [...run.steps, { number: data.step, startedAt: time, calls: [], tools: [], retries: [] }],
      };
    case 'step_finished': {
      const { inputTokens, cachedInputTokens, outputTokens, costUsd } = data.usage;
      const used = { inputTokens, cachedInputTokens, outputTokens, costUsd };
      return changeStep(run, (step) => ({ ...step, ...used, endedAt: time }));
    }
    case 'new_message':
      if (data.role !== 'assistant') return run;
      return changeStep(run, (step) => ({ ...step, answeredAt: time, answeredBy: step.calls.at(-1)?.id }));
    case 'model_retry':
      return changeStep(run, (step) => ({ ...step, retries: [...step.retries, { at: time, ...data }] }));
    case 'tool_call': {
      const tool: ToolState = { id: data.toolCallId, name: data.toolName, arguments: data.arguments, startedAt: time };
      return changeStep(run, (step) => ({ ...step, tools: [...step.tools, tool] }));
    }
    case 'tool_progress':
      return changeTool(run, data.toolCallId, (tool) => ({ ...tool, progress: data }));
    case 'tool_result': {
      const result = data.toolResultContent.map(shownPart);
      const isError = data.isError === true;
      return changeTool(run, data.toolCallId, (tool) => ({ ...tool, endedAt: time, result, isError }));
    }
    case 'audit': {
      const { toolCallId, capability, decision, reason, outcome } = data;
      return changeTool(run, toolCallId, (tool) => ({
        ...tool,
        ...(capability === undefined ? {} : { capability }),
        ...{ decision, isError: tool.isError === true || outcome !== 'done' },
        ...(reason === undefined ? {} : { reason }),
      }));
    }
    default:
      return run;
  }
}

function shownPart(part: { type: 'text'; text: string } | { type: 'file'; mediaType: string; data: { data: string } }) {
  const shown: ResultPart =
    part.type === 'text' ? part : { type: 'file', mediaType: part.mediaType, data: part.data.data };
  return shown;
}

function changeStep(run: RunState, change: (step: StepState) => StepState): RunState {
  const last = run.steps.at(-1);
  return last ? { ...run, steps: run.steps.with(-1, change(last)) } : run;
}

function changeTool(run: RunState, id: string, change: (tool: ToolState) => ToolState): RunState {
  const index = run.steps.findLastIndex(({ tools }) => tools.some((tool) => tool.id === id));
  const step = run.steps[index];
  if (!step) return run;
  const tools = step.tools.map((tool) => (tool.id === id ? change(tool) : tool));
  return { ...run, steps: run.steps.with(index, { ...step, tools }) };
}

function changedChat(chat: ChatState, runId: string, { type, data, meta }: AgentEvent): ChatState {
  switch (type) {
    case 'run_started':
      return { ...chat, lastRunId: runId };
    case 'text_delta':
    case 'reasoning_delta':
      return withDelta(chat, `${runId} ${meta.time}`, type, data.delta);
    case 'new_message': {
      const counted = { ...chat, messageCount: chat.messageCount + 1 };
      const text = textIn(data);
      const key = `message ${chat.messageCount}`;
      if (data.role === 'user')
        return withItem(counted, { kind: 'user', key, text, files: filesIn(data), index: chat.messageCount });
      if (data.role !== 'assistant') return counted;
      const reasoning = data.content.map((part) => (part.type === 'reasoning' ? part.text : '')).join('');
      return withItem(
        { ...counted, items: withoutStreaming(chat) },
        { kind: 'answer', key, text, reasoning, isStreaming: false },
      );
    }
    case 'tool_call':
      return withItem(chat, {
        kind: 'tool',
        key: `tool ${runId} ${data.toolCallId}`,
        runId,
        toolCallId: data.toolCallId,
      });
    case 'run_failed': {
      const text = data.code === 'ABORTED' ? 'Stopped.' : data.message;
      const kind = data.code === 'ABORTED' ? 'note' : 'problem';
      const finished = chat.items.map((item) => (item.kind === 'answer' ? { ...item, isStreaming: false } : item));
      return withItem({ ...chat, items: finished }, { kind, key: `failed ${runId}`, text });
    }
    case 'compacted': {
      const text = `Older messages were summarised: ${data.tokensBefore} → ${data.tokensAfter} tokens.`;
      return withItem(chat, { kind: 'note', key: `compacted ${meta.time}`, text });
    }
    default:
      return chat;
  }
}

/** Answers without text, such as those that only call tools, are not shown. */
function withItem(chat: ChatState, item: Item): ChatState {
  if (item.kind === 'answer' && item.text === '' && item.reasoning === '') return chat;
  return { ...chat, items: [...chat.items, item] };
}

function withDelta(chat: ChatState, key: string, type: 'text_delta' | 'reasoning_delta', delta: string): ChatState {
  const last = chat.items.at(-1);
  const isOpen = last?.kind === 'answer' && last.isStreaming;
  const open = isOpen ? last : ({ kind: 'answer', key, text: '', reasoning: '', isStreaming: true } as const);
  const field = type === 'text_delta' ? 'text' : 'reasoning';
  const grown: Item = { ...open, [field]: open[field] + delta };
  return { ...chat, items: isOpen ? chat.items.with(-1, grown) : [...chat.items, grown] };
}

/** The whole message replaces what was streamed of it. */
function withoutStreaming({ items }: ChatState): readonly Item[] {
  const last = items.at(-1);
  return last?.kind === 'answer' && last.isStreaming ? items.slice(0, -1) : items;
}
