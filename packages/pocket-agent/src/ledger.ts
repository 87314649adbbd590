// The books of one agent: what each model call and each tool result cost, entered in every budget it counts for.
import type { LanguageModelV4, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { Budget, type RunTotals } from './budget.ts';
import { PocketError } from './errors.ts';
import { costOf, isPriced, type Prices } from './prices.ts';
import type { RunFrame } from './run-frame.ts';
import type { ToolResult } from './tools.ts';
import { callUsage, type Usage } from './usage.ts';

const CHARACTERS_PER_TOKEN = 3.5;

interface ResultEntry {
  tool: string;
  characters: number;
}

/** The last call of the model, to find out from the next what the results between them cost. */
interface LastCall {
  tokens: number;
  results: ResultEntry[];
  historyLength: number;
}

type Answer = Pick<LanguageModelV4GenerateResult, 'usage' | 'providerMetadata'>;

export class Ledger {
  readonly #prices: Prices;
  readonly #lifetime: Budget;
  #last: LastCall | undefined;

  constructor(name: string, prices: Prices) {
    this.#prices = { ...prices };
    this.#lifetime = new Budget(name, {}, undefined);
  }

  /** Everything since the agent was made, its sub-agents included. */
  get totals(): RunTotals {
    return this.#lifetime.totals;
  }

  get lifetime(): Budget {
    return this.#lifetime;
  }

  /** Throws when the run has nothing left for another call, or when its cost could not be known. */
  beforeModelCall({ budget }: RunFrame, model: LanguageModelV4): void | Promise<void> {
    budget.checkModelCall();
    // who answers for a router is known after the call only
    return budget.limitsCost && model.provider !== 'router' ? this.#demandPrice(model) : undefined;
  }

  async #demandPrice(model: LanguageModelV4): Promise<void> {
    if (await isPriced(model, this.#prices)) return;
    throw new PocketError(
      'PRICE_UNKNOWN',
      `limits.maxCostUsd cannot be kept: nobody knows the price of ${model.provider}/${model.modelId}. Give it in prices: { '${model.modelId}': { input, output } }.`,
    );
  }

  /** A call of the loop: its input also tells what the tool results before it cost. */
  async afterModelCall(frame: RunFrame, model: LanguageModelV4, answer: Answer, historyLength: number): Promise<Usage> {
    const used = await this.enter(frame, model, answer);
    this.#measureResults(frame.budget, used, historyLength);
    const tokens = used.inputTokens + used.outputTokens;
    const isTold = answer.usage.inputTokens.total !== undefined;
    this.#last = isTold ? { tokens, results: [], historyLength: historyLength + 1 } : undefined;
    return used;
  }

  /** Any model call that this agent must answer for. */
  async enter({ budget, path }: RunFrame, model: LanguageModelV4, answer: Answer): Promise<Usage> {
    const used = callUsage(answer.usage, await costOf(routeOf(answer) ?? model, answer.usage, this.#prices));
    budget.addModelCall(path.join('/'), used);
    return used;
  }

  /** Estimated now, and put right when the next call tells. */
  toolResults({ budget }: RunFrame, results: readonly ToolResult[]): void {
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
    if (!last || last.results.length === 0 || last.historyLength !== historyLength || used.inputTokens === 0) return;
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

/** A router says in its metadata which model answered. */
function routeOf({ providerMetadata }: Answer): { provider: string; modelId: string } | undefined {
  const route = providerMetadata?.router;
  if (typeof route?.provider !== 'string' || typeof route.modelId !== 'string') return undefined;
  return { provider: route.provider, modelId: route.modelId };
}
