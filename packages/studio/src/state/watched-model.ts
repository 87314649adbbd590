// The model of a chat. It can be replaced between runs, and reports each request with its answer.
import { randomUUID } from 'node:crypto';
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { errorText } from '@pocket-agent/kit';
import type { LanguageModel } from 'pocket-agent';
import { currentRun } from 'pocket-agent/internal';
import type { ModelCallDetails, ModelCallInfo } from '../wire/wire.ts';

export interface WatchedModelOptions {
  chatId: string;
  model: LanguageModel;
  /** When a call begins, and when it ends. */
  onCall(call: ModelCallDetails): void;
}

export class WatchedModel implements LanguageModel {
  readonly specificationVersion = 'v4';
  current: LanguageModel;
  readonly #chatId: string;
  readonly #onCall: WatchedModelOptions['onCall'];

  constructor({ chatId, model, onCall }: WatchedModelOptions) {
    this.#chatId = chatId;
    this.current = model;
    this.#onCall = onCall;
  }

  get provider(): string {
    return this.current.provider;
  }

  get modelId(): string {
    return this.current.modelId;
  }

  get supportedUrls(): LanguageModel['supportedUrls'] {
    return this.current.supportedUrls;
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    const call = this.#begin(options);
    try {
      const result = await this.current.doGenerate(options);
      const { content, finishReason, usage, providerMetadata } = result;
      this.#end(call, { content, finishReason, usage }, providerMetadata);
      return result;
    } catch (error) {
      this.#fail(call, error);
      throw error;
    }
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const call = this.#begin(options);
    try {
      const result = await this.current.doStream(options);
      const answer = new StreamedAnswer();
      const watcher = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
        transform(part, controller) {
          answer.add(part);
          controller.enqueue(part);
        },
        flush: () => this.#end(call, answer.read(), answer.metadata),
        cancel: (reason: unknown) => this.#fail(call, reason, answer.read()),
      });
      const failed = (error: unknown) => this.#fail(call, error, answer.read());
      return { ...result, stream: withFailure(result.stream, failed).pipeThrough(watcher) };
    } catch (error) {
      this.#fail(call, error);
      throw error;
    }
  }

  #begin({
    prompt,
    tools,
    abortSignal: _signal,
    headers: _secret,
    ...settings
  }: LanguageModelV4CallOptions): ModelCallDetails {
    const runId = currentRun()?.shared.runId;
    const { provider, modelId } = this.current;
    const call: ModelCallDetails = {
      ...{ id: randomUUID(), chatId: this.#chatId, model: `${provider}/${modelId}`, startedAt: Date.now() },
      ...(runId === undefined ? {} : { runId }),
      ...{ prompt, tools: tools ?? [], settings, answer: undefined },
    };
    this.#onCall(call);
    return call;
  }

  #end(call: ModelCallDetails, answer: unknown, metadata?: Metadata): void {
    if (call.endedAt !== undefined) return;
    call.endedAt = Date.now();
    call.answer = answer;
    Object.assign(call, routeIn(metadata));
    this.#onCall(call);
  }

  #fail(call: ModelCallDetails, error: unknown, answer?: unknown): void {
    if (call.endedAt === undefined) call.error = errorText(error);
    this.#end(call, answer);
  }
}

type Metadata = LanguageModelV4GenerateResult['providerMetadata'];

/** What a router reports of a call. */
function routeIn(metadata: Metadata): Pick<ModelCallInfo, 'deployment' | 'waitedMs'> {
  const { deployment, waitedMs } = metadata?.router ?? {};
  return {
    ...(typeof deployment === 'string' ? { deployment } : {}),
    ...(typeof waitedMs === 'number' ? { waitedMs } : {}),
  };
}

/** Reports an error of the stream. A pipe would only pass it on. */
function withFailure<Part>(stream: ReadableStream<Part>, failed: (error: unknown) => void): ReadableStream<Part> {
  const reader = stream.getReader();
  return new ReadableStream<Part>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        failed(error);
        controller.error(error);
      }
    },
    cancel: (reason: unknown) => reader.cancel(reason),
  });
}

/** Collects a stream into the answer that a call without streaming returns. */
class StreamedAnswer {
  readonly #content: object[] = [];
  readonly #texts = new Map<string, { type: string; text: string }>();
  #end: object = {};
  metadata: Metadata;

  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-delta':
      case 'reasoning-delta':
        this.#text(`${part.type} ${part.id}`, part.type === 'text-delta' ? 'text' : 'reasoning').text += part.delta;
        break;
      case 'tool-call':
      case 'tool-result':
      case 'source':
        this.#content.push(part);
        break;
      case 'finish':
        this.#end = { finishReason: part.finishReason, usage: part.usage };
        this.metadata = part.providerMetadata;
        break;
      case 'error':
        this.#end = { error: errorText(part.error) };
    }
  }

  read(): object {
    return { content: this.#content, ...this.#end };
  }

  #text(key: string, type: string): { text: string } {
    let text = this.#texts.get(key);
    if (!text) {
      text = { type, text: '' };
      this.#texts.set(key, text);
      this.#content.push(text);
    }
    return text;
  }
}

/** Without prompt and answer; the page fetches these when the call is selected. */
export function infoOf({ prompt: _p, tools: _t, settings: _s, answer: _a, ...info }: ModelCallDetails): ModelCallInfo {
  return { ...info };
}
