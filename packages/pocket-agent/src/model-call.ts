// One call of a model, whole or streamed, with the same answer either way; retries what is worth retrying.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { abortable, delay } from './abort.ts';
import { errorText, PocketError } from './errors.ts';

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

export async function callModel(call: ModelCall): Promise<ModelResponse> {
  const options = { ...call.options, abortSignal: call.signal };
  for (let attempt = 1; ; attempt++) {
    const shown = { any: false };
    try {
      return call.onDelta
        ? await streamed(call, options, shown)
        : await abortable(call.model.doGenerate(options), call.signal);
    } catch (error) {
      call.signal.throwIfAborted();
      const delayMs = retryDelay(error, attempt);
      // what has been shown cannot be taken back, so a stream is repeated only before its first delta
      if (delayMs === undefined || attempt > call.maxRetries || shown.any) throw modelError(call.model, error, attempt);
      call.onRetry({ attempt, delayMs, reason: errorText(error) });
      await delay(delayMs, call.signal);
    }
  }
}

async function streamed(
  call: ModelCall,
  options: LanguageModelV4CallOptions,
  shown: { any: boolean },
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
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') {
        shown.any = true;
        call.onDelta?.(part.type === 'text-delta' ? 'text_delta' : 'reasoning_delta', part.delta);
      }
      collected.add(part);
    }
  } finally {
    call.signal.removeEventListener('abort', stop);
    stop();
  }
  return { ...collected.result(), ...(response?.headers ? { response: { headers: response.headers } } : {}) };
}

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;
type Growing = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>;

/** Puts the parts of a stream together to what `doGenerate` would have answered. */
class StreamCollector {
  readonly #content: LanguageModelV4Content[] = [];
  readonly #growing = new Map<string, Growing>();
  #warnings: ModelResponse['warnings'] = [];
  #finish: Finish | undefined;

  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const block: Growing = { type: part.type === 'text-start' ? 'text' : 'reasoning', text: '' };
        this.#growing.set(part.id, block);
        this.#content.push(block);
        this.#keepMetadata(part);
        break;
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const block = this.#growing.get(part.id);
        if (block) block.text += part.delta;
        this.#keepMetadata(part);
        break;
      }
      case 'text-end':
      case 'reasoning-end':
        this.#keepMetadata(part);
        break;
      case 'tool-call':
      case 'tool-result':
      case 'tool-approval-request':
      case 'file':
      case 'reasoning-file':
      case 'source':
      case 'custom':
        this.#content.push(part);
        break;
      case 'stream-start':
        this.#warnings = part.warnings;
        break;
      case 'finish':
        this.#finish = part;
        break;
      case 'error':
        throw part.error;
    }
  }

  result(): ModelResponse {
    if (!this.#finish) throw new PocketError('MODEL_FAILED', 'The stream of the model ended before its answer did.');
    const { finishReason, usage, providerMetadata } = this.#finish;
    const metadata = providerMetadata ? { providerMetadata } : {};
    return { content: this.#content, finishReason, usage, warnings: this.#warnings, ...metadata };
  }

  #keepMetadata(part: { id: string; providerMetadata?: Growing['providerMetadata'] }): void {
    const block = this.#growing.get(part.id);
    if (block && part.providerMetadata) block.providerMetadata = part.providerMetadata;
  }
}

/** How long to wait before another try, or undefined when another try is no use. */
function retryDelay(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof Error) || error instanceof PocketError) return undefined;
  if (!isRetryable(error)) return undefined;
  const asked = retryAfterMs(error);
  if (asked !== undefined) return asked <= LONGEST_WAIT_MS ? asked : undefined;
  const exponential = 500 * 2 ** (attempt - 1);
  return Math.min(exponential, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2);
}

function isRetryable(error: Error): boolean {
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (typeof status === 'number') return status === 408 || status === 409 || status === 429 || status >= 500;
  if ('isRetryable' in error) return error.isRetryable === true;
  return /fetch failed|network|socket|ECONN|ETIMEDOUT|EPIPE|EAI_AGAIN|terminated/i.test(errorText(error));
}

function retryAfterMs(error: Error): number | undefined {
  const headers = 'responseHeaders' in error ? error.responseHeaders : undefined;
  if (typeof headers !== 'object' || headers === null) return undefined;
  const read = (name: string) => Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const ms = Number.parseFloat(String(read('retry-after-ms')));
  if (ms >= 0) return ms;
  const value = read('retry-after');
  if (typeof value !== 'string') return undefined;
  const seconds = Number(value);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

function modelError(model: LanguageModelV4, error: unknown, attempts: number): unknown {
  if (error instanceof PocketError) return error;
  const tries = attempts > 1 ? ` after ${attempts} attempts` : '';
  return new PocketError(
    'MODEL_FAILED',
    `Model ${model.provider}/${model.modelId} failed${tries}: ${errorText(error)}`,
    {
      cause: error,
    },
  );
}
