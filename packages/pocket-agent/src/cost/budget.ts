// The budget of a run. A sub-agent spends from its own budget and from those of its parent agents.
import { PocketError } from '@pocket-agent/kit';
import { agentLabel } from '../base/agent-label.ts';
import { addUsage, noUsage, type ToolUsage, totalTokens, type Usage } from './usage.ts';

/** The limits for all runs that share a `Budget`. */
export interface BudgetLimits {
  maxTokens?: number | undefined;
  maxCostUsd?: number | undefined;
  maxToolCalls?: number | undefined;
}

/** The usage of a run, including its sub-agents. */
export interface RunTotals {
  usage: Usage;
  /** By agent: the names from the agent that was called first down to this one, joined by `/`. */
  byAgent: Record<string, Usage>;
  byTool: Record<string, ToolUsage>;
}

interface BudgetOptions {
  /** The agent, for errors. */
  name: string;
  limits?: BudgetLimits;
  /** The budget of the run around this one; its limits apply too. */
  parent?: Budget | undefined;
  /** Counts without limits. */
  lifetime?: Budget | undefined;
}

export class Budget {
  // without a prototype: models choose the keys
  readonly totals: RunTotals = { usage: noUsage(), byAgent: Object.create(null), byTool: Object.create(null) };
  readonly #limits: BudgetLimits;
  readonly #label: string;
  readonly #parent: Budget | undefined;
  readonly #lifetime: Budget | undefined;

  /** Spending also counts in `parent` and `lifetime`. */
  constructor({ name, limits = {}, parent, lifetime }: BudgetOptions) {
    this.#label = agentLabel({ name });
    this.#limits = limits;
    this.#parent = parent;
    this.#lifetime = lifetime;
  }

  /** Adds what was used in another process. */
  add(totals: RunTotals): void {
    for (const [path, used] of Object.entries(totals.byAgent)) {
      addUsage(this.totals.usage, used);
      addUsage(usageIn(this.totals.byAgent, path), used);
    }
    for (const [tool, used] of Object.entries(totals.byTool)) {
      const entry = toolIn(this.totals.byTool, tool);
      for (const key of ['calls', 'errors', 'resultTokens'] as const) entry[key] += used[key];
    }
    this.#parent?.add(totals);
  }

  /** Continues with the totals of the run in another process. */
  continueFrom(totals: RunTotals): void {
    const { usage, byAgent, byTool } = totals;
    this.#parent?.add(totals);
    Object.assign(this.totals.usage, usage, { costUsd: usage.costUsd }); // JSON leaves out an unknown cost
    for (const [path, used] of Object.entries(byAgent)) this.totals.byAgent[path] = { ...used, costUsd: used.costUsd };
    for (const [tool, used] of Object.entries(byTool)) this.totals.byTool[tool] = { ...used };
  }

  get limitsCost(): boolean {
    return this.#limits.maxCostUsd !== undefined || (this.#parent?.limitsCost ?? false);
  }

  /** Throws if nothing is left for another model call. */
  checkModelCall(): void {
    const { maxTokens, maxCostUsd } = this.#limits;
    const { usage } = this.totals;
    if (maxTokens !== undefined && totalTokens(usage) >= maxTokens) {
      this.#refuse('maxTokens', `${maxTokens}`, `: ${totalTokens(usage)} tokens used`);
    }
    if (maxCostUsd !== undefined && usage.costUsd === undefined) throw this.#unpriced();
    if (maxCostUsd !== undefined && usage.costUsd !== undefined && usage.costUsd >= maxCostUsd) {
      this.#refuse('maxCostUsd', `$${maxCostUsd}`, `: $${usage.costUsd.toFixed(4)} spent`);
    }
    this.#parent?.checkModelCall();
  }

  /** Counts a tool call, also for parent agents, or throws if no call is left. */
  takeToolCall(path: string, tool: string): void {
    for (let budget: Budget | undefined = this; budget; budget = budget.#parent) budget.#checkToolCall();
    this.countToolCall(path, tool);
  }

  /** Counts a call that was made already, even beyond the limit. */
  countToolCall(path: string, tool: string): void {
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
    this.#refuse('maxToolCalls', `${maxToolCalls}`);
  }

  #addToolCall(path: string, tool: string): void {
    this.totals.usage.toolCalls++;
    usageIn(this.totals.byAgent, path).toolCalls++;
    toolIn(this.totals.byTool, tool).calls++;
    if (this.#lifetime) this.#lifetime.#addToolCall(path, tool);
  }

  /** Which model answers for a router is known only after the call, and a budget in dollars needs its price. */
  #unpriced(): PocketError {
    return new PocketError(
      'PRICE_UNKNOWN',
      `limits.maxCostUsd of ${this.#label} cannot be enforced: the price of a model that answered is unknown. Set it in prices.`,
      { details: { limit: 'maxCostUsd', totals: structuredClone(this.totals) } },
    );
  }

  #refuse(limit: string, amount: string, used = ''): never {
    throw new PocketError('BUDGET_REACHED', `The run of ${this.#label} reached limits.${limit} (${amount})${used}.`, {
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
