// Calls to agents: the types of requests, and the schemas and types of progress and responses.
import { type TaskStateName, taskStates } from '@pocket-agent/a2a/client';
import { z } from 'zod';
import type { Price } from './agents.ts';
import { answer, count } from './answer.ts';

export type { TaskStateName };

/** A message to an agent, or the next message of its task. */
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
    /** Which of the caller's agents makes the call: stored in the call log, shown with ratings and used to weigh them. */
    userAgentId?: string;
    /** Milliseconds for the whole call, default 30,000. */
    timeout?: number;
    streaming?: boolean;
    /** Default 1. After a refused connection, 429 or 503; after other failures only for idempotent agents. */
    retries?: number;
    /** US dollars. A call that can cost more, or whose price is unknown, is refused; a call priced by the token stops at this cost. */
    maxCost?: number;
    /** The price a person agreed to; the call is refused if the declared price is higher by now. */
    agreedPrice?: Price;
  };
}

/** Cancels a call and reports its progress. */
export interface CallOptions {
  signal?: AbortSignal;
  /** Receives what the agent streams. */
  onProgress?: (update: CallProgress) => void;
}

/** Reads, awaits or cancels an unfinished task, or replies to its question. */
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

const callErrorCodes = [
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
/** Why a call failed. */
export type CallErrorCode = (typeof callErrorCodes)[number];

export const taskState = z.enum(taskStates);
export const callErrorCode = z.enum(callErrorCodes);

const callProgress = answer({
  message: z.string(),
  state: taskState.optional(),
  continues: z.boolean().optional().describe('For a piece of the answer: whether it continues the previous piece'),
});
/** A piece of the answer, or a new state, while an agent works. */
export type CallProgress = z.output<typeof callProgress>;

const file = answer({
  name: z.string().optional(),
  mediaType: z.string(),
  base64: z.string().optional(),
  url: z.string().optional(),
});

const callResult = answer({
  untrusted: z.literal(true),
  text: z.string(),
  data: z.array(z.unknown()).optional(),
  files: z.array(file).optional(),
  truncated: z.boolean(),
});
/** What an agent returned, cleaned and limited in size; third parties wrote it. */
export type CallResult = z.output<typeof callResult>;

export const callResponse = answer({
  success: z.boolean(),
  /** Size-limited and cleaned; `untrusted` marks it as third-party content. */
  result: callResult.optional(),
  error: z.string().optional(),
  errorCode: callErrorCode.optional(),
  metadata: answer({
    responseTime: z.number(),
    tokensUsed: z.number().optional(),
    /** The agent reports no usage: `tokensUsed` and the cost per token are estimated from the text. */
    tokensEstimated: z.boolean().optional(),
    /** US dollars by the declared price; absent without one. */
    cost: z.number().optional(),
    statusCode: z.number().optional(),
    retryCount: count,
    /** Seconds, if the agent or one of our limits asks to wait. */
    retryAfter: z.number().optional(),
  }),
  /** The unfinished task: `task` waits for it, replies to it or cancels it. Also present after a timeout. */
  task: answer({
    taskHandle: z.string(),
    agentId: z.string().optional(),
    state: taskState,
    question: z.string().optional(),
  }).optional(),
  /** Continues the conversation; valid for this caller and agent only. */
  contextId: z.string().optional(),
  /** Proof of the call, for `feedback`. */
  receipt: z.string().optional(),
});
/** The answer of an agent, what it cost, and a receipt that allows one rating. */
export type CallResponse = z.output<typeof callResponse>;

export const failure = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** One line of a streamed call: any number of `progress`, then one of the others. */
export const callLine = z.union([
  z.object({ progress: callProgress }),
  z.object({ response: callResponse }),
  z.object({ error: failure.shape.error }),
]);
