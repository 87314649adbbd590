// What the bot is made from: options of a program, or variables of the environment, all faults told at once.
import type { ClientOptions } from 'discord.js';
import type { LanguageModel, Logger, McpServerEntry, ModelSettings, Prices } from 'pocket-agent';
import type { DailyBudget } from './conversation/spending.ts';
import { DiscordBotError } from './errors.ts';
import { jsonLogger, type LogLevel, logLevels } from './log.ts';
import type { ReplyOptions } from './reply/live-reply.ts';

export interface ModelChoice {
  /** What people choose, and, without `model`, what is resolved: `anthropic/…`, `gpt-…`, `demo`. */
  name: string;
  model?: LanguageModel;
  modelSettings?: ModelSettings;
  /** How much of a conversation it takes, in tokens. Default 100,000. */
  contextTokens?: number;
  /** Whether it sees pictures. Default: when its name is one of OpenAI, Anthropic or Google. */
  vision?: boolean;
}

export interface BotLimits {
  /** Questions of one person in a minute. Default 10. */
  perUserPerMinute?: number;
  /** Questions of one guild in a minute. Default 120. */
  perGuildPerMinute?: number;
  /** Questions of one person that wait or run. Default 3. */
  waitingPerUser?: number;
  /** Time for one answer. Default 600,000. */
  runTimeoutMs?: number;
  /** Steps of one answer. Default 25. */
  maxSteps?: number;
  /** A question for approval expires after this. Default 120,000. */
  approvalTimeoutMs?: number;
}

export interface BotOptions {
  token: string;
  /** Another API than Discord's, for example of a local counterpart. */
  apiUrl?: string;
  database: { url?: string; file?: string };
  /** The first one is used until somebody chooses. */
  models: readonly ModelChoice[];
  /** Directories of tool folders, beside the ones that come along. */
  toolDirectories?: readonly string[];
  /** MCP servers that every conversation can choose. */
  mcpServers?: Readonly<Record<string, McpServerEntry>>;
  /** Hosts on which admins of guilds may bring MCP servers along; `*` for any. Default none. */
  mcpHosts?: readonly string[];
  /** Who the bot is; rules for Discord are added. */
  systemPrompt?: string;
  /** A day's dollars for every person and every guild; a guild can set less. */
  budget?: DailyBudget;
  prices?: Prices;
  limits?: BotLimits;
  reply?: ReplyOptions;
  /** Port of the health endpoint; 0 for any. Default: none. */
  healthPort?: number;
  /** A process that has not been seen for so long is taken for dead. Default 45,000. */
  leaseMs?: number;
  /** Questions that came while nobody was there are answered when they are not older. Default 900,000. */
  catchUpMs?: number;
  /** What runs gets so long to end when the bot is closed. Default 10,000. */
  closeGraceMs?: number;
  logger?: Logger;
  /** For discord.js: shards and the like. */
  client?: Partial<ClientOptions>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Names of all variables are in docs/discord.md. The token is not looked at. */
export function readEnvironment(env: Environment): Omit<BotOptions, 'token'> {
  const faults: string[] = [];
  const number = (name: string) => numberIn(env, name, faults);
  const level = env.POCKET_DISCORD_LOG_LEVEL?.toLowerCase() ?? 'info';
  if (!isLevel(level)) faults.push(`POCKET_DISCORD_LOG_LEVEL must be one of ${logLevels.join(', ')}, not "${level}".`);
  const apiUrl = env.DISCORD_API_URL;
  if (apiUrl && !URL.canParse(apiUrl))
    faults.push('DISCORD_API_URL must be a whole URL such as http://localhost:3000/api.');
  const url = env.DATABASE_URL;
  if (url && !/^postgres(ql)?:\/\//.test(url)) {
    faults.push(
      'DATABASE_URL must begin with postgres://. For SQLite leave it out and set POCKET_DISCORD_DB to a file.',
    );
  }
  const models = listIn(env.POCKET_DISCORD_MODELS ?? env.POCKET_DISCORD_MODEL ?? 'demo');
  if (models.length === 0)
    faults.push('POCKET_DISCORD_MODELS is empty: name a model, for example anthropic/claude-sonnet-5.');
  const healthPort = number('POCKET_DISCORD_HEALTH_PORT');
  const userUsd = number('POCKET_DISCORD_USER_BUDGET');
  const guildUsd = number('POCKET_DISCORD_GUILD_BUDGET');
  const mcpServers = serversIn(env.POCKET_DISCORD_MCP_SERVERS, faults);
  if (faults.length > 0) throw new DiscordBotError('CONFIG_INVALID', faults.join('\n'));
  return {
    ...(apiUrl ? { apiUrl } : {}),
    database: url ? { url } : { file: env.POCKET_DISCORD_DB || 'pocket-discord.db' },
    models: models.map((name) => ({ name })),
    toolDirectories: listIn(env.POCKET_DISCORD_TOOLS ?? ''),
    mcpServers,
    mcpHosts: listIn(env.POCKET_DISCORD_MCP_HOSTS ?? ''),
    ...(env.POCKET_DISCORD_PROMPT ? { systemPrompt: env.POCKET_DISCORD_PROMPT } : {}),
    budget: { userUsd, guildUsd },
    ...(healthPort === undefined ? {} : { healthPort }),
    logger: jsonLogger(isLevel(level) ? level : 'info'),
  };
}

function isLevel(text: string): text is LogLevel {
  return logLevels.some((level) => level === text);
}

function listIn(text: string): string[] {
  return text.split(',').flatMap((item) => item.trim() || []);
}

function numberIn(env: Environment, name: string, faults: string[]): number | undefined {
  const text = env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  faults.push(`${name} must be a number of 0 or more, not "${text}".`);
  return undefined;
}

function serversIn(text: string | undefined, faults: string[]): Record<string, McpServerEntry> {
  if (!text) return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
      return { ...parsed } as Record<string, McpServerEntry>; // checked entry by entry when it is connected
    }
  } catch {}
  faults.push('POCKET_DISCORD_MCP_SERVERS must be JSON such as {"weather": {"url": "https://example.com/mcp"}}.');
  return {};
}
