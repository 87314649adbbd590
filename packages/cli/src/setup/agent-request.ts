// What the user asks for: the agent file merged with the command-line options.

import { checkValue, didYouMean, oneOf, PocketError } from '@pocket-agent/kit';
import type {
  AccessOptions,
  AgentLimits,
  Capability,
  ExposureOption,
  McpServerEntry,
  ProfileName,
  ProviderTool,
  TypedAgentConfig,
} from 'pocket-agent';
import {
  checkCapability,
  confirmMeanings,
  confirmWords,
  exposures,
  providerToolSource,
  readProfile,
} from 'pocket-agent/internal';
import { positiveNumber, type readArguments, wholeNumber } from '../command-line/arguments.ts';
import { type FoundAgentFile, readAgentFile } from './agent-file.ts';
import { builtinServer, readServerFiles } from './servers.ts';

/** Command-line options for servers and tools. */
export const sourceFlags = {
  agent: { type: 'string' },
  mcp: { type: 'string', multiple: true },
  config: { type: 'string', multiple: true },
  tools: { type: 'string', multiple: true },
  skills: { type: 'string', multiple: true },
  'default-capability': { type: 'string' },
  exposure: { type: 'string' },
} as const;

/** Command-line options for what tools may do. */
export const accessFlags = {
  profile: { type: 'string' },
  confirm: { type: 'string' },
} as const;

export const agentFlags = {
  ...sourceFlags,
  ...accessFlags,
  model: { type: 'string', short: 'm' },
  'max-cost': { type: 'string' },
  'max-steps': { type: 'string' },
  'provider-tool': { type: 'string', multiple: true },
  memory: { type: 'boolean' },
  'agents-md': { type: 'boolean' },
  'no-agents-md': { type: 'boolean' },
} as const;

export type AgentValues = Partial<ReturnType<typeof readArguments<typeof agentFlags>>['values']>;

/** The agent file merged with the options; options win. */
export interface AgentRequest {
  /** The path of the agent file, if one was given. */
  file: string | undefined;
  config: Partial<TypedAgentConfig<unknown>>;
  /** Undefined if the command chooses the model. */
  model: string | undefined;
  servers: ReadonlyMap<string, McpServerEntry>;
  /** True if no source of tools was given, so the built-in server is used. */
  isBuiltIn: boolean;
  toolFolders: readonly string[];
  /** Skills, or folders of skills. */
  skills: readonly string[];
  /** Tools that the provider of the model runs. */
  providerTools: readonly ProviderTool[];
  /** Whether the agent can remember facts beyond a conversation. */
  memory: boolean;
  /** Whether spans contain messages, arguments and results. */
  traceContent: boolean;
  /** Whether AGENTS.md of the working folder is followed; `ask` does so only in a chat. */
  agentsMd: 'use' | 'ask' | 'ignore';
  /** The text of AGENTS.md, if it is followed. */
  instructions?: string;
  /** The capability of folder tools whose manifest does not declare one. */
  folderOptions: { defaultCapability?: Capability };
  /** How tools are offered to the model. */
  exposure: ExposureOption | undefined;
  access: AccessOptions;
  limits: AgentLimits;
}

export async function readAgentRequest(values: AgentValues): Promise<AgentRequest> {
  const file: FoundAgentFile = values.agent === undefined ? emptyFile : await readAgentFile(values.agent);
  const access = readAccess(values, file.access);
  const maxCostUsd = positiveNumber('max-cost', values['max-cost']);
  const maxSteps = wholeNumber('max-steps', values['max-steps']);
  const files = [...(values.mcp ?? []), ...(values.config ?? [])];
  const servers = await readServerFiles(files, file.servers.size > 0 ? { [String(values.agent)]: file.servers } : {});
  const toolFolders = [...file.tools, ...(values.tools ?? [])];
  const isBuiltIn = values.agent === undefined && files.length === 0 && toolFolders.length === 0;
  return {
    file: values.agent,
    config: file.agentConfig,
    model: values.model ?? (typeof file.agentConfig.llmModel === 'string' ? file.agentConfig.llmModel : undefined),
    servers: isBuiltIn ? new Map([['builtin', builtinServer()]]) : servers,
    isBuiltIn,
    toolFolders,
    skills: [...file.skills, ...(values.skills ?? [])],
    providerTools: [...file.providerTools, ...(values['provider-tool'] ?? []).map(readProviderTool)],
    memory: values.memory ?? file.memory,
    traceContent: file.traceContent,
    agentsMd: readAgentsMdFlags(values),
    folderOptions: readFolderOptions(values),
    exposure: readExposure(values.exposure) ?? file.exposure,
    access,
    limits: {
      ...file.limits,
      ...(maxCostUsd === undefined ? {} : { maxCostUsd }),
      ...(maxSteps === undefined ? {} : { maxSteps }),
    },
  };
}

export function readFolderOptions(values: { 'default-capability'?: string }): { defaultCapability?: Capability } {
  const capability = values['default-capability'];
  if (capability === undefined) return {};
  checkCapability('--default-capability', capability);
  return { defaultCapability: capability };
}

function readExposure(exposure: string | undefined): ExposureOption | undefined {
  if (exposure !== undefined) checkValue('--exposure', exposure, oneOf(...exposures));
  return exposure as ExposureOption | undefined;
}

function readAgentsMdFlags(values: AgentValues): AgentRequest['agentsMd'] {
  if (values['agents-md'] && values['no-agents-md'])
    throw new PocketError('CONFIG_INVALID', 'Give --agents-md or --no-agents-md, not both.');
  return values['agents-md'] ? 'use' : values['no-agents-md'] ? 'ignore' : 'ask';
}

/** ID=CAPABILITY */
function readProviderTool(given: string): ProviderTool {
  const [id = '', capability] = given.split('=');
  if (capability === undefined) {
    const example = `--provider-tool ${id}=read`;
    const text = `--provider-tool needs the capability of ${id}, which profiles check: ${example}, for example.`;
    throw new PocketError('CONFIG_INVALID', text);
  }
  const tool = { id: id as ProviderTool['id'], capability: capability as Capability };
  providerToolSource([tool]);
  return tool;
}

const emptyFile: FoundAgentFile = {
  agentConfig: {},
  servers: new Map(),
  tools: [],
  skills: [],
  providerTools: [],
  memory: false,
  traceContent: false,
  exposure: undefined,
  access: {},
  limits: {},
};

function readAccess({ profile, confirm }: AgentValues, fromFile: AccessOptions): AccessOptions {
  return {
    confirm: 'destructive',
    ...fromFile,
    ...(confirm === undefined ? {} : { confirm: readConfirm(confirm) }),
    ...(profile === undefined ? {} : { profile: readProfile(profile as ProfileName) }),
  };
}

function readConfirm(confirm: string): (typeof confirmWords)[number] {
  const policy = confirmWords.find((word) => word === confirm);
  if (policy) return policy;
  throw new PocketError(
    'CONFIG_INVALID',
    `--confirm must be one of ${confirmMeanings}, not "${confirm}".${didYouMean(confirm, confirmWords)}`,
  );
}
