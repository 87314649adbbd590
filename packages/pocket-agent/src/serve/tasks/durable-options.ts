// The part of `openRuns()` of `@pocket-agent/runs` that tasks use: runs that outlive the process.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import type { ApprovalAnswer } from '../../access/approval.ts';
import type { Profile, ProfileName } from '../../access/capabilities.ts';
import type { UserInput } from '../../base/messages.ts';

/** A run, without its events. */
export interface TaskRun {
  id: string;
  status: 'queued' | 'running' | 'waiting' | 'finished' | 'failed' | 'cancelled';
  about?: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
  events: number;
}

/** An event of a run. */
export interface TaskRunEvent {
  number: number;
  type: string;
  data: unknown;
  /** Whose event it is, if it is not the agent's of the run. */
  subAgent?: string;
}

/** A question of a run for a person. */
export interface TaskRunQuestion {
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
  request?: ElicitRequest['params'];
  server?: string;
}

/** The answer to a question of a run. */
export type TaskRunAnswer = Exclude<ApprovalAnswer, 'later'> | ElicitResult;

/** Where the runs of tasks are: what `openRuns()` of `@pocket-agent/runs` returns. */
export interface TaskRuns {
  start(
    agent: string,
    input: string | UserInput,
    options: {
      id: string;
      caller?: string;
      profile?: readonly (ProfileName | Profile)[];
      conversation: string;
      about: Record<string, unknown>;
    },
  ): Promise<unknown>;
  get(id: string): Promise<TaskRun | undefined>;
  list(options: {
    prefix?: string;
    conversation?: string;
    status?: TaskRun['status'];
    limit: number;
  }): Promise<{ runs: TaskRun[] }>;
  events(id: string, options: { after: number; signal: AbortSignal }): AsyncIterable<TaskRunEvent>;
  questions(filter: { run: string }): Promise<TaskRunQuestion[]>;
  answer(question: string, answer: TaskRunAnswer, about: { by: string }): Promise<void>;
  cancel(id: string): Promise<boolean>;
}

/** Tasks that continue after a restart of the server. */
export interface DurableTasksOptions {
  runs: TaskRuns;
  /** The name of the served agent in `agents` of the runs. */
  agent: string;
}
