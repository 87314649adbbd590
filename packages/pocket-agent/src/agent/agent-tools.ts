// The tools of one agent: collected from its sources, watched for changes, and the calls of one step among them.
import { deepCopy, inSlices } from '@pocket-agent/kit';
import type { HiddenTool, JudgedTool } from '../access/capabilities.ts';
import type { Message } from '../base/messages.ts';
import { type CompactedHistory, plainReference, type Reference } from '../compaction/history-view.ts';
import { type KeepResultsOptions, readKeepResults } from '../compaction/keep-results-options.ts';
import { KeptResults } from '../compaction/kept-results.ts';
import { embedderOf } from '../exposure/embedder.ts';
import { type ExposedTools, ToolExposure } from '../exposure/exposed-tools.ts';
import type { CallJournal, ConversationLog } from '../history/conversation-log.ts';
import { memoryTools } from '../history/memory-tools.ts';
import type { PocketAgentClient } from '../mcp/client.ts';
import type { CompletionOptions } from '../model/completion-options.ts';
import { ExecutedCalls } from '../provider-tools/executed-calls.ts';
import { providerToolSource } from '../provider-tools/provider-tool.ts';
import type { LanguageModel } from '../providers/model-names.ts';
import { isObserved } from '../run/event-emitter.ts';
import type { RunContext } from '../run/run-context.ts';
import { agentSkills } from '../skills/agent-skills.ts';
import { ServedResources } from '../skills/served-resources.ts';
import { subAgentTools } from '../tools/agent-tool.ts';
import { type CalledAgent, type FunctionTool, isFunctionTool } from '../tools/function-tool.ts';
import type { RenamedTool } from '../tools/name-registry.ts';
import type { RequestedCall, StepCalls } from '../tools/step-calls.ts';
import { isCaller, type ListWait, type ToolSource } from '../tools/tool-source.ts';
import type { ToolTable } from '../tools/tool-table.ts';
import { logHiddenTools, warnOfEmptyFilter } from '../tools/tool-volume.ts';
import { Toolbox } from '../tools/toolbox.ts';
import type { PocketAgent } from './agent.ts';
import type { AgentParts } from './agent-parts.ts';
import type { HookContext } from './hooks.ts';

/** Of one list, this many changed tools are logged. Each change is an event. */
const MAX_LOGGED_CHANGES = 20;

interface AgentToolsParts extends AgentParts {
  /** The MCP servers of the agent. */
  client: PocketAgentClient | undefined;
  /** The compacted part of the history. */
  compacted(): CompactedHistory | undefined;
}

interface Step {
  context: RunContext;
  hookContext: HookContext;
  exposed: ExposedTools;
  /** The answer with the calls. */
  llmMessage: Message;
  requested: readonly RequestedCall[];
}

interface ExposingStep {
  context: RunContext;
  model: LanguageModel;
  toolChoice: CompletionOptions['toolChoice'] | undefined;
}

export class AgentTools {
  readonly #agent: PocketAgent<unknown>;
  readonly #parts: AgentToolsParts;
  readonly #sources: readonly (FunctionTool | ToolSource)[];
  readonly #toolbox: Toolbox;
  readonly #keepOptions: KeepResultsOptions | undefined;
  readonly #exposure: ToolExposure;
  #kept: KeptResults | undefined;
  #loads = 0;

  constructor(agent: PocketAgent<unknown>, parts: AgentToolsParts) {
    this.#agent = agent;
    this.#parts = parts;
    const { options, history, compacted } = parts;
    this.#sources = toolSources(agent, parts);
    this.#toolbox = new Toolbox(this.#sources, options.mcpClient);
    this.#keepOptions = readKeepResults(options.keepResults);
    this.#exposure = new ToolExposure({
      agent: agent.name,
      option: options.exposure,
      embed: embedderOf(options.toolSearch),
      logger: agent.logger,
      emit: (event) => agent.emit(event),
      hasCaller: this.#sources.some((source) => !isFunctionTool(source) && isCaller(source)),
      conversation: () => ({ messages: history.messages, compacted: compacted() }),
    });
    // a continued conversation may refer to kept results
    if (history.length > 0) this.kept?.resume();
  }

  /** Large results; undefined if they are not kept. */
  get kept(): KeptResults | undefined {
    if (!this.#keepOptions) return undefined;
    this.#kept ??= new KeptResults({
      options: this.#keepOptions,
      maxToolResultBytes: this.#parts.settings.maxToolResultBytes,
      messages: () => this.#parts.history.messages,
      saved: () => this.#parts.history.saved,
      logger: this.#agent.logger,
      offer: (source) => this.#toolbox.add(source),
      toolNamed: (name) => this.#toolbox.lastTable?.find(name),
    });
    return this.#kept;
  }

  /** The line that takes the place of an old result in a compacted prompt. */
  get reference(): Reference {
    return this.kept?.reference ?? plainReference;
  }

  /** Whether results of this tool are instructions, which compaction keeps if it can. */
  returnsInstructions(toolName: string): boolean {
    const entry = this.#toolbox.lastTable?.find(toolName);
    return entry?.source.returnsInstructions?.(entry.tool) ?? false;
  }

  /** Resources that clients may list and read when the agent is served over MCP. */
  get resources(): ServedResources {
    const sources = this.#sources.filter((source): source is ToolSource => !isFunctionTool(source));
    return new ServedResources(this.#agent, this.#parts.access, sources);
  }

  /** Loaded messages may refer to kept results. */
  #resumeResults(): void {
    const { loads } = this.#parts.history;
    if (loads !== this.#loads) this.kept?.resume();
    this.#loads = loads;
  }

  /** Called when the conversation is reset. */
  forgetResults(): void {
    this.#kept?.forget();
  }

  /** The tools that were collected last; undefined if a source has changed since. */
  known(): ToolTable | undefined {
    return this.#toolbox.table();
  }

  /** Like `known`, but sources may look for changes now, and results of loaded messages can be read again. */
  knownAtRunStart(): ToolTable | undefined {
    this.#resumeResults();
    return this.#toolbox.table(true);
  }

  /** The tools that the model is shown at a step, and those that it may call. */
  expose(table: ToolTable, step: ExposingStep): ExposedTools | Promise<ExposedTools> {
    const visible = table.visibleTo(step.context.policy);
    return this.#exposure.settled(visible, step.context.policy, step.model) ?? this.#expose(visible, step);
  }

  async #expose(table: ToolTable, { context, model, toolChoice }: ExposingStep): Promise<ExposedTools> {
    const { policy, signal } = context;
    const required = typeof toolChoice === 'object' && toolChoice.type === 'tool' ? toolChoice.toolName : undefined;
    const exposed = await this.#exposure.expose({ table, policy, model, required });
    if (exposed) return exposed;
    this.#toolbox.add(this.#exposure.search);
    return this.expose(await this.collect(signal), { context, model, toolChoice });
  }

  async collect(signal: AbortSignal, wait: ListWait = 'ready'): Promise<ToolTable> {
    const { logger, name } = this.#agent;
    const { access } = this.#parts;
    const table = await this.#toolbox.collect({
      renamed: (change) => this.renamed(change),
      beforeUse: (next) => this.#reportChanges(next),
      signal,
      wait,
    });
    const allowed = table.allowed((tool) => access.refusal(tool));
    if (access.options.filter && allowed.entries.length === 0) warnOfEmptyFilter({ agent: name, table, logger });
    else logHiddenTools({ agent: name, table, allowed, logger });
    return table;
  }

  /** The tools that the model may see. */
  async listed(signal: AbortSignal): Promise<JudgedTool[]> {
    const table = await this.collect(signal, 'all');
    return [...table.allowed((tool) => this.#parts.access.refusal(tool)).entries];
  }

  /** The tools that the model may not see, with the reason. */
  async hidden(signal: AbortSignal): Promise<HiddenTool[]> {
    const { entries } = await this.collect(signal, 'all');
    return entries.flatMap((entry) => {
      const reason = this.#parts.access.refusal(entry);
      const { name, tool, capability, from } = entry;
      return reason === undefined ? [] : [{ name, tool, capability, from, reason }];
    });
  }

  /** A changed tool may be malicious. */
  async #reportChanges(table: ToolTable): Promise<void> {
    const { fingerprints } = this.#parts.access;
    await fingerprints.prepare(table);
    const changed = fingerprints.remember(table);
    const { logger } = this.#agent;
    for (const tool of changed.slice(0, MAX_LOGGED_CHANGES))
      logger.warn(`Tool "${tool}" has changed since it was first seen.`);
    const more = changed.length - MAX_LOGGED_CHANGES;
    if (more > 0) logger.warn(`${more} more tools have changed since they were first seen.`);
    await inSlices(changed, (toolName) => this.#agent.emit({ type: 'tool_changed', data: { toolName } }));
  }

  renamed(change: RenamedTool): void {
    const { source, ownName, toolName, reason } = change;
    this.#agent.logger.warn(`Tool "${ownName}" of ${source} was renamed to "${toolName}": ${reason}.`);
    this.#agent.emit({ type: 'tool_renamed', data: change });
  }

  /** Reports the calls of one answer that the provider runs. */
  executedCalls({ context, table }: { context: RunContext; table: ToolTable }): ExecutedCalls {
    const { settings, history } = this.#parts;
    const { maxToolResultBytes } = settings;
    const knownIds = () => history.callIds;
    return new ExecutedCalls({ context, table, maxToolResultBytes, knownIds, ...this.#reporting(context) });
  }

  /** For the tool calls of one step. */
  stepCalls({ context, hookContext, exposed, llmMessage, requested }: Step): StepCalls {
    const agent = this.#agent;
    const { signal } = context;
    const stepId = requested[0]?.call.id;
    const { audit, emit } = this.#reporting(context);
    return {
      context,
      hooks: agent.hooks,
      hookContext,
      settings: this.#parts.settings,
      keepResult: async (call, text) => this.kept?.keep(call, text),
      table: exposed.callable,
      hidden: exposed.hidden,
      reach: exposed.reach,
      knownTable: () => this.known(),
      collectTools: () => this.collect(signal),
      elicit: this.#parts.options.elicitationHandler,
      metaOf: (toolCallId) => this.#metaOf(toolCallId, stepId, context),
      journal: this.#parts.history.saved?.journalOf(llmMessage),
      audit,
      emit,
    };
  }

  /** Undefined functions if no one observes the run or keeps its records. */
  #reporting(context: RunContext): Pick<StepCalls, 'audit' | 'emit'> {
    const agent = this.#agent;
    const { policy } = context;
    const isSeen = isObserved(agent, context);
    const audit: StepCalls['audit'] = (record) =>
      agent.emit({ type: 'audit', data: policy.record(agent.agentId, record) });
    return {
      audit: isSeen || policy.keepsRecords ? audit : undefined,
      emit: isSeen ? (event) => agent.emit(event) : undefined,
    };
  }

  /** The conversations of sub-agents are in the journal of this agent. */
  async continueSubAgents(journal: CallJournal): Promise<void> {
    const tools = this.#sources.flatMap((source) => (isFunctionTool(source) && source.agent ? [source.agent] : []));
    const names = new Map<string, number>();
    for (const agent of new Set<CalledAgent>([...this.#agent.subAgents, ...tools])) {
      if (!agent.resumes || !continuesConversations(agent)) continue;
      const times = (names.get(agent.name) ?? 0) + 1;
      names.set(agent.name, times);
      const log = journal.subAgent?.(times === 1 ? agent.name : `${agent.name}#${times}`);
      if (log) await agent.continueConversation(log);
    }
  }

  close(): Promise<void> {
    this.forgetResults();
    return this.#toolbox.close();
  }

  #metaOf(toolCallId: string, stepId: string | undefined, { path, traceparent }: RunContext): Record<string, unknown> {
    const { toolCallMetadata: metadata } = this.#parts.options;
    const meta: Record<string, unknown> = {
      tool_call_id: toolCallId,
      step_id: stepId,
      context_id: this.#agent.agentId,
      agent_name: this.#agent.name,
      is_sub_agent: path.length > 1,
    };
    if (traceparent) meta.traceparent = traceparent;
    return metadata ? { ...meta, ...deepCopy(metadata) } : meta;
  }
}

/** In the order of precedence: if several tools have the same name, the first one keeps it. */
function toolSources(
  { subAgents, logger }: PocketAgent<unknown>,
  { options, client, history }: AgentToolsParts,
): (FunctionTool | ToolSource)[] {
  const { providerTools, skills } = options;
  const memory = memoryTools(options.memory, () => history.saved?.memory);
  return [
    ...(subAgents.length > 0 ? [subAgentTools(subAgents)] : []),
    ...(providerTools?.length ? [providerToolSource(providerTools)] : []),
    ...(options.tools ?? []),
    ...(skills?.length ? [agentSkills(skills, logger)] : []),
    ...(memory ? [memory] : []),
    ...(client && client.serverNames.length > 0 ? [client] : []),
  ];
}

function continuesConversations(
  agent: CalledAgent,
): agent is CalledAgent & { continueConversation(log: ConversationLog): Promise<void> } {
  return 'continueConversation' in agent && typeof agent.continueConversation === 'function';
}
