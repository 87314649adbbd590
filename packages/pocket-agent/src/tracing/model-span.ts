// The span of one call of a model, retries included, and the spans of the attempts that a router makes for it.

import type { LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import {
  type CurrentSpan,
  currentSpan,
  errorTypeOf,
  hasTelemetry,
  inSpan,
  recordValue,
  type SpanAttributes,
  startSpan,
} from '@pocket-agent/kit';
import type { TracedContent } from './content.ts';
import { inputMessages, instructionsIn, outputMessage } from './model-content.ts';
import { providerName } from './names.ts';

export interface TracedModel {
  readonly provider: string;
  readonly modelId: string;
}

/** The part of a model call that its span shows. */
export interface TracedModelCall {
  model: TracedModel;
  options: LanguageModelV4CallOptions;
  /** Set if the span may show the conversation. */
  content?: TracedContent | undefined;
  onRetry(retry: { attempt: number; delayMs: number; reason: string }): void;
  onDelta?: ((type: 'text_delta' | 'reasoning_delta', delta: string) => void) | undefined;
}

type Answer = Pick<
  LanguageModelV4GenerateResult,
  'content' | 'finishReason' | 'usage' | 'providerMetadata' | 'response'
>;

const OPERATION = { 'gen_ai.operation.name': 'chat' };

const tokenUsage = {
  name: 'gen_ai.client.token.usage',
  unit: '{token}',
  description: 'Number of input and output tokens used',
  buckets: Array.from({ length: 14 }, (_, power) => 4 ** power),
};
const duration = {
  name: 'gen_ai.client.operation.duration',
  unit: 's',
  description: 'GenAI operation duration',
  buckets: Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power),
};
const cost = {
  name: 'pocket_agent.client.cost',
  unit: 'USD',
  description: 'Cost of model calls in US dollars',
  buckets: [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
};

/** `work` gets the call with listeners for what the span shows. */
export function inModelSpan<Call extends TracedModelCall, Result extends Answer>(
  call: Call,
  work: (call: Call) => Promise<Result>,
): Promise<Result> {
  if (!hasTelemetry()) return work(call);
  return inSpan(
    () => ({
      name: `chat ${call.model.modelId}`,
      kind: 'client',
      attributes: { ...modelAttributes(call.model), ...requestAttributes(call) },
      showsErrors: true,
    }),
    (span) => (span ? observed(span, call, work) : work(call)),
  );
}

async function observed<Call extends TracedModelCall, Result extends Answer>(
  span: CurrentSpan,
  call: Call,
  work: (call: Call) => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1_000;
  const { onDelta } = call;
  let isFirst = true;
  const watched: Call = {
    ...call,
    onRetry: (retry) => {
      const { attempt, delayMs, reason } = retry;
      span.event('pocket_agent.model.retry', { attempt, delay_ms: Math.round(delayMs), reason });
      call.onRetry(retry);
    },
    onDelta:
      onDelta &&
      ((type: 'text_delta' | 'reasoning_delta', delta: string) => {
        if (isFirst) span.set({ 'gen_ai.response.time_to_first_chunk': seconds() });
        isFirst = false;
        onDelta(type, delta);
      }),
  };
  let about = modelAttributes(call.model);
  try {
    const answer = await work(watched);
    about = { ...about, ...answeringModel(answer) };
    span.set({ ...about, ...answerAttributes(answer, call.content) });
    recordTokens(answer, about);
    return answer;
  } catch (error) {
    about = { ...about, 'error.type': errorTypeOf(error) };
    throw error;
  } finally {
    recordValue(duration, seconds(), about);
  }
}

function modelAttributes({ provider, modelId }: TracedModel): SpanAttributes {
  return { ...OPERATION, 'gen_ai.provider.name': providerName(provider), 'gen_ai.request.model': modelId };
}

function requestAttributes({ options, content, onDelta }: TracedModelCall): SpanAttributes {
  const { prompt, responseFormat } = options;
  return {
    'gen_ai.request.stream': onDelta ? true : undefined,
    'gen_ai.request.max_tokens': options.maxOutputTokens,
    'gen_ai.request.temperature': options.temperature,
    'gen_ai.request.top_p': options.topP,
    'gen_ai.request.top_k': options.topK,
    'gen_ai.request.seed': options.seed,
    'gen_ai.request.frequency_penalty': options.frequencyPenalty,
    'gen_ai.request.presence_penalty': options.presencePenalty,
    'gen_ai.request.stop_sequences': content && options.stopSequences,
    'gen_ai.output.type': responseFormat && responseFormat.type === 'json' ? 'json' : undefined,
    'gen_ai.system_instructions': content?.list(instructionsIn(prompt)),
    'gen_ai.input.messages': content?.list(inputMessages(prompt)),
  };
}

/** The model that answered; a router reports which one it was. */
function answeringModel({ response, providerMetadata }: Answer): SpanAttributes {
  const { provider, modelId } = providerMetadata?.router ?? {};
  const isRouted = typeof provider === 'string' && typeof modelId === 'string';
  return {
    ...(isRouted ? { 'gen_ai.provider.name': providerName(provider) } : {}),
    'gen_ai.response.model': response?.modelId ?? (isRouted ? modelId : undefined),
  };
}

function answerAttributes(answer: Answer, content: TracedContent | undefined): SpanAttributes {
  const { usage, finishReason, response } = answer;
  const { inputTokens, outputTokens } = usage;
  return {
    'gen_ai.response.id': response?.id,
    'gen_ai.response.finish_reasons': [finishReason.unified],
    'gen_ai.usage.input_tokens': inputTokens?.total,
    'gen_ai.usage.output_tokens': outputTokens?.total,
    'gen_ai.usage.cache_read.input_tokens': inputTokens?.cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': inputTokens?.cacheWrite,
    'gen_ai.usage.reasoning.output_tokens': outputTokens?.reasoning,
    'gen_ai.output.messages': content?.list([outputMessage(answer.content, finishReason.unified)]),
  };
}

function recordTokens({ usage }: Answer, about: SpanAttributes): void {
  const counts = { input: usage.inputTokens?.total, output: usage.outputTokens?.total };
  for (const [type, count] of Object.entries(counts))
    if (count !== undefined) recordValue(tokenUsage, count, { ...about, 'gen_ai.token.type': type });
}

/** The cost is known when the ledger has recorded the call. */
export function recordCost(model: TracedModel, costUsd: number | undefined): void {
  if (costUsd !== undefined) recordValue(cost, costUsd, modelAttributes(model));
}

/** A request that a router sends to one deployment. */
interface RoutedAttempt {
  model: TracedModel;
  modelName: string;
  deployment: string;
  waitedMs: number;
}

/** The attempt ends with `succeeded` or `failed`, for a stream later than the call of the model. */
export class AttemptSpan {
  readonly #span: ReturnType<typeof startSpan>;

  constructor({ model, modelName, deployment, waitedMs }: RoutedAttempt) {
    this.#span = startSpan({
      name: `attempt ${deployment}`,
      kind: 'client',
      attributes: {
        'gen_ai.provider.name': providerName(model.provider),
        'gen_ai.request.model': model.modelId,
        'pocket_agent.router.model': modelName,
        'pocket_agent.router.deployment': deployment,
        'pocket_agent.router.waited_ms': Math.round(waitedMs),
      },
    });
  }

  within<Value>(work: () => Value): Value {
    return this.#span ? this.#span.within(work) : work();
  }

  succeeded(): void {
    this.#span?.end();
  }

  failed(kind: string, reason: string): void {
    this.#span?.fail(kind, reason);
    this.#span?.end();
  }
}

/** A router turns to another model. */
export function noteFallback(fallback: { from: string; to: string; reason: string }): void {
  currentSpan()?.event('pocket_agent.router.fallback', fallback);
}
