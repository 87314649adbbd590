// The public names of `@pocket-agent/runs`.
export type {
  ApprovalCall,
  Question,
  QuestionAnswer,
  RunEvent,
  RunEventType,
} from './events.ts';
export type { ListRunsOptions, RunsOptions, StartOptions } from './options.ts';
export type { QuestionFilter } from './questions.ts';
export { RunError, type RunErrorCode } from './run-error.ts';
export { type EventsOptions, openRuns, type RunInfo, type RunPage, type Runs } from './runs.ts';
export type { Schedule, ScheduleOptions } from './schedules.ts';
export type { RunStatus } from './schema.ts';
