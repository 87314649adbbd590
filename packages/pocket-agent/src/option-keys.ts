// The options of an agent by name: one that does not exist would be ignored, so it is refused.
import type { AgentConfig, AgentLimits, PocketAgentOptions } from './agent-config.ts';
import { PocketError } from './errors.ts';
import type { AccessOptions } from './gate.ts';
import { didYouMean } from './suggest.ts';

type Names<Options> = Record<keyof Options, true>;

const agentConfig: Names<AgentConfig> = {
  llmModel: true,
  modelSettings: true,
  name: true,
  roleDescription: true,
  agentId: true,
  systemPrompt: true,
  messages: true,
  allowImages: true,
  completionOptions: true,
};

const access: Names<AccessOptions> = {
  profile: true,
  filter: true,
  confirm: true,
  remember: true,
  approvalTimeoutMs: true,
  independent: true,
  fingerprintFile: true,
  auditFile: true,
  redact: true,
};

const limits: Names<AgentLimits> = {
  maxSteps: true,
  timeoutMs: true,
  maxTokens: true,
  maxCostUsd: true,
  maxToolCalls: true,
  maxParallelToolCalls: true,
  modelRetries: true,
};

const ofAgent: Names<PocketAgentOptions> = {
  agentConfig: true,
  mcpClient: true,
  mcpConfig: true,
  mcpServerQueryParams: true,
  toolPrefix: true,
  toolTimeoutMs: true,
  maxToolTimeoutMs: true,
  clientInfo: true,
  router: true,
  logger: true,
  hooks: true,
  subAgents: true,
  tools: true,
  limits: true,
  maxToolResultBytes: true,
  prices: true,
  access: true,
  approve: true,
  toolCallMetadata: true,
  samplingHandler: true,
  elicitationHandler: true,
  canElicit: true,
  logHandler: true,
  progressHandler: true,
  messageHandler: true,
  roots: true,
};

const groups = { agentConfig, access, limits };
type Group = keyof typeof groups;

/** `mayHaveOthers`: a subclass may take options of its own beside those of every agent. */
export function refuseUnknownOptions(options: PocketAgentOptions, mayHaveOthers: boolean): void {
  if (!mayHaveOthers) for (const key of given(options)) if (!Object.hasOwn(ofAgent, key)) throw unknown(key);
  for (const group of Object.keys(groups) as Group[]) {
    const value: unknown = options?.[group];
    if (value === undefined) continue;
    if (typeof value !== 'object' || value === null)
      throw new PocketError('CONFIG_INVALID', `${group} must be an object.`);
    for (const key of given(value)) if (!Object.hasOwn(groups[group], key)) throw unknown(key, group);
  }
}

/** What is undefined was left out. */
function given(options: object | undefined): string[] {
  return Object.entries(options ?? {}).flatMap(([key, value]) => (value === undefined ? [] : [key]));
}

function unknown(key: string, group?: Group): PocketError {
  const known = Object.keys(group ? groups[group] : ofAgent);
  const wayOut = elsewhere(key, group) ?? (didYouMean(key, known) || ` There are: ${known.join(', ')}.`);
  const what = group ? `${group} has no option "${key}".` : `An agent has no option "${key}".`;
  return new PocketError('CONFIG_INVALID', `${what}${wayOut}`);
}

/** A right word in the wrong place. */
function elsewhere(key: string, group: Group | undefined): string | undefined {
  if (group && Object.hasOwn(ofAgent, key)) return ` It stands beside ${group}, not in it.`;
  const home = (Object.keys(groups) as Group[]).find((each) => Object.hasOwn(groups[each], key));
  return home && ` It belongs in ${home}.`;
}
