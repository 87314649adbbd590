// Formats the usage of a run or a chat as one line.
import type { Usage } from 'pocket-agent';

/** `2 model calls, 1 tool call · 1,234 tokens in, 56 out · $0.0012` */
export function usageLine({ modelCalls, toolCalls, inputTokens, outputTokens, costUsd }: Usage): string {
  const calls = [plural(modelCalls, 'model call'), ...(toolCalls > 0 ? [plural(toolCalls, 'tool call')] : [])];
  const cost = costUsd === undefined ? 'cost unknown' : `$${costUsd.toFixed(costUsd >= 1 ? 2 : 4)}`;
  return `${calls.join(', ')} · ${plural(inputTokens, 'token')} in, ${thousands(outputTokens)} out · ${cost}`;
}

export function plural(count: number, noun: string): string {
  return `${thousands(count)} ${noun}${count === 1 ? '' : 's'}`;
}

export function difference(now: Usage, before: Usage): Usage {
  const hasCost = now.costUsd !== undefined && before.costUsd !== undefined;
  return {
    inputTokens: now.inputTokens - before.inputTokens,
    cachedInputTokens: now.cachedInputTokens - before.cachedInputTokens,
    outputTokens: now.outputTokens - before.outputTokens,
    reasoningTokens: now.reasoningTokens - before.reasoningTokens,
    costUsd: hasCost ? (now.costUsd ?? 0) - (before.costUsd ?? 0) : undefined,
    modelCalls: now.modelCalls - before.modelCalls,
    toolCalls: now.toolCalls - before.toolCalls,
  };
}

/** Most counts are small, and the first use of a locale takes 10 ms. */
function thousands(count: number): string {
  return count < 1_000 ? String(count) : count.toLocaleString('en-US');
}
