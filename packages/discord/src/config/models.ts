// The models people can choose from.
import { isPriced, type LanguageModel, type Logger, PocketAgent, resolveModel } from 'pocket-agent';
import { DiscordBotError, messageOf } from '../base/errors.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { BotOptions, ModelChoice } from './options.ts';

const CONTEXT_TOKENS = 100_000;
const NONE_LEFT =
  'None of the models that this server allows is there any more. Its admins can allow others with `/setup model`, or all with `/setup clear`.';
const SEES = /^(openai|anthropic|google|azure)\/|^(gpt|claude|gemini)-/;

export class Models {
  readonly #money: Pick<BotOptions, 'prices' | 'budget'>;
  readonly #unpriced = new Set<string>();
  #choices: readonly ModelChoice[];

  constructor(choices: readonly ModelChoice[], { prices, budget }: Pick<BotOptions, 'prices' | 'budget'> = {}) {
    const faults = choices.flatMap((choice) => nameFault(choice) ?? []);
    if (faults.length > 0) throw new DiscordBotError('CONFIG_INVALID', faults.join('\n'));
    this.#choices = choices;
    this.#money = { ...(prices ? { prices } : {}), ...(budget ? { budget } : {}) };
  }

  get names(): string[] {
    return this.#choices.map(({ name }) => name);
  }

  /** One that cannot be used is told and left out, unless it is the usual one: then everything that is wrong is thrown. */
  async checkAll(logger: Logger): Promise<void> {
    const checked = this.#choices.map((choice) => this.#checkAtStart(choice).then(() => undefined, messageOf));
    const faults = await Promise.all(checked);
    const reasons = faults.filter((fault) => fault !== undefined);
    if (faults[0] !== undefined) throw new DiscordBotError('CONFIG_INVALID', reasons.join('\n'));
    for (const reason of reasons) logger.warn('A model is left out', { reason });
    this.#choices = this.#choices.filter((_choice, index) => faults[index] === undefined);
  }

  /** Those a guild lets its people choose; all when it names none. Nothing takes the place of those that are gone. */
  allowed({ models }: GuildSettings): readonly ModelChoice[] {
    return models.length === 0 ? this.#choices : this.#choices.filter(({ name }) => models.includes(name));
  }

  /** The chosen one while it may be chosen, else the first. */
  pick(name: string | null, settings: GuildSettings): ModelChoice {
    const allowed = this.allowed(settings);
    const found = allowed.find((choice) => choice.name === name) ?? allowed[0];
    if (!found) throw new DiscordBotError('REFUSED', NONE_LEFT);
    return found;
  }

  /** Whether people there have more than one to choose from. */
  hasChoice(settings: GuildSettings): boolean {
    return this.allowed(settings).length > 1;
  }

  /** Of these, those whose price nobody knows: what they cost cannot be counted. */
  unpriced(choices: readonly ModelChoice[]): string[] {
    return choices.flatMap(({ name }) => (this.#unpriced.has(name) ? name : []));
  }

  has(name: string): boolean {
    return this.names.includes(name);
  }

  /** Throws what keeps a model from being used: a missing key, a missing package, an unknown name. */
  async check({ name, model, modelSettings }: ModelChoice): Promise<LanguageModel> {
    try {
      return await resolveModel(model ?? name, modelSettings);
    } catch (error) {
      throw new DiscordBotError('REFUSED', unusable(name, error), { cause: error });
    }
  }

  /** With a budget, a model whose price nobody knows would refuse every question. */
  async #checkAtStart(choice: ModelChoice): Promise<void> {
    const { prices = {}, budget = {} } = this.#money;
    const model = await this.check(choice);
    // who answers for a router, and for how much, is known after the call only
    if (model.provider === 'router' || (await isPriced(model, prices))) return;
    if (budget.userUsd !== undefined || budget.guildUsd !== undefined)
      throw new DiscordBotError('REFUSED', priceMissing(choice.name, model.modelId));
    this.#unpriced.add(choice.name);
  }
}

function priceMissing(name: string, id: string): string {
  const price = `{"${id}": {"input": 3, "output": 15}}`;
  return `The model "${name}" cannot be used with a budget: nobody knows what it costs. Set its price in dollars for a million tokens, such as POCKET_DISCORD_PRICES='${price}' (as a library: prices), or set no budget.`;
}

/** Why a model can never work, without looking for its key or loading anything. */
export function nameFault({ name, model }: ModelChoice): string | undefined {
  try {
    // an agent looks at its model when it is made, and at nothing else
    new PocketAgent({ agentConfig: { llmModel: model ?? name } });
    return undefined;
  } catch (error) {
    return unusable(name, error);
  }
}

function unusable(name: string, error: unknown): string {
  // whoever writes a variable has no options to pass
  const reason = messageOf(error).replace(/,? or pass .*$/, '.');
  return `The model "${name}" cannot be used: ${reason}`;
}

export function seesImages({ name, vision }: ModelChoice): boolean {
  return vision ?? SEES.test(name);
}

export function contextTokens({ contextTokens: tokens = CONTEXT_TOKENS }: ModelChoice): number {
  return tokens;
}
