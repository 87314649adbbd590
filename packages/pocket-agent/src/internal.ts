// Names that the other packages of this repository share with the library. Not public: they may change in any release.

export {
  confirmMeanings,
  confirmWords,
  NO_APPROVER,
  type ServedApprovals,
  savedRequest,
  servedApproval,
  servedApprovalsRule,
} from './access/approval.ts';
export {
  capabilities,
  checkCapability,
  expectedCapability,
  isCapability,
  readProfile,
  refusalBy,
} from './access/capabilities.ts';
export { exposureIn, exposureRule, exposures } from './access/exposure.ts';
export { matchesName } from './access/name-patterns.ts';
export {
  APPROVAL_META_KEY,
  approvalText,
  askRoot,
  describeApproval,
  noApprover,
  notForwarded,
  notForwardedText,
  remoteRefusal,
} from './access/remote-approval.ts';
export { readHistory } from './agent/agent-config.ts';
export {
  type AgentFile,
  accessFrom,
  entryFrom,
  inFile,
  pathFrom,
  readAgentFile,
  readServers,
} from './agent-file.ts';
export { filePart } from './base/file-input.ts';
export { FIND_TOOLS, LOAD_SKILL, RUN_CODE, shortToolName, validToolName } from './base/tool-names.ts';
export { contextWindowOf, listedModels, priceOf } from './cost/prices.ts';
export { exposureOf, limitFor, planTools, tokensOf } from './exposure/tool-plan.ts';
export { memorySource } from './history/memory-tools.ts';
export { expandVariables, readMcpConfig } from './mcp/mcp-config.ts';
export { readOutput } from './output/output-options.ts';
export { providerToolSource } from './provider-tools/provider-tool.ts';
export { checkModelName, providerOf } from './providers/model-names.ts';
export { installCommand, isInstalled } from './providers/provider-package.ts';
export { keyVariable, missingVariable } from './providers/provider-settings.ts';
export { type KnownProvider, knownProviders, providerByPrefix } from './providers/provider-table.ts';
export { SwitchableModel } from './providers/switchable-model.ts';
export {
  type ProviderCount,
  type RateCounter,
  type RateLimits,
  type RateStore,
  RateWindow,
  type Reservation,
  type Reserved,
  type SlotUse,
  WindowShape,
  type WindowUse,
} from './router/rate-window.ts';
export { currentRun, type ElicitationHandler, type RunContext, whileAsking } from './run/run-context.ts';
export { closedError, closedResponse } from './serve/agent-server.ts';
export { storeRule } from './serve/server-options.ts';
export { agentResult } from './tools/agent-tool.ts';
export { toCallToolResult } from './tools/function-tool.ts';
export { isContentBlock, returnedIn } from './tools/tool-result.ts';
export { allowedTool, DEFAULT_WAIT_MS, joinSkills, judgedCall } from './tools/tool-source.ts';
