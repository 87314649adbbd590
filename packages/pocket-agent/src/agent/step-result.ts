// The result of one step.

import { PocketError, type PocketErrorCode } from '@pocket-agent/kit';
import type { AssistantMessage } from '../base/messages.ts';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import type { Usage } from '../cost/usage.ts';
import type { ModelResponse } from '../model/model-call.ts';
import type { AgentEvent } from '../run/events.ts';

type SourceData = Extract<AgentEvent, { type: 'source' }>['data'];

/** One model call and the tool calls that it asked for. */
export interface StepResult {
  llmMessage: AssistantMessage;
  /** Undefined when the model called nothing, so that `while (result.toolCalls) result = await agent.step()` ends. */
  toolCalls: ToolCall[] | undefined;
  /** In the order of the calls; undefined when the model called nothing. */
  toolExecutionResults: ToolResult[] | undefined;
  finishReason: ModelResponse['finishReason']['unified'];
  /** The finish reason in the words of the provider. */
  rawFinishReason: string | undefined;
  /** Tokens and dollars of the model call. */
  usage: Usage;
}

type StepOutcome = Pick<StepResult, 'llmMessage' | 'usage'> &
  Partial<Pick<StepResult, 'toolCalls' | 'toolExecutionResults'>> & { finishReason: ModelResponse['finishReason'] };

export function stepResult({
  llmMessage,
  usage,
  toolCalls,
  toolExecutionResults,
  finishReason,
}: StepOutcome): StepResult {
  const { unified, raw } = finishReason;
  return { llmMessage, usage, toolCalls, toolExecutionResults, finishReason: unified, rawFinishReason: raw };
}

/** The text of a complete answer. An answer that was cut off or filtered is an error that carries the partial text. */
export function finalText(
  { finishReason, rawFinishReason }: Pick<StepResult, 'finishReason' | 'rawFinishReason'>,
  text: string,
): string {
  const fail = (code: PocketErrorCode, problem: string): never => {
    throw new PocketError(code, problem, { details: { text, finishReason } });
  };
  switch (finishReason) {
    case 'interrupted':
      return fail('ANSWER_CUT_OFF', 'The provider interrupted the answer; ask again.');
    case 'length':
      return fail('ANSWER_CUT_OFF', rawFinishReason === 'model_context_window_exceeded' ? WINDOW_FULL : CUT_OFF);
    case 'content-filter':
      return fail('ANSWER_FILTERED', isRefusal(rawFinishReason) ? refused(text) : FILTERED);
    case 'error':
      return fail('MODEL_FAILED', 'The model ended its answer with an error.');
    case 'other':
      // Gemini's reasons are in capitals, and all of them here mean an incomplete answer
      if (!/^[A-Z_]+$/.test(rawFinishReason ?? '')) return text;
      return fail('ANSWER_CUT_OFF', `The provider interrupted the answer (${rawFinishReason}); ask again.`);
    default:
      return text;
  }
}

/** If the model itself refused, provider packages report no reason of a content filter. */
function isRefusal(rawFinishReason: string | undefined): boolean {
  return rawFinishReason === undefined || rawFinishReason === 'stop' || rawFinishReason === 'refusal';
}

function refused(text: string): string {
  const said = text.trim().slice(0, MAX_REFUSAL);
  return said === '' ? 'The model refused to answer.' : `The model refused to answer: ${said}`;
}

/** In characters. */
const MAX_REFUSAL = 500;
const FILTERED = 'The answer was blocked by the content filter of the provider.';
const CUT_OFF = 'The answer was cut off: raise completionOptions.maxOutputTokens, or ask for less.';
const WINDOW_FULL =
  'The conversation fills the context window of the model: begin a new one, or use a model with a larger window.';

/** Whether another step follows: after tool calls, and after a long turn that the provider paused. */
export function needsAnotherStep({ toolExecutionResults, rawFinishReason }: StepResult): boolean {
  return toolExecutionResults !== undefined || rawFinishReason === 'pause_turn';
}

/** The source in a part of an answer. Of sources with a URL, only web addresses are shown. */
export function sourceIn(part: ModelResponse['content'][number]): SourceData | undefined {
  if (part.type !== 'source') return undefined;
  const { id: sourceId, title } = part;
  if (part.sourceType === 'url')
    return /^https?:/i.test(part.url) ? { sourceId, url: part.url, ...(title ? { title } : {}) } : undefined;
  const { mediaType, filename } = part;
  return { sourceId, mediaType, ...(title ? { title } : {}), ...(filename ? { filename } : {}) };
}
