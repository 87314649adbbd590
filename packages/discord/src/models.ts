// The models people can choose from.
import { type LanguageModel, resolveModel } from 'pocket-agent';
import { DiscordBotError, messageOf } from './errors.ts';
import type { ModelChoice } from './options.ts';
import type { GuildSettings } from './settings/settings.ts';

const CONTEXT_TOKENS = 100_000;
const SEES = /^(openai|anthropic|google|azure)\/|^(gpt|claude|gemini)-/;

export class Models {
  readonly #choices: readonly ModelChoice[];

  constructor(choices: readonly ModelChoice[]) {
    if (choices.length === 0)
      throw new DiscordBotError('CONFIG_INVALID', 'The bot needs at least one model: set models.');
    this.#choices = choices;
  }

  /** Those a guild lets its people choose; all when it names none that exists. */
  allowed({ models }: GuildSettings): readonly ModelChoice[] {
    const named = this.#choices.filter(({ name }) => models.includes(name));
    return named.length > 0 ? named : this.#choices;
  }

  /** The chosen one while it may be chosen, else the first. */
  pick(name: string | null, settings: GuildSettings): ModelChoice {
    const allowed = this.allowed(settings);
    const found = allowed.find((choice) => choice.name === name) ?? allowed[0];
    if (!found) throw new DiscordBotError('CONFIG_INVALID', 'The bot has no model.');
    return found;
  }

  has(name: string): boolean {
    return this.#choices.some((choice) => choice.name === name);
  }

  /** Throws what keeps a model from being used: a missing key, a missing package, an unknown name. */
  async check({ name, model, modelSettings }: ModelChoice): Promise<LanguageModel> {
    try {
      return await resolveModel(model ?? name, modelSettings);
    } catch (error) {
      throw new DiscordBotError('REFUSED', `The model "${name}" cannot be used: ${messageOf(error)}`, { cause: error });
    }
  }
}

export function seesImages({ name, vision }: ModelChoice): boolean {
  return vision ?? SEES.test(name);
}

export function contextTokens({ contextTokens: tokens = CONTEXT_TOKENS }: ModelChoice): number {
  return tokens;
}
