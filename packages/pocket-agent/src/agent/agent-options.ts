// Checks the options of an agent: each by a rule, with a hint for an option in the wrong place.

import {
  checkValue,
  configError,
  definedKeys,
  hasMethods,
  isIntegerOrInfinity,
  isRecord,
  isString,
  listOf,
  nullable,
  nullableBoolean,
  nullableFunction,
  nullableString,
  type OptionRules,
  OptionSet,
  objectRule,
  type PocketError,
  positiveInteger,
  positiveNumber,
  stringRule,
  withoutUndefined,
} from '@pocket-agent/kit';
import { type AccessOptions, accessOptions } from '../access/access-rules.ts';
import { profileOptions } from '../access/capabilities.ts';
import { exposureRule } from '../access/exposure.ts';
import { compactionRule } from '../compaction/compaction-options.ts';
import { keepResultsRule } from '../compaction/keep-results-options.ts';
import { type ToolSearchOptions, toolSearchRules } from '../exposure/embedder.ts';
import { memoryRule } from '../history/memory-tools.ts';
import { serverRules } from '../mcp/client-options.ts';
import { type CompletionOptions, completionOptions } from '../model/completion-options.ts';
import { modelSettings } from '../providers/provider-settings.ts';
import { type RunOptions, runOptions } from '../run/run-options.ts';
import type {
  AgentConfig,
  AgentLimits,
  NestedAgentOptions,
  PocketAgentOptions,
  TypedAgentConfig,
} from './agent-config.ts';
import { checkHooks } from './hooks.ts';

const isAgent = (value: unknown) => isRecord(value) && hasMethods(value, 'run', 'fork', 'close');

export const configRules: OptionRules<TypedAgentConfig<unknown>> = {
  llmModel: true,
  modelSettings: true,
  name: stringRule,
  roleDescription: nullableString,
  agentId: nullableString,
  systemPrompt: nullableString,
  messages: true,
  allowImages: nullableBoolean,
  completionOptions: true,
  compaction: compactionRule,
  compacted: nullable('the saved compacted of an agent', isRecord),
  output: true,
};

const agentOptions = new OptionSet<NestedAgentOptions & TypedAgentConfig<unknown>>(
  'An agent',
  {
    ...serverRules,
    ...configRules,
    agentConfig: true,
    mcpServers: nullable('an object of servers by name', isRecord),
    mcpClient: nullable('a PocketAgentClient', (value) => hasMethods(value, 'listTools', 'callTool')),
    router: nullable('an object with languageModel(name)', (value) => hasMethods(value, 'languageModel')),
    hooks: nullable('an object with hooks', isRecord),
    subAgents: listOf('a list of agents, also of one: subAgents: [agent]; tools belong in tools', isAgent),
    tools: listOf(
      'a list, also of one: tools: [ … ]; an agent belongs in subAgents, or goes in as agent.asMcpTool()',
      (value) => !isAgent(value),
    ),
    exposure: exposureRule,
    toolSearch: true,
    skills: listOf("a list of folders, also of one: skills: ['./skills']", (value) => isString(value) && value !== ''),
    providerTools: listOf("a list such as [{ id: 'anthropic.web_search_20250305', capability: 'read' }]", isRecord),
    limits: true,
    maxToolResultBytes: positiveNumber,
    keepResults: keepResultsRule,
    prices: true,
    access: true,
    traceContent: nullableBoolean,
    approve: nullableFunction,
    memory: memoryRule,
    toolCallMetadata: nullable('an object', isRecord),
    samplingHandler: nullable(
      "a function or 'agent-model'",
      (value) => typeof value === 'function' || value === 'agent-model',
    ),
  },
  (key) => otherName(key) ?? inGroup(key),
);

/** Objects inside the options, by their path. */
const groups = {
  agentConfig: group('agentConfig', configRules),
  access: group<AccessOptions>('access', accessOptions),
  limits: group<AgentLimits>('limits', {
    maxSteps: positiveInteger,
    timeoutMs: positiveNumber,
    maxTokens: positiveNumber,
    maxCostUsd: positiveNumber,
    maxToolCalls: positiveInteger,
    maxParallelToolCalls: positiveInteger,
    modelRetries: {
      expected: 'a whole number, 0 or more',
      accepts: (value) => isIntegerOrInfinity(value) && Number(value) >= 0,
    },
  }),
  toolSearch: group<ToolSearchOptions>('toolSearch', toolSearchRules),
  'agentConfig.modelSettings': group('agentConfig.modelSettings', modelSettings.rules),
  'agentConfig.completionOptions': group('agentConfig.completionOptions', completionOptions),
  modelSettings: group('modelSettings', modelSettings.rules),
  completionOptions: group('completionOptions', completionOptions),
};

/** Hints for names from other libraries, the same for flat options and for those in `agentConfig`. */
const otherNames: Readonly<Record<string, string>> = {
  mcpServers: ' It belongs beside agentConfig: mcpServers: { … }.',
  model: ' Did you mean "llmModel"?',
  instructions: ' Did you mean "systemPrompt"?',
  system: ' Did you mean "systemPrompt"?',
  prompt: ' Did you mean "systemPrompt"?',
  description: ' Did you mean "roleDescription"?',
  'limits.maxCost': ' Did you mean "maxCostUsd"?',
  'completionOptions.maxTokens': ' Did you mean "maxOutputTokens"?',
};

function otherName(path: string): string | undefined {
  return otherNames[path.replace(/^agentConfig\./, '')];
}

/** The options in the form with `agentConfig` and `mcpConfig`. */
export function nestOptions(options: PocketAgentOptions): NestedAgentOptions {
  const { mcpServers, ...given } = options;
  if (mcpServers && given.mcpConfig) throw givenTwice('mcpServers', 'mcpConfig');
  const nested: Partial<AgentConfig> = ('agentConfig' in given ? given.agentConfig : undefined) ?? {};
  const isFlat = ([key]: [string, unknown]) => Object.hasOwn(configRules, key);
  const { flat = [], others = [] } = Object.groupBy(Object.entries(given), (entry) =>
    isFlat(entry) ? 'flat' : 'others',
  );
  const flatConfig = withoutUndefined(Object.fromEntries(flat));
  for (const key of Object.keys(flatConfig))
    if (Object.hasOwn(nested, key)) throw givenTwice(key, `agentConfig.${key}`);
  return {
    ...Object.fromEntries(others),
    agentConfig: { ...nested, ...flatConfig } as AgentConfig,
    ...(mcpServers ? { mcpConfig: { mcpServers } } : {}),
  };
}

function givenTwice(option: string, other: string): PocketError {
  return configError(`An agent takes ${option} or ${other}, not both: leave one of them out.`);
}

/** `allowsOthers`: a subclass may have additional options. */
export function checkAgentOptions(options: PocketAgentOptions, allowsOthers: boolean): void {
  if (options && !isRecord(options)) {
    const model = typeof options === 'string' ? options : 'demo';
    const wayOut = `new PocketAgent({ llmModel: ${JSON.stringify(model)} })`;
    throw configError(`A PocketAgent is made from an object of options: ${wayOut}.`);
  }
  for (const key of definedKeys(options))
    if (!allowsOthers && !agentOptions.has(key)) throw agentOptions.unknownOption(key);
  for (const [path, inner] of Object.entries(groups)) {
    const value = path.split('.').reduce<unknown>((outer, key) => (isRecord(outer) ? outer[key] : undefined), options);
    if (value === undefined) continue;
    checkValue(path, value, objectRule);
    inner.check(value as object);
  }
  if (options) agentOptions.checkKnown(options, '');
  if (options?.hooks) checkHooks(options.hooks);
}

function group<Options extends object>(path: string, rules: OptionRules<Options>): OptionSet<Options> {
  return new OptionSet(path, rules, (key) => otherName(`${path}.${key}`) ?? besideGroup(path, key) ?? inGroup(key));
}

function besideGroup(path: string, key: string): string | undefined {
  return agentOptions.has(key) ? ` It belongs beside ${path.split('.')[0]}, not in it.` : undefined;
}

function inGroup(key: string): string | undefined {
  const all: Record<string, OptionSet> = { ...groups, 'access.profile': profileOptions };
  const path = Object.keys(all).find((each) => all[each]?.has(key));
  return path && ` It belongs in ${path}.`;
}

/** Options of a single model call and its tool calls. */
export type StepOptions = CompletionOptions & Pick<RunOptions, 'signal' | 'timeoutMs' | 'traceparent'>;

const { signal, timeoutMs, traceparent } = runOptions.rules;
export const stepOptions = new OptionSet<StepOptions>(
  'A step',
  { ...completionOptions, signal, timeoutMs, traceparent },
  (key) => (key === 'maxTokens' ? ' Did you mean "maxOutputTokens"?' : undefined),
);
