// What a run used: tokens, dollars and calls, added up.
import type { LanguageModelV4Usage } from '@ai-sdk/provider';

export interface Usage {
  inputTokens: number;
  /** Of the input tokens, those the provider had cached. */
  cachedInputTokens: number;
  outputTokens: number;
  /** Of the output tokens, those the model thought with. */
  reasoningTokens: number;
  /** Undefined as soon as one call has no known price: a sum with a hole is no sum. */
  costUsd: number | undefined;
  modelCalls: number;
  toolCalls: number;
}

export interface ToolUsage {
  calls: number;
  errors: number;
  /** What the results of this tool cost as input of the next model call; measured where the provider tells. */
  resultTokens: number;
}

export function noUsage(): Usage {
  return {
    inputTokens: 0,
    cachedInputTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    costUsd: 0,
    modelCalls: 0,
    toolCalls: 0,
  };
}

/** One model call in our terms. What a provider does not tell, or tells wrongly, is taken from `estimate`. */
export function callUsage(
  usage: LanguageModelV4Usage,
  costUsd: number | undefined,
  estimate: () => TokenEstimate,
): Usage {
  return {
    inputTokens: count(usage.inputTokens?.total) ?? estimate().input,
    cachedInputTokens: count(usage.inputTokens?.cacheRead) ?? 0,
    outputTokens: count(usage.outputTokens?.total) ?? estimate().output,
    reasoningTokens: count(usage.outputTokens?.reasoning) ?? 0,
    costUsd,
    modelCalls: 1,
    toolCalls: 0,
  };
}

export interface TokenEstimate {
  input: number;
  output: number;
}

/** A number of tokens that can be one. */
export function count(tokens: number | undefined): number | undefined {
  return tokens !== undefined && Number.isFinite(tokens) && tokens >= 0 ? tokens : undefined;
}

export function addUsage(sum: Usage, more: Usage): void {
  sum.inputTokens += more.inputTokens;
  sum.cachedInputTokens += more.cachedInputTokens;
  sum.outputTokens += more.outputTokens;
  sum.reasoningTokens += more.reasoningTokens;
  sum.costUsd = sum.costUsd === undefined || more.costUsd === undefined ? undefined : sum.costUsd + more.costUsd;
  sum.modelCalls += more.modelCalls;
  sum.toolCalls += more.toolCalls;
}

export function totalTokens(usage: Usage): number {
  return usage.inputTokens + usage.outputTokens;
}
