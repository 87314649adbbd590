// The gate that every tool call passes, for packages of this repository that make calls without an agent. Not public:
// these names may change in any release.

export { AccessRules, accessOptions } from './access/access-rules.ts';
export type { Approve } from './access/approval.ts';
export type { CallRecord } from './access/audit.ts';
export { Policy } from './access/policy.ts';
export type { Refused } from './access/verdict.ts';
export { Budget } from './cost/budget.ts';
export { MAX_SEARCH_LIMIT, searchInput, searchTools } from './exposure/find-tools.ts';
export { type KeptLogin, keptOAuth, type LoginPage, type LoginStore } from './mcp/login/oauth.ts';
export {
  currentRun,
  type ElicitationHandler,
  inRun,
  NO_METADATA,
  type QuestionOrigin,
  type RunAgent,
  type RunContext,
} from './run/run-context.ts';
export { askedClient } from './serve/asked-approval.ts';
export { type CallOptions, isContinued, SuspendedCalls } from './serve/suspended-calls.ts';
export { clientCapabilities } from './serve/tasks/client-questions.ts';
export { gatedRead, type ResourceCaller, ServedResources } from './skills/served-resources.ts';
export { errorResult } from './tools/tool-result.ts';
export { runToolCalls } from './tools/tool-runner.ts';
export type { ToolEntry, ToolTable } from './tools/tool-table.ts';
export { Toolbox } from './tools/toolbox.ts';
