// The public names of `@pocket-agent/agent3`.

export { Agent3Error, type Agent3ErrorCode } from './base/agent3-error.ts';
export { OwnerTokens, type OwnerTokensOptions } from './base/owner-tokens.ts';
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
  CallStatistics,
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
  Statistics,
  StatisticsQuery,
  TaskRequest,
  TaskStateName,
} from './base/types.ts';
export { type Hub, type HubOptions, serveHub } from './hub/hub.ts';
export { LocalAgent3, type LocalAgent3Options, openAgent3 } from './hub/local.ts';
export { RemoteAgent3, type RemoteAgent3Options } from './hub/remote.ts';
export type { ConfirmCalls, SpendingLimit } from './mcp/consent.ts';
export { type McpFrontOptions, mcpServerFactory } from './mcp/mcp-server.ts';
