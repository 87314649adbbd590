// The types of calls to agents: requests, progress, responses and tasks.
import type { TaskStateName } from '@pocket-agent/a2a/client';
import type { Price } from './agents.ts';

export type { TaskStateName };

export interface CallRequest {
  agentId: string;
  message: string;
  /** Default text/plain; with application/json, `message` is parsed and sent as data. */
  inputMode?: string;
  files?: readonly { name: string; mediaType: string; base64: string }[];
  skillId?: string;
  /** The `taskHandle` of a response: the message continues that task. */
  taskId?: string;
  /** The `contextId` of a response: the message continues that conversation. */
  contextId?: string;
  /** wait (default): return the answer. start: return as soon as the agent has created a task. */
  mode?: 'wait' | 'start';
  metadata?: {
    /** Which of the caller's agents makes the call: kept in the call log, shown with its ratings and used to weigh them. */
    userAgentId?: string;
    /** Milliseconds for the whole call, default 30,000. */
    timeout?: number;
    streaming?: boolean;
    /** Default 1. After a refused connection, 429 or 503; after other failures only for idempotent agents. */
    retries?: number;
    /** US dollars. A call that can cost more, or whose price is unknown, is refused; one priced by the token stops there. */
    maxCost?: number;
    /** The price a person agreed to; the call is refused if the declared price is higher by now. */
    agreedPrice?: Price;
  };
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Gets what the agent streams. */
  onProgress?: (update: CallProgress) => void;
}

export interface CallProgress {
  message: string;
  state?: TaskStateName;
  /** For a piece of the answer: whether it continues the previous piece. */
  continues?: boolean;
}

export type TaskRequest =
  | { action: 'get' | 'wait' | 'cancel'; taskHandle: string; timeout?: number }
  /** The other fields mean the same as in the metadata of a call. */
  | {
      action: 'reply';
      taskHandle: string;
      message: string;
      userAgentId?: string;
      timeout?: number;
      maxCost?: number;
      agreedPrice?: Price;
    };

export interface CallResponse {
  success: boolean;
  /** Size-limited and cleaned; `untrusted` marks it as third-party content. */
  result?: CallResult;
  error?: string;
  errorCode?: CallErrorCode;
  metadata: {
    responseTime: number;
    tokensUsed?: number;
    /** The agent reports no usage: `tokensUsed` and the cost per token are estimated from the text. */
    tokensEstimated?: boolean;
    /** US dollars by the declared price; absent without one. */
    cost?: number;
    statusCode?: number;
    retryCount: number;
    /** Seconds, if the agent or one of our limits asks to wait. */
    retryAfter?: number;
  };
  /** To wait for, reply to or cancel the task with `task`; also present after a timeout. */
  task?: { taskHandle: string; agentId?: string; state: TaskStateName; question?: string };
  /** Continues the conversation; valid for this caller and agent only. */
  contextId?: string;
  /** Proof of the call, for `feedback`. */
  receipt?: string;
}

export interface CallResult {
  untrusted: true;
  text: string;
  data?: unknown[];
  files?: { name?: string; mediaType: string; base64?: string; url?: string }[];
  truncated: boolean;
}

export const callErrorCodes = [
  'AGENT_UNKNOWN',
  'INPUT_INVALID',
  'REFUSED',
  'BUDGET',
  'RATE_LIMITED',
  'AUTH_MISSING',
  'AUTH_FAILED',
  'ADDRESS_REFUSED',
  'UNREACHABLE',
  'TIMEOUT',
  'TOO_LARGE',
  'PROTOCOL',
  'AGENT_ERROR',
  'TASK_FAILED',
  'TASK_UNKNOWN',
  'CANCELED',
] as const;
export type CallErrorCode = (typeof callErrorCodes)[number];
