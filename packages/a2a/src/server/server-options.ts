// How an agent is served over A2A, and who calls it.

import { type OptionRules, OptionSet } from '@pocket-agent/kit';
import type { PocketAgent, Profile, ProfileName } from 'pocket-agent';
import { type ServedApprovals, servedApprovalsRule } from 'pocket-agent/internal';
import type { AgentCard } from '../wire/wire.ts';

/** Whoever calls. Callers see only what belongs to the same `id`. */
export interface A2aCaller {
  id: string;
  /** What this caller may do at most. */
  profile?: ProfileName | Profile;
}

export interface A2aAccessOptions {
  /** Callers must send it as a bearer token. */
  token?: string;
  /** Tokens of several callers, each with what its owner may do at most. */
  tokens?: Readonly<Record<string, ProfileName | Profile>>;
  /** Who calls, from the request; undefined refuses. Say in `card.securitySchemes` what callers must send. */
  authenticate?: (request: Request) => A2aCaller | undefined | Promise<A2aCaller | undefined>;
  /** Host names under which the server may be addressed. Default: those of this machine, `host` and that of `url`. */
  allowedHosts?: readonly string[];
  /** Host names of web pages that may call. Default: those of this machine. */
  allowedOrigins?: readonly string[];
  /** The address by which others reach the server, if it is not where it listens. The card says so. */
  url?: string;
}

export interface A2aListenOptions extends A2aAccessOptions {
  /** Default 127.0.0.1: only this machine. */
  host?: string;
  /** Default 0: any free port, see `url`. */
  port?: number;
}

export interface A2aListening {
  /** Where other agents reach this one. */
  readonly url: string;
  readonly cardUrl: string;
  /** Stops listening. Tasks go on. */
  close(): Promise<void>;
}

export interface A2aServerOptions extends A2aAccessOptions {
  /** Fields of the agent card that are to be others than those concluded from the agent. */
  card?: Partial<AgentCard>;
  /** agent (default): the card has one skill, talking to the agent. tools: one for each tool that callers may use. */
  skills?: 'agent' | 'tools';
  /** What callers may do at most. */
  profile?: ProfileName | Profile;
  /** Who says yes to calls that need one. Default: the agents' own `approve`, and the caller where there is none. */
  approvals?: ServedApprovals;
  /** Makes the agent of a new conversation. Default: `fork()` of the one that is served. */
  createAgent?: () => PocketAgent<unknown>;
  /** Conversations that are kept. Default 1,000. */
  maxConversations?: number;
  /** Tasks that run or wait for an answer at the same time; one more is rejected. Default 1,000. */
  maxRunningTasks?: number;
  /** Those of one caller. Default: a quarter of all where there are several callers. */
  maxRunningTasksPerCaller?: number;
  /** Finished tasks that are remembered, unless there is a `taskStore`, and those whose webhooks are. Default 1,000. */
  maxTasks?: number;
  /** A store of `@a2a-js/sdk` for tasks, for example its `DatabaseTaskStore`. Default: in memory. */
  taskStore?: SdkTaskStore;
  /** A question to the caller that is open for so long is taken for a no. Default 900,000. */
  inputTimeoutMs?: number;
  /** Larger requests are refused. Default 4 MiB. */
  maxBodyBytes?: number;
  /** False: callers cannot have webhooks called. */
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

export const serverOptions = new OptionSet<A2aServerOptions>('asA2aServer()', {
  card: true,
  skills: true,
  profile: true,
  approvals: servedApprovalsRule,
  createAgent: true,
  maxConversations: true,
  maxRunningTasks: true,
  maxRunningTasksPerCaller: true,
  maxTasks: true,
  taskStore: true,
  inputTimeoutMs: true,
  maxBodyBytes: true,
  pushNotifications: true,
  ...accessRules,
});

export interface PushOptions {
  /** Hosts of webhooks that may have a private address, or be called without TLS. */
  allowHosts?: readonly string[];
  /** How often a webhook that does not take a notification is called at most. Default 3. */
  maxTries?: number;
  /** Before the second try; doubled for each one after. Default 1,000. */
  retryDelayMs?: number;
}

/** The interface `TaskStore` of `@a2a-js/sdk/server`, which need not be installed. */
export interface SdkTaskStore {
  save(task: never, context: never): Promise<void>;
  load(taskId: string, context: never): Promise<unknown>;
  list(request: never, context: never): Promise<unknown>;
}

/** A request that was let in. */
export interface Call {
  caller: A2aCaller;
  isAuthenticated: boolean;
  /** Whether there are other callers who must not be kept out. */
  isOneOfMany: boolean;
  tenant: string;
  version: string;
  /** Aborted when the client has gone away. */
  signal: AbortSignal;
}

/** What belongs to one caller, and to nobody else. */
export function scopeOf({ caller, tenant }: Call): string {
  return `${tenant}\0${caller.id}\0`;
}
