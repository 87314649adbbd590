// The options and the interface of a bridge.
import type { FetchOptions } from '@pocket-agent/http/fetch';
import type { Logger } from '@pocket-agent/kit';
import type { Caller } from '../base/agent3.ts';
import type { Price } from '../base/agents.ts';
import type { CallOptions, CallRequest, CallResponse, TaskRequest } from '../base/calls.ts';
import type { ResultLimits } from './content/result.ts';
import type { Budgets, Directory } from './directory.ts';
import type { CallPolicy } from './policy.ts';

export interface ApprovalQuestion {
  agentId: string;
  name: string;
  host: string;
  price?: Price;
  message: string;
  caller: string;
  /** Aborted when the answer is no longer needed. */
  signal: AbortSignal;
}

export interface BridgeOptions {
  directory: Directory;
  logger: Logger;
  /** Options for requests to agents; `allowHosts` is `AGENT3_ALLOW_HOSTS`. Redirects are never followed. */
  network?: Omit<FetchOptions, 'redirects' | 'timeoutMs'>;
  policy?: CallPolicy;
  /** Asked before every message that goes out. */
  approve?: (question: ApprovalQuestion) => 'allow' | 'deny' | Promise<'allow' | 'deny'>;
  budget?: Budgets;
  /** The URL of `receivePush`, for push notifications of agents; https, or a host in `network.allowHosts`. */
  pushUrl?: string;
  /** Signs context ids and push tokens. Hubs that share a database need the same. Default: random. */
  key?: string | Uint8Array;
  /** Limits of a result. Default 256 KiB in 100 parts. */
  limits?: Partial<ResultLimits>;
  /** The first delay before a retry; it doubles. Default 500. */
  retryDelayMs?: number;
  now?: () => number;
}

export interface Bridge {
  /** Failures of agents and invalid requests do not reject: the response has an error code. */
  call(request: CallRequest, caller: Caller, options?: CallOptions): Promise<CallResponse>;
  task(request: TaskRequest, caller: Caller, options?: CallOptions): Promise<CallResponse>;
  /** Handles a push notification of an agent. */
  receivePush(request: Request): Promise<Response>;
  /** Cancels running calls; resolves when each of them is answered and recorded. */
  close(): Promise<void>;
}
