// One budget for a run and everything in it: a sub-agent spends its own and that of all agents above it.
import { PocketError } from '@pocket-agent/kit';
import { addUsage, noUsage, type ToolUsage, totalTokens, type Usage } from './usage.ts';

export interface BudgetLimits {
  maxTokens?: number | undefined;
  maxCostUsd?: number | undefined;
  maxToolCalls?: number | undefined;
}

/** What a run came to, with everything that ran inside it. */
export interface RunTotals {
  usage: Usage;
  /** By agent, as the path of names from the agent that was called first. */
  byAgent: Record<string, Usage>;
  byTool: Record<string, ToolUsage>;
}

const noLimits: BudgetLimits = {};

export class Budget {
  // without a prototype: the names in them are whatever a model came up with
  readonly totals: RunTotals = { usage: noUsage(), byAgent: Object.create(null), byTool: Object.create(null) };
  readonly #limits: BudgetLimits;
  readonly #name: string;
  readonly #parent: Budget | undefined;
  readonly #lifetime: Budget | undefined;

  /** What is spent is entered in `parent` and `lifetime` too; the limits of `parent` hold as well. */
  constructor(name: string, limits = noLimits, parent?: Budget, lifetime?: Budget) {
    this.#name = name;
    this.#limits = limits;
    this.#parent = parent;
    this.#lifetime = lifetime;
  }

  get limitsCost(): boolean {
    return this.#limits.maxCostUsd !== undefined || (this.#parent?.limitsCost ?? false);
  }

  /** Throws when nothing is left for another model call. */
  checkModelCall(): void {
    const { maxTokens, maxCostUsd } = this.#limits;
    const { usage } = this.totals;
    if (maxTokens !== undefined && totalTokens(usage) >= maxTokens) {
      this.#refuse('maxTokens', `${maxTokens} tokens`, `${totalTokens(usage)} tokens are used`);
    }
    if (maxCostUsd !== undefined && usage.costUsd === undefined) throw this.#unpriced();
    if (maxCostUsd !== undefined && usage.costUsd !== undefined && usage.costUsd >= maxCostUsd) {
      this.#refuse('maxCostUsd', `$${maxCostUsd}`, `$${usage.costUsd.toFixed(4)} are spent`);
    }
    this.#parent?.checkModelCall();
  }

  /** Counts a tool call, here and above, or throws when none is left. */
  takeToolCall(path: string, tool: string): void {
    for (let budget: Budget | undefined = this; budget; budget = budget.#parent) budget.#checkToolCall();
    for (let budget: Budget | undefined = this; budget; budget = budget.#parent) budget.#addToolCall(path, tool);
  }

  addModelCall(path: string, used: Usage): void {
    addUsage(this.totals.usage, used);
    addUsage(usageIn(this.totals.byAgent, path), used);
    this.#lifetime?.addModelCall(path, used);
    this.#parent?.addModelCall(path, used);
  }

  addToolResult(tool: string, result: { tokens?: number; failed?: boolean }): void {
    const entry = toolIn(this.totals.byTool, tool);
    entry.resultTokens += result.tokens ?? 0;
    entry.errors += result.failed ? 1 : 0;
    this.#lifetime?.addToolResult(tool, result);
    this.#parent?.addToolResult(tool, result);
  }

  #checkToolCall(): void {
    const { maxToolCalls } = this.#limits;
    if (maxToolCalls === undefined || this.totals.usage.toolCalls < maxToolCalls) return;
    this.#refuse('maxToolCalls', `${maxToolCalls} tool calls`, 'all of them are made');
  }

  #addToolCall(path: string, tool: string): void {
    this.totals.usage.toolCalls++;
    usageIn(this.totals.byAgent, path).toolCalls++;
    toolIn(this.totals.byTool, tool).calls++;
    if (this.#lifetime) this.#lifetime.#addToolCall(path, tool);
  }

  /** A router tells who answered only after the call: then at the latest a budget in dollars needs the price. */
  #unpriced(): PocketError {
    return new PocketError(
      'PRICE_UNKNOWN',
      `${this.#name} cannot keep limits.maxCostUsd: a model that answered has no known price. Give it in prices.`,
      { details: { limit: 'maxCostUsd', totals: structuredClone(this.totals) } },
    );
  }

  #refuse(limit: string, amount: string, state: string): never {
    throw new PocketError('BUDGET_REACHED', `${this.#name} may use ${amount} in a run (limits.${limit}): ${state}.`, {
      details: { limit, totals: structuredClone(this.totals) },
    });
  }
}

function usageIn(all: Record<string, Usage>, path: string): Usage {
  all[path] ??= noUsage();
  return all[path];
}

function toolIn(all: Record<string, ToolUsage>, tool: string): ToolUsage {
  all[tool] ??= { calls: 0, errors: 0, resultTokens: 0 };
  return all[tool];
}
