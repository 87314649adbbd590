// One call of a model, whole or streamed, with the same answer either way; retries what is worth retrying.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { abortable, delay, errorText, PocketError, redactError } from '@pocket-agent/kit';
import { nameOf, wayOutOf } from './model.ts';
import { learnFrom, requestFor } from './model-request.ts';
import { StreamCollector } from './model-stream.ts';
import { markPart, unmarkPart } from './part-origin.ts';
import { hasUrls } from './prompt.ts';
import {
  isHtml,
  providerErrorText,
  refusalOf,
  refuseHtml,
  retryAfterMs,
  statusOf,
  wasSilent,
} from './provider-errors.ts';

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
  /** The provider refused something, and is asked again without it. */
  onRefusal?(leftOut: string, reason: string): void;
  /** An attempt that failed and was paid for all the same. */
  onFailedAnswer?(answer: ModelResponse): Promise<unknown>;
  /** Given: the model streams, and text and reasoning are shown here as they come. */
  onDelta?: ((type: 'text_delta' | 'reasoning_delta', delta: string) => void) | undefined;
}

const LONGEST_WAIT_MS = 60_000;
/** How long a stream that failed may take to tell its usage. */
const USAGE_WAIT_MS = 1_000;
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
    const request = ownOptions(requestFor(call.model, options));
    try {
      const response = call.onDelta
        ? await streamed(call, request, shown)
        : await abortable(call.model.doGenerate(request), call.signal);
      if (!isWorthRepeating(response, shown.any) || attempt > call.maxRetries) return marked(response, call.model);
      await call.onFailedAnswer?.(response);
      throw Object.assign(new Error(MALFORMED_CALL), { isRetryable: true });
    } catch (error) {
      call.signal.throwIfAborted();
      const leftOut = shown.any ? undefined : learnFrom(call.model, error, request);
      if (leftOut !== undefined) {
        call.onRefusal?.(leftOut, providerErrorText(error));
        attempt--;
        continue;
      }
      const delayMs = retryDelay(error, attempt);
      // what has been shown cannot be taken back, so a stream is repeated only before its first delta
      if (delayMs === undefined || attempt > call.maxRetries || shown.any) {
        throw modelError(call.model, error, attempt, shown.text);
      }
      call.onRetry({ attempt, delayMs, reason: providerErrorText(error) });
      await delay(delayMs, call.signal);
    }
  }
}

const MALFORMED_CALL = 'The model wrote a tool call that its provider could not read.';

/** Gemini ends an answer with nothing in it when the model wrote a call that cannot be parsed. */
function isWorthRepeating({ finishReason, content }: ModelResponse, wasShown: boolean): boolean {
  if (wasShown || content.some((part) => part.type === 'text' || part.type === 'tool-call')) return false;
  return finishReason.raw === 'MALFORMED_FUNCTION_CALL';
}

/** With marks on what only this model understands; without any when the provider may not have stored the answer. */
function marked(response: ModelResponse, model: LanguageModelV4): ModelResponse {
  const { unified } = response.finishReason;
  const isStored = unified === 'stop' || unified === 'tool-calls';
  if (isStored && model.provider === 'router') return response; // marked by deployment
  const content = response.content.map((part) => (isStored ? markPart(part, model) : unmarkPart(part)));
  return { ...response, content };
}

/** For one attempt: a model may do with its lists what it wants. */
function ownOptions({ prompt, tools, ...options }: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  return { ...options, prompt: [...prompt], ...(tools ? { tools: [...tools] } : {}) };
}

async function streamed(
  call: ModelCall,
  options: LanguageModelV4CallOptions,
  shown: { text: string; any: boolean },
): Promise<ModelResponse> {
  const { stream, response } = await abortable(call.model.doStream(options), call.signal);
  refuseHtml(response?.headers);
  const reader = stream.getReader();
  const collected = new StreamCollector();
  // one listener for the whole stream: a model that ignores the signal is left behind when its reader is cancelled
  const stop = () => void reader.cancel(call.signal.reason).catch(() => {});
  call.signal.addEventListener('abort', stop, { once: true });
  let failure: unknown;
  let patience: NodeJS.Timeout | undefined;
  try {
    for (;;) {
      const { value: part, done } = await reader.read();
      call.signal.throwIfAborted();
      if (done) break;
      try {
        collected.add(part);
      } catch (error) {
        // what it cost comes last, if it comes
        failure ??= error;
        patience ??= setTimeout(stop, USAGE_WAIT_MS);
      }
      // providers send deltas without text to carry metadata
      if ((part.type === 'text-delta' || part.type === 'reasoning-delta') && part.delta !== '') {
        shown.any = true;
        if (part.type === 'text-delta') shown.text += part.delta;
        call.onDelta?.(part.type === 'text-delta' ? 'text_delta' : 'reasoning_delta', part.delta);
      }
    }
  } catch (error) {
    throw failure ?? error;
  } finally {
    clearTimeout(patience);
    call.signal.removeEventListener('abort', stop);
    stop();
  }
  const result = collected.result(response?.headers);
  if (failure === undefined && (result.finishReason.unified !== 'interrupted' || shown.any)) return result;
  if (shown.any || result.usage.inputTokens.total !== undefined) await call.onFailedAnswer?.(result);
  throw failure ?? Object.assign(new Error(ENDED_EARLY), { isRetryable: true });
}

/** How long to wait before another try, or undefined when another try is no use. */
function retryDelay(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof Error) || error instanceof PocketError) return undefined;
  if (!isRetryable(error, attempt)) return undefined;
  const asked = retryAfterMs(error);
  if (asked !== undefined) return asked <= LONGEST_WAIT_MS ? asked : undefined;
  const exponential = 500 * 2 ** (attempt - 1);
  return Math.min(exponential, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2);
}

/** A server that restarts is back soon. */
const ONCE_AGAIN = /ECONNREFUSED|ConnectTimeoutError|Connect Timeout/;

function isRetryable(error: Error, attempt: number): boolean {
  const text = errorText(error);
  if (/ENOTFOUND|bad port/.test(text) || wasSilent(error) || (ONCE_AGAIN.test(text) && attempt > 1)) return false;
  // a gateway that is down also sends a page, but a web server without this address (4xx, 501) always will
  const status = statusOf(error);
  if (isHtml(error) && ((status ?? 0) < 500 || status === 501)) return false;
  const facts = errorFact(error, 'responseBody', 'code', 'type');
  // the same status for "slow down" and for what no waiting changes: no credit left, a request above the limit
  if (/insufficient_quota/.test(facts) || /request too large|requested more tokens/i.test(`${text} ${facts}`))
    return false;
  // a provider knows best: an answer that broke off has status 200 and is worth another try
  if ('isRetryable' in error && typeof error.isRetryable === 'boolean') return error.isRetryable;
  if (status !== undefined) return status === 408 || status === 409 || status === 429 || status >= 500;
  return /fetch failed|network|socket|ECONN|ETIMEDOUT|EPIPE|EAI_AGAIN|terminated|overloaded|rate.?limit|server_error/i.test(
    `${text} ${errorFact(error, 'type', 'code')}`,
  );
}

function errorFact(error: object, ...names: string[]): string {
  return names.map((name) => String(Reflect.get(error, name) ?? '')).join(' ');
}

function modelError(model: LanguageModelV4, error: unknown, attempts: number, text: string): unknown {
  if (error instanceof PocketError) {
    redactError(error.cause);
    return error;
  }
  const tries = attempts > 1 ? ` after ${attempts} attempts` : '';
  const status = statusOf(error);
  const refused = refusalOf(error);
  const said = `${providerErrorText(error)}${billedNote(error)}`;
  const reason = refused ? `${said.replace(/\.?$/, '.')} ${wayOutOf(refused, model)}` : said;
  redactError(error);
  return new PocketError('MODEL_FAILED', `Model ${nameOf(model)} failed${tries}: ${reason}`, {
    cause: error,
    details: {
      attempts,
      ...(status === undefined ? {} : { statusCode: status }),
      ...(refused ? { refused } : {}),
      ...(text ? { text } : {}),
    },
  });
}

function billedNote(error: unknown): string {
  if (!wasSilent(error)) return '';
  return '. The server was silent for five minutes and may have been working; use streaming for answers that take that long';
}
