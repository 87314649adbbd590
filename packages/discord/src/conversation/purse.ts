// What one run may spend. It is written down step by step, so that runs side by side see what the others have spent.
import type { Usage } from 'pocket-agent';
import { DiscordBotError } from '../errors.ts';
import type { BotParts } from '../parts.ts';
import type { GuildSettings } from '../settings/settings.ts';
import { leastBudget, type Spender, type Spent } from './spending.ts';

export class Purse {
  readonly #parts: Pick<BotParts, 'spending' | 'options'>;
  readonly #spender: Spender;
  readonly #settings: GuildSettings;
  #paid: Spent = { costUsd: 0, tokens: 0, runs: 0 };

  constructor(parts: Pick<BotParts, 'spending' | 'options'>, spender: Spender, settings: GuildSettings) {
    this.#parts = parts;
    this.#spender = spender;
    this.#settings = settings;
  }

  /** What is left of today's budget, as a limit of the run. Throws when it is nothing. */
  async limit(): Promise<{ maxCostUsd?: number }> {
    const budget = leastBudget(this.#settings.budget, this.#parts.options.budget);
    const left = await this.#parts.spending.left(this.#spender, budget);
    if (left === undefined) return {};
    if (left <= 0)
      throw new DiscordBotError('REFUSED', "Today's budget is used up. It starts anew at midnight UTC; see /cost.");
    return { maxCostUsd: left };
  }

  /** Before another model call: throws when meanwhile nothing is left. */
  async pay(usage: Usage): Promise<void> {
    if (usage.modelCalls === 0) return;
    await this.settle(usage);
    await this.limit();
  }

  /** Writes down what the run has used since the last time. */
  async settle({ costUsd = 0, inputTokens, outputTokens, modelCalls }: Usage): Promise<void> {
    if (modelCalls === 0) return;
    const all: Spent = { costUsd, tokens: inputTokens + outputTokens, runs: 1 };
    const before = this.#paid;
    this.#paid = all;
    await this.#parts.spending.add(this.#spender, {
      costUsd: all.costUsd - before.costUsd,
      tokens: all.tokens - before.tokens,
      runs: all.runs - before.runs,
    });
  }
}
