// Arguments and environment of the command mattermost-bot.
import { parseArgs } from 'node:util';
import { type Capability, capabilities, type Profile, profiles } from '../base/access.ts';
import { errorText, MattermostError } from '../base/errors.ts';
import { readEnvFile, sentence } from '../config/command-line.ts';
import { botVariables, configFrom, type Environment, type MattermostConfig } from '../config/config.ts';
import { Settings } from '../config/settings.ts';
import { isLinkHost } from './link-hosts.ts';

export const HELP = `Usage: mattermost-bot [options]

An agent that answers mentions, direct messages and replies in its threads.

  --agent <file>    JSON file with agentConfig, mcpServers, tools, access and limits
  --model <name>    model, such as anthropic/claude-sonnet-5; overrides the file
  --profile <name>  profile of its Mattermost tools: reader (default), writer, manager, admin or none
  --default-capability <name>  capability of tools whose manifest declares none: read, write, create or delete
  --stop <who>      who can stop an answer with a stop sign: asker (default) or everyone
  --allow-link-hosts <hosts>  hosts that links may point to, besides those named in questions:
                    example.com,*.example.com or *
  --version         print the version
  --help            print this help

Requires MATTERMOST_URL and MATTERMOST_TOKEN (of a bot account) in the environment or in a .env file in this folder.
Each option can also be set there: MATTERMOST_BOT_AGENT, _MODEL, _PROFILE, _STOP,
_ALLOW_LINK_HOSTS, _DEFAULT_CAPABILITY.
`;

export interface BotCommand {
  config: MattermostConfig;
  agentFile: string | undefined;
  model: string | undefined;
  profile: Profile | 'none';
  /** For tools whose manifest does not declare a capability. */
  defaultCapability: Capability | undefined;
  mayStop: 'asker' | 'everyone';
  allowLinkHosts: string[];
}

export function readBotCommand(args: readonly string[], own: Environment): 'help' | 'version' | BotCommand {
  const values = parse(args);
  if (values.help) return 'help';
  if (values.version) return 'version';
  const given: Record<string, string> = {};
  const calledAs: Record<string, string> = {};
  for (const name of Object.keys(botVariables) as (keyof typeof botVariables)[]) {
    const value = values[name];
    if (value === undefined) continue;
    given[botVariables[name]] = value;
    calledAs[botVariables[name]] = `--${name}`;
  }
  const settings = new Settings({ ...readEnvFile(), ...own, ...given, MCP_TRANSPORT: 'stdio' }, calledAs);
  const agentFile = settings.text(botVariables.agent);
  const model = settings.text(botVariables.model);
  const profile = settings.oneOf(botVariables.profile, [...profiles, 'none'], 'reader');
  const defaultCapability = settings.oneOf(botVariables['default-capability'], capabilities, undefined);
  const mayStop = settings.oneOf(botVariables.stop, ['asker', 'everyone'], 'asker');
  const allowLinkHosts = settings.list(botVariables['allow-link-hosts']);
  const wrong = allowLinkHosts.find((host) => !isLinkHost(host));
  if (wrong !== undefined) {
    settings.fault(botVariables['allow-link-hosts'], `"${wrong}" is not a host: write example.com, *.example.com or *`);
  }
  if (agentFile === undefined && model === undefined) {
    settings.fault('--model', 'is missing: name a model, or an agent file that does (--agent)');
  }
  return { config: configFrom(settings), agentFile, model, profile, defaultCapability, mayStop, allowLinkHosts };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const options = {
      agent: text,
      model: text,
      profile: text,
      'default-capability': text,
      stop: text,
      'allow-link-hosts': text,
      version: flag,
      help: flag,
    };
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new MattermostError('CONFIG_INVALID', `${sentence(errorText(error))} See mattermost-bot --help.`);
  }
}
