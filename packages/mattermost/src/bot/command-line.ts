// The arguments of the command mattermost-bot, and the environment it runs in.
import { parseArgs } from 'node:util';
import { type Profile, profiles } from '../access.ts';
import { readEnvFile } from '../command-line.ts';
import type { Environment } from '../config.ts';
import { errorText, MattermostError } from '../errors.ts';

export const HELP = `Usage: mattermost-bot [options]

An agent that answers mentions, direct messages and replies in its threads.

  --agent <file>    JSON with agentConfig, mcpServers, tools, access and limits
  --model <name>    the model, such as anthropic/claude-sonnet-5 (goes before that of the file)
  --profile <name>  what its Mattermost tools may do: reader (default), writer, manager, admin or none
  --stop <who>      whose stop sign counts: asker (default) or everyone
  --version         print the version
  --help            print this

Needs MATTERMOST_URL and MATTERMOST_TOKEN (of a bot account), from the environment or a .env file in this folder.
Each option can be set there, too: MATTERMOST_BOT_AGENT, _MODEL, _PROFILE, _STOP.
`;

export interface BotCommand {
  environment: Environment;
  agentFile: string | undefined;
  model: string | undefined;
  profile: Profile | 'none';
  mayStop: 'asker' | 'everyone';
}

export function readBotCommand(args: readonly string[], own: Environment): 'help' | 'version' | BotCommand {
  const values = parse(args);
  if (values.help) return 'help';
  if (values.version) return 'version';
  const environment = { ...readEnvFile(), ...own };
  const given = (name: 'agent' | 'model' | 'profile' | 'stop') =>
    values[name] ?? (environment[`MATTERMOST_BOT_${name.toUpperCase()}`] || undefined);
  return {
    environment,
    agentFile: given('agent'),
    model: given('model'),
    profile: oneOf('profile', given('profile') ?? 'reader', [...profiles, 'none']),
    mayStop: oneOf('stop', given('stop') ?? 'asker', ['asker', 'everyone']),
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const options = { agent: text, model: text, profile: text, stop: text, version: flag, help: flag };
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new MattermostError('CONFIG_INVALID', `${errorText(error)} See mattermost-bot --help.`);
  }
}

function oneOf<Value extends string>(name: string, given: string, values: readonly Value[]): Value {
  const found = values.find((value) => value === given);
  if (found !== undefined) return found;
  throw new MattermostError('CONFIG_INVALID', `--${name} is "${given}", but must be ${values.join(', ')}.`);
}
