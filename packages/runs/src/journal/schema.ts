// The tables of runs: their state, their journal, and their questions.
import type { Migration } from '@pocket-agent/store';

/** How far a run is; the last three do not change any more. */
export type RunStatus = 'queued' | 'running' | 'waiting' | 'finished' | 'failed' | 'cancelled';

export interface RunTable {
  id: string;
  agent: string;
  caller: string | null;
  status: RunStatus;
  /** The input of the run, as JSON. */
  input: string;
  /** `profile` of the run, as JSON. */
  profile: string | null;
  created_at: number;
  updated_at: number;
  deadline_at: number | null;
  /** The number of rows in its journal. */
  length: number;
  /** The attempt to advance the run, since it was queued for it; a process whose attempt is over can write nothing more. */
  holder: string | null;
  /** How often the run was taken up since its journal grew. */
  attempts: number;
  /** Steps, usage and cost so far, as JSON. */
  progress: string | null;
  /** What the library compacted of the messages, as JSON. */
  compacted: string | null;
  /** The state of its sub-agents, as JSON. */
  sub_agents: string | null;
  /** Runs of one conversation take turns. */
  conversation: string | null;
  /** The option `about` of the run, as JSON. */
  about: string | null;
  /** With the option `deliver`: 1 until the answer was delivered. */
  undelivered: 1 | null;
}

export interface JournalTable {
  run: string;
  /** From 1. */
  number: number;
  type: string;
  json: string;
  at: number;
  /** The sub-agent that the row is from. */
  sub_agent: string | null;
}

export interface QuestionTable {
  id: string;
  run: string;
  agent: string;
  caller: string | null;
  kind: 'approval' | 'elicitation';
  /** Hash of the call that it is about. */
  hash: string;
  /** Empty for an elicitation. */
  call_id: string;
  about: string;
  asked_at: number;
  expires_at: number | null;
  /** used: the agent has read the answer. closed: no answer is needed any more. */
  status: 'open' | 'answered' | 'used' | 'closed';
  answer: string | null;
}

export interface ScheduleTable {
  name: string;
  agent: string;
  caller: string | null;
  /** As JSON. */
  input: string;
  cron: string;
  time_zone: string;
  missed: 'once' | 'skip';
  next_at: number;
}

export interface RunsSchema {
  pocket_run_schedules: ScheduleTable;
  pocket_runs: RunTable;
  pocket_run_journal: JournalTable;
  pocket_run_questions: QuestionTable;
}

const createTables: Migration = {
  name: 'runs',
  async up(run) {
    await run(`create table pocket_runs (
      id text primary key, agent text not null, caller text, status text not null, input text not null, profile text,
      created_at bigint not null, updated_at bigint not null, deadline_at bigint, length integer not null, holder text,
      attempts integer not null, progress text, compacted text)`);
    await run('create index pocket_runs_status on pocket_runs (status, created_at)');
    await run('create index pocket_runs_newest on pocket_runs (created_at, id)');
    await run(`create table pocket_run_journal (
      run text not null references pocket_runs (id) on delete cascade, number integer not null, type text not null,
      json text not null, at bigint not null, primary key (run, number))`);
    await run(`create table pocket_run_questions (
      id text primary key, run text not null references pocket_runs (id) on delete cascade, agent text not null,
      caller text, kind text not null, hash text not null, call_id text not null, about text not null,
      asked_at bigint not null, expires_at bigint, status text not null, answer text)`);
    await run('create index pocket_run_questions_run on pocket_run_questions (run)');
    await run('create index pocket_run_questions_open on pocket_run_questions (status, asked_at)');
  },
};

/** Finds overdue rows without reading all that wait. */
const indexLate: Migration = {
  name: 'late questions and runs',
  async up(run) {
    await run(`create index pocket_run_questions_expiry on pocket_run_questions (expires_at)
      where status = 'open' and expires_at is not null`);
    await run(`create index pocket_runs_deadline on pocket_runs (deadline_at)
      where status = 'waiting' and deadline_at is not null`);
  },
};

const createSchedules: Migration = {
  name: 'schedules',
  async up(run) {
    await run(`create table pocket_run_schedules (
      name text primary key, agent text not null, caller text, input text not null, cron text not null,
      time_zone text not null, missed text not null, next_at bigint not null)`);
    await run('create index pocket_run_schedules_next on pocket_run_schedules (next_at)');
  },
};

const addConversations: Migration = {
  name: 'conversations and sub-agents',
  async up(run) {
    for (const column of ['sub_agents', 'conversation', 'about'])
      await run(`alter table pocket_runs add column ${column} text`);
    await run('alter table pocket_run_journal add column sub_agent text');
    await run(`create index pocket_runs_conversation on pocket_runs (conversation, created_at)
      where conversation is not null`);
    await run(`create index pocket_runs_caller on pocket_runs (agent, caller)
      where status = 'running' and caller is not null`);
  },
};

const addDelivery: Migration = {
  name: 'delivery',
  async up(run) {
    await run('alter table pocket_runs add column undelivered integer');
    await run('create index pocket_runs_undelivered on pocket_runs (created_at, id) where undelivered = 1');
  },
};

export const runTables = {
  name: 'runs',
  migrations: [createTables, createSchedules, indexLate, addConversations, addDelivery],
};
