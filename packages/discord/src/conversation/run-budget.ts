// What one run may spend. It is written down step by step, so that runs side by side see what the others have spent.
import type { PocketAgent, Usage } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { Spender, Spent } from '../store/spending.ts';
import type { BotParts } from './parts.ts';

const USED_UP = "Today's budget is used up. It starts anew at midnight UTC; see /cost.";

interface Owner {
  spender: Spender;
  settings: GuildSettings;
}

export class Purse {
  readonly #parts: Pick<BotParts, 'spending' | 'options'>;
  readonly #spender: Spender;
  readonly #settings: GuildSettings;
  #paid: Spent = { costUsd: 0, tokens: 0, runs: 0 };
  #lastSettled: Promise<void> = Promise.resolve();

  constructor(parts: Pick<BotParts, 'spending' | 'options'>, { spender, settings }: Owner) {
    this.#parts = parts;
    this.#spender = spender;
    this.#settings = settings;
  }

  /** What is left of today's budget, as a limit of the run. Throws when it is nothing. */
  async limit(): Promise<{ maxCostUsd?: number }> {
    const left = await this.#left();
    if (left === undefined) return {};
    if (left <= 0) throw new DiscordBotError('REFUSED', USED_UP);
    return { maxCostUsd: left };
  }

  /** Why nothing can be asked any more today. */
  async refusal(): Promise<string | undefined> {
    const left = await this.#left();
    return left !== undefined && left <= 0 ? USED_UP : undefined;
  }

  #left(): Promise<number | undefined> {
    const { spending, options } = this.#parts;
    return spending.left(this.#spender, { guild: this.#settings.budget, own: options.budget });
  }

  /** Before each model call: throws when meanwhile nothing is left. */
  async pay(usage: Usage): Promise<void> {
    await this.settle(usage);
    await this.limit();
  }

  /** Writes down what the run has used since the last time that it could be written down. */
  settle(usage: Usage): Promise<void> {
    // a run that is stopped ends while its last step is being paid for; both at once would count that step twice
    const settled = this.#lastSettled.then(() => this.#add(usage));
    this.#lastSettled = settled.catch(() => {});
    return settled;
  }

  /** At the end of a run; its agent is closed also when what it used cannot be written down. */
  async settleAndClose(agent: PocketAgent): Promise<void> {
    try {
      await this.settle(agent.totals.usage);
    } finally {
      await agent.close();
    }
  }

  async #add({ costUsd = 0, inputTokens, outputTokens, modelCalls }: Usage): Promise<void> {
    if (modelCalls === 0) return;
    const all: Spent = { costUsd, tokens: inputTokens + outputTokens, runs: 1 };
    const before = this.#paid;
    await this.#parts.spending.add(this.#spender, {
      costUsd: all.costUsd - before.costUsd,
      tokens: all.tokens - before.tokens,
      runs: all.runs - before.runs,
    });
    this.#paid = all;
  }
}
