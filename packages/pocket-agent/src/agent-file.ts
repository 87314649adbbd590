// Reads an agent in one JSON file, for programs that take one. Paths are relative to the file.
import { dirname, isAbsolute, join, resolve } from 'node:path';
import {
  checkValue,
  configError,
  didYouMean,
  errorText,
  isRecord,
  listOf,
  nullableBoolean,
  OptionSet,
  readJsonFile,
  stringList,
  stringRule,
} from '@pocket-agent/kit';
import type { AccessOptions } from './access/access-rules.ts';
import { type ExposureOption, exposureRule } from './access/exposure.ts';
import type { AgentLimits, NestedAgentOptions, PocketAgentOptions, TypedAgentConfig } from './agent/agent-config.ts';
import { checkAgentOptions, configRules, nestOptions } from './agent/agent-options.ts';
import { type McpServerEntry, readMcpConfig } from './mcp/mcp-config.ts';
import { type ProviderTool, providerToolSource } from './provider-tools/provider-tool.ts';

export interface AgentFile {
  agentConfig: Partial<TypedAgentConfig<unknown>>;
  servers: ReadonlyMap<string, McpServerEntry>;
  tools: readonly FolderEntry[];
  /** Absolute paths. */
  skills: readonly string[];
  providerTools: readonly ProviderTool[];
  memory: boolean;
  traceContent: boolean;
  exposure: ExposureOption | undefined;
  access: AccessOptions;
  limits: AgentLimits;
}

/** A tool folder as the file names it, such as `web`, and as an absolute path. */
export interface FolderEntry {
  name: string;
  path: string;
}

/** Like the options of an agent: the fields of `agentConfig` may also be given at the top level. */
interface FileContent extends Partial<TypedAgentConfig<unknown>> {
  $schema?: string;
  agentConfig?: Partial<TypedAgentConfig<unknown>>;
  mcpServers?: Record<string, unknown>;
  tools?: readonly string[];
  skills?: readonly string[];
  providerTools?: readonly ProviderTool[];
  memory?: boolean;
  traceContent?: boolean;
  exposure?: ExposureOption;
  access?: AccessOptions;
  limits?: AgentLimits;
}

const fileOptions = new OptionSet<FileContent>('An agent file', {
  $schema: stringRule,
  ...configRules,
  llmModel: stringRule,
  agentConfig: true,
  mcpServers: { expected: 'an object', accepts: isRecord },
  tools: stringList,
  skills: stringList,
  providerTools: listOf('a list of objects with "id" and "capability"', isRecord),
  memory: nullableBoolean,
  traceContent: nullableBoolean,
  exposure: exposureRule,
  access: true,
  limits: true,
});

export async function readAgentFile(file: string): Promise<AgentFile> {
  const content = await readJsonFile(file, 'write JSON such as { "llmModel": "demo" }');
  if (!isRecord(content)) throw configError(`${file} must contain a JSON object.`);
  fileOptions.check(content, `The agent file ${file}`);
  const { $schema: _, mcpServers, tools, skills, memory, traceContent, ...options } = content as FileContent;
  const parts = inFile(file, () => readParts(options as PocketAgentOptions));
  const { agentConfig, providerTools = [], exposure, access = {}, limits = {} } = parts;
  const folder = dirname(resolve(file));
  const servers = mcpServers === undefined ? [] : [...readServers(file, { mcpServers })];
  return {
    agentConfig,
    servers: new Map(servers.map(([name, entry]) => [name, entryFrom(folder, entry)])),
    tools: (tools ?? []).map((name) => ({ name, path: pathFrom(folder, name) })),
    skills: (skills ?? []).map((entry) => pathFrom(folder, entry)),
    providerTools,
    memory: memory ?? false,
    traceContent: traceContent ?? false,
    exposure,
    access: accessFrom(folder, access),
    limits,
  };
}

/** The same checks as for an agent in a program, except that a model can only be given by name. */
function readParts(options: PocketAgentOptions): NestedAgentOptions {
  checkAgentOptions(options, false);
  const nested = nestOptions(options);
  if (nested.providerTools) providerToolSource(nested.providerTools);
  const { llmModel } = nested.agentConfig as Partial<TypedAgentConfig<unknown>>;
  if (llmModel !== undefined) checkValue('agentConfig.llmModel', llmModel, stringRule);
  return nested;
}

/** The checked servers in the content of a file. */
export function readServers(file: string, content: unknown): ReadonlyMap<string, McpServerEntry> {
  if (!isRecord(content) || !('mcpServers' in content || 'servers' in content)) {
    const meant = (key: string) => didYouMean(key, ['mcpServers', 'servers']);
    const misspelt = isRecord(content) ? Object.keys(content).find(meant) : undefined;
    const hint = misspelt === undefined ? '' : ` It has "${misspelt}".${meant(misspelt)}`;
    throw configError(`${file} must contain an object "mcpServers".${hint}`);
  }
  return inFile(file, () => readMcpConfig(content));
}

/** Adds the name of the file to errors. */
export function inFile<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw configError(`${file}: ${errorText(error)}`, error);
  }
}

/** A server without a `cwd` runs in the folder of the file. */
export function entryFrom(folder: string, entry: McpServerEntry): McpServerEntry {
  if (!('command' in entry)) return entry;
  const isPath = /^\.{1,2}[\\/]/.test(entry.command);
  return {
    ...entry,
    command: isPath ? join(folder, entry.command) : entry.command,
    cwd: entry.cwd === undefined ? folder : pathFrom(folder, entry.cwd),
  };
}

export function accessFrom<Access extends Pick<AccessOptions, 'fingerprintFile' | 'auditFile'>>(
  folder: string,
  access: Access,
): Access {
  const { fingerprintFile, auditFile } = access;
  return {
    ...access,
    ...(fingerprintFile === undefined ? {} : { fingerprintFile: pathFrom(folder, fingerprintFile) }),
    ...(auditFile === undefined ? {} : { auditFile: pathFrom(folder, auditFile) }),
  };
}

/** A path of a file in a folder. */
export function pathFrom(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}
