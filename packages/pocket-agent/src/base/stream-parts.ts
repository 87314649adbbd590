// Answers of models that run in this process: as the parts of a stream, with text in small pieces, and their usage.
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';

type Answer = Pick<
  LanguageModelV4GenerateResult,
  'content' | 'finishReason' | 'usage' | 'warnings' | 'providerMetadata' | 'response'
>;
type Part<Type extends LanguageModelV4Content['type']> = Extract<LanguageModelV4Content, { type: Type }>;

/** Tokens of a call without a cache and without reasoning. */
export function usageOf(input: number, output: number): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

export function streamOf(answer: Answer): LanguageModelV4StreamResult['stream'] {
  return ReadableStream.from(streamParts(answer)) as LanguageModelV4StreamResult['stream'];
}

/** `maxDeltas`: of one text, or of the arguments of one call. */
export function streamParts(answer: Answer, maxDeltas = Number.POSITIVE_INFINITY): LanguageModelV4StreamPart[] {
  const { content, finishReason, usage, warnings, providerMetadata, response } = answer;
  const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings }];
  if (response) parts.push({ type: 'response-metadata', ...response });
  for (const [index, part] of content.entries()) {
    if (part.type === 'text' || part.type === 'reasoning')
      parts.push(...textParts(part, { id: `${index}`, maxDeltas }));
    else if (part.type === 'tool-call') parts.push(...inputParts(part, maxDeltas), part);
    else parts.push(part);
  }
  parts.push({ type: 'finish', finishReason, usage, ...(providerMetadata ? { providerMetadata } : {}) });
  return parts;
}

function textParts(
  part: Part<'text' | 'reasoning'>,
  { id, maxDeltas }: { id: string; maxDeltas: number },
): LanguageModelV4StreamPart[] {
  const { type, text, providerMetadata } = part;
  return [
    { type: `${type}-start`, id },
    ...deltasOf(text, maxDeltas).map((delta) => ({ type: `${type}-delta` as const, id, delta })),
    { type: `${type}-end`, id, ...(providerMetadata ? { providerMetadata } : {}) },
  ];
}

/** The arguments of a call as they arrive. */
function inputParts(
  { toolCallId: id, toolName, input }: Part<'tool-call'>,
  maxDeltas: number,
): LanguageModelV4StreamPart[] {
  const text = typeof input === 'string' ? input : '';
  return [
    { type: 'tool-input-start', id, toolName },
    ...deltasOf(text, maxDeltas).map((delta) => ({ type: 'tool-input-delta' as const, id, delta })),
    { type: 'tool-input-end', id },
  ];
}

function deltasOf(text: string, maxDeltas: number): string[] {
  // bounded: a pattern over megabytes without a space can exceed the stack of regular expressions
  const words = text.match(/\S{1,1000}\s{0,1000}|\s{1,1000}/gu) ?? [];
  if (words.length <= maxDeltas) return words;
  const size = Math.ceil(words.length / maxDeltas);
  const count = Math.ceil(words.length / size);
  return Array.from({ length: count }, (_, index) => words.slice(index * size, (index + 1) * size).join(''));
}
