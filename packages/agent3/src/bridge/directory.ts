// What the bridge needs from the registry: agents, credentials, limits, and a place for records and tasks.
import type { Allowance } from '../base/account.ts';
import type { Credential, ListedAgent } from '../base/agents.ts';
import type { CallRecord } from '../base/call-records.ts';
import type { TaskStateName } from '../base/calls.ts';

export interface BudgetLimits {
  /** US dollars per day (UTC), for all callers together. */
  perDay?: number;
  /** US dollars per day (UTC), for each caller. */
  perCallerPerDay?: number;
  /** US dollars per month (UTC), for each caller. */
  perCallerPerMonth?: number;
}

/** What callers may spend on paid agents. */
export interface Budgets extends BudgetLimits {
  /** US dollars per day by caller id; overrides `perCallerPerDay`. */
  byCaller?: ReadonlyMap<string, number>;
}

export interface Spending {
  /** Milliseconds since 1970; selects the day and the month. */
  time: number;
  caller: string;
  /** US dollars; negative to release a part of what was reserved. */
  amount: number;
  limits?: BudgetLimits;
}

/** What the bridge needs from the registry. */
export interface Directory {
  /** Fetches a stale card again; if that fails, returns the old one unless it is too old. */
  fresh(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined>;
  /** Fetches the card even if it is not stale, after a failed call suggested that the agent has moved. */
  renewed(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined>;
  credentials(agentId: string): Promise<readonly Credential[]>;
  /** Counts the call, or returns the seconds to wait if a rate limit is reached. */
  admit(agent: ListedAgent, caller: string): Promise<number | undefined>;
  /** What the caller has agreed to spend. */
  allowance(caller: string): Promise<Allowance>;
  /** Counts the amount, or counts nothing and returns the limit it would exceed. */
  spend(spending: Spending): Promise<keyof BudgetLimits | undefined>;
  /** Returns a receipt. */
  record(call: CallRecord): Promise<string>;
  saveTask(task: SavedTask): Promise<void>;
  task(taskHandle: string): Promise<SavedTask | undefined>;
}

/** A task at an agent, saved so that its caller can continue it. */
export interface SavedTask {
  taskHandle: string;
  agentId: string;
  caller: string;
  taskId: string;
  contextId?: string;
  state: TaskStateName;
  /** The latest push notification, as JSON. */
  pushed?: string;
  updatedAt: number;
}
