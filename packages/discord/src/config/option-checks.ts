// Checks the options of a bot before anything is opened, and reports all problems in one error.
import { errorText, isRecord } from '@pocket-agent/kit';
import { type McpServerEntry, PocketAgent, PocketAgentClient } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import { botOptionSet, groups, modelOptionSet, optionProblems } from './option-rules.ts';
import type { BotOptions } from './options.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Does not check whether folders, files, keys and ports exist: the start does. */
export function checkOptions(options: BotOptions): void {
  const problems = [...optionProblems(botOptionSet, options), ...requiredProblems(options)];
  for (const [name, set] of Object.entries(groups))
    problems.push(...optionProblems(set, Reflect.get(options, name) ?? {}, name));
  if (problems.length > 0) throw new DiscordBotError('CONFIG_INVALID', problems.join('\n'));
}

function requiredProblems({ token, database, models, mcpServers = {} }: BotOptions): string[] {
  const problems = modelProblems(models);
  if (typeof token !== 'string' || token.trim() === '')
    problems.push('token is empty: set the token of a Discord bot.');
  if (!database?.url && !database?.file) problems.push('database needs a file, or the url of a PostgreSQL database.');
  const problem = mcpServersProblem(mcpServers, process.env);
  if (problem !== undefined) problems.push(`mcpServers: ${problem}`);
  return problems;
}

function modelProblems(models: unknown): string[] {
  if (!Array.isArray(models) || models.length === 0)
    return ['models is empty: name at least one, for example { name: "anthropic/claude-sonnet-5" }.'];
  const names: unknown[] = models.map((model) => model?.name);
  return models.flatMap((model, index) => {
    const name = names[index];
    const path = `models[${index}]`;
    if (typeof name !== 'string' || name === '') return [`${path} needs a name.`];
    if (names.indexOf(name) < index) return [`models has "${name}" twice.`];
    const inCompletionOptions = completionProblems(`${path}.completionOptions`, model.completionOptions ?? {});
    return [...optionProblems(modelOptionSet, model, path), ...inCompletionOptions];
  });
}

/** Problems of options that are sent with every model call. */
export function completionProblems(path: string, options: unknown): string[] {
  if (!isRecord(options)) return [`${path} must be an object such as {"temperature": 0}.`];
  try {
    // the constructor of an agent checks its options
    new PocketAgent({ agentConfig: { llmModel: 'demo', completionOptions: options } });
    return [];
  } catch (error) {
    const problem = errorText(error).replace(/^(agentConfig\.)?completionOptions\.?/, '');
    return [problem.startsWith(' ') ? `${path}${problem}` : `${path}: ${problem}`];
  }
}

/** Why one of the MCP servers could never be reached. */
export function mcpServersProblem(
  mcpServers: NonNullable<BotOptions['mcpServers']>,
  env: Environment,
): string | undefined {
  try {
    // the constructor of a client checks its configuration and connects to nothing
    new PocketAgentClient({ mcpConfig: { mcpServers } });
  } catch (error) {
    return errorText(error);
  }
  for (const [name, entry] of Object.entries(mcpServers)) {
    if (entry.disabled) continue;
    const missing = missingVariable(entry, env);
    if (missing !== undefined)
      return `MCP server "${name}" needs the environment variable ${missing}. Set it, or write \${${missing}:-default}.`;
  }
  return undefined;
}

/** The first `${NAME}` or `${env:NAME}` without a value and without a default. */
function missingVariable(entry: McpServerEntry, env: Environment): string | undefined {
  if ('server' in entry) return undefined;
  const texts = 'command' in entry ? [entry.command, entry.args, entry.env, entry.cwd] : [entry.url, entry.headers];
  const names = [...JSON.stringify(texts).matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)\}/g)].flatMap(([, name]) => name ?? []);
  return names.find((name) => env[name] === undefined);
}
