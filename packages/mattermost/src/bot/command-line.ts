// Arguments and environment of the command mattermost-bot.
import { parseArgs } from 'node:util';
import { explainArguments } from '@pocket-agent/kit';
import { z } from 'zod';
import { type Capability, capabilities, type Profile, profiles } from '../base/access.ts';
import { MattermostError } from '../base/errors.ts';
import { readEnvFile } from '../config/command-line.ts';
import { configFrom, type MattermostConfig } from '../config/config.ts';
import { ConfigProblems } from '../config/problems.ts';
import { list, oneOf, secret, text } from '../config/schemas.ts';
import { botVariables, type Environment, readVariables, type Values } from '../config/variables.ts';
import { type CallbackOptions, readAddress } from './callbacks/callback-server.ts';
import { isLinkHost } from './posts/link-hosts.ts';

export const HELP = `Usage: mattermost-bot [options]

An agent that answers mentions, direct messages and replies in its threads.

  --agent <file>    JSON file with agentConfig, mcpServers, tools, access and limits
  --model <name>    model, such as anthropic/claude-sonnet-5; overrides the file
  --profile <name>  profile of its Mattermost tools: reader (default), writer, manager, admin or none
  --default-capability <name>  capability of tools whose manifest declares none: read, write, create or delete
  --stop <who>      who can stop an answer with a stop sign: asker (default) or everyone
  --allow-link-hosts <hosts>  hosts that links may point to, besides those named in questions:
                    example.com,*.example.com or *
  --database <place>  SQLite file or postgres:// URL that saves conversations; default: they are not saved
  --runs <place>    SQLite file or postgres:// URL of durable runs: answers continue after a restart, and users approve calls
  --studio <address>  port, or host:port, to which pocket-agent studio --attach connects to see the answers and, with
                    --runs, to approve calls; the token is in POCKET_AGENT_STUDIO_TOKEN, or a new one is printed
  --callbacks <address>  port, or host:port, that Mattermost can reach: users approve calls by buttons, and a slash command,
                    whose token is in MATTERMOST_BOT_COMMAND_TOKEN, changes the settings of a channel
  --callbacks-url <url>  URL of that address for Mattermost; default http://host:port
  --version         print the version
  --help            print this help

Requires MATTERMOST_URL and MATTERMOST_TOKEN (of a bot account) in the environment or in a .env file in this folder.
Each option can also be set there: MATTERMOST_BOT_AGENT, _MODEL, _PROFILE, _STOP,
_ALLOW_LINK_HOSTS, _DEFAULT_CAPABILITY, _DATABASE, _RUNS, _STUDIO, _CALLBACKS, _CALLBACKS_URL.
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
  /** A SQLite file or the URL of a PostgreSQL database. */
  database: string | undefined;
  /** The same, for durable runs. */
  runs: string | undefined;
  /** Where studios can be attached: a port, or host:port. */
  studio: string | undefined;
  callbacks: CallbackOptions | undefined;
}

/** Also collects problems of the server's variables. */
export function readBotCommand(args: readonly string[], environment: Environment): 'help' | 'version' | BotCommand {
  const typed = parse(args);
  if (typed.help) return 'help';
  if (typed.version) return 'version';
  const overrides: Record<string, string> = { MCP_TRANSPORT: 'stdio' };
  const labels: Record<string, string> = {};
  for (const name of Object.keys(botVariables) as (keyof typeof botVariables)[]) {
    const value = typed[name];
    if (value === undefined) continue;
    overrides[botVariables[name]] = value;
    labels[botVariables[name]] = `--${name}`;
  }
  const merged = { ...readEnvFile(), ...environment, ...overrides };
  const problems = new ConfigProblems(labels);
  const values = readVariables(botSchemas, merged, problems);
  const { MATTERMOST_BOT_AGENT: agentFile, MATTERMOST_BOT_MODEL: model } = values;
  if (agentFile === undefined && model === undefined) {
    problems.add('--model', 'is missing: set a model, or an agent file that does (--agent)');
  }
  const callbacks = callbacksOf(values, problems);
  return {
    config: configFrom(merged, problems),
    agentFile,
    model,
    profile: values.MATTERMOST_BOT_PROFILE ?? 'reader',
    defaultCapability: values.MATTERMOST_BOT_DEFAULT_CAPABILITY,
    mayStop: values.MATTERMOST_BOT_STOP ?? 'asker',
    allowLinkHosts: values.MATTERMOST_BOT_ALLOW_LINK_HOSTS ?? [],
    database: values.MATTERMOST_BOT_DATABASE,
    runs: values.MATTERMOST_BOT_RUNS,
    studio: values.MATTERMOST_BOT_STUDIO,
    callbacks,
  };
}

function callbacksOf(values: BotValues, problems: ConfigProblems): CallbackOptions | undefined {
  const { MATTERMOST_BOT_CALLBACKS: listen, MATTERMOST_BOT_CALLBACKS_URL: url } = values;
  const { MATTERMOST_BOT_COMMAND_TOKEN: commandToken } = values;
  if (listen !== undefined) return { listen, ...(url ? { url } : {}), ...(commandToken ? { commandToken } : {}) };
  for (const name of ['MATTERMOST_BOT_CALLBACKS_URL', 'MATTERMOST_BOT_COMMAND_TOKEN'] as const)
    if (values[name] !== undefined) problems.add(name, 'needs --callbacks, the address that Mattermost reaches');
  return undefined;
}

const linkHost = z.string().refine(isLinkHost, {
  error: ({ input }) => `"${input}" is not a host: use example.com, *.example.com or *`,
});

const botSchemas = {
  MATTERMOST_BOT_AGENT: text().optional(),
  MATTERMOST_BOT_MODEL: text().optional(),
  MATTERMOST_BOT_PROFILE: oneOf([...profiles, 'none']).optional(),
  MATTERMOST_BOT_DEFAULT_CAPABILITY: oneOf(capabilities).optional(),
  MATTERMOST_BOT_STOP: oneOf(['asker', 'everyone']).optional(),
  MATTERMOST_BOT_DATABASE: text().optional(),
  MATTERMOST_BOT_RUNS: text().optional(),
  MATTERMOST_BOT_STUDIO: text().optional(),
  MATTERMOST_BOT_CALLBACKS: text()
    .refine((value) => readAddress(value), {
      error: ({ input }) => `"${input}" is not a port or host:port, such as 8090`,
    })
    .optional(),
  MATTERMOST_BOT_CALLBACKS_URL: text()
    .refine((value) => /^https?:\/\//.test(value) && URL.canParse(value), 'must be an http or https URL')
    .optional(),
  MATTERMOST_BOT_COMMAND_TOKEN: secret().optional(),
  MATTERMOST_BOT_ALLOW_LINK_HOSTS: list().pipe(z.array(linkHost)).optional(),
};

type BotValues = Partial<Values<typeof botSchemas>>;

const value = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const options = {
  agent: value,
  model: value,
  profile: value,
  'default-capability': value,
  stop: value,
  'allow-link-hosts': value,
  database: value,
  runs: value,
  studio: value,
  callbacks: value,
  'callbacks-url': value,
  version: flag,
  help: flag,
};

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new MattermostError('CONFIG_INVALID', `${explainArguments(error, { options })} See mattermost-bot --help.`);
  }
}
