// The books of one agent: what each model call and each tool result cost, entered in every budget it counts for.
import type { LanguageModelV4, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { PocketError } from '@pocket-agent/kit';
import type { ToolResult } from '../base/tool-call.ts';
import { Budget, type RunTotals } from './budget.ts';
import { costOf, isPriced, type ModelPrice, noPrices, type Prices } from './prices.ts';
import { callUsage, count, type TokenEstimate, type Usage } from './usage.ts';

const CHARACTERS_PER_TOKEN = 3.5;

interface ResultEntry {
  tool: string;
  characters: number;
}

/** The last call of the model, to find out from the next what the results between them cost. */
interface LastCall {
  tokens: number;
  /** Whether the provider said so, or we guessed. */
  isTold: boolean;
  results: ResultEntry[];
  historyLength: number;
}

type Answer = Pick<LanguageModelV4GenerateResult, 'usage' | 'providerMetadata' | 'content'>;

/** A run that pays for model calls. */
interface SpendingRun {
  readonly budget: Budget;
  readonly prices: Prices;
  /** The key of its agent in the totals. */
  readonly pathKey: string;
}

export class Ledger {
  readonly #prices: Prices;
  readonly #name: string;
  #lifetime: Budget | undefined;
  #last: LastCall | undefined;

  constructor(name: string, prices: Prices) {
    this.#prices = Object.keys(prices).length > 0 ? { ...prices } : noPrices;
    this.#name = name;
  }

  /** Everything since the agent was made, its sub-agents included. */
  get totals(): RunTotals {
    return this.lifetime.totals;
  }

  get lifetime(): Budget {
    this.#lifetime ??= new Budget(this.#name);
    return this.#lifetime;
  }

  /** Throws when the run has nothing left for another call, or when its cost could not be known. */
  beforeModelCall(run: SpendingRun, model: LanguageModelV4): void | Promise<void> {
    const { budget } = run;
    budget.checkModelCall();
    // who answers for a router is known after the call only
    return budget.limitsCost && model.provider !== 'router' ? demandPrice(model, run.prices) : undefined;
  }

  /** A call of the loop: its input also tells what the tool results before it cost. */
  afterModelCall(
    run: SpendingRun,
    model: LanguageModelV4,
    answer: Answer,
    historyLength: number,
  ): Usage | Promise<Usage> {
    const cost = costIn(run, model, answer);
    const enter = (costUsd: number | undefined) => this.#enterInLoop(run, answer, costUsd, historyLength);
    return cost instanceof Promise ? cost.then(enter) : enter(cost);
  }

  #enterInLoop(run: SpendingRun, answer: Answer, costUsd: number | undefined, historyLength: number): Usage {
    const used = this.#enter(run, answer, costUsd);
    this.#measureResults(run.budget, used, historyLength);
    const tokens = used.inputTokens + used.outputTokens;
    const isTold = count(answer.usage.inputTokens?.total) !== undefined;
    this.#last = { tokens, isTold, results: [], historyLength: historyLength + 1 };
    return used;
  }

  /** Any model call that this agent must answer for. */
  async enter(run: SpendingRun, model: LanguageModelV4, answer: Answer): Promise<Usage> {
    return this.#enter(run, answer, await costIn(run, model, answer));
  }

  #enter(run: SpendingRun, answer: Answer, costUsd: number | undefined): Usage {
    const used = callUsage(answer.usage, costUsd, () => estimateOf(answer, this.#last));
    run.budget.addModelCall(run.pathKey, used);
    return used;
  }

  /** The prices of this agent, and of the agents above where it has none of its own. */
  pricesWithin(above: Prices | undefined): Prices {
    if (this.#prices === noPrices || !above) return above ?? this.#prices;
    return above === noPrices ? this.#prices : { ...above, ...this.#prices };
  }

  /** Estimated now, and put right when the next call tells. */
  toolResults({ budget }: SpendingRun, results: readonly ToolResult[]): void {
    for (const { toolCallName: tool, toolResultContent, isError = false } of results) {
      const characters = toolResultContent.reduce(
        (sum, part) => sum + (part.type === 'text' ? part.text.length : 0),
        1,
      );
      budget.addToolResult(tool, { tokens: estimate(characters), failed: isError });
      this.#last?.results.push({ tool, characters });
    }
    if (this.#last) this.#last.historyLength += results.length;
  }

  /** The next call takes in what the last one took in and gave, and the results: the rest is theirs. */
  #measureResults(budget: Budget, used: Usage, historyLength: number): void {
    const last = this.#last;
    if (!last?.isTold || last.results.length === 0 || last.historyLength !== historyLength || used.inputTokens === 0)
      return;
    const measured = Math.max(0, used.inputTokens - last.tokens);
    const characters = last.results.reduce((sum, result) => sum + result.characters, 0);
    for (const result of last.results) {
      const tokens = Math.round((measured * result.characters) / characters);
      budget.addToolResult(result.tool, { tokens: tokens - estimate(result.characters) });
    }
  }
}

function estimate(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

async function demandPrice(model: LanguageModelV4, prices: Prices): Promise<void> {
  if (await isPriced(model, prices)) return;
  throw new PocketError(
    'PRICE_UNKNOWN',
    `limits.maxCostUsd cannot be kept: nobody knows the price of ${model.provider}/${model.modelId}. Give it in prices: { '${model.modelId}': { input, output } }.`,
  );
}

function costIn(run: SpendingRun, model: LanguageModelV4, answer: Answer): ReturnType<typeof costOf> {
  const { prices } = run;
  const route = routeOf(answer);
  return route ? costOf(route, answer.usage, { ...prices, ...route.prices }) : costOf(model, answer.usage, prices);
}

/** For a provider that does not say: what was said before and what came, by their length. */
function estimateOf({ content }: Answer, last: LastCall | undefined): TokenEstimate {
  const characters = content.reduce(
    (sum, part) => sum + ('text' in part ? part.text.length : 'input' in part ? part.input.length : 0),
    0,
  );
  const results = last?.results.reduce((sum, result) => sum + result.characters, 0) ?? 0;
  return { input: (last?.tokens ?? 0) + estimate(results) + 1, output: estimate(characters) };
}

/** A router says in its metadata which model answered, and its price where it was given one. */
function routeOf({ providerMetadata }: Answer): { provider: string; modelId: string; prices: Prices } | undefined {
  const route = providerMetadata?.router;
  if (typeof route?.provider !== 'string' || typeof route.modelId !== 'string') return undefined;
  const { provider, modelId, price } = route;
  return { provider, modelId, prices: isPrice(price) ? { [modelId]: price } : {} };
}

function isPrice(price: unknown): price is ModelPrice {
  return typeof price === 'object' && price !== null && 'input' in price && 'output' in price;
}
