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
    tokens = 4;
    // files are counted, not spelled out
    const text = JSON.stringify(value, (key, item) => {
      if (key !== 'data') return item;
      tokens = (tokens ?? 0) + FILE_TOKENS;
      return undefined;
    });
    tokens += Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
    measured.set(value, tokens);
  }
  return tokens;
}
