// Reads the file of a gateway: servers, tool folders, remote agents, profiles and access. Paths are relative to the file.
import { dirname, resolve } from 'node:path';
import type { RemoteAgentOptions } from '@pocket-agent/a2a';
import type { GatewayOptions } from '@pocket-agent/gateway';
import {
  checkValue,
  errorText,
  isRecord,
  type Logger,
  listOf,
  nullable,
  OptionSet,
  PocketError,
  stringList,
  stringRule,
} from '@pocket-agent/kit';
import type { ToolFolder } from '@pocket-agent/tool-folder';
import { bundledFolderPath } from '@pocket-agent/tool-folder';
import type { AccessOptions, McpServerEntry } from 'pocket-agent';
import { expandVariables } from 'pocket-agent/internal';
import { readJsonFile } from '../files/json-file.ts';
import { accessFrom, entryFrom, pathFrom } from './agent-file.ts';
import { readServers } from './servers.ts';
import { loadFolders, toolFolderPath } from './tool-sources.ts';

interface FileContent {
  $schema?: string;
  name?: string;
  mcpServers?: Record<string, unknown>;
  tools?: readonly string[];
  agents?: Record<string, Omit<RemoteAgentOptions, 'logger'>>;
  profiles?: GatewayOptions['profiles'];
  access?: Omit<AccessOptions, 'redact'> & { redact?: readonly string[] };
  names?: GatewayOptions['names'];
}

const fileOptions = new OptionSet<FileContent>('A gateway file', {
  $schema: stringRule,
  name: stringRule,
  mcpServers: { expected: 'an object', accepts: isRecord },
  tools: stringList,
  agents: nullable('an object of remote agents by name', isRecord),
  profiles: nullable('an object of profiles by name', isRecord),
  access: nullable('an object', isRecord),
  names: true,
});

const redactRule = listOf('a list of regular expressions as strings', (value) => typeof value === 'string');

export interface GatewaySetup {
  options: GatewayOptions;
  folders: ToolFolder[];
  /** Problems of tool folders, one line each. */
  problems: string[];
}

interface ReadOptions {
  logger: Logger;
  signal: AbortSignal;
}

export async function readGatewayFile(file: string, { logger, signal }: ReadOptions): Promise<GatewaySetup> {
  const content = await readJsonFile(file, 'give a file with "mcpServers"');
  if (!isRecord(content)) throw new PocketError('CONFIG_INVALID', `${file} must contain a JSON object.`);
  // files of other hosts have keys of their own beside mcpServers
  fileOptions.checkSpelling(content, `The gateway file ${file}`);
  const { name, mcpServers, tools = [], agents = {}, profiles, access, names } = content as FileContent;
  const folder = dirname(resolve(file));
  const servers = mcpServers === undefined ? new Map<string, McpServerEntry>() : readServers(file, { mcpServers });
  const paths = tools.map((entry) => (bundledFolderPath(entry) ? entry : toolFolderPath(pathFrom(folder, entry))));
  const { folders, problems } = await loadFolders(paths, { logger, signal });
  const remote = await remoteAgents(agents, logger);
  return {
    options: {
      ...(name === undefined ? {} : { name }),
      ...(names === undefined ? {} : { names }),
      ...(profiles ? { profiles } : {}),
      mcpServers: Object.fromEntries([...servers].map(([key, entry]) => [key, entryFrom(folder, entry)])),
      sources: { ...Object.fromEntries(folders.map((each) => [each.name, each])), ...remote },
      access: readAccess(file, accessFrom(folder, access ?? {})),
      logger,
    },
    folders,
    problems,
  };
}

function readAccess(file: string, { redact, ...access }: NonNullable<FileContent['access']>): GatewayOptions['access'] {
  if (redact === undefined) return access;
  checkValue('access.redact', redact, redactRule);
  try {
    return { ...access, redact: redact.map((pattern) => new RegExp(pattern, 'i')) };
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file}: access.redact: ${errorText(error)}`, { cause: error });
  }
}

async function remoteAgents(
  agents: NonNullable<FileContent['agents']>,
  logger: Logger,
): Promise<GatewayOptions['sources']> {
  if (Object.keys(agents).length === 0) return {};
  const { remoteAgent } = await import('@pocket-agent/a2a');
  const sources = Object.entries(agents).map(([name, options]) => {
    const headers = Object.entries(options.headers ?? {}).map(([key, value]) => [key, expandVariables(name, value)]);
    const token = options.token === undefined ? {} : { token: expandVariables(name, options.token) };
    return [name, remoteAgent({ name, ...options, ...token, headers: Object.fromEntries(headers), logger })];
  });
  return Object.fromEntries(sources);
}
