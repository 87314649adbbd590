// Options by name: one that does not exist would be ignored, and one of a wrong kind fails late, so both are refused.
import type { A2aListenOptions, A2aServerOptions } from './a2a/server-options.ts';
import type { Profile } from './access.ts';
import type { AgentConfig, AgentLimits, PocketAgentOptions } from './agent-config.ts';
import type { PocketAgentClientOptions } from './client.ts';
import { completionOptions } from './completion-options.ts';
import { PocketError } from './errors.ts';
import type { tool } from './function-tool.ts';
import type { AccessOptions } from './gate.ts';
import type { AgentHooks } from './hooks.ts';
import type { HttpServerOptions } from './http-server.ts';
import type { UserInput, UserMessageOptions } from './messages.ts';
import type { ModelSettings } from './model.ts';
import {
  aFunction,
  aText,
  can,
  checkValue,
  count,
  faultOf,
  isCount,
  isObject,
  isText,
  listOf,
  type Names,
  oneOf,
  orNull,
  positive,
  type Rule,
  text,
  texts,
  textsByName,
  yesOrNo,
} from './option-rules.ts';
import type { AgentServerOptions } from './serve.ts';
import { closest, didYouMean } from './suggest.ts';
import type { RunOptions } from './turns.ts';

const isAgent = (value: unknown) => isObject(value) && can(value, 'run', 'fork', 'close');

const agentConfig: Names<AgentConfig> = {
  llmModel: true,
  modelSettings: true,
  name: text,
  roleDescription: aText,
  agentId: aText,
  systemPrompt: aText,
  messages: true,
  allowImages: yesOrNo,
  completionOptions: true,
};

export const modelSettings: Names<ModelSettings> = {
  apiKey: { ...aText, isSecret: true },
  baseUrl: aText,
  headers: { ...textsByName, ...orNull(textsByName.text, textsByName.isMet) },
};

const access: Names<AccessOptions> = {
  profile: true,
  filter: aFunction,
  confirm: true,
  remember: true,
  approvalTimeoutMs: positive,
  independent: yesOrNo,
  fingerprintFile: text,
  auditFile: text,
  redact: listOf('a list of regular expressions such as [/ssn/i]', (value) => value instanceof RegExp),
};

export const profileOptions: Names<Profile> = { capabilities: texts, allow: texts, deny: texts };

const limits: Names<AgentLimits> = {
  maxSteps: count,
  timeoutMs: positive,
  maxTokens: positive,
  maxCostUsd: positive,
  maxToolCalls: count,
  maxParallelToolCalls: count,
  modelRetries: { text: 'a whole number, 0 or more', isMet: (value) => isCount(value) && Number(value) >= 0 },
};

const hookNames: Names<AgentHooks> = {
  preStep: aFunction,
  postStep: aFunction,
  preToolCall: aFunction,
  postToolCall: aFunction,
  onLlmResponse: aFunction,
  onEvent: aFunction,
  onToolError: aFunction,
  onToolResult: aFunction,
};

/** Of the client of MCP servers, and of an agent, which hands them on to it. */
const ofServers = {
  mcpConfig: true,
  mcpServerQueryParams: true,
  toolPrefix: oneOf('auto', 'always', 'never'),
  toolTimeoutMs: positive,
  maxToolTimeoutMs: positive,
  clientInfo: orNull('{ name, version }', (value) => isObject(value) && isText(value.name) && isText(value.version)),
  logger: orNull('an object with debug, info, warn and error', (value) => can(value, 'debug', 'info', 'warn', 'error')),
  elicitationHandler: aFunction,
  logHandler: aFunction,
  progressHandler: aFunction,
  messageHandler: aFunction,
  roots: orNull("a list such as [{ uri: 'file:///work' }], or a function that returns one", (value) =>
    Array.isArray(value) ? value.every((root) => isText(root?.uri)) : typeof value === 'function',
  ),
} as const;

export const clientOptions: Names<PocketAgentClientOptions> = {
  ...ofServers,
  samplingHandler: aFunction,
  onServerStatus: aFunction,
  onServerLog: aFunction,
  onToolRenamed: aFunction,
};

const ofAgent: Names<PocketAgentOptions> = {
  ...ofServers,
  agentConfig: true,
  mcpClient: orNull('a PocketAgentClient', (value) => can(value, 'listTools', 'callTool')),
  router: orNull('an object with languageModel(name)', (value) => can(value, 'languageModel')),
  hooks: orNull('an object with hooks', isObject),
  subAgents: listOf('a list of agents, also of one: subAgents: [agent]; tools belong in tools', isAgent),
  tools: listOf(
    'a list, also of one: tools: [ … ]; an agent belongs in subAgents, or goes in as agent.asMcpTool()',
    (value) => !isAgent(value),
  ),
  limits: true,
  maxToolResultBytes: positive,
  prices: true,
  access: true,
  approve: aFunction,
  toolCallMetadata: orNull('an object', isObject),
  samplingHandler: orNull(
    "a function or 'agent-model'",
    (value) => typeof value === 'function' || value === 'agent-model',
  ),
};

const signal = orNull('an AbortSignal, such as controller.signal', (value) => value instanceof AbortSignal);

export const runOptions: Names<RunOptions> = {
  signal,
  timeoutMs: positive,
  traceparent: aText,
  onEvent: aFunction,
  streaming: yesOrNo,
  profile: true,
  approve: aFunction,
  approveFallback: aFunction,
  elicit: aFunction,
  caller: aText,
};

export const userMessageOptions: Names<UserMessageOptions> = { images: true, meta: orNull('an object', isObject) };

export const userInput: Names<UserInput> = { text: true, images: true };

export const stepOptions = { ...completionOptions, signal, timeoutMs: positive, traceparent: aText };

const toolOptions: Names<Parameters<typeof tool>[0]> = {
  name: true,
  description: true,
  inputSchema: true,
  run: true,
  title: true,
  annotations: true,
  capability: true,
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

const groups = {
  agentConfig,
  access,
  limits,
  'agentConfig.modelSettings': modelSettings,
  'agentConfig.completionOptions': completionOptions,
};
/** Where an option may belong; a profile has more homes than an agent, and is checked wherever it is read. */
const homes: Readonly<Record<string, object>> = { ...groups, 'access.profile': profileOptions };

/** What others call an option, by where somebody looks for it. */
const inOtherWords = new Map(
  Object.entries({
    mcpServers: ' It belongs inside mcpConfig: mcpConfig: { mcpServers: { … } }.',
    'A PocketAgentClient.mcpServers': ' It belongs inside mcpConfig: mcpConfig: { mcpServers: { … } }.',
    'A PocketAgentClient.servers': ' It belongs inside mcpConfig: mcpConfig: { servers: { … } }.',
    'A PocketAgentClient.timeoutMs': ' Did you mean "toolTimeoutMs"?',
    'agentConfig.mcpServers': ' It belongs inside mcpConfig, beside agentConfig: mcpConfig: { mcpServers: { … } }.',
    model: ' Did you mean "agentConfig.llmModel"?',
    'agentConfig.model': ' Did you mean "llmModel"?',
    'agentConfig.completionOptions.maxTokens': ' Did you mean "maxOutputTokens"?',
    'A step.maxTokens': ' Did you mean "maxOutputTokens"?',
    'addUserMessage().imageBase64s': ' Did you mean "images"?',
    'The input of a run.imageBase64s': ' Did you mean "images"?',
  }),
);

/** `mayHaveOthers`: a subclass may take options of its own beside those of every agent. */
export function checkAgentOptions(options: PocketAgentOptions, mayHaveOthers: boolean): void {
  if (!mayHaveOthers) for (const key of given(options)) if (!Object.hasOwn(ofAgent, key)) throw unknown(key, ofAgent);
  for (const [group, names] of Object.entries(groups)) {
    const value = group.split('.').reduce<unknown>((outer, key) => (isObject(outer) ? outer[key] : undefined), options);
    if (value === undefined) continue;
    checkValue(group, value, { text: 'an object', isMet: isObject });
    refuseOtherOptions(names, group, value as object);
  }
  for (const key of given(options)) checkOption(ofAgent, '', key, options);
  if (options?.hooks) checkHooks(options.hooks);
}

/** An option that `names` does not hold, or one that is not what it must be. */
export function wrongOption(names: object, what: string, options: object): PocketError | undefined {
  for (const key of given(options)) {
    const fault = Object.hasOwn(names, key) ? faultIn(names, what, key, options) : unknown(key, names, what);
    if (fault) return fault;
  }
  return undefined;
}

/** Throws what is wrong. */
export function refuseOtherOptions(names: object, what: string, options: object): void {
  const wrong = wrongOption(names, what, options);
  if (wrong) throw wrong;
}

/** For objects that may hold more than options, handed on from elsewhere: refuses only what is probably one, misspelt. */
export function misspeltOption(names: object, what: string, options: object): PocketError | undefined {
  const fault = faultyOption(names, what, options);
  if (fault) return fault;
  for (const key of given(options)) {
    const meant = Object.hasOwn(names, key) ? '' : didYouMean(key, Object.keys(names));
    if (meant) return refusal(what, key, meant);
  }
  return undefined;
}

/** A known option with a wrong value. Where others may be added, similar names are not taken for misspelt ones. */
export function faultyOption(names: object, what: string, options: object): PocketError | undefined {
  if (typeof options !== 'object' || options === null || options instanceof AbortSignal)
    return new PocketError('CONFIG_INVALID', `${what} takes its options as an object, such as { signal }.`);
  for (const key of given(options)) {
    const fault = Object.hasOwn(names, key) ? faultIn(names, what, key, options) : undefined;
    if (fault) return fault;
  }
  return undefined;
}

/** Hooks may be any object with more in it; a method that is nearly a hook would never be called. */
function checkHooks(hooks: object): void {
  for (let level = hooks; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    // getters are left alone
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (Object.hasOwn(hookNames, key)) checkOption(hookNames, 'hooks', key, { [key]: value });
      const meant = typeof value === 'function' ? closest(key, Object.keys(hookNames)) : undefined;
      if (meant && !(meant in hooks)) throw unknown(key, hookNames, 'hooks');
    }
  }
}

function checkOption(names: object, what: string, key: string, options: object): void {
  const fault = faultIn(names, what, key, options);
  if (fault) throw fault;
}

function faultIn(names: object, what: string, key: string, options: object): PocketError | undefined {
  const rule = Object.hasOwn(names, key) ? (names as Record<string, true | Rule>)[key] : undefined;
  const value = (options as Record<string, unknown>)[key];
  if (rule === undefined || rule === true || value === undefined) return undefined;
  const place = /^[a-z]/.test(what) ? `${what}.` : what && `${what}: `;
  return faultOf(`${place}${key}`, value, rule);
}

/** What is undefined was left out. */
function given(options: object | undefined): string[] {
  return Object.entries(options ?? {}).flatMap(([key, value]) => (value === undefined ? [] : [key]));
}

function unknown(key: string, names: object, what?: string): PocketError {
  const wayOut = inOtherWords.get(what ? `${what}.${key}` : key) ?? elsewhere(key, what) ?? knownInstead(key, names);
  return refusal(what ?? 'An agent', key, wayOut);
}

function refusal(what: string, key: string, wayOut: string): PocketError {
  return new PocketError('CONFIG_INVALID', `${what} has no option "${key}".${wayOut}`);
}

function knownInstead(key: string, names: object): string {
  const known = Object.keys(names);
  return didYouMean(key, known) || ` There are: ${known.join(', ')}.`;
}

/** A right word in the wrong place of an agent's options. */
function elsewhere(key: string, what: string | undefined): string | undefined {
  if (what !== undefined && !Object.hasOwn(homes, what)) return undefined;
  if (what && Object.hasOwn(ofAgent, key)) return ` It stands beside ${what.split('.')[0]}, not in it.`;
  const home = Object.keys(homes).find((each) => Object.hasOwn(homes[each] ?? {}, key));
  return home && ` It belongs in ${home}.`;
}
