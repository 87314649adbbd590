// The models people can choose from.
import { type LanguageModel, PocketAgent, resolveModel } from 'pocket-agent';
import { DiscordBotError, messageOf } from './errors.ts';
import type { ModelChoice } from './options.ts';
import type { GuildSettings } from './settings/settings.ts';

const CONTEXT_TOKENS = 100_000;
const SEES = /^(openai|anthropic|google|azure)\/|^(gpt|claude|gemini)-/;

export class Models {
  readonly #choices: readonly ModelChoice[];

  constructor(choices: readonly ModelChoice[]) {
    const faults = choices.flatMap((choice) => nameFault(choice) ?? []);
    if (faults.length > 0) throw new DiscordBotError('CONFIG_INVALID', faults.join('\n'));
    this.#choices = choices;
  }

  /** Throws what is wrong with any of them, as a fault of the configuration. */
  async checkAll(): Promise<void> {
    const faults = await Promise.all(this.#choices.map((choice) => this.check(choice).then(() => [], messageOf)));
    if (faults.flat().length > 0) throw new DiscordBotError('CONFIG_INVALID', faults.flat().join('\n'));
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

  /** Whether people there have more than one to choose from. */
  hasChoice(settings: GuildSettings): boolean {
    return this.allowed(settings).length > 1;
  }

  has(name: string): boolean {
    return this.#choices.some((choice) => choice.name === name);
  }

  /** Throws what keeps a model from being used: a missing key, a missing package, an unknown name. */
  async check({ name, model, modelSettings }: ModelChoice): Promise<LanguageModel> {
    try {
      return await resolveModel(model ?? name, modelSettings);
    } catch (error) {
      throw new DiscordBotError('REFUSED', unusable(name, error), { cause: error });
    }
  }
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
  return `The model "${name}" cannot be used: ${messageOf(error)}`;
}

export function seesImages({ name, vision }: ModelChoice): boolean {
  return vision ?? SEES.test(name);
}

export function contextTokens({ contextTokens: tokens = CONTEXT_TOKENS }: ModelChoice): number {
  return tokens;
}
