// Runs that outlive the process, as much of them as tasks need: what `openRuns()` of `@pocket-agent/runs` returns.
export type {
  DurableTasksOptions,
  TaskRun,
  TaskRunAnswer,
  TaskRunEvent,
  TaskRunQuestion,
  TaskRuns,
} from 'pocket-agent';
