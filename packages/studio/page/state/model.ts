// What the page knows. Changed objects are replaced, so a view draws only what has changed.
import type { Usage } from 'pocket-agent';
import type { AgentInfo, ChatInfo, ModelCallInfo, Question, SentFile } from '../../src/wire/wire.ts';

export interface ToolState {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  startedAt: number;
  endedAt?: number;
  /** What the model reads. */
  result?: readonly ResultPart[];
  isError?: boolean;
  progress?: { progress: number; total?: number; message?: string };
  capability?: string;
  /** How the gate decided, such as `approved`, and why. */
  decision?: string;
  reason?: string;
}

export type ResultPart = { type: 'text'; text: string } | { type: 'file'; mediaType: string; data: string };

export interface StepState {
  number: number;
  startedAt: number;
  /** When the model had answered. */
  answeredAt?: number;
  endedAt?: number;
  inputTokens?: number;
  cachedInputTokens?: number;
  outputTokens?: number;
  costUsd?: number | undefined;
  /** Its text, of a durable run. */
  answer?: string;
  /** Requests to models: attempts, summaries, and those of servers. None of programs that keep no requests. */
  calls: readonly ModelCallInfo[];
  /** The id of the one that was answered. */
  answeredBy?: string | undefined;
  tools: readonly ToolState[];
  retries: readonly Retry[];
}

/** The model was asked again, after a pause. */
export interface Retry {
  at: number;
  delayMs: number;
  reason: string;
}

export interface RunState {
  id: string;
  chatId: string;
  agentName: string;
  input: string;
  parentRunId?: string;
  parentToolCallId?: string;
  startedAt: number;
  endedAt?: number;
  error?: string;
  steps: readonly StepState[];
  /** Of a durable run, whose journal does not say it of each step. */
  usage?: Usage;
}

/** One thing in a conversation, in order. */
export type Item =
  | {
      kind: 'user';
      key: string;
      text: string;
      files: readonly SentFile[] /** Its place in the history. */;
      index: number;
    }
  | { kind: 'answer'; key: string; text: string; reasoning: string; isStreaming: boolean }
  | { kind: 'tool'; key: string; runId: string; toolCallId: string }
  | { kind: 'problem'; key: string; text: string }
  | { kind: 'note'; key: string; text: string };

export interface ChatState {
  info: ChatInfo;
  items: readonly Item[];
  /** Messages in the history of the agent. */
  messageCount: number;
  lastRunId?: string;
}

/** How the approval of a tool call was answered. */
export interface GivenAnswer {
  text: string;
  askedAt: number;
  closedAt: number;
}

export interface State {
  hasDurableRuns: boolean;
  hasGateways: boolean;
  hasRouters: boolean;
  agents: readonly AgentInfo[];
  chats: ReadonlyMap<string, ChatState>;
  runs: ReadonlyMap<string, RunState>;
  questions: ReadonlyMap<string, Question>;
  /** How approvals were answered, by `callKey`. */
  answers: ReadonlyMap<string, GivenAnswer>;
}

export const emptyState: State = {
  hasDurableRuns: false,
  hasGateways: false,
  hasRouters: false,
  agents: [],
  chats: new Map(),
  runs: new Map(),
  questions: new Map(),
  answers: new Map(),
};
