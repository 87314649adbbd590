// Options by name: one that does not exist would be ignored, so it is refused.
import type { A2aListenOptions, A2aServerOptions } from './a2a/server-options.ts';
import type { AgentConfig, AgentLimits, PocketAgentOptions } from './agent-config.ts';
import { PocketError } from './errors.ts';
import type { tool } from './function-tool.ts';
import type { AccessOptions } from './gate.ts';
import type { HttpServerOptions } from './http-server.ts';
import type { AgentServerOptions } from './serve.ts';
import { didYouMean } from './suggest.ts';
import type { RunOptions } from './turns.ts';

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

export const runOptions: Names<RunOptions> = {
  signal: true,
  timeoutMs: true,
  traceparent: true,
  onEvent: true,
  streaming: true,
  profile: true,
  approve: true,
  approveFallback: true,
  elicit: true,
  caller: true,
};

const toolOptions: Names<Parameters<typeof tool>[0]> = {
  name: true,
  description: true,
  inputSchema: true,
  run: true,
  title: true,
  annotations: true,
  meta: true,
};

/** Also those of a tool that an MCP server listed, and somebody wraps. */
export const toolFields = { ...toolOptions, outputSchema: true, icons: true, execution: true, _meta: true };

export const mcpServerOptions: Names<AgentServerOptions> = {
  conversation: true,
  createAgent: true,
  profile: true,
  approvals: true,
  serverInfo: true,
  maxConversations: true,
};

export const mcpListenOptions: Names<HttpServerOptions> = {
  host: true,
  port: true,
  path: true,
  token: true,
  tokens: true,
  allowedHosts: true,
  allowedOrigins: true,
  sessionIdleMs: true,
  maxSessions: true,
  maxRequestBodySize: true,
  onError: true,
};

const a2aAccess: Names<Omit<A2aListenOptions, 'host' | 'port'>> = {
  token: true,
  tokens: true,
  authenticate: true,
  allowedHosts: true,
  allowedOrigins: true,
  url: true,
};

export const a2aListenOptions: Names<A2aListenOptions> = { host: true, port: true, ...a2aAccess };

export const a2aServerOptions: Names<A2aServerOptions> = {
  card: true,
  skills: true,
  profile: true,
  approvals: true,
  createAgent: true,
  maxConversations: true,
  maxRunningTasks: true,
  maxRunningTasksPerCaller: true,
  maxTasks: true,
  taskStore: true,
  inputTimeoutMs: true,
  maxBodyBytes: true,
  pushNotifications: true,
  ...a2aAccess,
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

/** Throws for an option that `names` does not hold. */
export function refuseOtherOptions(names: object, what: string, options: object): void {
  for (const key of given(options)) if (!Object.hasOwn(names, key)) throw refusal(what, key, knownInstead(key, names));
}

/** For objects that may hold more than options, handed on from elsewhere: refuses only what is probably one, misspelt. */
export function misspeltOption(names: object, what: string, options: object): PocketError | undefined {
  if (typeof options !== 'object' || options === null || options instanceof AbortSignal)
    return new PocketError('CONFIG_INVALID', `${what} takes its options as an object, such as { signal }.`);
  const known = Object.keys(names);
  for (const key of given(options)) {
    const meant = Object.hasOwn(names, key) ? '' : didYouMean(key, known);
    if (meant) return refusal(what, key, meant);
  }
  return undefined;
}

/** What is undefined was left out. */
function given(options: object | undefined): string[] {
  return Object.entries(options ?? {}).flatMap(([key, value]) => (value === undefined ? [] : [key]));
}

function unknown(key: string, group?: Group): PocketError {
  const wayOut = elsewhere(key, group) ?? knownInstead(key, group ? groups[group] : ofAgent);
  return refusal(group ?? 'An agent', key, wayOut);
}

function refusal(what: string, key: string, wayOut: string): PocketError {
  return new PocketError('CONFIG_INVALID', `${what} has no option "${key}".${wayOut}`);
}

function knownInstead(key: string, names: object): string {
  const known = Object.keys(names);
  return didYouMean(key, known) || ` There are: ${known.join(', ')}.`;
}

/** A right word in the wrong place. */
function elsewhere(key: string, group: Group | undefined): string | undefined {
  if (group && Object.hasOwn(ofAgent, key)) return ` It stands beside ${group}, not in it.`;
  const home = (Object.keys(groups) as Group[]).find((each) => Object.hasOwn(groups[each], key));
  return home && ` It belongs in ${home}.`;
}
