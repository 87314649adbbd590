// Arguments and environment of the command mcp-server-mattermost.
import { readFileSync } from 'node:fs';
import { parseArgs, parseEnv } from 'node:util';
import { errorText, explainArguments } from '@pocket-agent/kit';
import { MattermostError } from '../base/errors.ts';
import type { Environment } from './variables.ts';

export const HELP = `Usage: mcp-server-mattermost [options]

Mattermost as an MCP server on stdio or HTTP.

  --http         serve Streamable HTTP at /mcp instead of stdio
  --host <name>  address to listen on (default 127.0.0.1)
  --port <n>     port to listen on (default 8000)
  --version      print the version
  --help         print this help

Requires MATTERMOST_URL and MATTERMOST_TOKEN in the environment or in a .env file in this folder.
`;

type Command =
  | { kind: 'help' }
  | { kind: 'version' }
  | { kind: 'serve'; environment: Environment; labels: Record<string, string> };

export function readCommand(args: readonly string[], environment: Environment): Command {
  const { values } = parse(args);
  if (values.help) return { kind: 'help' };
  if (values.version) return { kind: 'version' };
  const overrides = {
    ...(values.http ? { MCP_TRANSPORT: 'http' } : {}),
    ...(values.host === undefined ? {} : { MCP_HOST: values.host }),
    ...(values.port === undefined ? {} : { MCP_PORT: values.port }),
  };
  const labels: Record<string, string> = values.port === undefined ? {} : { MCP_PORT: '--port' };
  return { kind: 'serve', environment: { ...readEnvFile(), ...environment, ...overrides }, labels };
}

const options = {
  http: { type: 'boolean' },
  host: { type: 'string' },
  port: { type: 'string' },
  version: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options });
  } catch (error) {
    const text = `${explainArguments(error, { options })} See mcp-server-mattermost --help.`;
    throw new MattermostError('CONFIG_INVALID', text);
  }
}

export function readEnvFile(): Environment {
  try {
    return parseEnv(readFileSync('.env', 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw new MattermostError('CONFIG_INVALID', `The file .env cannot be read: ${errorText(error)}`);
  }
}
