// Reads an agent file: configuration, servers, tool folders, access and limits. Paths are relative to the file.
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { errorText, isRecord, PocketError } from '@pocket-agent/kit';
import { bundledFolderPath } from '@pocket-agent/tool-folder';
import type { AccessOptions, AgentConfig, AgentLimits, McpServerEntry } from 'pocket-agent';
import { readJsonFile, readObject, type Shape } from '../files/json-file.ts';
import { readServers } from './servers.ts';
import { toolFolderPath } from './tool-sources.ts';

export interface AgentFile {
  agentConfig: Partial<AgentConfig>;
  servers: ReadonlyMap<string, McpServerEntry>;
  tools: readonly string[];
  access: AccessOptions;
  limits: AgentLimits;
}

const fileShape: Shape = {
  $schema: 'a string',
  agentConfig: 'an object',
  mcpServers: 'an object',
  tools: 'a list of strings',
  access: 'an object',
  limits: 'an object',
};
const configShape: Shape = {
  llmModel: 'a string',
  modelSettings: 'an object',
  name: 'a string',
  roleDescription: 'a string',
  agentId: 'a string',
  systemPrompt: 'a string',
  messages: 'anything',
  allowImages: 'true or false',
  completionOptions: 'an object',
};
const accessShape: Shape = {
  profile: 'anything',
  confirm: 'anything',
  remember: 'anything',
  approvalTimeoutMs: 'anything',
  fingerprintFile: 'a string',
  auditFile: 'a string',
};
const limitsShape: Shape = {
  maxSteps: 'anything',
  timeoutMs: 'anything',
  maxTokens: 'anything',
  maxCostUsd: 'anything',
  maxToolCalls: 'anything',
  maxParallelToolCalls: 'anything',
  modelRetries: 'anything',
};

export async function readAgentFile(file: string): Promise<AgentFile> {
  const content = await readJsonFile(file, 'write JSON such as { "agentConfig": { "llmModel": "demo" } }');
  if (!isRecord(content)) throw new PocketError('CONFIG_INVALID', `${file} must contain a JSON object.`);
  const { agentConfig, mcpServers, tools, access, limits } = readObject(file, content, fileShape);
  const folder = dirname(resolve(file));
  const servers = mcpServers === undefined ? new Map() : readServers(file, { mcpServers });
  return {
    agentConfig: readObject(`${file}: "agentConfig"`, agentConfig, configShape),
    servers: new Map([...servers].map(([name, entry]) => [name, entryFrom(folder, entry)])),
    tools: stringsIn(tools).map((entry) =>
      bundledFolderPath(entry) ? entry : toolsFrom(file, pathFrom(folder, entry)),
    ),
    access: accessFrom(folder, readObject(`${file}: "access"`, access, accessShape)),
    limits: readObject(`${file}: "limits"`, limits, limitsShape),
  };
}

function stringsIn(list: unknown): string[] {
  return Array.isArray(list) ? list : [];
}

/** A server without a `cwd` runs in the folder of the agent file. */
function entryFrom(folder: string, entry: McpServerEntry): McpServerEntry {
  if (!('command' in entry)) return entry;
  const isPath = /^\.{1,2}[\\/]/.test(entry.command);
  return {
    ...entry,
    command: isPath ? join(folder, entry.command) : entry.command,
    cwd: entry.cwd === undefined ? folder : pathFrom(folder, entry.cwd),
  };
}

function toolsFrom(file: string, path: string): string {
  try {
    return toolFolderPath(path);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file}: ${errorText(error)}`, { cause: error });
  }
}

function accessFrom(folder: string, access: AccessOptions): AccessOptions {
  const { fingerprintFile, auditFile } = access;
  return {
    ...access,
    ...(fingerprintFile === undefined ? {} : { fingerprintFile: pathFrom(folder, fingerprintFile) }),
    ...(auditFile === undefined ? {} : { auditFile: pathFrom(folder, auditFile) }),
  };
}

function pathFrom(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}
