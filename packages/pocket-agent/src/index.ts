// The public names of pocket-agent. Importing this loads neither the MCP SDK nor a provider.
export {
  type Capability,
  capabilityOf,
  type JudgedTool,
  type Judgement,
  judge,
  type Profile,
  type ProfileName,
  profiles,
  toolsFor,
} from './access.ts';
export { PocketAgent, type StreamOptions } from './agent.ts';
export type {
  AgentConfig,
  AgentLimits,
  ModelRouter,
  PocketAgentOptions,
} from './agent-config.ts';
export type { StepOptions } from './agent-options.ts';
export type { ApprovalAnswer, ApprovalRequest, Approve, ConfirmPolicy, Remember } from './approval.ts';
export type { AuditRecord } from './audit.ts';
export type { BudgetLimits, RunTotals } from './budget.ts';
export { PocketAgentClient, type PocketAgentClientOptions } from './client.ts';
export type { CompletionOptions } from './completion-options.ts';
export { formatEvent } from './console-format.ts';
export { isPocketError, PocketError, type PocketErrorCode } from './errors.ts';
export type { AgentEvent, AgentEventType, EventListener, EventMeta, ServerStatus, UnsignedEvent } from './events.ts';
export { checkForeign, type ForeignCheck, type Verdict } from './foreign-schema.ts';
export { type FunctionTool, functionTools, type JsonSchema, type ToolReturn, tool } from './function-tool.ts';
export type { AccessOptions, FilteredTool } from './gate.ts';
export { AgentHooks, type HookContext, type ToolDenial } from './hooks.ts';
export type { HttpServer, HttpServerOptions } from './http-server.ts';
export { type Logger, stderrLogger } from './logger.ts';
export type { McpConfig, McpServerEntry } from './mcp-config.ts';
export {
  type AssistantMessage,
  type ImageInput,
  type Message,
  type ToolMessage,
  textOf,
  type UserInput,
  type UserMessage,
  type UserMessageOptions,
} from './messages.ts';
export { type LanguageModel, type ModelSettings, resolveModel } from './model.ts';
export type { ModelResponse } from './model-call.ts';
export { type FileOAuthOptions, fileOAuth, type OAuthLogin } from './oauth.ts';
export { fromOpenAiMessages, type OpenAiMessage } from './openai-messages.ts';
export { isPriced, type ModelPrice, type Prices } from './prices.ts';
export { redactSecrets } from './redaction.ts';
export type { DeploymentParams, DeploymentStatus } from './router/deployment.ts';
export { Router, type RouterStatus } from './router/router.ts';
export type { RouterEvent, RouterOptions } from './router/router-options.ts';
export type { StrategyName } from './router/strategy.ts';
export type { AgentServer, AgentServerOptions } from './serve.ts';
export type { ServerHandlers, ServerLog, ServerMessage } from './server-requests.ts';
export type { StepResult } from './step-result.ts';
export { closest as closestName } from './suggest.ts';
export type {
  ListWait,
  ToolCall,
  ToolCallContext,
  ToolContentPart,
  ToolProgress,
  ToolResult,
  ToolSource,
} from './tools.ts';
export type { RunOptions } from './turns.ts';
export type { ToolUsage, Usage } from './usage.ts';

// an older one would fail in the middle of the first run
const { node, bun, deno } = globalThis.process?.versions ?? {};
const [major = 0, minor = 0] = (node ?? '').split('.').map(Number);
if (node && !bun && !deno && (major < 22 || (major === 22 && minor < 18)))
  throw new Error(`pocket-agent needs Node 22.18 or newer; this is ${process.version}.`);
