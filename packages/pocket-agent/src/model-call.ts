// One call of a model, whole or streamed, with the same answer either way; retries what is worth retrying.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { abortable, delay } from './abort.ts';
import { errorText, PocketError } from './errors.ts';
import { StreamCollector } from './model-stream.ts';
import { hasUrls } from './prompt.ts';
import { headersOf, retryAfterMs } from './provider-errors.ts';

/** What a model answered, before it becomes a message. */
export type ModelResponse = Pick<
  LanguageModelV4GenerateResult,
  'content' | 'finishReason' | 'usage' | 'warnings' | 'providerMetadata' | 'response'
>;

export interface ModelRetry {
  attempt: number;
  delayMs: number;
  reason: string;
}

export interface ModelCall {
  model: LanguageModelV4;
  options: LanguageModelV4CallOptions;
  signal: AbortSignal;
  /** How often a failed call is repeated. */
  maxRetries: number;
  onRetry(retry: ModelRetry): void;
  /** Given: the model streams, and text and reasoning are shown here as they come. */
  onDelta?: ((type: 'text_delta' | 'reasoning_delta', delta: string) => void) | undefined;
}

const LONGEST_WAIT_MS = 60_000;
const ENDED_EARLY = 'The stream of the model ended before its answer did.';

export async function callModel(call: ModelCall): Promise<ModelResponse> {
  const options = { ...call.options, abortSignal: call.signal };
  if (hasUrls(options.prompt)) {
    const allowPrivate = process.env.POCKET_AGENT_ALLOW_PRIVATE_URLS === '1';
    const { inlineImages } = await import('./remote-images.ts');
    options.prompt = await inlineImages(options.prompt, call.model, { signal: call.signal, allowPrivate });
  }
  for (let attempt = 1; ; attempt++) {
    const shown = { text: '', any: false };
    try {
      return call.onDelta
        ? await streamed(call, options, shown)
        : await abortable(call.model.doGenerate(options), call.signal);
    } catch (error) {
      call.signal.throwIfAborted();
      const delayMs = retryDelay(error, attempt);
      // what has been shown cannot be taken back, so a stream is repeated only before its first delta
      if (delayMs === undefined || attempt > call.maxRetries || shown.any) {
        throw modelError(call.model, error, attempt, shown.text);
      }
      call.onRetry({ attempt, delayMs, reason: errorText(error) });
      await delay(delayMs, call.signal);
    }
  }
}

async function streamed(
  call: ModelCall,
  options: LanguageModelV4CallOptions,
  shown: { text: string; any: boolean },
): Promise<ModelResponse> {
  const { stream, response } = await abortable(call.model.doStream(options), call.signal);
  const reader = stream.getReader();
  const collected = new StreamCollector();
  // one listener for the whole stream: a model that ignores the signal is left behind when its reader is cancelled
  const stop = () => void reader.cancel(call.signal.reason).catch(() => {});
  call.signal.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const { value: part, done } = await reader.read();
      call.signal.throwIfAborted();
      if (done) break;
      collected.add(part);
      // providers send deltas without text to carry metadata
      if ((part.type === 'text-delta' || part.type === 'reasoning-delta') && part.delta !== '') {
        shown.any = true;
        if (part.type === 'text-delta') shown.text += part.delta;
        call.onDelta?.(part.type === 'text-delta' ? 'text_delta' : 'reasoning_delta', part.delta);
      }
    }
  } finally {
    call.signal.removeEventListener('abort', stop);
    stop();
  }
  const result = collected.result(response?.headers);
  if (result.finishReason.unified === 'interrupted' && !shown.any) {
    throw Object.assign(new Error(ENDED_EARLY), { isRetryable: true });
  }
  return result;
}

/** How long to wait before another try, or undefined when another try is no use. */
function retryDelay(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof Error) || error instanceof PocketError) return undefined;
  if (!isRetryable(error)) return undefined;
  const asked = retryAfterMs(headersOf(error));
  if (asked !== undefined) return asked <= LONGEST_WAIT_MS ? asked : undefined;
  const exponential = 500 * 2 ** (attempt - 1);
  return Math.min(exponential, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2);
}

function isRetryable(error: Error): boolean {
  // the same status for "slow down" and for "you have run out of credit", which no waiting mends
  if (/insufficient_quota/.test(errorFact(error, 'responseBody', 'code', 'type'))) return false;
  // a provider knows best: an answer that broke off has status 200 and is worth another try
  if ('isRetryable' in error && typeof error.isRetryable === 'boolean') return error.isRetryable;
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (typeof status === 'number') return status === 408 || status === 409 || status === 429 || status >= 500;
  return /fetch failed|network|socket|ECONN|ETIMEDOUT|EPIPE|EAI_AGAIN|terminated|overloaded|rate.?limit|server_error/i.test(
    `${errorText(error)} ${errorFact(error, 'type', 'code')}`,
  );
}

function errorFact(error: object, ...names: string[]): string {
  return names.map((name) => String(Reflect.get(error, name) ?? '')).join(' ');
}

function modelError(model: LanguageModelV4, error: unknown, attempts: number, text: string): unknown {
  if (error instanceof PocketError) return error;
  const tries = attempts > 1 ? ` after ${attempts} attempts` : '';
  const status = error instanceof Error && 'statusCode' in error ? { statusCode: error.statusCode } : {};
  return new PocketError(
    'MODEL_FAILED',
    `Model ${model.provider}/${model.modelId} failed${tries}: ${errorText(error)}`,
    { cause: error, details: { attempts, ...status, ...(text ? { text } : {}) } },
  );
}
