// The options of a bot, checked before anything is opened: what would be ignored, or can never work, is refused.
import { closestName, PocketAgentClient } from 'pocket-agent';
import { DiscordBotError, messageOf } from './errors.ts';
import type { BotLimits, BotOptions, ModelChoice } from './options.ts';
import type { ReplyOptions } from './reply/live-reply.ts';
import type { DatabasePlace } from './store/schema.ts';

type Names<Options> = Record<keyof Options, true>;

const ofBot: Names<BotOptions> = {
  token: true,
  apiUrl: true,
  database: true,
  models: true,
  toolDirectories: true,
  mcpServers: true,
  mcpHosts: true,
  systemPrompt: true,
  budget: true,
  prices: true,
  limits: true,
  reply: true,
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
  contextTokens: true,
  vision: true,
};

const database: Names<DatabasePlace> = { url: true, file: true };
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
  const { token, apiUrl, database: where, healthPort, mcpServers, leaseMs, catchUpMs, closeGraceMs } = options;
  const faults = [...modelFaults(options.models), ...numberFaults('', { leaseMs, catchUpMs, closeGraceMs })];
  if (typeof token !== 'string' || token.trim() === '') faults.push('token is empty: it is that of a Discord bot.');
  if (apiUrl !== undefined && !isWebAddress(apiUrl)) faults.push(`apiUrl is no address: "${apiUrl}".`);
  if (!where?.url && !where?.file) faults.push('database needs a file, or the url of a PostgreSQL database.');
  if (healthPort !== undefined && !isPort(healthPort)) faults.push(`healthPort ${portRule(healthPort)}`);
  const wrong = serversFault(mcpServers ?? {});
  if (wrong !== undefined) faults.push(`mcpServers: ${wrong}`);
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
    return unknownIn(`models[${index}]`, model, ofModel);
  });
}

export function isPort(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 65_535;
}

export function portRule(value: unknown): string {
  return `must be a whole number from 0 (any free port) to 65535, not "${value}".`;
}

export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Why one of the servers could never be reached. */
export function serversFault(mcpServers: NonNullable<BotOptions['mcpServers']>): string | undefined {
  try {
    // connects to nothing yet
    new PocketAgentClient({ mcpConfig: { mcpServers } });
  } catch (error) {
    return messageOf(error);
  }
  const wrong = Object.entries(mcpServers).find(
    ([, entry]) => 'url' in entry && !entry.url.includes('${') && !isWebAddress(entry.url),
  );
  return wrong && `MCP server "${wrong[0]}": "url" must be a whole address such as https://example.com/mcp.`;
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
      `${whose} has no option "${name}". ${meant ? `Did you mean "${meant}"?` : `There are: ${names.join(', ')}.`}`,
    ];
  });
}
