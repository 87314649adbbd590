// What a bridge is made from, and what it does.
import type { FetchOptions } from '@pocket-agent/http/fetch';
import type { Logger } from 'pocket-agent';
import type {
  Budgets,
  Caller,
  CallOptions,
  CallRequest,
  CallResponse,
  Directory,
  Price,
  TaskRequest,
} from '../base/types.ts';
import type { ResultLimits } from './content/result.ts';
import type { CallPolicy } from './policy.ts';

export interface ApprovalQuestion {
  agentId: string;
  name: string;
  host: string;
  price?: Price;
  message: string;
  caller: string;
  /** Aborted when the answer is not wanted any more. */
  signal: AbortSignal;
}

export interface BridgeOptions {
  directory: Directory;
  logger: Logger;
  /** How agents are reached; `allowHosts` is `AGENT3_ALLOW_HOSTS`. Redirects are never followed. */
  network?: Omit<FetchOptions, 'redirects' | 'timeoutMs'>;
  policy?: CallPolicy;
  /** Asked before every message that goes out. */
  approve?: (question: ApprovalQuestion) => 'allow' | 'deny' | Promise<'allow' | 'deny'>;
  budget?: Budgets;
  /** Where agents send push notifications, which go to `receivePush`; https, or a host of `network.allowHosts`. */
  pushUrl?: string;
  /** Proves contexts and push notifications; the same in all hubs side by side. Default: made up for this process. */
  key?: string | Uint8Array;
  /** Of one answer, as its reader gets it. Default 256 KiB in 100 parts. */
  limits?: Partial<ResultLimits>;
  /** The first wait before a message is sent again; it doubles. Default 500. */
  retryDelayMs?: number;
  now?: () => number;
}

export interface Bridge {
  /** Never rejects for what an agent or a caller does: a failure is an answer with a code. */
  call(request: CallRequest, caller: Caller, options?: CallOptions): Promise<CallResponse>;
  task(request: TaskRequest, caller: Caller, options?: CallOptions): Promise<CallResponse>;
  /** Takes a push notification of an agent. */
  receivePush(request: Request): Promise<Response>;
  /** Ends the calls under way; when it resolves, each of them is answered and recorded. */
  close(): Promise<void>;
}
