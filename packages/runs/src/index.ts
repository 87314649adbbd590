// The public names of `@pocket-agent/runs`.
export type {
  ApprovalCall,
  Question,
  QuestionAnswer,
  RunEvent,
  RunEventType,
} from './journal/events.ts';
export type {
  ListRunsOptions,
  ListSchedulesOptions,
  QuestionFilter,
  RunsOptions,
  ScheduleOptions,
  StartOptions,
} from './journal/options.ts';
export { RunError, type RunErrorCode } from './journal/run-error.ts';
export type { RunInfo, RunPage } from './journal/run-list.ts';
export type { Schedule } from './journal/schedules.ts';
export type { RunStatus } from './journal/schema.ts';
export { openRuns } from './open-runs.ts';
export type { EventsOptions, Runs } from './runs.ts';
