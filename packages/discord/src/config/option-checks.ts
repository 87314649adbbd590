// The options of a bot, checked before anything is opened: what would be ignored, or can never work, is refused.
import {
  closestName,
  type McpServerEntry,
  type ModelPrice,
  PocketAgent,
  PocketAgentClient,
  type Prices,
  profiles,
} from 'pocket-agent';
import { DiscordBotError, messageOf } from '../base/errors.ts';
import type { DatabaseLocation } from '../store/schema.ts';
import type { BotLimits, BotOptions, ModelChoice, ReplyOptions } from './options.ts';

type Names<Options> = Record<keyof Options, true>;

const ofBot: Names<BotOptions> = {
  token: true,
  apiUrl: true,
  fileHosts: true,
  database: true,
  models: true,
  toolDirectories: true,
  defaultCapability: true,
  mcpServers: true,
  mcpHosts: true,
  guilds: true,
  directMessages: true,
  systemPrompt: true,
  budget: true,
  prices: true,
  limits: true,
  reply: true,
  allowLinkHosts: true,
  healthPort: true,
  leaseMs: true,
  catchUpMs: true,
  closeGraceMs: true,
  logger: true,
  client: true,
};

const ofModel: Names<ModelChoice> = {
  name: true,
  model: true,
  modelSettings: true,
  completionOptions: true,
  contextTokens: true,
  vision: true,
};

const ofPrice: Names<ModelPrice> = { input: true, output: true, cachedInput: true, cacheWrite: true };
const database: Names<DatabaseLocation> = { url: true, file: true };
const reply: Names<ReplyOptions> = { editIntervalMs: true, maxParts: true };
const budget: Names<NonNullable<BotOptions['budget']>> = { userUsd: true, guildUsd: true };
const limits: Names<BotLimits> = {
  perUserPerMinute: true,
  perGuildPerMinute: true,
  waitingPerUser: true,
  runTimeoutMs: true,
  maxSteps: true,
  approvalTimeoutMs: true,
};
const groups = { database, reply, budget, limits };

/** Throws all faults at once. Whether folders, files, keys and ports are there shows at the start. */
export function checkOptions(options: BotOptions): void {
  const faults = [...unknownIn('A bot', options, ofBot), ...faultsOf(options)];
  for (const [group, known] of Object.entries(groups)) {
    const given = Reflect.get(options, group) ?? {};
    faults.push(...unknownIn(group, given, known), ...(known === database ? [] : numberFaults(group, given)));
  }
  if (faults.length > 0) throw new DiscordBotError('CONFIG_INVALID', faults.join('\n'));
}

function faultsOf(options: BotOptions): string[] {
  const { token, apiUrl, database: where, healthPort, mcpServers, prices, leaseMs, catchUpMs, closeGraceMs } = options;
  const faults = [...modelFaults(options.models), ...numberFaults('', { leaseMs, catchUpMs, closeGraceMs })];
  if (typeof token !== 'string' || token.trim() === '') faults.push('token is empty: it is that of a Discord bot.');
  if (apiUrl !== undefined && !isWebAddress(apiUrl)) faults.push(`apiUrl is no address: "${apiUrl}".`);
  if (!where?.url && !where?.file) faults.push('database needs a file, or the url of a PostgreSQL database.');
  if (healthPort !== undefined && !isPort(healthPort)) faults.push(`healthPort ${portRule(healthPort)}`);
  for (const [name, ids] of Object.entries({ guilds: options.guilds, directMessages: options.directMessages }))
    if (ids !== undefined && !(Array.isArray(ids) && ids.every((id) => typeof id === 'string')))
      faults.push(`${name} must be a list of ids, each a text such as "123456789012345678".`);
  const { fileHosts = [], allowLinkHosts = [], defaultCapability } = options;
  faults.push(...hostFaults('fileHosts', fileHosts), ...linkHostFaults('allowLinkHosts', allowLinkHosts));
  if (defaultCapability !== undefined) faults.push(...capabilityFaults('defaultCapability', defaultCapability));
  const wrong = serversFault(mcpServers ?? {}, process.env);
  if (wrong !== undefined) faults.push(`mcpServers: ${wrong}`);
  if (!arePrices(prices ?? {})) faults.push(`prices ${PRICES_RULE}`);
  return faults;
}

function modelFaults(models: unknown): string[] {
  if (!Array.isArray(models) || models.length === 0)
    return ['models is empty: name one, for example { name: "anthropic/claude-sonnet-5" }.'];
  const names: unknown[] = models.map((model) => model?.name);
  return models.flatMap((model, index) => {
    const name = names[index];
    if (typeof name !== 'string' || name === '') return [`models[${index}] needs a name.`];
    if (names.indexOf(name) < index) return [`models has "${name}" twice.`];
    const where = `models[${index}]`;
    const faults = completionFaults(`${where}.completionOptions`, model.completionOptions ?? {});
    return [...unknownIn(where, model, ofModel), ...faults];
  });
}

/** Of the options that go with every call of a model. */
export function completionFaults(where: string, given: unknown): string[] {
  if (!isRecord(given)) return [`${where} must be like {"temperature": 0}.`];
  try {
    // an agent looks at its options when it is made
    new PocketAgent({ agentConfig: { llmModel: 'demo', completionOptions: given } });
    return [];
  } catch (error) {
    const fault = messageOf(error).replace(/^(agentConfig\.)?completionOptions\.?/, '');
    return [fault.startsWith(' ') ? `${where}${fault}` : `${where}: ${fault}`];
  }
}

export function isPort(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 65_535;
}

export function portRule(value: unknown): string {
  return `must be a whole number from 0 (any free port) to 65535, not "${value}".`;
}

/** All that there are. */
const capabilities: readonly string[] = profiles.admin;

/** Of tools that do not say what they can do. */
export function capabilityFaults(where: string, given: string): string[] {
  if (capabilities.includes(given)) return [];
  const meant = closestName(given, capabilities);
  const hint = meant ? ` Did you mean "${meant}"?` : '';
  return [`${where} must be one of ${capabilities.join(', ')}, not "${given}".${hint}`];
}

/** `example.com`, `example.com:8443`, `*.example.com` or an address. */
const HOST = /^(\*\.)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i;

export function hostFaults(where: string, given: unknown): string[] {
  if (!Array.isArray(given)) return [`${where} must be a list of hosts, such as ["example.com"].`];
  return given
    .filter((host) => typeof host !== 'string' || !HOST.test(host))
    .map((host) => `${where} has "${host}", but a host looks like example.com, *.example.com or example.com:8443.`);
}

/** Here `*` stands for every host. */
export function linkHostFaults(where: string, given: unknown): string[] {
  return hostFaults(where, Array.isArray(given) ? given.filter((host) => host !== '*') : given);
}

export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

export const PRICES_RULE =
  'must be like {"gpt-5": {"input": 1.25, "output": 10}}: dollars for a million tokens, by model; cachedInput and cacheWrite may be there too.';

/** Of `input`, `output`, `cachedInput` and `cacheWrite` the first two have to be there. */
export function arePrices(value: unknown): value is Prices {
  if (!isRecord(value)) return false;
  return Object.values(value).every((price) => {
    if (!isRecord(price) || unknownIn('', price, ofPrice).length > 0) return false;
    return [price.input, price.output, price.cachedInput ?? 0, price.cacheWrite ?? 0].every(
      (dollars) => typeof dollars === 'number' && dollars >= 0,
    );
  });
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Why one of the servers could never be reached. */
export function serversFault(
  mcpServers: NonNullable<BotOptions['mcpServers']>,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  try {
    // connects to nothing yet
    new PocketAgentClient({ mcpConfig: { mcpServers } });
  } catch (error) {
    return messageOf(error);
  }
  for (const [name, entry] of Object.entries(mcpServers)) {
    if (entry.disabled) continue;
    if ('url' in entry && !entry.url.includes('${') && !isWebAddress(entry.url))
      return `MCP server "${name}": "url" must be a whole address such as https://example.com/mcp.`;
    const missing = missingVariable(entry, env);
    if (missing !== undefined)
      return `MCP server "${name}" needs the variable ${missing}, which is not set. Set it, or write \${${missing}:-a default}.`;
  }
  return undefined;
}

/** The first `${NAME}` or `${env:NAME}` without a value and without a default. */
function missingVariable(entry: McpServerEntry, env: Readonly<Record<string, string | undefined>>): string | undefined {
  if ('server' in entry) return undefined;
  const texts = 'command' in entry ? [entry.command, entry.args, entry.env, entry.cwd] : [entry.url, entry.headers];
  const named = [...JSON.stringify(texts).matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)\}/g)].flatMap(([, name]) => name ?? []);
  return named.find((name) => env[name] === undefined);
}

function numberFaults(group: string, given: object): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined || (typeof value === 'number' && value >= 0)) return [];
    return [`${group && `${group}.`}${name} must be a number of 0 or more, not ${JSON.stringify(value)}.`];
  });
}

/** What is undefined was left out. */
function unknownIn(whose: string, given: object, known: object): string[] {
  const names = Object.keys(known);
  return Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined || names.includes(name)) return [];
    const meant = closestName(name, names);
    return [
      `${whose} has no option "${name}". ${meant ? `Did you mean "${meant}"?` : `Available: ${names.join(', ')}.`}`,
    ];
  });
}
