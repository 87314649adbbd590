// The models that users can choose.

import { errorText } from '@pocket-agent/kit';
import { isPriced, type LanguageModel, type Logger, PocketAgent, resolveModel } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { BotOptions, ModelChoice } from './options.ts';

const CONTEXT_TOKENS = 100_000;
const NO_MODEL_LEFT =
  'No model that this server allows is available. Admins can allow others with `/setup model`, or all with `/setup clear`.';
const VISION_NAMES = /^(openai|anthropic|google|azure)\/|^(gpt|claude|gemini)-/;

export class Models {
  readonly #pricing: Pick<BotOptions, 'prices' | 'budget'>;
  readonly #unpriced = new Set<string>();
  #choices: readonly ModelChoice[];

  constructor(choices: readonly ModelChoice[], { prices, budget }: Pick<BotOptions, 'prices' | 'budget'> = {}) {
    const problems = choices.flatMap((choice) => modelProblem(choice) ?? []);
    if (problems.length > 0) throw new DiscordBotError('CONFIG_INVALID', problems.join('\n'));
    this.#choices = choices;
    this.#pricing = { prices, budget };
  }

  get names(): string[] {
    return this.#choices.map(({ name }) => name);
  }

  /** Logs and drops models that cannot be used. Throws all problems if the default model cannot be used. */
  async checkAll(logger: Logger): Promise<void> {
    const checks = this.#choices.map((choice) => this.#checkAtStart(choice).then(() => undefined, errorText));
    const problems = await Promise.all(checks);
    const reasons = problems.filter((problem) => problem !== undefined);
    if (problems[0] !== undefined) throw new DiscordBotError('CONFIG_INVALID', reasons.join('\n'));
    for (const reason of reasons) logger.warn('Model unavailable', { reason });
    this.#choices = this.#choices.filter((_choice, index) => problems[index] === undefined);
  }

  /** The models that a guild allows; all if its list is empty. Unavailable ones are not replaced. */
  allowed({ models }: GuildSettings): readonly ModelChoice[] {
    return models.length === 0 ? this.#choices : this.#choices.filter(({ name }) => models.includes(name));
  }

  /** The chosen model if it is allowed, else the first allowed one. */
  pick(name: string | null, settings: GuildSettings): ModelChoice {
    const allowed = this.allowed(settings);
    const found = allowed.find((choice) => choice.name === name) ?? allowed[0];
    if (!found) throw new DiscordBotError('REFUSED', NO_MODEL_LEFT);
    return found;
  }

  /** Whether members can choose between several models. */
  hasChoice(settings: GuildSettings): boolean {
    return this.allowed(settings).length > 1;
  }

  /** The names of models without a known price, whose cost cannot be counted. */
  unpriced(choices: readonly ModelChoice[]): string[] {
    return choices.flatMap(({ name }) => (this.#unpriced.has(name) ? name : []));
  }

  has(name: string): boolean {
    return this.names.includes(name);
  }

  /** Throws if a model cannot be used: missing key, missing package, unknown name. */
  async check({ name, model, modelSettings }: ModelChoice): Promise<LanguageModel> {
    try {
      return await resolveModel(model ?? name, modelSettings);
    } catch (error) {
      throw new DiscordBotError('REFUSED', unusableText(name, error), { cause: error });
    }
  }

  /** With a budget, a model without a known price would refuse every question. */
  async #checkAtStart(choice: ModelChoice): Promise<void> {
    const { prices = {}, budget = {} } = this.#pricing;
    const model = await this.check(choice);
    // the price of a router is known only after the call
    if (model.provider === 'router' || (await isPriced(model, prices))) return;
    if (budget.userUsd !== undefined || budget.guildUsd !== undefined)
      throw new DiscordBotError('REFUSED', missingPriceText(choice.name, model.modelId));
    this.#unpriced.add(choice.name);
  }
}

function missingPriceText(name: string, id: string): string {
  const price = `{"${id}": {"input": 3, "output": 15}}`;
  return `The model "${name}" cannot be used with a budget, because its price is unknown. Set its price in dollars per million tokens, for example POCKET_DISCORD_PRICES='${price}' (option prices), or remove the budget.`;
}

/** Why a model name can never work, without checking its key or loading its package. */
export function modelProblem({ name, model }: ModelChoice): string | undefined {
  try {
    // the constructor of an agent checks the model name
    new PocketAgent({ agentConfig: { llmModel: model ?? name } });
    return undefined;
  } catch (error) {
    return unusableText(name, error);
  }
}

function unusableText(name: string, error: unknown): string {
  // drop advice for callers of the library
  const reason = errorText(error).replace(/,? or pass .*$/, '.');
  return `The model "${name}" cannot be used: ${reason}`;
}

export function seesImages({ name, vision }: ModelChoice): boolean {
  return vision ?? VISION_NAMES.test(name);
}

export function contextTokens({ contextTokens: tokens = CONTEXT_TOKENS }: ModelChoice): number {
  return tokens;
}
