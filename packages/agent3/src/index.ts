// The public names of `@pocket-agent/agent3`.
export type { ConfirmCalls, SpendingLimit } from './front/consent.ts';
export { type McpFrontOptions, mcpServerFactory } from './front/mcp-server.ts';
export { type Hub, type HubOptions, serveHub } from './hub.ts';
export { LocalAgent3, type LocalAgent3Options, openAgent3 } from './local.ts';
export { OwnerTokens, type OwnerTokensOptions } from './owner-tokens.ts';
export { Agent3Error, type Agent3ErrorCode } from './registry/agent3-error.ts';
export type { CallStatistics, Statistics, StatisticsQuery } from './registry/statistics.ts';
export { RemoteAgent3, type RemoteAgent3Options } from './remote.ts';
export type {
  Agent3,
  AgentDetails,
  AgentMetrics,
  AgentSummary,
  Budgets,
  CallErrorCode,
  Caller,
  CallLog,
  CallLogEntry,
  CallLogQuery,
  CallOptions,
  CallProgress,
  CallRequest,
  CallResponse,
  CallResult,
  CardJson,
  Credential,
  Feedback,
  FeedbackResult,
  HubHealth,
  Invocation,
  Price,
  RateLimit,
  Registration,
  Review,
  SearchPage,
  SearchQuery,
  TaskRequest,
  TaskStateName,
} from './types.ts';
