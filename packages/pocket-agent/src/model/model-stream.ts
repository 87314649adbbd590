// Assembles the parts of a stream into the answer that doGenerate would have returned.
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { streamError } from './provider-errors.ts';

type Part<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>;
type BlockPart = Part<`${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`>;
type Block = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>;

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
        // some packages report this in place of the finish reason `interrupted`
        if (!/ended without a finish reason/.test(error.message)) throw error;
        this.#endedEarly = true;
        break;
      }
    }
  }

  result(headers: Record<string, string> | undefined): LanguageModelV4GenerateResult {
    const { finishReason, usage = noUsage, providerMetadata } = this.#finish ?? {};
    const isWhole = finishReason !== undefined && !this.#endedEarly;
    return {
      content: this.#content,
      finishReason: isWhole ? finishReason : { unified: 'interrupted', raw: undefined },
      usage,
      warnings: this.#warnings,
      ...(providerMetadata ? { providerMetadata } : {}),
      response: { ...this.#metadata, ...(headers ? { headers } : {}) },
    };
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
