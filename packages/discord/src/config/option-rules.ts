// The rules for the options of the bot. Environment variables are checked by the same rules under their own names.
import { isLoginKey } from '@pocket-agent/gateway/internal/logins';
import {
  booleanRule,
  definedKeys,
  functionRule,
  httpUrlHint,
  isRecord,
  type OptionRule,
  type OptionRules,
  OptionSet,
  oneOf,
  stringRule,
  valueError,
} from '@pocket-agent/kit';
import { type Capability, type ModelPrice, profiles } from 'pocket-agent';
import type { DatabaseLocation } from '../store/schema.ts';
import type { DailyBudget } from '../store/spending.ts';
import type { BotLimits, BotOptions, ModelChoice, ReplyOptions } from './options.ts';

const MAX_PORT = 65_535;
/** `example.com`, `example.com:8443`, `*.example.com` or an IP address. */
const HOST = /^(\*\.)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i;

export const capabilities: readonly Capability[] = profiles.admin;

const amount: OptionRule = {
  expected: 'a number of at least 0',
  accepts: (value) => typeof value === 'number' && value >= 0,
};
const host: OptionRule = {
  expected: 'a host such as example.com, *.example.com or example.com:8443',
  accepts: (value) => typeof value === 'string' && HOST.test(value) && URL.canParse(`http://${value}`),
};
const hostOrAny: OptionRule = {
  expected: `${host.expected}, or * for any`,
  accepts: (value) => value === '*' || host.accepts(value),
};
const price: OptionRule = {
  expected:
    'dollars per million tokens such as {"input": 1.25, "output": 10}, with cachedInput and cacheWrite if they differ',
  accepts: isPrice,
};
const priceRules: OptionRules<ModelPrice> = { input: amount, output: amount, cachedInput: amount, cacheWrite: amount };

export function listOfEach(expected: string, part: OptionRule): OptionRule {
  return { expected, accepts: Array.isArray, part };
}

const hosts = (part: OptionRule) => listOfEach('a list of hosts', part);
const ids = listOfEach('a list of ids', { ...stringRule, expected: 'a string such as "123456789012345678"' });

/** `true`: checked in option-checks.ts, by Discord or when the bot starts. */
export const botRules = {
  token: true,
  apiUrl: {
    expected: 'an HTTP URL such as http://localhost:3000/api',
    accepts: (value) => typeof value === 'string' && httpUrlHint(value) === undefined,
  },
  fileHosts: hosts(host),
  database: true,
  models: true,
  toolDirectories: true,
  defaultCapability: oneOf(...capabilities),
  mcpServers: true,
  mcpHosts: hosts(hostOrAny),
  loginKey: {
    expected: 'a string of at least 32 characters',
    accepts: (value) => typeof value === 'string' && isLoginKey(value),
    isSecret: true,
  },
  guilds: ids,
  directMessages: ids,
  memory: booleanRule,
  systemPrompt: stringRule,
  budget: true,
  prices: { expected: 'an object of prices by model', accepts: isRecord, part: price },
  limits: true,
  reply: true,
  allowLinkHosts: hosts(hostOrAny),
  healthPort: {
    expected: `a whole number from 0 (any free port) to ${MAX_PORT}`,
    accepts: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_PORT,
  },
  watch: functionRule,
  leaseMs: amount,
  catchUpMs: amount,
  closeGraceMs: amount,
  logger: true,
  client: true,
} satisfies OptionRules<BotOptions>;

export const botOptionSet = new OptionSet<BotOptions>('A bot', botRules);

export const modelOptionSet = new OptionSet<ModelChoice>('models', {
  name: true,
  model: true,
  modelSettings: true,
  completionOptions: true,
  contextTokens: amount,
  vision: true,
});

export const budgetRules = { userUsd: amount, guildUsd: amount } satisfies OptionRules<DailyBudget>;

/** Options that are objects, by name. */
export const groups = {
  database: new OptionSet<DatabaseLocation>('database', { url: true, file: true }),
  reply: new OptionSet<ReplyOptions>('reply', { editIntervalMs: amount, maxParts: amount }),
  budget: new OptionSet<DailyBudget>('budget', budgetRules),
  limits: new OptionSet<BotLimits>('limits', {
    perUserPerMinute: amount,
    perGuildPerMinute: amount,
    waitingPerUser: amount,
    runTimeoutMs: amount,
    maxSteps: amount,
    approvalTimeoutMs: amount,
  }),
};

/** All unknown options and wrong values. `path` comes before the names of options. */
export function optionProblems(set: OptionSet, options: object, path = ''): string[] {
  return definedKeys(options).flatMap((key) => {
    const rule: true | OptionRule | undefined = Reflect.get(set.rules, key);
    if (rule === undefined) return set.unknownOption(key, path || set.owner).message;
    return rule === true ? [] : valueProblems(path ? `${path}.${key}` : key, Reflect.get(options, key), rule);
  });
}

/** The problems of a value, and of each item of a list or object. */
export function valueProblems(name: string, value: unknown, { part, ...rule }: OptionRule): string[] {
  const error = valueError(name, value, rule);
  if (error) return [error.message];
  if (!part) return [];
  return Object.entries(value ?? {}).flatMap(([key, item]) => valueError(`${name}[${key}]`, item, part)?.message ?? []);
}

function isPrice(value: unknown): boolean {
  if (!isRecord(value) || value.input === undefined || value.output === undefined) return false;
  return new OptionSet<ModelPrice>('', priceRules).findError(value) === undefined;
}
