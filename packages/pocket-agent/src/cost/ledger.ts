// The ledger of one agent: records model calls and tool results in every budget that they count for.
import type { LanguageModelV4, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { type Logger, PocketError } from '@pocket-agent/kit';
import type { ToolResult } from '../base/tool-call.ts';
import { modelName } from '../providers/model-names.ts';
import { recordCost } from '../tracing/model-span.ts';
import { Budget, type RunTotals } from './budget.ts';
import { costOf, isPriced, loadPriceTable, type ModelPrice, needsPriceTable, type Prices } from './prices.ts';
import { callUsage, count, type TokenEstimate, type Usage } from './usage.ts';

const CHARACTERS_PER_TOKEN = 3.5;

/** The last model call. The input of the next one shows what the tool results in between cost. */
interface LastCall {
  tokens: number;
  /** The provider reported the tokens; else they are estimated. */
  isReported: boolean;
  results: { tool: string; characters: number }[];
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

interface PaidCall {
  run: SpendingRun;
  model: LanguageModelV4;
  answer: Answer;
}

export class Ledger {
  /** Everything since the agent was created, including its sub-agents. */
  readonly lifetime: Budget;
  readonly #prices: Prices;
  readonly #logger: Logger;
  #last: LastCall | undefined;

  constructor({ name, prices, logger }: { name: string; prices: Prices; logger: Logger }) {
    this.lifetime = new Budget({ name });
    this.#prices = { ...prices };
    this.#logger = logger;
  }

  get totals(): RunTotals {
    return this.lifetime.totals;
  }

  /** Throws if the price of the model is unknown: a budget in dollars needs it. */
  async requirePrice({ prices }: SpendingRun, model: LanguageModelV4): Promise<void> {
    if (needsPriceTable(model, prices)) await loadPriceTable(this.#logger);
    // which model answers for a router is known only after the call
    if (model.provider === 'router' || (await isPriced(model, prices))) return;
    throw new PocketError(
      'PRICE_UNKNOWN',
      `limits.maxCostUsd needs the price of ${modelName(model)}, which is unknown. Set prices: { '${model.modelId}': { input, output } }.`,
    );
  }

  /** Called after a call of the loop was recorded: its input shows what the tool results before it cost. */
  attributeInputToResults(call: Pick<PaidCall, 'run' | 'answer'> & { usage: Usage; historyLength: number }): void {
    const { run, answer, usage, historyLength } = call;
    this.#correctEstimates(run.budget, usage, historyLength);
    const tokens = usage.inputTokens + usage.outputTokens;
    const isReported = count(answer.usage.inputTokens?.total) !== undefined;
    this.#last = { tokens, isReported, results: [], historyLength: historyLength + 1 };
  }

  /** The next prompt was shortened to about this many tokens, so it does not show what tool results cost. */
  promptCompacted(tokens: number): void {
    this.#last = { tokens, isReported: false, results: [], historyLength: 0 };
  }

  /** Records any model call that the run pays for. */
  async record({ run, model, answer }: PaidCall): Promise<Usage> {
    const route = routeOf(answer);
    const answering = route ?? model;
    const prices = route ? { ...run.prices, ...route.prices } : run.prices;
    if (needsPriceTable(answering, prices)) await loadPriceTable(this.#logger);
    const costUsd = costOf(answering, answer.usage, prices);
    const usage = callUsage(answer.usage, costUsd, () => estimateOf(answer, this.#last));
    run.budget.addModelCall(run.pathKey, usage);
    recordCost(answering, costUsd);
    return usage;
  }

  /** The prices of this agent and, for other models, those of its parent agents. */
  pricesWithin(above: Prices | undefined): Prices {
    return { ...above, ...this.#prices };
  }

  /** Records tool results with estimated tokens; the next model call corrects them. */
  recordToolResults({ budget }: SpendingRun, results: readonly ToolResult[]): void {
    for (const { toolCallName: tool, toolResultContent, isError = false } of results) {
      let characters = 1;
      for (const part of toolResultContent) if (part.type === 'text') characters += part.text.length;
      budget.addToolResult(tool, { tokens: estimate(characters), failed: isError });
      this.#last?.results.push({ tool, characters });
    }
    if (this.#last) this.#last.historyLength += results.length;
  }

  /** The input of a call is the input and output of the call before it plus the tool results in between. */
  #correctEstimates(budget: Budget, { inputTokens }: Usage, historyLength: number): void {
    const last = this.#last;
    if (!last?.isReported || last.historyLength !== historyLength || inputTokens === 0) return;
    const measured = Math.max(0, inputTokens - last.tokens);
    const total = last.results.reduce((sum, { characters }) => sum + characters, 0);
    for (const { tool, characters } of last.results) {
      const tokens = Math.round((measured * characters) / total);
      budget.addToolResult(tool, { tokens: tokens - estimate(characters) });
    }
  }
}

function estimate(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** For a provider that reports no usage: estimated from the length of the conversation and of the answer. */
function estimateOf({ content }: Answer, last: LastCall | undefined): TokenEstimate {
  const characters = content.reduce((sum, part) => sum + lengthOf(part), 0);
  const results = last?.results.reduce((sum, { characters }) => sum + characters, 0) ?? 0;
  return {
    input: (last?.tokens ?? 0) + estimate(results) + 1,
    output: estimate(characters),
  };
}

/** Some providers parse the input of a tool call, which should be a string. */
function lengthOf(part: Answer['content'][number]): number {
  const content: unknown = 'text' in part ? part.text : 'input' in part ? part.input : '';
  return (typeof content === 'string' ? content : JSON.stringify(content))?.length ?? 0;
}

/** A router adds to its answers which model answered, and the price if its deployment has its own. */
function routeOf({ providerMetadata }: Answer): { provider: string; modelId: string; prices: Prices } | undefined {
  const route = providerMetadata?.router;
  if (typeof route?.provider !== 'string' || typeof route.modelId !== 'string') return undefined;
  const { provider, modelId, price } = route;
  return { provider, modelId, prices: isPrice(price) ? { [modelId]: price } : {} };
}

function isPrice(price: unknown): price is ModelPrice {
  return typeof price === 'object' && price !== null && 'input' in price && 'output' in price;
}
