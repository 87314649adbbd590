// The public names of pocket-agent. Importing this loads neither the MCP SDK nor a provider.

import { nodeVersionProblem } from '@pocket-agent/kit';

export {
  callerOfToken,
  isPocketError,
  type Logger,
  PocketError,
  type PocketErrorCode,
  redactSecrets,
  stderrLogger,
} from '@pocket-agent/kit';
export { checkForeign, type ForeignCheck, type Verdict } from '@pocket-agent/schema';
export type { AccessOptions, FilteredTool } from './access/access-rules.ts';
export type { ApprovalAnswer, ApprovalRequest, Approve, ConfirmPolicy, Remember } from './access/approval.ts';
export type { AuditRecord } from './access/audit.ts';
export {
  type Capability,
  capabilityOf,
  type HiddenTool,
  type JudgedTool,
  type Judgement,
  judge,
  type Profile,
  type ProfileName,
  profiles,
  toolsFor,
} from './access/capabilities.ts';
export type { Exposure, ExposureOption } from './access/exposure.ts';
export { PocketAgent, type StreamOptions } from './agent/agent.ts';
export type {
  AgentConfig,
  AgentLimits,
  FlatAgentOptions,
  ModelRouter,
  NestedAgentOptions,
  PocketAgentOptions,
  TypedAgentConfig,
  TypedAgentOptions,
} from './agent/agent-config.ts';
export type { StepOptions } from './agent/agent-options.ts';
export type { ForkChanges } from './agent/fork.ts';
export { AgentHooks, type HookContext } from './agent/hooks.ts';
export type { StepResult } from './agent/step-result.ts';
export type { FileInput } from './base/file-input.ts';
export {
  type AssistantMessage,
  type ImageInput,
  type Message,
  type ToolMessage,
  textOf,
  type UserInput,
  type UserMessage,
  type UserMessageOptions,
} from './base/messages.ts';
export type { ToolCall, ToolContentPart, ToolProgress, ToolResult } from './base/tool-call.ts';
export type { JsonSchema } from './base/value-schema.ts';
export type { CompactionOptions } from './compaction/compaction-options.ts';
export type { Compaction } from './compaction/compactor.ts';
export type { CompactedHistory } from './compaction/history-view.ts';
export type { KeepResultsOptions } from './compaction/keep-results-options.ts';
export type { BudgetLimits, RunTotals } from './cost/budget.ts';
export { isPriced, type ModelPrice, type Prices } from './cost/prices.ts';
export type { ToolUsage, Usage } from './cost/usage.ts';
export type { Embed, ToolSearchOptions } from './exposure/embedder.ts';
export type {
  AppendOptions,
  CallJournal,
  ConversationLog,
  JournaledCalls,
  RunProgress,
  SavedMessages,
} from './history/conversation-log.ts';
export type { AgentMemory, Memory, MemoryOption } from './history/memory-tools.ts';
export { fromOpenAiMessages, type OpenAiMessage } from './history/openai-messages.ts';
export { toOpenAiMessages } from './history/to-openai-messages.ts';
export type { CallerContext } from './mcp/callers/caller.ts';
export { PocketAgentClient } from './mcp/client.ts';
export type { PocketAgentClientOptions } from './mcp/client-options.ts';
export { type FileOAuthOptions, fileOAuth, type OAuthLogin } from './mcp/login/oauth.ts';
export type { McpConfig, McpServerEntry } from './mcp/mcp-config.ts';
export type { ServerHandlers, ServerList, ServerLog, ServerMessage } from './mcp/server-requests.ts';
export type { CompletionOptions } from './model/completion-options.ts';
export type { ModelResponse } from './model/model-call.ts';
export type { AgentOutput, OutputMode, OutputOption, OutputSchema, OutputSettings } from './output/output-options.ts';
export type { ProviderTool } from './provider-tools/provider-tool.ts';
export { type LanguageModel, resolveModel } from './providers/model-names.ts';
export type { ModelSettings } from './providers/provider-settings.ts';
export type { DeploymentParams, DeploymentStatus } from './router/deployment.ts';
export type { LiteLlmParams, LiteLlmRouterOptions } from './router/litellm-options.ts';
export type { RateStoreFactory } from './router/rate-window.ts';
export { Router, type RouterStatus } from './router/router.ts';
export type { RouterEvent, RouterOptions } from './router/router-options.ts';
export type { StrategyName } from './router/strategy.ts';
export { formatEvent } from './run/console-format.ts';
export type {
  AgentEvent,
  AgentEventType,
  EventListener,
  EventMeta,
  ServerStatus,
  UnsignedEvent,
} from './run/events.ts';
export type { JournaledInnerCall } from './run/inner-journal.ts';
export type { ModelCallListener, ModelCallReport } from './run/model-calls.ts';
export type { RunOptions, TypedRunOptions } from './run/run-options.ts';
export type { AgentServer } from './serve/agent-server.ts';
export type { HttpServer, HttpServerOptions } from './serve/http-server.ts';
export type { ConversationStore } from './serve/served-conversations.ts';
export type { AgentServerOptions } from './serve/server-options.ts';
export type {
  DurableTasksOptions,
  TaskRun,
  TaskRunAnswer,
  TaskRunEvent,
  TaskRunQuestion,
  TaskRuns,
} from './serve/tasks/durable-options.ts';
export { type FunctionTool, functionTools, type ToolReturn, tool } from './tools/function-tool.ts';
export type { InnerCall, InnerCallOptions, ReachableTool, ToolCaller } from './tools/inner-calls.ts';
export type { ToolDenial } from './tools/step-calls.ts';
export type {
  ListWait,
  ShownCaller,
  Skill,
  SkillEntry,
  SkillSource,
  SourceResource,
  SourceResources,
  ToolCallContext,
  ToolChoices,
  ToolGroup,
  ToolSource,
  ToolsInReach,
} from './tools/tool-source.ts';

// fail on import if Node is too old
const { node, bun, deno } = globalThis.process?.versions ?? {};
const problem = node && !bun && !deno ? nodeVersionProblem('pocket-agent', node) : undefined;
if (problem !== undefined) throw new Error(problem);
