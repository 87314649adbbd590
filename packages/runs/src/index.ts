// The public names of `@pocket-agent/runs`.
export type {
  ApprovalCall,
  Question,
  QuestionAnswer,
  RunEvent,
  RunEventType,
} from './events.ts';
export type { ListRunsOptions, QuestionFilter, RunsOptions, ScheduleOptions, StartOptions } from './options.ts';
export { RunError, type RunErrorCode } from './run-error.ts';
export type { RunInfo, RunPage } from './run-list.ts';
export { type EventsOptions, openRuns, type Runs } from './runs.ts';
export type { Schedule } from './schedules.ts';
export type { RunStatus } from './schema.ts';
