// Starts the stream of a model, and assembles its parts into the answer that doGenerate would have returned.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { isRecord, recordsIn } from '@pocket-agent/kit';
import { streamOf } from '../base/stream-parts.ts';
import { contentTypeOf, refuseHtml, streamError } from './provider-errors.ts';

type Part<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>;
type BlockPart = Part<`${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`>;
type PartReader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>;
type Block = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>;

/** Stands for a value of another type than an answer. */
const noAnswer: Partial<LanguageModelV4GenerateResult> = {};
const noUsage: LanguageModelV4GenerateResult['usage'] = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

export class StreamCollector {
  readonly #content: LanguageModelV4Content[] = [];
  readonly #blocks = new Map<string, Block>();
  #warnings: LanguageModelV4GenerateResult['warnings'] = [];
  #metadata: Omit<Part<'response-metadata'>, 'type'> | undefined;
  #finish: Part<'finish'> | undefined;
  #endedEarly = false;

  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
      case 'text-end':
      case 'reasoning-end':
        this.#block(part);
        break;
      case 'text-delta':
      case 'reasoning-delta':
        this.#block(part).text += part.delta;
        break;
      case 'tool-result':
        if (!part.preliminary) this.#content.push(part); // such as a preview of an image
        break;
      case 'tool-call':
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
      case 'response-metadata': {
        const { type: _, ...metadata } = part;
        this.#metadata = metadata;
        break;
      }
      case 'finish':
        this.#finish = part;
        break;
      case 'error': {
        const error = streamError(part.error);
        // some packages report this instead of the finish reason `interrupted`
        if (!/ended without a finish reason/.test(error.message)) throw error;
        this.#endedEarly = true;
        break;
      }
    }
  }

  /** Whether the server has sent nothing. */
  get isEmpty(): boolean {
    return this.#content.length === 0 && this.#metadata === undefined;
  }

  result(headers: Record<string, string> | undefined): LanguageModelV4GenerateResult {
    const { finishReason, usage = noUsage, providerMetadata } = this.#finish ?? {};
    const isWhole = this.#finish !== undefined && !isCutOff(this.#finish) && !this.#endedEarly;
    return checkedAnswer({
      content: this.#content,
      finishReason: isWhole && finishReason ? finishReason : { unified: 'interrupted', raw: undefined },
      usage,
      warnings: this.#warnings,
      ...(providerMetadata ? { providerMetadata } : {}),
      response: { ...this.#metadata, ...(headers ? { headers } : {}) },
    });
  }

  /** The text or reasoning that a part belongs to. */
  #block({ type, id, providerMetadata }: BlockPart): Block {
    const [kind, phase] = type.split('-') as [Block['type'], string];
    const key = `${kind} ${id}`; // ids are unique among texts and among reasonings, not among both
    const known = phase === 'start' ? undefined : this.#blocks.get(key);
    const block: Block = known ?? { type: kind, text: '' };
    if (!known) {
      this.#blocks.set(key, block);
      this.#content.push(block);
    }
    if (providerMetadata) block.providerMetadata = providerMetadata;
    return block;
  }
}

/** Whether the server did not say how its answer ended. Some packages report `other` then. */
export function isCutOff({
  finishReason,
  usage,
}: Pick<LanguageModelV4GenerateResult, 'finishReason' | 'usage'>): boolean {
  if (finishReason.unified === 'interrupted') return true;
  return finishReason.unified === 'other' && finishReason.raw === undefined && usage.outputTokens.total === undefined;
}

/** The answer, unless the server answered successfully with nothing. */
export function refuseEmpty(given: LanguageModelV4GenerateResult): LanguageModelV4GenerateResult {
  const answer = checkedAnswer(given);
  if (answer.content.length > 0 || !isCutOff(answer)) return answer;
  throw Object.assign(new Error('the server sent an empty answer. Check the base URL.'), { isRetryable: false });
}

/** A model object of a program may leave out usage and warnings. An answer without a list of parts fails the call. */
function checkedAnswer(answer: LanguageModelV4GenerateResult): LanguageModelV4GenerateResult {
  const { content, finishReason, usage, warnings } = isRecord(answer) ? answer : noAnswer;
  // a copy, because `every` skips the holes of a list
  const isWhole = Array.isArray(content) && Array.from(content).every(isPart) && isRecord(finishReason);
  if (!isWhole) {
    const text =
      'its model object did not return { content: [ parts ], finishReason: { unified, raw }, usage, warnings }.';
    throw Object.assign(new Error(text), { isRetryable: false });
  }
  const hasUsage = isRecord(usage) && isRecord(usage.inputTokens) && isRecord(usage.outputTokens);
  return {
    ...answer,
    usage: hasUsage ? usage : noUsage,
    warnings: recordsIn(warnings) as LanguageModelV4GenerateResult['warnings'],
  };
}

function isPart(part: unknown): boolean {
  return isRecord(part) && typeof part.type === 'string';
}

/** Types that a stream does not have. */
const WHOLE_ANSWER = /^(?:application\/json\b|text\/plain\b|$)/i;
/** Models whose servers answer streaming requests with the whole answer as JSON. */
const notStreaming = new WeakSet<LanguageModelV4>();

/** Like doStream. A server that does not stream is asked for a whole answer, which then arrives at once. */
export async function startModelStream(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
): Promise<LanguageModelV4StreamResult> {
  if (!notStreaming.has(model)) {
    const result = await model.doStream(options);
    const { headers } = result.response ?? {};
    refuseHtml(headers);
    // the type may be wrong or missing, so the content decides
    if (!headers || !WHOLE_ANSWER.test(contentTypeOf(headers))) return result;
    const reader = result.stream.getReader();
    const held = await readToContent(reader);
    if (held) return { ...result, stream: resumedStream(held, reader) };
  }
  const answer = refuseEmpty(await model.doGenerate(options));
  notStreaming.add(model);
  const { request, response } = answer;
  return { stream: streamOf(answer), ...(request && { request }), ...(response && { response }) };
}

/** The parts up to the first of the answer; undefined if the stream has no such part. */
async function readToContent(reader: PartReader): Promise<LanguageModelV4StreamPart[] | undefined> {
  const held: LanguageModelV4StreamPart[] = [];
  for (;;) {
    const { value: part, done } = await reader.read();
    if (done) return undefined;
    held.push(part);
    if (!['stream-start', 'response-metadata', 'raw', 'finish', 'error'].includes(part.type)) return held;
  }
}

function resumedStream(
  held: readonly LanguageModelV4StreamPart[],
  reader: PartReader,
): LanguageModelV4StreamResult['stream'] {
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of held) controller.enqueue(part);
    },
    async pull(controller) {
      const { value, done } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
