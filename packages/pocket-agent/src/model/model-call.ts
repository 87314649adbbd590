// One call of a model, whole or streamed, with retries. The answer is the same either way.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import {
  abortable,
  backoffMs,
  delay,
  errorText,
  onAbort,
  PocketError,
  readableError,
  redactError,
} from '@pocket-agent/kit';
import { adviceAfterRejection, modelName } from '../providers/model-names.ts';
import { inModelSpan, type TracedModelCall } from '../tracing/model-span.ts';
import { tagPart, untagPart } from './account-parts.ts';
import { failureOf, isPermanent, isWorthRetrying } from './failure.ts';
import { withGroundedSearch } from './grounded-search.ts';
import { learnFromRejection, MAX_REJECTIONS, requestFor } from './model-request.ts';
import { refuseEmpty, StreamCollector, startModelStream } from './model-stream.ts';
import { providerErrorText, rejectionOf, retryAfterMs, statusOf, wasSilent } from './provider-errors.ts';

/** The answer of a model, before it becomes a message. */
export type ModelResponse = Pick<
  LanguageModelV4GenerateResult,
  'content' | 'finishReason' | 'usage' | 'warnings' | 'providerMetadata' | 'response'
>;

/** A piece of the arguments of a tool call, while the model writes them. */
export type ToolInputPart = Extract<LanguageModelV4StreamPart, { type: 'tool-input-start' | 'tool-input-delta' }>;

/** A tool call that the provider runs itself, or its result. */
export type ExecutedPart = Extract<LanguageModelV4StreamPart, { type: 'tool-call' | 'tool-result' }>;

interface ModelRetry {
  attempt: number;
  delayMs: number;
  reason: string;
}

export interface ModelCall extends TracedModelCall {
  model: LanguageModelV4;
  options: LanguageModelV4CallOptions;
  signal: AbortSignal;
  /** Whether the prompt contains files by URL. They are downloaded for providers that do not fetch them. */
  hasUrls?: boolean;
  /** How often a failed call is retried. */
  maxRetries: number;
  onRetry(retry: ModelRetry): void;
  /** The provider rejected a part of the request, and is asked again without it. */
  onRejection?(leftOut: string, reason: string): void;
  /** A failed attempt that is billed nevertheless. */
  onFailedAnswer?(answer: ModelResponse): Promise<unknown>;
  /** If set, the model streams, and every piece of text and reasoning is passed on as it arrives. */
  onDelta?: ((type: 'text_delta' | 'reasoning_delta', delta: string) => void) | undefined;
  /** Gets the calls that the provider runs, and their results, as a stream reports them. */
  onExecuted?: ((part: ExecutedPart) => void) | undefined;
  /** Gets each request before it is sent. The function that it returns gets the answer. */
  onRequest?:
    | ((model: LanguageModelV4, request: LanguageModelV4CallOptions) => (answer: Promise<ModelResponse>) => void)
    | undefined;
  /** Gets the arguments of tool calls as they arrive. A failed attempt may be repeated, and they begin again. */
  onToolInput?: (part: ToolInputPart) => void;
}

const FIRST_RETRY_DELAY_MS = 500;
const MAX_RETRY_DELAY_MS = 60_000;
/** How long to wait for the usage of a stream that has failed. */
const USAGE_WAIT_MS = 1_000;
const ENDED_EARLY = 'The stream of the model ended before the answer was complete.';
const EMPTY_STREAM = 'The server sent an empty stream. Check the base URL and the model, or try again later.';
const MALFORMED_CALL = 'The model wrote a tool call that its provider could not read.';

export function callModel(call: ModelCall): Promise<ModelResponse> {
  return inModelSpan(call, askModel);
}

async function askModel(call: ModelCall): Promise<ModelResponse> {
  const options = { ...call.options, abortSignal: call.signal };
  if (call.hasUrls) {
    const allowPrivate = process.env.POCKET_AGENT_ALLOW_PRIVATE_URLS === '1';
    const { inlineFiles } = await import('./remote-files.ts');
    options.prompt = await inlineFiles(options.prompt, call.model, { signal: call.signal, allowPrivate });
  }
  let rejections = 0;
  for (let attempt = 1; ; attempt++) {
    const shown = { text: '', any: false };
    const request = requestFor(call.model, options);
    const onAnswer = call.onRequest?.(call.model, request);
    try {
      const answering = answerOf(call, request, shown);
      onAnswer?.(answering);
      const response = await answering;
      if (!isMalformed(response, shown.any) || attempt > call.maxRetries)
        return withTaggedParts(withGroundedSearch(response, request), call.model);
      await call.onFailedAnswer?.(response);
      throw Object.assign(new Error(MALFORMED_CALL), { isRetryable: true });
    } catch (thrown) {
      call.signal.throwIfAborted();
      const error = readableError(thrown);
      const leftOut = shown.any ? undefined : learnFromRejection({ model: call.model, error, request });
      if (leftOut !== undefined && rejections++ < MAX_REJECTIONS) {
        call.onRejection?.(leftOut, providerErrorText(error));
        attempt--;
        continue;
      }
      const delayMs = retryDelay(error, attempt);
      // shown text cannot be taken back, and a search may be billed: a stream is retried only before either
      if (delayMs === undefined || attempt > call.maxRetries || shown.any) {
        throw modelError(error, { model: call.model, attempts: attempt, text: shown.text });
      }
      call.onRetry({ attempt, delayMs, reason: providerErrorText(error) });
      await delay(delayMs, call.signal);
    }
  }
}

/** Gemini returns an empty answer if the model wrote a tool call that cannot be parsed. */
function isMalformed({ finishReason, content }: ModelResponse, wasShown: boolean): boolean {
  if (wasShown || content.some((part) => part.type === 'text' || part.type === 'tool-call')) return false;
  return finishReason.raw === 'MALFORMED_FUNCTION_CALL';
}

/** Tags the parts that only this account can read back. A provider may not have stored an unfinished answer. */
function withTaggedParts(response: ModelResponse, model: LanguageModelV4): ModelResponse {
  const { unified } = response.finishReason;
  const isStored = unified === 'stop' || unified === 'tool-calls';
  if (isStored && model.provider === 'router') return response; // tagged by its deployment
  const content = response.content.map((part) => (isStored ? tagPart(part, model) : untagPart(part)));
  return { ...response, content };
}

async function answerOf(
  call: ModelCall,
  request: LanguageModelV4CallOptions,
  shown: { text: string; any: boolean },
): Promise<ModelResponse> {
  if (call.onDelta) return streamed(call, request, shown);
  return refuseEmpty(await abortable(call.model.doGenerate(request), call.signal));
}

async function streamed(
  call: ModelCall,
  options: LanguageModelV4CallOptions,
  shown: { text: string; any: boolean },
): Promise<ModelResponse> {
  const { stream, response } = await abortable(startModelStream(call.model, options), call.signal);
  const reader = stream.getReader();
  const collected = new StreamCollector();
  // cancelling the reader also ends a stream whose model ignores the signal
  const stop = () => void reader.cancel(call.signal.reason).catch(() => {});
  const release = onAbort(call.signal, stop);
  let failure: unknown;
  let usageTimer: NodeJS.Timeout | undefined;
  try {
    for (;;) {
      const { value: part, done } = await reader.read();
      call.signal.throwIfAborted();
      if (done) break;
      try {
        collected.add(part);
      } catch (error) {
        // the usage is the last part, if it arrives at all
        failure ??= error;
        usageTimer ??= setTimeout(stop, USAGE_WAIT_MS);
      }
      // some deltas have no text, only metadata
      if ((part.type === 'text-delta' || part.type === 'reasoning-delta') && part.delta !== '') {
        shown.any = true;
        if (part.type === 'text-delta') shown.text += part.delta;
        call.onDelta?.(part.type === 'text-delta' ? 'text_delta' : 'reasoning_delta', part.delta);
      } else if (call.onToolInput && (part.type === 'tool-input-start' || part.type === 'tool-input-delta')) {
        call.onToolInput(part);
      } else if (call.onExecuted && isExecuted(part)) {
        shown.any = true;
        call.onExecuted(part);
      }
    }
  } catch (error) {
    throw failure ?? error;
  } finally {
    clearTimeout(usageTimer);
    release();
    stop();
  }
  const result = collected.result(response?.headers);
  if (failure === undefined && (result.finishReason.unified !== 'interrupted' || shown.any)) return result;
  if (shown.any || result.usage.inputTokens.total !== undefined) await call.onFailedAnswer?.(result);
  throw failure ?? Object.assign(new Error(collected.isEmpty ? EMPTY_STREAM : ENDED_EARLY), { isRetryable: true });
}

function isExecuted(part: LanguageModelV4StreamPart): part is ExecutedPart {
  if (part.type === 'tool-result') return !part.preliminary;
  return part.type === 'tool-call' && part.providerExecuted === true;
}

/** How long to wait before the next attempt; undefined if the call must not be retried. */
function retryDelay(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof Error) || error instanceof PocketError) return undefined;
  if (!isRetryable(error, attempt)) return undefined;
  const requested = retryAfterMs(error);
  if (requested !== undefined) return requested <= MAX_RETRY_DELAY_MS ? requested : undefined;
  return backoffMs(attempt - 1, { firstMs: FIRST_RETRY_DELAY_MS, maxMs: MAX_RETRY_DELAY_MS });
}

/** Retried only once: a server that restarts is back soon. */
const NOT_CONNECTED = /ECONNREFUSED|ConnectTimeoutError|Connect Timeout/;

function isRetryable(error: Error, attempt: number): boolean {
  const text = errorText(error);
  if (/ENOTFOUND|bad port/.test(text) || wasSilent(error) || (NOT_CONNECTED.test(text) && attempt > 1)) return false;
  const { kind } = failureOf(error);
  if (isPermanent(kind) || kind === 'context-window') return false;
  // the provider package decides first: an answer that broke off has status 200 and is retryable
  if ('isRetryable' in error && typeof error.isRetryable === 'boolean') return error.isRetryable;
  return isWorthRetrying(kind);
}

interface FailedCall {
  model: LanguageModelV4;
  attempts: number;
  /** The text of the answer that was shown. */
  text: string;
}

function modelError(error: unknown, { model, attempts, text }: FailedCall): unknown {
  if (error instanceof PocketError) {
    redactError(error.cause);
    return error;
  }
  const tries = attempts > 1 ? ` after ${attempts} attempts` : '';
  const status = statusOf(error);
  const rejected = rejectionOf(error);
  const said = `${providerErrorText(error)}${billedNote(error)}`;
  const reason = rejected ? `${said.replace(/\.?$/, '.')} ${adviceAfterRejection(rejected, model)}` : said;
  redactError(error);
  return new PocketError('MODEL_FAILED', `Model ${modelName(model)} failed${tries}: ${reason}`, {
    cause: error,
    details: {
      attempts,
      ...(status === undefined ? {} : { statusCode: status }),
      ...(rejected ? { refused: rejected } : {}),
      ...(text ? { text } : {}),
    },
  });
}

function billedNote(error: unknown): string {
  if (!wasSilent(error)) return '';
  return '. The server sent nothing for five minutes and may bill the call; use streaming for answers that take this long';
}
