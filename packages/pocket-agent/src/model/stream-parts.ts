// Turns a whole answer into the parts of a stream, with text in small pieces.
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';

type Answer = Pick<
  LanguageModelV4GenerateResult,
  'content' | 'finishReason' | 'usage' | 'warnings' | 'providerMetadata' | 'response'
>;
type Part<Type extends LanguageModelV4Content['type']> = Extract<LanguageModelV4Content, { type: Type }>;

export function streamOf(answer: Answer): LanguageModelV4StreamResult['stream'] {
  return ReadableStream.from(streamParts(answer)) as LanguageModelV4StreamResult['stream'];
}

function streamParts({ content, finishReason, usage, warnings, providerMetadata, response }: Answer) {
  const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings }];
  if (response) parts.push({ type: 'response-metadata', ...response });
  for (const [index, part] of content.entries()) {
    if (part.type === 'text' || part.type === 'reasoning') parts.push(...textParts(part, `${index}`));
    else if (part.type === 'tool-call') parts.push(...inputParts(part), part);
    else parts.push(part);
  }
  parts.push({ type: 'finish', finishReason, usage, ...(providerMetadata ? { providerMetadata } : {}) });
  return parts;
}

function textParts(part: Part<'text' | 'reasoning'>, id: string): LanguageModelV4StreamPart[] {
  const { type, text, providerMetadata } = part;
  return [
    { type: `${type}-start`, id },
    ...piecesOf(text).map((delta) => ({ type: `${type}-delta` as const, id, delta })),
    { type: `${type}-end`, id, ...(providerMetadata ? { providerMetadata } : {}) },
  ];
}

/** The arguments of a call as they arrive. */
function inputParts({ toolCallId: id, toolName, input }: Part<'tool-call'>): LanguageModelV4StreamPart[] {
  const text = typeof input === 'string' ? input : '';
  return [
    { type: 'tool-input-start', id, toolName },
    ...piecesOf(text).map((delta) => ({ type: 'tool-input-delta' as const, id, delta })),
    { type: 'tool-input-end', id },
  ];
}

function piecesOf(text: string): string[] {
  // bounded: a pattern over megabytes without a space can exceed the stack of regular expressions
  return text.match(/\S{1,1000}\s{0,1000}|\s{1,1000}/gu) ?? [];
}
