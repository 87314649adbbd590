// The token usage of a call: as reported by the agent, otherwise estimated from the length of both messages.

import type { Metadata, Part, TaskCollector, Update } from '@pocket-agent/a2a/client';
import { isRecord } from '@pocket-agent/kit';

/** Typical for English text and JSON; other languages need more tokens. */
const BYTES_PER_TOKEN = 4;

interface TokenUse {
  count: number;
  isEstimate: boolean;
}

export function tokensOf(collected: TaskCollector, inputTokens: number): TokenUse | undefined {
  const reported = tokensIn(collected.metadata);
  if (reported !== undefined) return { count: reported, isEstimate: false };
  const { message, status, artifacts } = collected;
  if (message === undefined && status === undefined) return undefined;
  const contents = [message ?? status?.message, ...artifacts].flatMap((part) => part?.parts ?? []);
  return { count: inputTokens + estimatedTokens(contents), isEstimate: true };
}

/** Counts text and data only; how files count depends on the model. */
export function estimatedTokens(parts: readonly Part[]): number {
  const bytes = parts.reduce((sum, { text, data }) => {
    const content = text ?? (data === undefined ? '' : JSON.stringify(data));
    return sum + Buffer.byteLength(content);
  }, 0);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Counts an answer while it streams, so that a call can be stopped at its limit. */
export class OutputTokens {
  count = 0;

  add(update: Update): void {
    // a task repeats earlier updates
    if (update.kind === 'task') this.count = Math.max(this.count, estimatedTokens(partsOf(update)));
    else this.count += estimatedTokens(partsOf(update));
  }
}

function partsOf(update: Update): readonly Part[] {
  switch (update.kind) {
    case 'message':
      return update.message.parts;
    case 'status':
      return update.status.message?.parts ?? [];
    case 'artifact':
      return update.artifact.parts;
    case 'task':
      return [update.task.status.message, ...(update.task.artifacts ?? [])].flatMap((part) => part?.parts ?? []);
  }
}

/** A2A has no field for usage, so the common names are tried. */
function tokensIn(metadata: readonly Metadata[]): number | undefined {
  for (const fields of metadata.toReversed()) {
    const usage = isRecord(fields.usage) ? fields.usage : fields;
    const total = [fields.tokensUsed, usage.totalTokens, usage.total_tokens].find(isCount);
    if (total !== undefined) return total;
    const input = usage.inputTokens ?? usage.input_tokens;
    const output = usage.outputTokens ?? usage.output_tokens;
    if (isCount(input) && isCount(output)) return input + output;
  }
  return undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
