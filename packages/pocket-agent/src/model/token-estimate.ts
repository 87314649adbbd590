// A cheap estimate of the input tokens of a request. Each message is measured once.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

/** Bytes, not characters: non-Latin scripts take about one token per character. */
export const BYTES_PER_TOKEN = 3.5;
/** About what providers count for an image. */
const FILE_TOKENS = 1_000;

const measured = new WeakMap<object, number>();

export function estimateInputTokens({ prompt, tools }: LanguageModelV4CallOptions): number {
  let tokens = 0;
  for (const message of prompt) tokens += estimateTokens(message);
  return tools ? tokens + estimateTokens(tools) : tokens;
}

/** The tokens of one message, or of a list of tools. */
export function estimateTokens(value: object): number {
  let tokens = measured.get(value);
  if (tokens === undefined) {
    const files: unknown[] = [];
    const text = textOf(value, files);
    tokens = 4 + files.length * FILE_TOKENS + Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
    measured.set(value, tokens);
  }
  return tokens;
}

/** The JSON text without the data of files, which are counted instead. */
function textOf(value: object, files: unknown[]): string {
  try {
    const text: string | undefined = JSON.stringify(value, (_key, item: unknown) => {
      if (typeof item === 'bigint') return String(item);
      if (!isFile(item)) return item;
      files.push(item);
      return { ...item, data: undefined };
    });
    return text ?? '';
  } catch {
    return ''; // a value without JSON cannot be sent; the model call reports that
  }
}

/** A file of a user or a tool. Other objects may also have a property `data`. */
function isFile(item: unknown): item is { data: unknown } {
  if (typeof item !== 'object' || item === null || !('data' in item) || !('type' in item)) return false;
  const { data } = item;
  if (typeof data === 'object' && data !== null && 'text' in data) return false; // a text file, counted as text
  return typeof item.type === 'string' && /^((reasoning-)?file$|(file|image)-)/.test(item.type);
}
