// What a model call costs: own prices first, then the price table of @pydantic/genai-prices. Unknown is not free.
import type { LanguageModelV4, LanguageModelV4Usage } from '@ai-sdk/provider';
import { checkValue, isRecord, type OptionRule, OptionSet } from '@pocket-agent/kit';
import type { PriceCalculationResult } from '@pydantic/genai-prices';
import { count } from './usage.ts';

/** In USD for a million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
  /** Default: as `input`. */
  cachedInput?: number;
  /** Default: as `input`. */
  cacheWrite?: number;
}

/** By `provider/model` or by model alone. */
export type Prices = Readonly<Record<string, ModelPrice>>;

/** Where nobody was given any, which is most often, none are looked for. */
export const noPrices: Prices = {};

/** Whose models run on one's own machine. */
const free = ['pocket-agent', 'ollama'];
const NOTHING: ModelPrice = { input: 0, output: 0 };

const usd: OptionRule = {
  expected: 'a number, in USD for a million tokens',
  accepts: (value) => typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY,
};
const modelPrice = new OptionSet<ModelPrice>('A price', {
  input: usd,
  output: usd,
  cachedInput: usd,
  cacheWrite: usd,
});

/** A price that is none would make every cost none, and a budget in dollars would never be reached. */
export function checkPrices(prices: Prices): void {
  checkValue('prices', prices, {
    expected: 'an object such as { "model": { input: 3, output: 15 } }',
    accepts: isRecord,
  });
  for (const [model, price] of Object.entries(prices)) {
    checkPrice(`prices["${model}"]`, price);
  }
}

export function checkPrice(name: string, price: ModelPrice): void {
  checkValue(name, price, { expected: '{ input, output }, in USD for a million tokens', accepts: isRecord });
  modelPrice.check(price, name);
  for (const side of ['input', 'output'] as const) checkValue(`${name}.${side}`, price[side], usd);
}

type Identity = Pick<LanguageModelV4, 'provider' | 'modelId'>;
type PriceTable = typeof import('@pydantic/genai-prices');

let table: Promise<PriceTable> | undefined;
/** Models without a price in the table, by provider. */
const unknown = new Map<string, Set<string>>();

/** Undefined when nobody knows the price, or the provider did not say what was used. A promise only to look it up. */
export function costOf(
  model: Identity,
  usage: LanguageModelV4Usage,
  own: Prices = noPrices,
): number | undefined | Promise<number | undefined> {
  const input = count(usage.inputTokens?.total);
  const output = count(usage.outputTokens?.total);
  if (input === undefined || output === undefined) return undefined;
  // parts of the input, which some providers count beside it
  const cached = Math.min(count(usage.inputTokens.cacheRead) ?? 0, input);
  const written = Math.min(count(usage.inputTokens.cacheWrite) ?? 0, input - cached);
  const price = ownPrice(model, own);
  if (price) {
    const { cachedInput = price.input, cacheWrite = price.input } = price;
    const plain = input - cached - written;
    return (plain * price.input + cached * cachedInput + written * cacheWrite + output * price.output) / 1e6;
  }
  if (unknown.get(model.provider)?.has(model.modelId)) return undefined;
  return listCost(model, {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cached,
    cache_write_tokens: written,
  });
}

async function listCost(model: Identity, tokens: Record<string, number>): Promise<number | undefined> {
  const found = await lookUp(model, tokens);
  if (found) return found.total_price;
  const models = unknown.get(model.provider) ?? new Set();
  unknown.set(model.provider, models.add(model.modelId));
  return undefined;
}

/** A table that cannot price a call must not cost its answer. */
async function lookUp(model: Identity, tokens: Record<string, number>): Promise<PriceCalculationResult> {
  try {
    return (await priceTable()).calcPrice(tokens, model.modelId, { providerId: providerId(model) });
  } catch {
    return null;
  }
}

/** The price of a model in the table, for calls of ordinary length. */
export async function listPrice(model: Identity): Promise<ModelPrice | undefined> {
  const thousand = { input_tokens: 1_000, output_tokens: 1_000 };
  const found = await lookUp(model, thousand);
  return found ? { input: found.input_price * 1_000, output: found.output_price * 1_000 } : undefined;
}

/** Whether a budget in dollars can be kept with this model. */
export async function isPriced(model: Identity, own: Prices = noPrices): Promise<boolean> {
  return ownPrice(model, own) !== undefined || (await listPrice(model)) !== undefined;
}

function ownPrice(model: Identity, own: Prices): ModelPrice | undefined {
  const given = own === noPrices ? undefined : (own[`${providerId(model)}/${model.modelId}`] ?? own[model.modelId]);
  return given ?? (free.includes(providerId(model)) ? NOTHING : undefined);
}

/** `anthropic.messages` and `openai.responses` are spoken of as `anthropic` and `openai`. */
function providerId({ provider }: Identity): string {
  const end = provider.indexOf('.');
  return end < 0 ? provider : provider.slice(0, end);
}

/** Half a megabyte of prices, loaded when the first call has been paid for. */
function priceTable(): Promise<PriceTable> {
  table ??= import('@pydantic/genai-prices');
  return table;
}
