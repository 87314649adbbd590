// Variables of the environment as options; all that is wrong with them is told at once.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { bundledFolderPath } from '@pocket-agent/tool-folder';
import { type Capability, type CompletionOptions, closestName, type McpServerEntry, type Prices } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import { jsonLogger, type LogLevel, logLevels } from '../base/logger.ts';
import { modelFault } from './models.ts';
import {
  arePrices,
  capabilityFaults,
  completionFaults,
  hostFaults,
  isPort,
  isRecord,
  isWebAddress,
  linkHostFaults,
  PRICES_RULE,
  portRule,
  serversFault,
} from './option-checks.ts';
import type { BotOptions } from './options.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'POCKET_DISCORD_';
const NOBODY = 'nobody';
const names = [
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
  'GUILDS',
  'DIRECT_MESSAGES',
  'USER_BUDGET',
  'GUILD_BUDGET',
  'PRICES',
  'PROMPT',
  'HEALTH_PORT',
  'LOG_LEVEL',
];
/** What Kubernetes sets for a service called pocket-discord is nobody's mistake. */
const OF_A_SERVICE = /^POCKET_DISCORD_(SERVICE_|PORT$|PORT_\d)/;
/** How Discord numbers guilds and people. */
const ID = /^\d{15,21}$/;
const HOST = /^(\*|[\w.-]+(:\d+)?|\[[\da-f:.]+\](:\d+)?)$/i;

/** Names of all variables are in docs/discord.md. The token is not looked at. */
export function readEnvironment(env: Environment): Omit<BotOptions, 'token'> {
  const faults = unknownNames(env);
  const text = (name: string) => env[name]?.trim() || undefined;
  const list = (name: string) =>
    text(name)
      ?.split(',')
      .flatMap((item) => item.trim() || []) ?? [];
  const dollars = (name: string) => {
    const value = text(name) === undefined ? undefined : Number(text(name));
    if (value !== undefined && !(value >= 0 && Number.isFinite(value)))
      faults.push(`${name} must be a number of 0 or more, not "${text(name)}".`);
    return value;
  };

  const level = text('POCKET_DISCORD_LOG_LEVEL')?.toLowerCase() ?? 'info';
  if (!isLevel(level)) faults.push(`POCKET_DISCORD_LOG_LEVEL must be one of ${logLevels.join(', ')}, not "${level}".`);
  const apiUrl = text('DISCORD_API_URL');
  if (apiUrl !== undefined && !isWebAddress(apiUrl))
    faults.push('DISCORD_API_URL must be a whole URL such as http://localhost:3000/api.');
  const models = text('POCKET_DISCORD_MODELS') === undefined ? ['demo'] : list('POCKET_DISCORD_MODELS');
  if (models.length === 0)
    faults.push('POCKET_DISCORD_MODELS is empty: name a model, for example anthropic/claude-sonnet-5.');
  for (const [index, name] of models.entries()) {
    if (models.indexOf(name) < index) faults.push(`POCKET_DISCORD_MODELS names "${name}" twice.`);
    else faults.push(...told('POCKET_DISCORD_MODELS', modelFault({ name })));
  }
  const optionsOf = modelOptionsIn(text('POCKET_DISCORD_MODEL_OPTIONS'), { models, faults });
  const port = text('POCKET_DISCORD_HEALTH_PORT');
  if (port !== undefined && !isPort(Number(port))) faults.push(`POCKET_DISCORD_HEALTH_PORT ${portRule(port)}`);
  const mcpHosts = list('POCKET_DISCORD_MCP_HOSTS');
  for (const host of mcpHosts.filter((each) => !isHost(each)))
    faults.push(`POCKET_DISCORD_MCP_HOSTS has "${host}", but a host looks like example.com or example.com:8443.`);
  const ids = (name: string) => {
    if (text(name) === undefined) return undefined;
    const given = text(name) === NOBODY ? [] : list(name);
    for (const id of given.filter((each) => !ID.test(each)))
      faults.push(
        `${name} has "${id}", but an id is a number of 15 to 21 digits (Copy ID in Discord's developer mode).`,
      );
    return given;
  };
  const [guilds, directMessages] = [ids('POCKET_DISCORD_GUILDS'), ids('POCKET_DISCORD_DIRECT_MESSAGES')];
  const toolDirectories = list('POCKET_DISCORD_TOOLS');
  for (const path of toolDirectories)
    if (!bundledFolderPath(path)) faults.push(...directoryFault('POCKET_DISCORD_TOOLS', path));
  const capability = text('POCKET_DISCORD_DEFAULT_CAPABILITY');
  if (capability !== undefined) faults.push(...capabilityFaults('POCKET_DISCORD_DEFAULT_CAPABILITY', capability));
  const fileHosts = list('POCKET_DISCORD_FILE_HOSTS');
  const allowLinkHosts = list('POCKET_DISCORD_ALLOW_LINK_HOSTS');
  faults.push(...hostFaults('POCKET_DISCORD_FILE_HOSTS', fileHosts));
  faults.push(...linkHostFaults('POCKET_DISCORD_ALLOW_LINK_HOSTS', allowLinkHosts));
  const knowledge = text('POCKET_DISCORD_KNOWLEDGE');
  if (knowledge !== undefined) faults.push(...directoryFault('POCKET_DISCORD_KNOWLEDGE', knowledge));
  const database = databaseIn(text, faults);
  const mcpServers = serversIn(env, faults);
  const prices = pricesIn(text('POCKET_DISCORD_PRICES'), faults);
  const budget = { userUsd: dollars('POCKET_DISCORD_USER_BUDGET'), guildUsd: dollars('POCKET_DISCORD_GUILD_BUDGET') };
  const systemPrompt = text('POCKET_DISCORD_PROMPT');
  if (faults.length > 0) throw new DiscordBotError('CONFIG_INVALID', faults.join('\n'));
  return {
    ...(apiUrl === undefined ? {} : { apiUrl }),
    database,
    models: models.map((name) => ({ name, ...optionsOf(name) })),
    toolDirectories,
    ...(capability === undefined ? {} : { defaultCapability: capability as Capability }),
    fileHosts,
    allowLinkHosts,
    mcpServers,
    mcpHosts,
    ...(guilds ? { guilds } : {}),
    ...(directMessages ? { directMessages } : {}),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    budget,
    prices,
    ...(port === undefined ? {} : { healthPort: Number(port) }),
    logger: jsonLogger(isLevel(level) ? level : 'info'),
  };
}

/** A misspelt name would leave something as it is without a word. */
function unknownNames(env: Environment): string[] {
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith(PREFIX) || !env[name] || OF_A_SERVICE.test(name)) return [];
    const ending = name.slice(PREFIX.length);
    if (names.includes(ending)) return [];
    const meant = closestName(ending, names);
    return [`${name} is no variable of this bot. ${meant ? `Did you mean ${PREFIX}${meant}?` : 'Remove it.'}`];
  });
}

function isLevel(text: string): text is LogLevel {
  return logLevels.some((level) => level === text);
}

function databaseIn(text: (name: string) => string | undefined, faults: string[]): BotOptions['database'] {
  const url = text('DATABASE_URL');
  if (url !== undefined) {
    const isRight = /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
    if (!isRight) faults.push('DATABASE_URL must look like postgres://…; for SQLite set POCKET_DISCORD_DB to a file.');
    return { url };
  }
  const file = text('POCKET_DISCORD_DB') ?? 'pocket-discord.db';
  if (file === ':memory:') return { file };
  // one that is made where nothing was, perhaps beside a disk that is missing, would have forgotten everything
  faults.push(...directoryFault('POCKET_DISCORD_DB', dirname(file)));
  if (isDirectory(file)) faults.push(`POCKET_DISCORD_DB must be a file, and ${file} is a directory.`);
  return { file };
}

function told(name: string, fault: string | undefined): string[] {
  return fault === undefined ? [] : [`${name}: ${fault}`];
}

function directoryFault(name: string, path: string): string[] {
  return isDirectory(path) ? [] : [`${name}: there is no directory ${path}. Make it, or name another.`];
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** URL knows which ports there are. */
function isHost(text: string): boolean {
  return HOST.test(text) && (text === '*' || URL.canParse(`http://${text}`));
}

/** Undefined when it is no JSON. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** By the name of a model. */
function modelOptionsIn(text: string | undefined, { models, faults }: { models: string[]; faults: string[] }) {
  const variable = 'POCKET_DISCORD_MODEL_OPTIONS';
  const parsed = text === undefined ? {} : parsedJson(text);
  const given = isRecord(parsed) ? parsed : {};
  if (given !== parsed) faults.push(`${variable} must be JSON such as {"gpt-5": {"maxOutputTokens": 4000}}.`);
  for (const [name, options] of Object.entries(given)) {
    if (!models.includes(name))
      faults.push(`${variable} has "${name}", but POCKET_DISCORD_MODELS names ${models.join(', ')}.`);
    faults.push(...completionFaults(`${variable}: "${name}"`, options));
  }
  // checked right before
  return (name: string) => (Object.hasOwn(given, name) ? { completionOptions: given[name] as CompletionOptions } : {});
}

function pricesIn(text: string | undefined, faults: string[]): Prices {
  const parsed = text === undefined ? {} : parsedJson(text);
  if (arePrices(parsed)) return parsed;
  faults.push(`POCKET_DISCORD_PRICES ${PRICES_RULE}`);
  return {};
}

function serversIn(env: Environment, faults: string[]): Record<string, McpServerEntry> {
  const name = 'POCKET_DISCORD_MCP_SERVERS';
  const text = env[name]?.trim();
  if (!text) return {};
  const parsed = parsedJson(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    faults.push(`${name} must be JSON such as {"weather": {"url": "https://example.com/mcp"}}.`);
    return {};
  }
  // checked right after
  const servers = ('mcpServers' in parsed ? parsed.mcpServers : parsed) as Record<string, McpServerEntry>;
  faults.push(...told(name, serversFault(servers, env)));
  return servers;
}
