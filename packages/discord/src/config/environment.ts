// The options of the bot from environment variables. docs/discord.md lists the variables.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { didYouMean, isRecord, type LogLevel, logLevels, oneOf, withoutUndefined } from '@pocket-agent/kit';
import { bundledFolderPath } from '@pocket-agent/tool-folder';
import type { Capability, CompletionOptions, McpServerEntry, Prices } from 'pocket-agent';
import { jsonLogger } from '../base/logger.ts';
import { EnvironmentVariables } from './environment-variables.ts';
import { modelProblem } from './models.ts';
import { completionProblems, type Environment, mcpServersProblem } from './option-checks.ts';
import { botRules, budgetRules, capabilities, listOfEach } from './option-rules.ts';
import type { BotOptions, ModelChoice } from './options.ts';

/** Written in place of a list of ids: the bot serves no guild, or no user in direct messages. */
const EXCLUDE_ALL = 'nobody';
const snowflakes = listOfEach('a list of ids', {
  expected: 'a Discord id of 15 to 21 digits (Copy ID in developer mode)',
  accepts: (value) => typeof value === 'string' && /^\d{15,21}$/.test(value),
});

/** Throws all problems in one error. The token is not read. */
export function readEnvironment(env: Environment): Omit<BotOptions, 'token'> {
  const variables = new EnvironmentVariables(env);
  const level = variables.text('POCKET_DISCORD_LOG_LEVEL')?.toLowerCase() ?? 'info';
  variables.check('POCKET_DISCORD_LOG_LEVEL', level, oneOf(...logLevels));
  readDirectory(variables, 'POCKET_DISCORD_KNOWLEDGE'); // only checked: its tool reads the variable
  const options = {
    ...withoutUndefined({
      apiUrl: variables.text('DISCORD_API_URL', botRules.apiUrl),
      defaultCapability: readCapability(variables),
      loginKey: variables.text('POCKET_DISCORD_LOGIN_KEY', botRules.loginKey),
      guilds: readIds(variables, 'POCKET_DISCORD_GUILDS'),
      directMessages: readIds(variables, 'POCKET_DISCORD_DIRECT_MESSAGES'),
      memory: variables.flag('POCKET_DISCORD_MEMORY'),
      systemPrompt: variables.text('POCKET_DISCORD_PROMPT'),
      healthPort: variables.number('POCKET_DISCORD_HEALTH_PORT', botRules.healthPort),
    }),
    database: readDatabase(variables),
    models: readModels(variables),
    toolDirectories: readToolDirectories(variables),
    fileHosts: variables.list('POCKET_DISCORD_FILE_HOSTS', botRules.fileHosts) ?? [],
    allowLinkHosts: variables.list('POCKET_DISCORD_ALLOW_LINK_HOSTS', botRules.allowLinkHosts) ?? [],
    mcpServers: readMcpServers(variables, env),
    mcpHosts: variables.list('POCKET_DISCORD_MCP_HOSTS', botRules.mcpHosts) ?? [],
    budget: {
      userUsd: variables.number('POCKET_DISCORD_USER_BUDGET', budgetRules.userUsd),
      guildUsd: variables.number('POCKET_DISCORD_GUILD_BUDGET', budgetRules.guildUsd),
    },
    prices: readPrices(variables),
  };
  variables.throwProblems();
  return { ...options, logger: jsonLogger(level as LogLevel) }; // checked above
}

function readModels(variables: EnvironmentVariables): ModelChoice[] {
  const variable = 'POCKET_DISCORD_MODELS';
  const names = variables.list(variable) ?? ['demo'];
  const { problems } = variables;
  if (names.length === 0) problems.push(`${variable} is empty: name a model, for example anthropic/claude-sonnet-5.`);
  for (const [index, name] of names.entries()) {
    const problem = modelProblem({ name });
    if (names.indexOf(name) < index) problems.push(`${variable} names "${name}" twice.`);
    else if (problem !== undefined) problems.push(`${variable}: ${problem}`);
  }
  const options = readModelOptions(variables, names);
  return names.map((name) => ({ name, ...options(name) }));
}

function readModelOptions(variables: EnvironmentVariables, models: readonly string[]) {
  const variable = 'POCKET_DISCORD_MODEL_OPTIONS';
  const byModel = readRecord(variables, variable, '{"gpt-5": {"maxOutputTokens": 4000}}');
  for (const [name, options] of Object.entries(byModel)) {
    if (!models.includes(name))
      variables.problems.push(`${variable} has "${name}", but POCKET_DISCORD_MODELS names ${models.join(', ')}.`);
    variables.problems.push(...completionProblems(`${variable}: "${name}"`, options));
  }
  // checked above
  return (name: string) =>
    Object.hasOwn(byModel, name) ? { completionOptions: byModel[name] as CompletionOptions } : {};
}

function readRecord(variables: EnvironmentVariables, name: string, example: string): Record<string, unknown> {
  const parsed = variables.json(name, { example }) ?? {};
  if (isRecord(parsed)) return parsed;
  variables.problems.push(`${name} must be JSON such as ${example}.`);
  return {};
}

function readMcpServers(variables: EnvironmentVariables, env: Environment): Record<string, McpServerEntry> {
  const name = 'POCKET_DISCORD_MCP_SERVERS';
  const parsed = readRecord(variables, name, '{"weather": {"url": "https://example.com/mcp"}}');
  // checked below
  const servers = ('mcpServers' in parsed ? parsed.mcpServers : parsed) as Record<string, McpServerEntry>;
  const problem = mcpServersProblem(servers, env);
  if (problem !== undefined) variables.problems.push(`${name}: ${problem}`);
  return servers;
}

function readPrices(variables: EnvironmentVariables): Prices {
  const name = 'POCKET_DISCORD_PRICES';
  const prices = readRecord(variables, name, '{"gpt-5": {"input": 1.25, "output": 10}}');
  return variables.check(name, prices, botRules.prices) as Prices;
}

function readCapability(variables: EnvironmentVariables): Capability | undefined {
  const name = 'POCKET_DISCORD_DEFAULT_CAPABILITY';
  const value = variables.text(name);
  if (value === undefined || isCapability(value)) return value;
  const choices = capabilities.join(', ');
  variables.problems.push(`${name} must be one of ${choices}, got "${value}".${didYouMean(value, capabilities)}`);
  return undefined;
}

function isCapability(text: string): text is Capability {
  return capabilities.some((capability) => capability === text);
}

function readIds(variables: EnvironmentVariables, name: string): string[] | undefined {
  return variables.text(name) === EXCLUDE_ALL ? [] : variables.list(name, snowflakes);
}

function readToolDirectories(variables: EnvironmentVariables): string[] {
  const paths = variables.list('POCKET_DISCORD_TOOLS') ?? [];
  for (const path of paths) if (!bundledFolderPath(path)) requireDirectory(variables, 'POCKET_DISCORD_TOOLS', path);
  return paths;
}

function readDatabase(variables: EnvironmentVariables): BotOptions['database'] {
  const url = variables.text('DATABASE_URL');
  if (url !== undefined) {
    const isPostgres = /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
    if (!isPostgres)
      variables.problems.push('DATABASE_URL must look like postgres://…; for SQLite set POCKET_DISCORD_DB to a file.');
    return { url };
  }
  const file = variables.text('POCKET_DISCORD_DB') ?? 'pocket-discord.db';
  if (file === ':memory:') return { file };
  // never create the directory: a new database beside an unmounted disk would be empty
  requireDirectory(variables, 'POCKET_DISCORD_DB', dirname(file));
  if (isDirectory(file)) variables.problems.push(`POCKET_DISCORD_DB must be a file, but ${file} is a directory.`);
  return { file };
}

function readDirectory(variables: EnvironmentVariables, name: string): void {
  const path = variables.text(name);
  if (path !== undefined) requireDirectory(variables, name, path);
}

function requireDirectory(variables: EnvironmentVariables, name: string, path: string): void {
  if (!isDirectory(path))
    variables.problems.push(`${name}: there is no directory ${path}. Create it, or name another.`);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
