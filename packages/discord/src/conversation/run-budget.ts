// The budget of one run. Costs are recorded after each step, so that parallel runs see each other's spending.
import type { PocketAgent, Usage } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { Spender, Spent } from '../store/spending.ts';
import type { BotParts } from './parts.ts';

const USED_UP = "Today's budget is used up. It resets at midnight UTC; see /cost.";

interface BudgetScope {
  spender: Spender;
  settings: GuildSettings;
}

export class RunBudget {
  readonly #parts: Pick<BotParts, 'spending' | 'options'>;
  readonly #spender: Spender;
  readonly #settings: GuildSettings;
  #recorded: Spent = { costUsd: 0, tokens: 0, runs: 0 };
  #lastRecord: Promise<void> = Promise.resolve();

  constructor(parts: Pick<BotParts, 'spending' | 'options'>, { spender, settings }: BudgetScope) {
    this.#parts = parts;
    this.#spender = spender;
    this.#settings = settings;
  }

  /** The rest of today's budget as a limit of the run. Throws if it is used up. */
  async limit(): Promise<{ maxCostUsd?: number }> {
    const left = await this.#remaining();
    if (left === undefined) return {};
    if (left <= 0) throw new DiscordBotError('REFUSED', USED_UP);
    return { maxCostUsd: left };
  }

  /** The reason for refusing questions today; undefined if budget is left. */
  async refusal(): Promise<string | undefined> {
    const left = await this.#remaining();
    return left !== undefined && left <= 0 ? USED_UP : undefined;
  }

  #remaining(): Promise<number | undefined> {
    const { spending, options } = this.#parts;
    return spending.remaining(this.#spender, { guild: this.#settings.budget, operator: options.budget });
  }

  /** Called before each model call: records the usage, then throws if the budget is used up. */
  async charge(usage: Usage): Promise<void> {
    await this.record(usage);
    await this.limit();
  }

  /** Records the usage since the last successful record. */
  record(usage: Usage): Promise<void> {
    // sequential: a stopped run ends while its last step is being recorded, and the step must count once
    const record = this.#lastRecord.then(() => this.#add(usage));
    this.#lastRecord = record.catch(() => {});
    return record;
  }

  /** Records the usage, then closes the agent even if that failed. */
  async recordAndClose(agent: PocketAgent): Promise<void> {
    try {
      await this.record(agent.totals.usage);
    } finally {
      await agent.close();
    }
  }

  async #add({ costUsd = 0, inputTokens, outputTokens, modelCalls }: Usage): Promise<void> {
    if (modelCalls === 0) return;
    const total: Spent = { costUsd, tokens: inputTokens + outputTokens, runs: 1 };
    const before = this.#recorded;
    await this.#parts.spending.add(this.#spender, {
      costUsd: total.costUsd - before.costUsd,
      tokens: total.tokens - before.tokens,
      runs: total.runs - before.runs,
    });
    this.#recorded = total;
  }
}
