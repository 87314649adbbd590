// The option `durable`, and the part of `openRuns()` of `@pocket-agent/runs` that the handlers use.
import { configError, hasMethods, isRecord, type OptionRule } from '@pocket-agent/kit';
import type {
  AgentEvent,
  ApprovalAnswer,
  Message,
  PocketAgent,
  Profile,
  ProfileName,
  RunOptions,
  RunTotals,
  UserInput,
} from 'pocket-agent';
import type { WebOptions } from '../live/options.ts';

type Elicit = NonNullable<RunOptions['elicit']>;

/** A durable run, without its events. */
export interface WebRun {
  id: string;
  status: 'queued' | 'running' | 'waiting' | 'finished' | 'failed' | 'cancelled';
  input: string | UserInput;
  about?: Record<string, unknown>;
  updatedAt: string;
  events: number;
  totals?: RunTotals;
}

/** An event in the journal of a run. */
export interface WebRunEvent {
  number: number;
  type: string;
  data: unknown;
  subAgent?: string;
}

/** The answer to a `WebRunQuestion`. */
export type WebRunAnswer = Exclude<ApprovalAnswer, 'later'> | Awaited<ReturnType<Elicit>>;

/** A question of a run: an approval (`call`) or a form (`request`). */
export interface WebRunQuestion {
  id: string;
  hash: string;
  call?: {
    tool: string;
    capability: string;
    description?: string;
    arguments: Record<string, unknown>;
    toolCallId: string;
    path: readonly string[];
    changed: boolean;
  };
  request?: Parameters<Elicit>[0];
  server?: string;
}

/** Keeps the runs of conversations: what `openRuns()` of `@pocket-agent/runs` returns. */
export interface WebRuns {
  start(
    agent: string,
    input: string | UserInput,
    options: {
      id: string;
      caller: string;
      profile?: readonly (ProfileName | Profile)[];
      timeoutMs?: number;
      conversation: string;
      about: Record<string, unknown>;
      messages?: readonly Message[];
    },
  ): Promise<unknown>;
  get(id: string): Promise<WebRun | undefined>;
  list(options: {
    prefix?: string;
    conversation?: string;
    status?: WebRun['status'];
    limit: number;
    cursor?: string;
  }): Promise<{ runs: WebRun[]; next?: string }>;
  events(
    id: string,
    options: { after: number; signal: AbortSignal; onEvent?: (event: AgentEvent) => void },
  ): AsyncIterable<WebRunEvent>;
  questions(filter: { run: string }): Promise<WebRunQuestion[]>;
  answer(question: string, answer: WebRunAnswer, about: { by: string }): Promise<void>;
  cancel(id: string): Promise<boolean>;
}

/** Conversations whose runs continue after a restart of the server. */
export interface DurableChatOptions {
  runs: WebRuns;
  /** The name of the agent in the option `agents` of `openRuns()`. */
  agent: string;
}

export const durableRule: OptionRule = {
  expected: "{ runs, agent }: the result of openRuns(), and the agent's name there",
  accepts: (value) => isRecord(value) && hasMethods(value.runs, 'start', 'events') && typeof value.agent === 'string',
};

/** Throws if options cannot be combined with durable runs. */
export function checkDurable(agent: PocketAgent<unknown>, { approvals, conversations }: WebOptions): void {
  if (conversations) throw configError('Use the option "durable" or "conversations", not both.');
  if (approvals === 'caller' && agent.approve)
    throw configError(
      `approvals: 'caller' with "durable" needs an agent without approve. Remove the option approve of ${agent.name}.`,
    );
}
