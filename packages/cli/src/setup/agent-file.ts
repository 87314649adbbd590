// An agent in one JSON file: its configuration, servers, tool folders, access and limits. Paths start at the file.
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { errorText, PocketError } from '@pocket-agent/kit';
import { bundledFolderPath } from '@pocket-agent/tool-folder';
import type { AccessOptions, AgentConfig, AgentLimits, McpServerEntry } from 'pocket-agent';
import { isObject, readJsonFile, readObject, type Shape } from '../files/json-file.ts';
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
  $schema: 'text',
  agentConfig: 'an object',
  mcpServers: 'an object',
  tools: 'a list of folders, each as text',
  access: 'an object',
  limits: 'an object',
};
const configShape: Shape = {
  llmModel: 'text',
  modelSettings: 'an object',
  name: 'text',
  roleDescription: 'text',
  agentId: 'text',
  systemPrompt: 'text',
  messages: 'anything',
  allowImages: 'true or false',
  completionOptions: 'an object',
};
const accessShape: Shape = {
  profile: 'anything',
  confirm: 'anything',
  remember: 'anything',
  approvalTimeoutMs: 'anything',
  fingerprintFile: 'text',
  auditFile: 'text',
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
  const content = await readJsonFile(file, 'an agent file is JSON such as { "agentConfig": { "llmModel": "demo" } }');
  if (!isObject(content)) throw new PocketError('CONFIG_INVALID', `${file} must hold an object.`);
  const { agentConfig, mcpServers, tools, access, limits } = readObject(file, content, fileShape);
  const folder = dirname(resolve(file));
  const servers = mcpServers === undefined ? new Map() : readServers(file, { mcpServers });
  return {
    agentConfig: readObject(`${file}: "agentConfig"`, agentConfig, configShape),
    servers: new Map([...servers].map(([name, entry]) => [name, entryFrom(folder, entry)])),
    tools: texts(tools).map((entry) => (bundledFolderPath(entry) ? entry : toolsFrom(file, pathFrom(folder, entry)))),
    access: accessFrom(folder, readObject(`${file}: "access"`, access, accessShape)),
    limits: readObject(`${file}: "limits"`, limits, limitsShape),
  };
}

function texts(list: unknown): string[] {
  return Array.isArray(list) ? list : [];
}

/** A server of the file runs in the folder of the file unless it says otherwise. */
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
