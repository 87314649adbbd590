// Assembles the parts of a stream into the answer that doGenerate would have returned.
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { streamError } from './provider-errors.ts';

type Part<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>;
type Growing = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>;
type Metadata = Growing['providerMetadata'];

const noUsage: LanguageModelV4GenerateResult['usage'] = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

export class StreamCollector {
  readonly #content: LanguageModelV4Content[] = [];
  // ids are unique among texts and among reasonings, not among both
  readonly #growing = { text: new Map<string, Growing>(), reasoning: new Map<string, Growing>() };
  #warnings: LanguageModelV4GenerateResult['warnings'] = [];
  #metadata: Omit<Part<'response-metadata'>, 'type'> | undefined;
  #finish: Part<'finish'> | undefined;
  #endedEarly = false;

  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
        this.#start('text', part);
        break;
      case 'reasoning-start':
        this.#start('reasoning', part);
        break;
      case 'text-delta':
        this.#grow('text', part, part.delta);
        break;
      case 'reasoning-delta':
        this.#grow('reasoning', part, part.delta);
        break;
      case 'text-end':
        this.#grow('text', part, '');
        break;
      case 'reasoning-end':
        this.#grow('reasoning', part, '');
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

  #start(type: Growing['type'], part: { id: string; providerMetadata?: Metadata }): Growing {
    const block: Growing = { type, text: '' };
    if (part.providerMetadata) block.providerMetadata = part.providerMetadata;
    this.#growing[type].set(part.id, block);
    this.#content.push(block);
    return block;
  }

  #grow(type: Growing['type'], part: { id: string; providerMetadata?: Metadata }, delta: string): void {
    const block = this.#growing[type].get(part.id) ?? this.#start(type, part);
    block.text += delta;
    if (part.providerMetadata) block.providerMetadata = part.providerMetadata;
  }
}
