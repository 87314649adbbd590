// The options of an A2A server, and the call that each request becomes.
import {
  configError,
  hasMethods,
  isRecord,
  listOf,
  nonEmptyRule,
  type OptionRules,
  OptionSet,
  oneOf,
  positiveInteger,
  positiveNumber,
  stringList,
} from '@pocket-agent/kit';
import type { ConversationStore, DurableTasksOptions, PocketAgent, Profile, ProfileName } from 'pocket-agent';
import { readProfile, type ServedApprovals, servedApprovalsRule, storeRule } from 'pocket-agent/internal';
import type { SigningOptions } from '../signing/signing-keys.ts';
import type { AgentCard, AgentExtension } from '../wire/agent-card.ts';

/** An authenticated client. It sees only tasks and webhooks of its own `id`. */
export interface A2aCaller {
  id: string;
  /** Upper bound of what this caller may do. */
  profile?: ProfileName | Profile;
}

/** Who may call an A2A server, and with which profile. */
export interface A2aAccessOptions {
  /** Callers must send it as a bearer token. */
  token?: string;
  /** Tokens of several callers, each with the profile that limits it. */
  tokens?: Readonly<Record<string, ProfileName | Profile>>;
  /** Identifies the caller; undefined refuses the request. Describe the credentials in `card.securitySchemes`. */
  authenticate?: (request: Request) => A2aCaller | undefined | Promise<A2aCaller | undefined>;
  /** Host names under which the server may be addressed. Default: those of this machine, `host` and that of `url`. */
  allowedHosts?: readonly string[];
  /** Host names of web pages that may call. Default: those of this machine. */
  allowedOrigins?: readonly string[];
  /** The public URL, if it differs from the address the server listens on. The card names it. */
  url?: string;
}

/** Where an A2A server listens. */
export interface A2aListenOptions extends A2aAccessOptions {
  /** Default 127.0.0.1: only this machine. */
  host?: string;
  /** Default 0: any free port, see `url`. */
  port?: number;
}

/** An A2A server that listens. */
export interface A2aListening {
  /** The URL for other agents. */
  readonly url: string;
  readonly cardUrl: string;
  /** Stops listening. Running tasks continue. */
  close(): Promise<void>;
}

/** The options of `asA2aServer()`: card, accepted files, limits, and where tasks are saved. */
export interface A2aServerOptions extends A2aAccessOptions {
  /** Fields that replace those of the generated agent card. */
  card?: Partial<AgentCard>;
  /** agent (default): the card lists one skill, talking to the agent. tools: one skill per tool that callers may use. */
  skills?: 'agent' | 'tools';
  /**
   * What authenticated callers see beyond the public card, by `GetExtendedAgentCard`. tools: one skill per tool that the caller
   * may use. Otherwise fields that replace those of the public card.
   */
  extendedCard?:
    | 'tools'
    | Partial<AgentCard>
    | ((caller: A2aCaller) => Partial<AgentCard> | Promise<Partial<AgentCard>>);
  /**
   * Extensions of A2A that the agent understands. Messages of callers that do not name a required one are refused. Tools and hooks
   * find those in use in `metadata.a2a` of the run.
   */
  extensions?: readonly AgentExtension[];
  /** Signs the card and the notifications to webhooks. The keys are published at `/.well-known/jwks.json`. */
  signing?: SigningOptions;
  /** Types of files that callers may send besides text and images: `['application/pdf', 'audio/*']`. Default: none. */
  files?: readonly string[];
  /** Upper bound of what callers may do. */
  profile?: ProfileName | Profile;
  /** Who approves tool calls. Default: `approve` of the agent, or the caller if the agent has no `approve`. */
  approvals?: ServedApprovals;
  /** Saves the conversations, so that they continue after a restart: what `openConversations()` returns. Default: in memory. */
  conversations?: ConversationStore;
  /** Creates the agent of a new conversation. Default: `fork()` of the served agent. */
  createAgent?: () => PocketAgent<unknown>;
  /** Number of conversations to keep. Default 1,000. */
  maxConversations?: number;
  /** Number of tasks that may run or wait for an answer at a time; more are rejected. Default 1,000. */
  maxRunningTasks?: number;
  /** The same limit for one caller. Default: a quarter of `maxRunningTasks` if there are several callers. */
  maxRunningTasksPerCaller?: number;
  /**
   * Estimated size of the messages that started the running tasks; more tasks are rejected. With several callers, each
   * may use a quarter of it. Default 256 MiB.
   */
  maxRunningBytes?: number;
  /** Number of finished tasks to keep in memory (without a `taskStore`), and to keep webhooks of. Default 1,000. */
  maxTasks?: number;
  /**
   * Memory for finished tasks, and as much for idle conversations, estimated; above it, the oldest are dropped.
   * Default 128 MiB.
   */
  maxMemoryBytes?: number;
  /** A store of `@a2a-js/sdk` for tasks, for example its `DatabaseTaskStore`. Default: in memory. */
  taskStore?: SdkTaskStore;
  /**
   * Tasks continue after a restart of the server: each is a run of `openRuns()` of `@pocket-agent/runs`, which has this agent
   * under the name `agent`. Replaces `conversations`, `createAgent` and `taskStore`.
   */
  durable?: DurableTasksOptions;
  /** A question the caller does not answer within this time is denied. Default 900,000. */
  inputTimeoutMs?: number;
  /** Larger requests are refused. Default 4 MiB. */
  maxBodyBytes?: number;
  /** False disables webhooks. */
  pushNotifications?: false | PushOptions;
}

const accessRules: OptionRules<A2aAccessOptions> = {
  token: true,
  tokens: true,
  authenticate: true,
  allowedHosts: true,
  allowedOrigins: true,
  url: true,
};

export const listenOptions = new OptionSet<A2aListenOptions>('listen()', { host: true, port: true, ...accessRules });

/** How notifications are delivered to the webhooks of callers, which are third parties. */
export interface PushOptions {
  /** Hosts of webhooks that may have private addresses or be called without TLS. */
  allowHosts?: readonly string[];
  /** With `durable`: webhooks are kept in this folder until their task has ended, so that they outlive the process. */
  folder?: string;
  /** Attempts to deliver a notification. Default 3. */
  maxTries?: number;
  /** Delay before the second attempt; doubles with each further one. Default 1,000. */
  retryDelayMs?: number;
}

const serverOptions = new OptionSet<A2aServerOptions>('asA2aServer()', {
  card: true,
  skills: oneOf('agent', 'tools'),
  extendedCard: {
    expected: '"tools", fields of a card, or a function',
    accepts: (value) => value === 'tools' || isRecord(value) || typeof value === 'function',
  },
  signing: true,
  extensions: listOf('a list such as [{ uri, required: true }]', (value) => isRecord(value) && isWord(value.uri)),
  files: stringList,
  profile: true,
  approvals: servedApprovalsRule,
  conversations: storeRule,
  createAgent: true,
  maxConversations: positiveInteger,
  maxRunningTasks: positiveInteger,
  maxRunningTasksPerCaller: positiveInteger,
  maxRunningBytes: positiveInteger,
  maxTasks: positiveInteger,
  maxMemoryBytes: positiveInteger,
  taskStore: true,
  durable: {
    expected: "{ runs, agent }: the result of openRuns(), and the agent's name there",
    accepts: (value) => isRecord(value) && hasMethods(value.runs, 'start', 'events') && typeof value.agent === 'string',
  },
  inputTimeoutMs: positiveNumber,
  maxBodyBytes: positiveInteger,
  pushNotifications: true,
  ...accessRules,
});

const pushOptions = new OptionSet<PushOptions>('pushNotifications', {
  allowHosts: true,
  folder: nonEmptyRule,
  maxTries: positiveInteger,
  retryDelayMs: { expected: 'a number of at least 0', accepts: (value) => typeof value === 'number' && value >= 0 },
});

const signingOptions = new OptionSet<SigningOptions>('signing', {
  keys: {
    expected: 'a list of private keys (JWK), or a function that returns one',
    accepts: (value) => Array.isArray(value) || typeof value === 'function',
    isSecret: true,
  },
  folder: nonEmptyRule,
  rotateAfterMs: {
    expected: 'a number of at least 86400000, one day',
    accepts: (value) => Number(value) >= 86_400_000,
  },
});

export function checkServerOptions(options: A2aServerOptions): void {
  serverOptions.check(options);
  if (options.pushNotifications) {
    pushOptions.check(options.pushNotifications);
    if (options.pushNotifications.folder && !options.durable)
      throw configError('pushNotifications.folder needs "durable": other tasks end with the process.');
  }
  if (options.signing !== undefined) {
    signingOptions.check(options.signing);
    const { keys, folder } = options.signing;
    if ((keys === undefined) === (folder === undefined)) throw configError('signing needs either "keys" or "folder".');
  }
  if (options.profile !== undefined) readProfile(options.profile);
  const { durable } = options;
  for (const other of ['conversations', 'createAgent', 'taskStore'] as const)
    if (durable && options[other]) throw configError(`asA2aServer() takes "durable" or "${other}", not both.`);
}

/** The interface `TaskStore` of `@a2a-js/sdk/server`, which need not be installed. */
export interface SdkTaskStore {
  save(task: never, context: never): Promise<void>;
  load(taskId: string, context: never): Promise<unknown>;
  list(request: never, context: never): Promise<unknown>;
}

/** Commas separate the extensions in a header. */
function isWord(value: unknown): boolean {
  return typeof value === 'string' && /^[^\s,]+$/.test(value);
}

/** An admitted request. */
export interface Call {
  caller: A2aCaller;
  isAuthenticated: boolean;
  /** Whether other callers exist, so that this one may not take all running tasks. */
  isOneOfMany: boolean;
  /** The URL of the server, without a trailing slash. */
  address: string;
  tenant: string;
  version: string;
  /** URIs of the extensions in use. */
  extensions: readonly string[];
  /** The W3C trace context of the client. */
  traceparent: string | undefined;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
}

/** The prefix of keys that belong to one caller. */
export function scopeOf({ caller, tenant }: Call): string {
  return `${tenant}\0${caller.id}\0`;
}
