// The public names of `@pocket-agent/agent3`.

export type { Account, Allowance, Statement, StatementQuery, TokenInfo, TokenRequest } from './base/account.ts';
export type { Agent3, Caller, HubHealth, SearchOptions, TokenStore } from './base/agent3.ts';
export { Agent3Error, type Agent3ErrorCode } from './base/agent3-error.ts';
export type {
  AgentDetails,
  AgentMetrics,
  AgentSummary,
  CardJson,
  ClaimResult,
  Credential,
  Invocation,
  Listing,
  ListingQuery,
  Price,
  RateLimit,
  Registration,
  ReportList,
  Review,
  SearchPage,
  SearchQuery,
  Standing,
} from './base/agents.ts';
export type {
  CallLog,
  CallLogEntry,
  CallLogQuery,
  CallStatistics,
  Feedback,
  FeedbackResult,
  Statistics,
  StatisticsQuery,
} from './base/call-records.ts';
export type {
  CallErrorCode,
  CallOptions,
  CallProgress,
  CallRequest,
  CallResponse,
  CallResult,
  TaskRequest,
  TaskStateName,
} from './base/calls.ts';
export type { McpServerJson } from './base/mcp-server.ts';
export { type NamedTokenStore, OwnerTokens, type OwnerTokensOptions } from './base/owner-tokens.ts';
export type { Budgets } from './bridge/directory.ts';
export type { PeerHub } from './hub/federation.ts';
export { type Hub, type HubOptions, serveHub } from './hub/hub.ts';
export { type ImportOptions, type ImportResult, importAgents } from './hub/import.ts';
export { type LocalAgent3, type LocalAgent3Options, openAgent3 } from './hub/local.ts';
export { RemoteAgent3, type RemoteAgent3Options } from './hub/remote.ts';
export type { ConfirmCalls, SpendingLimit } from './mcp/consent.ts';
export { type McpFrontOptions, mcpServerFactory } from './mcp/mcp-server.ts';
