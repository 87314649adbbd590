// Runs that outlive the process, as much of them as the bot needs: what `openRuns()` of `@pocket-agent/runs` returns.
import type { ApprovalAnswer, EventListener, UserInput } from 'pocket-agent';
import type { Summarize } from '../posts/thread-summary.ts';

/** A run, without its events. */
export interface BotRun {
  id: string;
  about?: Record<string, unknown>;
  createdAt: string;
}

/** An event of a run. */
export interface BotRunEvent {
  type: string;
  data: unknown;
  time: string;
  subAgent?: string;
}

/** What a run asks a person. */
export interface BotRunQuestion {
  id: string;
  kind: 'approval' | 'elicitation';
  call?: { tool: string; capability: string; arguments: Record<string, unknown>; changed: boolean };
}

/** Where the runs of a bot are: what `openRuns()` of `@pocket-agent/runs` returns. */
export interface BotRuns {
  start(
    agent: string,
    input: string | UserInput,
    options: { id: string; caller: string; conversation: string; about: Record<string, unknown>; deliver: true },
  ): Promise<unknown>;
  get(id: string): Promise<BotRun | undefined>;
  list(options: {
    prefix?: string;
    conversation?: string;
    undelivered?: true;
    limit?: number;
    cursor?: string;
  }): Promise<{ runs: BotRun[]; next?: string }>;
  events(id: string, options: { signal: AbortSignal; onEvent: EventListener }): AsyncIterable<BotRunEvent>;
  questions(filter: { run: string }): Promise<BotRunQuestion[]>;
  answer(
    question: string,
    answer: Exclude<ApprovalAnswer, 'later'> | { action: 'cancel' },
    about: { by: string },
  ): Promise<void>;
  cancel(id: string): Promise<boolean>;
  delivered(id: string): Promise<void>;
}

/** Answers that go on after a restart of the bot. */
export interface DurableAnswersOptions {
  runs: BotRuns;
  /** The name of the agent in `agents` of the runs. */
  agent: string;
  /** Whether images reach the model, as the agent allows it. Default false. */
  allowImages?: boolean;
  /** Summarises the older messages of a long thread. Default: they are left out. */
  summarize?: Summarize;
}
