// Reads environment variables as text, lists, numbers and JSON, and collects all problems.
import { type OptionRule, oneOf, unknownVariables } from '@pocket-agent/kit';
import { DiscordBotError } from '../base/errors.ts';
import type { Environment } from './option-checks.ts';
import { valueProblems } from './option-rules.ts';

const PREFIX = 'POCKET_DISCORD_';
const KNOWN_NAMES = [
  'DB',
  'MODELS',
  'MODEL_OPTIONS',
  'TOOLS',
  'DEFAULT_CAPABILITY',
  'FILE_HOSTS',
  'ALLOW_LINK_HOSTS',
  'KNOWLEDGE',
  'MCP_SERVERS',
  'MCP_HOSTS',
  'LOGIN_KEY',
  'GUILDS',
  'DIRECT_MESSAGES',
  'USER_BUDGET',
  'GUILD_BUDGET',
  'PRICES',
  'MEMORY',
  'PROMPT',
  'HEALTH_PORT',
  'STUDIO',
  'LOG_LEVEL',
].map((ending) => PREFIX + ending);

export class EnvironmentVariables {
  readonly problems: string[];
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
    this.problems = unknownNameProblems(env);
  }

  /** Undefined if the variable is not set or blank. */
  text(name: string, rule?: OptionRule): string | undefined {
    const value = this.#env[name]?.trim() || undefined;
    return rule && value !== undefined ? this.check(name, value, rule) : value;
  }

  /** The items of a comma-separated list. */
  list(name: string, rule?: OptionRule): string[] | undefined {
    const items = this.text(name)
      ?.split(',')
      .flatMap((item) => item.trim() || []);
    return rule && items ? this.check(name, items, rule) : items;
  }

  number(name: string, rule: OptionRule): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    // errors should show the text, not NaN
    this.check(name, Number.isNaN(value) ? text : value, rule);
    return value;
  }

  /** `true` or `false`. */
  flag(name: string): boolean | undefined {
    const text = this.text(name)?.toLowerCase();
    return text === undefined ? undefined : this.check(name, text, oneOf('true', 'false')) === 'true';
  }

  /** `example` is shown if the text is not JSON. */
  json(name: string, { example }: { example: string }): unknown {
    const text = this.text(name);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      this.problems.push(`${name} must be JSON such as ${example}.`);
      return undefined;
    }
  }

  check<Value>(name: string, value: Value, rule: OptionRule): Value {
    this.problems.push(...valueProblems(name, value, rule));
    return value;
  }

  throwProblems(): void {
    if (this.problems.length > 0) throw new DiscordBotError('CONFIG_INVALID', this.problems.join('\n'));
  }
}

/** A misspelt variable would be ignored silently. */
function unknownNameProblems(env: Environment): string[] {
  return unknownVariables(env, { prefix: PREFIX, known: KNOWN_NAMES }).map(
    ({ name, meant }) => `${name} is not a variable of this bot. ${meant ? `Did you mean ${meant}?` : 'Remove it.'}`,
  );
}
