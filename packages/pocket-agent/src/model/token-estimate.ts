// How many tokens a request will have, roughly and cheaply: each message is measured once in its life.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

/** Bytes, not characters: most scripts but the Latin one take a token for each character or two. */
const BYTES_PER_TOKEN = 3.5;
/** What providers count for a picture, more or less. */
const FILE_TOKENS = 1_000;

const measured = new WeakMap<object, number>();

export function estimateInputTokens({ prompt, tools }: LanguageModelV4CallOptions): number {
  let tokens = 0;
  for (const message of prompt) tokens += measure(message);
  return tools ? tokens + measure(tools) : tokens;
}

function measure(value: object): number {
  let tokens = measured.get(value);
  if (tokens === undefined) {
    const files: unknown[] = [];
    const text = textOf(value, files);
    tokens = 4 + files.length * FILE_TOKENS + Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
    measured.set(value, tokens);
  }
  return tokens;
}

/** As JSON, without its files: these are counted, not spelled out. */
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
    return ''; // whatever has no JSON cannot be sent: the model will say so
  }
}

/** A file in a prompt, of a user or of a tool; other things may be called `data`, too. */
function isFile(item: unknown): item is { data: unknown } {
  if (typeof item !== 'object' || item === null || !('data' in item) || !('type' in item)) return false;
  const { data } = item;
  if (typeof data === 'object' && data !== null && 'text' in data) return false; // a text like any other
  return typeof item.type === 'string' && /^((reasoning-)?file|(file|image)-.*)$/.test(item.type);
}
