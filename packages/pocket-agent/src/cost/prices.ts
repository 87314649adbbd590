// The cost of a model call, by the given prices or by the table of @pydantic/genai-prices. Unknown prices are not zero.
import type { LanguageModelV4, LanguageModelV4Usage } from '@ai-sdk/provider';
import {
  checkValue,
  errorText,
  isRecord,
  type Logger,
  type OptionRule,
  OptionSet,
  stderrLogger,
} from '@pocket-agent/kit';
import type { PriceCalculationResult } from '@pydantic/genai-prices';
import { modelName, prefixOf } from '../providers/model-names.ts';
import { count } from './usage.ts';

/** In USD per million tokens. */
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

/** Providers whose models run on this machine. */
const LOCAL_PROVIDERS = ['pocket-agent', 'ollama', 'lmstudio'];
const FREE: ModelPrice = { input: 0, output: 0 };

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

/** A wrong price would make every cost NaN, and a budget in dollars would never end. */
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
type PriceTable = Pick<typeof import('@pydantic/genai-prices'), 'calcPrice' | 'findProvider'>;

let table: PriceTable | undefined;
/** Models without a price in the table. */
const unlisted = new Set<string>();

/** Whether the price table must be loaded to know the price of a model. */
export function needsPriceTable(model: Identity, prices: Prices): boolean {
  return !table && givenPrice(model, prices) === undefined;
}

/** Half a megabyte, so loaded when the first model needs it. A failure is logged once and does not fail the run. */
export async function loadPriceTable(logger: Logger = stderrLogger()): Promise<void> {
  if (table) return;
  try {
    table = await import('@pydantic/genai-prices');
  } catch (error) {
    if (!table) logger.warn(`The price table failed, so only models in "prices" have a cost: ${errorText(error)}`);
    table ??= { calcPrice: () => null, findProvider: () => undefined };
  }
}

/** Undefined if the price is unknown or the provider did not report the usage. */
export function costOf(model: Identity, usage: LanguageModelV4Usage, prices: Prices): number | undefined {
  const input = count(usage.inputTokens?.total);
  const output = count(usage.outputTokens?.total);
  if (input === undefined || output === undefined) return undefined;
  // cached tokens are part of the input, but some providers count them separately
  const cached = Math.min(count(usage.inputTokens.cacheRead) ?? 0, input);
  const written = Math.min(count(usage.inputTokens.cacheWrite) ?? 0, input - cached);
  const name = modelName(model);
  const price = givenPrice(model, prices, name);
  if (price) {
    const { cachedInput = price.input, cacheWrite = price.input } = price;
    const uncached = input - cached - written;
    return (uncached * price.input + cached * cachedInput + written * cacheWrite + output * price.output) / 1e6;
  }
  if (unlisted.has(name)) return undefined;
  const tokens = {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cached,
    cache_write_tokens: written,
  };
  return lookUp(model, tokens)?.total_price;
}

/** Null if the table has no price for the model. */
function lookUp(model: Identity, tokens: Record<string, number>): PriceCalculationResult {
  let found: PriceCalculationResult = null;
  try {
    found = table?.calcPrice(tokens, model.modelId, { providerId: priceId(model.provider) }) ?? null;
  } catch {
    // thrown for entries without a price for a kind of token: the model counts as unlisted
  }
  if (!found) unlisted.add(modelName(model));
  return found;
}

/** The name of a provider in the price table. */
function priceId(provider: string): string {
  const prefix = prefixOf(provider);
  return prefix === 'togetherai' ? 'together' : prefix;
}

/** The price of a model for calls of ordinary length. */
export async function priceOf(model: Identity, prices: Prices = {}): Promise<ModelPrice | undefined> {
  const given = givenPrice(model, prices);
  if (given) return given;
  await loadPriceTable();
  const found = lookUp(model, { input_tokens: 1_000, output_tokens: 1_000 });
  return found ? { input: found.input_price * 1_000, output: found.output_price * 1_000 } : undefined;
}

/** The context window of a model in tokens, if the table has it. It has no local models. */
export async function contextWindowOf(model: Identity): Promise<number | undefined> {
  if (isLocal(model) || unlisted.has(modelName(model))) return undefined;
  await loadPriceTable();
  return lookUp(model, { input_tokens: 1_000, output_tokens: 1_000 })?.model.context_window;
}

/** The ids of the models of a provider that the table has, without those that are deprecated. */
export async function listedModels(prefix: string): Promise<string[]> {
  await loadPriceTable();
  const { models = [] } = table?.findProvider({ providerId: priceId(prefix) }) ?? {};
  return models.filter(({ deprecated }) => !deprecated).map(({ id }) => id);
}

/** True if a budget in dollars can be kept with this model. */
export async function isPriced(model: Identity, prices: Prices = {}): Promise<boolean> {
  return (await priceOf(model, prices)) !== undefined;
}

function givenPrice(model: Identity, prices: Prices, name = modelName(model)): ModelPrice | undefined {
  const given = prices[name] ?? prices[model.modelId];
  return given ?? (isLocal(model) ? FREE : undefined);
}

function isLocal({ provider }: Identity): boolean {
  return LOCAL_PROVIDERS.includes(prefixOf(provider));
}
