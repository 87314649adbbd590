// Usage: tokens, dollars and calls, and their sums.
import type { LanguageModelV4Usage } from '@ai-sdk/provider';

/** Tokens, dollars and calls of runs, sub-agents included. */
export interface Usage {
  inputTokens: number;
  /** The part of the input that came from the provider's cache. */
  cachedInputTokens: number;
  outputTokens: number;
  /** The part of the output that is reasoning. */
  reasoningTokens: number;
  /** Undefined if the price of any call is unknown. */
  costUsd: number | undefined;
  modelCalls: number;
  toolCalls: number;
}

/** The usage of one tool so far. */
export interface ToolUsage {
  calls: number;
  errors: number;
  /** Input tokens of the next model call that its results caused; estimated if the provider reports no usage. */
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

/** The usage of one model call. Missing and invalid numbers are estimated. */
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

/** Undefined for an invalid number of tokens. */
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
