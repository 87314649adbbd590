// The options of an agent, and the settings read from them: copied, so that the caller's objects are never modified.
import {
  configError,
  errorText,
  isPocketError,
  type Logger,
  readable,
  snapshot,
  withoutUndefined,
} from '@pocket-agent/kit';
import type { AccessOptions } from '../access/access-rules.ts';
import type { Approve } from '../access/approval.ts';
import type { ExposureOption } from '../access/exposure.ts';
import { withEveryCallAnswered } from '../base/history-repair.ts';
import { copyMessage, type Message } from '../base/messages.ts';
import { type CompactionOptions, readCompaction } from '../compaction/compaction-options.ts';
import type { CompactedHistory } from '../compaction/history-view.ts';
import type { KeepResultsOptions } from '../compaction/keep-results-options.ts';
import { checkPrices, type Prices } from '../cost/prices.ts';
import type { ToolSearchOptions } from '../exposure/embedder.ts';
import type { MemoryOption } from '../history/memory-tools.ts';
import type { PocketAgentClient } from '../mcp/client.ts';
import { type PocketAgentClientOptions, serverRules } from '../mcp/client-options.ts';
import type { McpServerEntry } from '../mcp/mcp-config.ts';
import type { ServerHandlers } from '../mcp/server-requests.ts';
import type { CompletionOptions } from '../model/completion-options.ts';
import { type AgentOutput, readOutput } from '../output/output-options.ts';
import type { ProviderTool } from '../provider-tools/provider-tool.ts';
import { checkModelName, checkModelObject, type LanguageModel } from '../providers/model-names.ts';
import type { ModelSettings } from '../providers/provider-settings.ts';
import type { FunctionTool } from '../tools/function-tool.ts';
import type { ToolSource } from '../tools/tool-source.ts';
import type { PocketAgent } from './agent.ts';
import { checkAgentOptions, nestOptions } from './agent-options.ts';
import type { ForkOrigin } from './fork.ts';
import type { AgentHooks } from './hooks.ts';

/** Plain JSON, unless the model is an object: it can be kept in a file. */
export interface AgentConfig {
  /** `gpt-…`, `anthropic/…`, `ollama/…`, … or any AI SDK `LanguageModelV4` object. */
  llmModel: string | LanguageModel;
  modelSettings?: ModelSettings;
  name?: string;
  /** Tells other agents what this one is for. */
  roleDescription?: string;
  /** Default: a random UUID. Sent to MCP servers as `context_id`. */
  agentId?: string;
  systemPrompt?: string;
  /** A conversation to continue, for example the saved `messages` of another agent. */
  messages?: readonly Message[];
  /** Whether images are sent to the model. Default false. */
  allowImages?: boolean;
  completionOptions?: CompletionOptions;
  /** Shortens prompts that come near the context window of the model. Default false. */
  compaction?: CompactionOptions | boolean;
  /** With `messages`: their compacted part, the saved `compacted` of another agent. */
  compacted?: CompactedHistory;
}

/** An agent whose runs return a value instead of text. */
export interface TypedAgentConfig<Answer> extends AgentConfig {
  output?: AgentOutput<Answer>;
}

/** Bounds of one run; when one is reached, the run ends with an error that says which. */
export interface AgentLimits {
  /** Steps in one run before it ends with `MAX_STEPS`. Default 50. */
  maxSteps?: number;
  /** Time for one run, sub-agents included. Default: no limit. */
  timeoutMs?: number;
  /** Tokens in and out of one run, sub-agents included. Default: no limit. */
  maxTokens?: number;
  /** Dollars for one run, sub-agents included; every model must have a known price. Default: no limit. */
  maxCostUsd?: number;
  /** Tool calls in one run, sub-agents included. Default: no limit. */
  maxToolCalls?: number;
  /** Tool calls of one step that run at the same time. Default: all. */
  maxParallelToolCalls?: number;
  /** Retries of a model call that failed for a temporary reason. Default 3. */
  modelRetries?: number;
}

/** Returns models by name, for example an AI SDK provider. */
export interface ModelRouter {
  languageModel(modelName: string): LanguageModel;
}

type ClientOptions = Omit<
  PocketAgentClientOptions,
  'logger' | 'onServerStatus' | 'onServerLog' | 'onToolRenamed' | 'samplingHandler'
>;

/** The options with the description of the agent in `agentConfig`. */
export interface NestedAgentOptions extends ClientOptions {
  agentConfig: AgentConfig;
  /** Short for `mcpConfig: { mcpServers }`. */
  mcpServers?: Record<string, McpServerEntry>;
  /** A client to share instead of `mcpConfig`; its owner closes it. */
  mcpClient?: PocketAgentClient;
  router?: ModelRouter;
  logger?: Logger;
  hooks?: AgentHooks;
  subAgents?: readonly PocketAgent<unknown>[];
  /** Tools in addition to those of MCP servers: functions and other sources. */
  tools?: readonly (FunctionTool | ToolSource)[];
  /**
   * How tools are shown to the model, for all or by name. Default auto: if their definitions exceed a tenth of its context
   * window, the model finds them with `find_tools`.
   */
  exposure?: ExposureOption;
  /** How `find_tools` ranks. Default: by words. */
  toolSearch?: ToolSearchOptions;
  /** Skills, or folders of skills, relative to the working folder. Needs the package @pocket-agent/tool-folder. */
  skills?: readonly string[];
  /** Tools that the provider of the model runs itself, such as web search. Models of other providers do not get them. */
  providerTools?: readonly ProviderTool[];
  limits?: AgentLimits;
  /** Longer tool results keep their beginning and end. Default 262,144. */
  maxToolResultBytes?: number;
  /** Whether such results are kept whole, for the model to read with `read_result`. Default true: in memory. */
  keepResults?: KeepResultsOptions | boolean;
  /** Prices of models that are not in the price table, or that differ from it. */
  prices?: Prices;
  /** Which tools may be called, and which calls need an approval. */
  access?: AccessOptions;
  /** Asked for calls that need an approval by `access.confirm`, those of sub-agents included. */
  approve?: Approve;
  /**
   * Whether spans of OpenTelemetry show questions, answers, and arguments and results of tools: without secrets, and without
   * what `access.redact` matches. Default false.
   */
  traceContent?: boolean;
  /** Gives the agent the tools `remember`, `recall` and `forget`. Default false. */
  memory?: MemoryOption;
  /** Merged over the metadata that goes with every tool call. */
  toolCallMetadata?: Record<string, unknown>;
  /** `agent-model`: sampling requests of servers are answered by this agent's model. */
  samplingHandler?: ServerHandlers['samplingHandler'] | 'agent-model';
}

/** The options with the fields of `agentConfig` beside the others: `{ llmModel, systemPrompt, tools, mcpServers }`. */
export type FlatAgentOptions = Omit<NestedAgentOptions, 'agentConfig'> & AgentConfig;

/** The options of `new PocketAgent(options)`. */
export type PocketAgentOptions = FlatAgentOptions | NestedAgentOptions;

/** Options with `output`, from which TypeScript infers the type of answers. */
export type TypedAgentOptions<Answer> =
  | (Omit<NestedAgentOptions, 'agentConfig'> & TypedAgentConfig<Answer>)
  | (NestedAgentOptions & { agentConfig: TypedAgentConfig<Answer> });

/** The values of the options, with defaults. */
export type AgentSettings = ReturnType<typeof readSettings>;

/** Checks the options of an agent, and reads its settings and history from them. */
export function readAgent(given: PocketAgentOptions, from: { isSubclass: boolean; origin: ForkOrigin | undefined }) {
  return readable('The options of an agent', () => {
    const options = readOptions(given, from.isSubclass);
    const settings = readSettings(options, from.origin);
    return { options, settings, messages: readHistory(options.agentConfig) };
  });
}

/** Checks options and nests them. `isSubclass`: the class may take additional options. */
function readOptions(options: PocketAgentOptions, isSubclass: boolean): NestedAgentOptions {
  checkAgentOptions(options, isSubclass);
  const nested = nestOptions(options ?? {});
  // forks share the skills of their agent, which are cached by this list
  return nested.skills ? { ...nested, skills: frozenList(nested.skills) } : nested;
}

function frozenList(list: readonly string[]): readonly string[] {
  return Object.isFrozen(list) ? list : Object.freeze([...list]);
}

function copyOf(options: CompletionOptions | undefined): CompletionOptions | undefined {
  try {
    return structuredClone(options);
  } catch (error) {
    throw configError(`completionOptions must be plain data: ${errorText(error)}`, error);
  }
}

function readSettings(options: NestedAgentOptions, origin: ForkOrigin | undefined) {
  const { limits = {} } = options;
  const config: TypedAgentConfig<unknown> = options.agentConfig;
  if (!config.llmModel) {
    throw configError('llmModel is missing: name a model, for example "anthropic/claude-sonnet-5".');
  }
  if (typeof config.llmModel === 'string') {
    if (!options.router) checkModelName(config.llmModel);
  } else checkModelObject(config.llmModel, 'llmModel');
  // a fork of a subclass with servers of its own has both: its client is that of the agent it was forked from
  if (options.mcpClient && options.mcpConfig && options.mcpClient !== origin?.client) {
    throw configError(
      'An agent takes mcpConfig or mcpClient, not both: a client already has its servers. If this happens in fork() of a subclass, pass all of its options to super: super({ ...options, mcpConfig }).',
    );
  }
  if (options.prices) checkPrices(options.prices);
  const { name = config.agentId ?? crypto.randomUUID() } = config;
  return {
    llmModel: config.llmModel,
    modelSettings: config.modelSettings ? { ...config.modelSettings } : undefined,
    name,
    roleDescription: config.roleDescription,
    agentId: config.agentId ?? (config.name === undefined ? name : undefined),
    systemPrompt: config.systemPrompt,
    allowImages: config.allowImages ?? false,
    completionOptions: copyOf(config.completionOptions),
    compaction: readCompaction(config.compaction, options.router !== undefined),
    output: readOutput(config.output),
    maxSteps: limits.maxSteps ?? 50,
    timeoutMs: limits.timeoutMs,
    maxTokens: limits.maxTokens,
    maxCostUsd: limits.maxCostUsd,
    maxToolCalls: limits.maxToolCalls,
    maxParallelToolCalls: limits.maxParallelToolCalls ?? Number.POSITIVE_INFINITY,
    modelRetries: limits.modelRetries ?? 3,
    maxToolResultBytes: options.maxToolResultBytes ?? 262_144,
    traceContent: options.traceContent ?? false,
  };
}

export function readHistory(config: AgentConfig): Message[] {
  if (config.messages !== undefined && !Array.isArray(config.messages)) {
    throw configError('agentConfig.messages must be a list of messages.');
  }
  try {
    return withEveryCallAnswered((config.messages ?? []).map(copyMessage)).map(snapshot);
  } catch (error) {
    if (isPocketError(error)) throw error;
    // a cycle, a getter that throws, or data nested too deeply for the stack
    const text = `agentConfig.messages must be plain JSON: ${errorText(error)}`;
    throw configError(text, error);
  }
}

/** The options that are passed on to the MCP client. */
export function clientOptions(options: NestedAgentOptions): PocketAgentClientOptions {
  return withoutUndefined(Object.fromEntries(Object.entries(options).filter(([key]) => key in serverRules)));
}
