// How long prompts are and may be, for each model: estimates are corrected by what providers report and reject.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { isPocketError } from '@pocket-agent/kit';
import { contextWindowOf } from '../cost/prices.ts';
import { failureOf } from '../model/failure.ts';
import type { ModelResponse } from '../model/model-call.ts';
import { providerErrorText } from '../model/provider-errors.ts';
import { modelName } from '../providers/model-names.ts';

/** Beyond these, a provider counts something else, for example only tokens that were not cached. */
const MIN_FACTOR = 0.5;
const MAX_FACTOR = 3;
/** Smaller numbers in an error are not a context window. */
const MIN_WINDOW = 256;

export function isContextOverflow(error: unknown): boolean {
  return failureOf(providerError(error)).kind === 'context-window';
}

function providerError(error: unknown): unknown {
  return isPocketError(error) && error.cause !== undefined ? providerError(error.cause) : error;
}

export class ContextWindows {
  /** Tokens of the provider for one estimated token, by name of the model: a model object may stand for several. */
  readonly #factors = new Map<string, number>();
  /** Windows that are smaller than the price table says, or not in it. */
  readonly #learned = new Map<string, number>();
  /** The model that answered last for a router. */
  #routed: Pick<LanguageModelV4, 'provider' | 'modelId'> | undefined;

  factor(model: LanguageModelV4): number {
    return this.#factors.get(modelName(model)) ?? 1;
  }

  /** In tokens; undefined if it is unknown. */
  async window(model: LanguageModelV4): Promise<number | undefined> {
    const answering = model.provider === 'router' ? this.#routed : model;
    const listed = answering && (await contextWindowOf(answering));
    const learned = this.#learned.get(modelName(model));
    return listed === undefined || learned === undefined ? (listed ?? learned) : Math.min(listed, learned);
  }

  /** `estimated`: the input tokens without the factor. */
  learn(model: LanguageModelV4, estimated: number, { usage, providerMetadata }: ModelResponse): void {
    const factor = (usage.inputTokens?.total ?? 0) / estimated;
    if (factor >= MIN_FACTOR && factor <= MAX_FACTOR) this.#factors.set(modelName(model), factor);
    const { provider, modelId } = providerMetadata?.router ?? {};
    if (typeof provider === 'string' && typeof modelId === 'string') this.#routed = { provider, modelId };
  }

  /** The provider said that a prompt of `estimated` tokens is too long, and often also what fits. */
  learnOverflow(model: LanguageModelV4, estimated: number, error: unknown): void {
    const name = modelName(model);
    const { window, counted } = numbersIn(providerErrorText(providerError(error)));
    if (window === undefined) {
      this.#learned.set(name, Math.ceil(estimated * this.factor(model)));
      return;
    }
    this.#learned.set(name, window);
    const factor = (counted ?? window) / estimated;
    if (factor > this.factor(model)) this.#factors.set(name, Math.min(factor, MAX_FACTOR));
  }
}

/** As OpenAI, Anthropic, Google, xAI, vLLM and llama.cpp word it: "maximum context length is 8192 tokens", "… > 200000 maximum". */
function numbersIn(text: string): { window?: number; counted?: number } {
  const [, number] = />\s*(\d[\d,]*)/.exec(text) ?? /(?:maximum|available|limit)\D{0,60}?(\d[\d,]*)/i.exec(text) ?? [];
  const window = number === undefined ? 0 : toNumber(number);
  if (window < MIN_WINDOW) return {};
  const larger = [...text.matchAll(/\d[\d,]*/g)].map(([digits]) => toNumber(digits)).filter((each) => each > window);
  return larger.length > 0 ? { window, counted: Math.min(...larger) } : { window };
}

function toNumber(digits: string): number {
  return Number(digits.replaceAll(',', ''));
}
