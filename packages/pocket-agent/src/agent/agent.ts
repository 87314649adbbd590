// PocketAgent: a model and tools in a loop. `run` repeats `step`; `stream` is `run` with live events.
import {
  abortable,
  deepCopy,
  deepFreeze,
  errorText,
  type Logger,
  neverAborted,
  PocketError,
  snapshot,
  startDeadline,
  stderrLogger,
  within,
  withoutUndefined,
} from '@pocket-agent/kit';
import type { JudgedTool } from '../access/access.ts';
import { AccessRules } from '../access/access-rules.ts';
import type { Approve } from '../access/approval.ts';
import {
  copyMessage,
  type Message,
  readInput,
  textOfInput,
  toolMessage,
  type UserInput,
  type UserMessageOptions,
  userMessage,
  userMessageOptions,
} from '../base/messages.ts';
import type { ToolResult } from '../base/tool-call.ts';
import type { RunTotals } from '../cost/budget.ts';
import { Ledger } from '../cost/ledger.ts';
import type { PocketAgentClient } from '../mcp/client.ts';
import type { CompletionOptions } from '../model/completion-options.ts';
import { type LanguageModel, resolveModel } from '../model/model.ts';
import { callModel, type ModelCall } from '../model/model-call.ts';
import { logWarnings } from '../model/model-warnings.ts';
import { PromptBuilder } from '../model/prompt.ts';
import { emitEvent, isObserved, listenersDone, nextListenerCall } from '../run/event-emitter.ts';
import type { AgentEvent, UnsignedEvent } from '../run/events.ts';
import type { RunContext } from '../run/run-context.ts';
import { type RunOptions, runOptions } from '../run/run-options.ts';
import { AgentServer } from '../serve/agent-server.ts';
import type { AgentServerOptions } from '../serve/server-options.ts';
import { agentTool, subAgentTools } from '../tools/agent-tool.ts';
import { type FunctionTool, isFunctionTool } from '../tools/function-tool.ts';
import type { RenamedTool } from '../tools/name-registry.ts';
import { callIdsIn, readAnswer } from '../tools/tool-calls.ts';
import { toolOutput } from '../tools/tool-result.ts';
import { type RequestedCall, runToolCalls, type ToolRun } from '../tools/tool-runner.ts';
import { borrow, type ListWait } from '../tools/tool-source.ts';
import type { ToolTable } from '../tools/tool-table.ts';
import { warnOfEmptyFilter, warnOfVolume } from '../tools/tool-volume.ts';
import { Toolbox } from '../tools/toolbox.ts';
import { AgentClient } from './agent-client.ts';
import {
  type AgentSettings,
  clientsOfForks,
  type FlatAgentOptions,
  modelOptions,
  type PocketAgentOptions,
  readHistory,
  readOptions,
  readSettings,
} from './agent-config.ts';
import { type StepOptions, stepOptions } from './agent-options.ts';
import type { AgentHooks, HookContext } from './hooks.ts';
import { type OverriddenRun, queueOverriddenRun } from './overridden-run.ts';
import { RunQueue } from './run-queue.ts';
import { RunStream } from './run-stream.ts';
import { finalText, goesOn, type StepResult } from './step-result.ts';

/** How long a failed step waits for postStep, within the deadline of the run. */
const POST_STEP_MS = 5_000;
/** The same after the run was aborted. */
const LATE_POST_STEP_MS = 100;
export type StreamOptions = Omit<RunOptions, 'onEvent' | 'streaming'>;

/** `Answer` is what an overridden `run()` returns: text, an object, a whole tool result or nothing. */
export class PocketAgent<Answer = string> {
  readonly subAgents: readonly PocketAgent<unknown>[];
  readonly hooks: AgentHooks;
  readonly logger: Logger;
  readonly approve: Approve | undefined;
  readonly #options: PocketAgentOptions;
  /** Whether options were given flat: the constructor of a subclass expects them so. */
  readonly #isFlat: boolean;
  readonly #settings: AgentSettings;
  readonly #toolbox: Toolbox;
  readonly #prompt = new PromptBuilder();
  readonly #access: AccessRules;
  readonly #queue: RunQueue;
  readonly #ledger: Ledger;
  readonly #closedTogether = new Set<{ close(): Promise<void> }>();
  #knownCallIds: Set<string> | undefined;
  readonly #overriddenRun: OverriddenRun;
  #messages: Message[];
  /** What `messages` returns, until the history changes. */
  #shownMessages: readonly Message[] | undefined;
  #client: PocketAgentClient | undefined;
  #model: LanguageModel | undefined;

  constructor(given: PocketAgentOptions | FlatAgentOptions) {
    const options = readOptions(given, new.target !== PocketAgent);
    this.#settings = readSettings(options);
    this.#isFlat = !('agentConfig' in given);
    this.#messages = readHistory(options.agentConfig);
    this.#options = { ...options, agentConfig: { ...options.agentConfig, messages: [...this.#messages] } };
    this.hooks = options.hooks ?? {};
    this.logger = options.logger ?? stderrLogger();
    this.subAgents = Object.freeze([...(options.subAgents ?? [])]);
    this.#access = new AccessRules(options.access, this.logger);
    this.approve = options.approve;
    this.#ledger = new Ledger(this.name, options.prices ?? {});
    this.#queue = new RunQueue(this, { limits: this.#settings, ledger: this.#ledger, rules: this.#access });
    this.#client = options.mcpClient;
    const client = options.mcpClient || options.mcpConfig ? this.mcpClient : undefined;
    const servers = options.mcpClient ? borrow(options.mcpClient) : client;
    const tools = [
      ...(servers && client && client.serverNames.length > 0 ? [servers] : []),
      ...(options.tools ?? []),
      ...(this.subAgents.length > 0 ? [subAgentTools(this.subAgents)] : []),
    ];
    this.#toolbox = new Toolbox(tools);
    this.#overriddenRun = queueOverriddenRun<Answer>(this, PocketAgent.prototype.run, this.#queue);
  }

  /** The MCP servers of this agent; created at first use. */
  get mcpClient(): PocketAgentClient {
    this.#client ??= new AgentClient({
      options: this.#options,
      logger: this.logger,
      client: () => this.mcpClient,
      emit: (event) => this.emit(event),
      ledger: this.#ledger,
      model: () => this.#resolveModel(),
      tools: () => this.#tools(neverAborted),
      toolRenamed: (change) => this.#toolRenamed(change),
    });
    return this.#client;
  }

  get name(): string {
    return this.#settings.name;
  }

  get agentId(): string {
    this.#settings.agentId ??= crypto.randomUUID();
    return this.#settings.agentId;
  }

  get roleDescription(): string | undefined {
    return this.#settings.roleDescription;
  }

  get systemPrompt(): string | undefined {
    return this.#settings.systemPrompt;
  }

  get allowImages(): boolean {
    return this.#settings.allowImages;
  }

  get llmModel(): string | LanguageModel {
    return this.#settings.llmModel;
  }

  /** The history, oldest first, frozen. Only `addMessage`, `addUserMessage` and `resetMessages` change it. */
  get messages(): readonly Message[] {
    this.#shownMessages ??= Object.freeze([...this.#messages]);
    return this.#shownMessages;
  }

  /** Usage of this agent since it was created, sub-agents included. */
  get totals(): RunTotals {
    return snapshot(this.#ledger.totals);
  }

  /**
   * Asks until the model calls no more tools, and returns its last text. Override it for a loop of your own: it takes its
   * turn in the queue too, with limits, abort and events (see `overridden-run.ts`).
   */
  async run(input: string | UserInput, options: RunOptions = {}): Promise<Answer> {
    const current = this.#overriddenRun.isThere ? this.#queue.current : undefined;
    if (current) return this.#loop(current, input); // `super.run()`: the overridden run has entered the queue
    runOptions.checkSpelling(options);
    return this.#queue.enter({ ...options, input: textOfInput(input) }, (context, firstListenerCall) =>
      this.#loop(context, input, firstListenerCall),
    );
  }

  /** The same run, with its events as they happen. Leaving the loop early aborts it. */
  stream(input: string | UserInput, options: StreamOptions = {}): AsyncGenerator<AgentEvent, Answer> {
    return new RunStream(async (onEvent, left) => {
      runOptions.checkSpelling(options);
      const signal = options.signal ? AbortSignal.any([options.signal, left]) : left;
      return this.run(input, { ...options, signal, onEvent });
    });
  }

  /** One answer of the model and the tool calls it asks for. */
  async step(options: StepOptions = {}): Promise<StepResult> {
    if (typeof options !== 'object' || options === null) {
      const wayOut = 'pass a text to addUserMessage(text) before it';
      throw new PocketError('CONFIG_INVALID', `step() takes an object of options; ${wayOut}.`);
    }
    stepOptions.check(options);
    const { signal, timeoutMs, traceparent, ...completion } = options;
    return this.#queue.enter({ signal, timeoutMs, traceparent }, (context, firstListenerCall) =>
      this.#step(context, firstListenerCall, withoutUndefined(completion)),
    );
  }

  /** Adds a copy of a message to the history. */
  addMessage(message: Message, meta: Record<string, unknown> = {}): void {
    const copy = snapshot(copyMessage(message));
    if (this.#knownCallIds) for (const id of callIdsIn([copy])) this.#knownCallIds.add(id);
    this.#append(copy, meta);
  }

  /** `meta` goes into the `new_message` event. */
  addUserMessage(text: string, options: UserMessageOptions = {}): void {
    const { images = [], meta } = options;
    userMessageOptions.check(options);
    if (images.length > 0 && !this.#settings.allowImages) {
      this.logger.warn(`${images.length} image(s) dropped: agentConfig.allowImages of ${this.name} is not set.`);
    }
    this.#append(deepFreeze(userMessage(text, this.#settings.allowImages ? images : [])), meta);
  }

  /** Forgets the conversation; the system prompt stays. */
  resetMessages(): void {
    this.#messages = [];
    this.#shownMessages = undefined;
    this.#knownCallIds = undefined;
    this.#access.forgetApprovals();
    this.#prompt.reset();
  }

  /** Shows an event to `hooks.onEvent`, to listeners of the run, and to the agents above. */
  emit(event: UnsignedEvent, meta?: Record<string, unknown>): void {
    emitEvent({ agent: this, context: this.#queue.observed, event, meta });
  }

  /** A new agent of the same class and options with its own conversation. It uses this agent's MCP connections. */
  fork(): this {
    const Class = this.constructor as new (options: PocketAgentOptions | FlatAgentOptions) => this;
    const { mcpConfig: _shared, agentConfig, ...options } = this.#options;
    const { agentId: _own, ...config } = { ...agentConfig, name: this.name };
    clientsOfForks.add(this.mcpClient);
    return new Class({
      ...options,
      ...(this.#isFlat ? config : { agentConfig: config }),
      access: this.#access.optionsOfFork(),
      mcpClient: this.mcpClient,
      tools: (this.#options.tools ?? []).map((entry) =>
        isFunctionTool(entry) ? (entry.fork?.() ?? entry) : borrow(entry),
      ),
      subAgents: this.subAgents.map((agent) => agent.fork()),
    });
  }

  /** This agent as one tool, `{name}-message`: for the `tools` of another agent, or to register on an MCP server. */
  asMcpTool(): FunctionTool {
    return agentTool(this);
  }

  /** This agent as an MCP server, on stdio or HTTP. */
  asMcpServer(options: AgentServerOptions = {}): AgentServer {
    return new AgentServer(this, options);
  }

  /** The tools that the model of this agent may see, its MCP servers' included. */
  async listTools(signal: AbortSignal = new AbortController().signal): Promise<JudgedTool[]> {
    const { entries } = await this.#collectTools(signal, 'all');
    return entries.filter((tool) => this.#access.refusal(tool) === undefined);
  }

  /** Closes `part` when this agent closes. Call the returned function when `part` was closed before. */
  closeTogether(part: { close(): Promise<void> }): () => void {
    this.#closedTogether.add(part);
    return () => this.#closedTogether.delete(part);
  }

  /** Aborts runs and closes servers, connections, child processes and sub-agents. The agent cannot be used afterwards. */
  async close(): Promise<void> {
    this.#queue.close();
    const closing = [...this.#closedTogether, this.#toolbox, ...this.subAgents].map((part) => part.close());
    const failed = (await Promise.allSettled(closing)).find((outcome) => outcome.status === 'rejected');
    await this.#access.close(); // runs that were just ended leave records too
    if (failed) throw failed.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Override it to give the hooks of a step more to work with. */
  protected createHookContext(): Omit<HookContext, 'signal'> | Promise<Omit<HookContext, 'signal'>> {
    return { agent: this, metadata: {} };
  }

  /** Ids of all tool calls in the history; read when the first answer comes. */
  get #callIds(): Set<string> {
    this.#knownCallIds ??= callIdsIn(this.#messages);
    return this.#knownCallIds;
  }

  async #loop(context: RunContext, input: string | UserInput, firstListenerCall = nextListenerCall()): Promise<Answer> {
    const { text, images = [] } = readInput(input);
    this.addUserMessage(text, { images });
    const isOverridden = this.step !== PocketAgent.prototype.step;
    for (;;) {
      const result = await (isOverridden ? this.step() : this.#step(context, firstListenerCall));
      if (!goesOn(result)) return finalText(result) as Answer;
    }
  }

  async #step(context: RunContext, firstListenerCall: number, completion: CompletionOptions = {}): Promise<StepResult> {
    const { hooks } = this;
    const { signal } = context;
    const step = this.#countStep(context);
    const hookContext = this.#hookContext(signal, await within(signal, this.createHookContext()));
    let result: StepResult;
    try {
      signal.throwIfAborted();
      if (hooks.preStep) await within(signal, hooks.preStep(hookContext));
      const model = this.#model ?? (await abortable(this.#resolveModel(), signal));
      const table = await within(signal, this.#tools(signal, step === 1));
      const tools = table.visibleTo(context.policy);
      await within(signal, this.#ledger.beforeModelCall(context, model));
      const history = this.#messages;
      const response = await callModel(this.#modelCall(context, model, tools, completion));
      logWarnings(model, response.warnings, this.logger);
      const usage = await this.#ledger.record({ run: context, model, answer: response });
      this.#ledger.measureResults({ run: context, answer: response, usage, historyLength: this.#messages.length });
      if (hooks.onLlmResponse) await within(signal, hooks.onLlmResponse(hookContext, deepCopy(response)));
      const { message: llmMessage, requested } = readAnswer(response, this.#callIds, tools);
      // a conversation that was reset in between does not start again with an answer
      if (this.#messages === history) this.#append(llmMessage);
      let toolExecutionResults: ToolResult[] | undefined;
      if (requested.length > 0) {
        const { results, failure } = await runToolCalls(
          this.#toolRun(context, hookContext, tools, requested),
          requested,
        );
        this.#addResults(context, llmMessage, results);
        if (failure !== undefined) throw failure;
        toolExecutionResults = results;
      }
      const { unified: finishReason, raw: rawFinishReason } = response.finishReason;
      this.emit({ type: 'step_finished', data: { step, finishReason, usage } });
      await listenersDone(this, firstListenerCall, signal);
      const toolCalls = toolExecutionResults && requested.map(({ call }) => call);
      result = { llmMessage, toolCalls, toolExecutionResults, finishReason, rawFinishReason, usage };
    } catch (error) {
      await this.#postStepAfterFailure(hookContext);
      throw error;
    }
    if (hooks.postStep) await within(signal, hooks.postStep(hookContext));
    return result;
  }

  #countStep({ count }: RunContext): number {
    const { maxSteps } = this.#settings;
    if (++count.steps > maxSteps) {
      const steps = maxSteps === 1 ? 'step' : 'steps';
      const text = `${this.name} stopped after ${maxSteps} ${steps} without a final answer (limits.maxSteps).`;
      throw new PocketError('MAX_STEPS', text);
    }
    this.emit({ type: 'step_started', data: { step: count.steps } });
    return count.steps;
  }

  /** A new object: what `createHookContext` returned may be frozen, or shared by several steps. */
  #hookContext(signal: AbortSignal, given: Omit<HookContext, 'signal'>): HookContext {
    const context: HookContext = { ...given, signal };
    const prototype = Object.getPrototypeOf(given);
    return prototype === Object.prototype ? context : Object.setPrototypeOf(context, prototype);
  }

  #modelCall(context: RunContext, model: LanguageModel, tools: ToolTable, completion: CompletionOptions): ModelCall {
    const { completionOptions, systemPrompt, modelRetries } = this.#settings;
    const prompt = this.#prompt.build(this.#messages, systemPrompt);
    return {
      model,
      options: modelOptions(prompt, completionOptions, completion, tools.definitions),
      signal: context.signal,
      maxRetries: modelRetries,
      onRetry: (retry) => {
        this.logger.info(`The model is asked again in ${Math.round(retry.delayMs)} ms: ${retry.reason}`);
        this.emit({ type: 'model_retry', data: retry });
      },
      onRefusal: (leftOut, reason) => this.logger.warn(`The model refused ${leftOut}, so that is left out: ${reason}`),
      onFailedAnswer: (answer) => this.#ledger.record({ run: context, model, answer }),
      onDelta: context.streaming ? (type, delta) => this.emit({ type, data: { delta } }) : undefined,
    };
  }

  #toolRun(
    context: RunContext,
    hookContext: HookContext,
    table: ToolTable,
    requested: readonly RequestedCall[],
  ): ToolRun {
    const isSeen = isObserved(this, context);
    const isRecorded = isSeen || context.policy.keepsRecords;
    const { toolCallMetadata } = this.#options;
    return {
      context,
      hooks: this.hooks,
      hookContext,
      settings: this.#settings,
      table,
      tableNow: () => this.#tools(context.signal),
      audit: isRecorded
        ? (record) => this.emit({ type: 'audit', data: context.policy.record(this.agentId, record) })
        : undefined,
      metaOf: ({ id }) => {
        const meta: Record<string, unknown> = {
          tool_call_id: id,
          step_id: requested[0]?.call.id,
          context_id: this.agentId,
          agent_name: this.name,
          is_sub_agent: context.path.length > 1,
        };
        if (context.traceparent) meta.traceparent = context.traceparent;
        return toolCallMetadata ? { ...meta, ...deepCopy(toolCallMetadata) } : meta;
      },
      emit: isSeen ? (event) => this.emit(event) : undefined,
    };
  }

  #addResults(context: RunContext, calls: Message, results: readonly ToolResult[]): void {
    this.#ledger.toolResults(context, results);
    let before = calls;
    for (const result of results) {
      const message = deepFreeze(toolMessage(result.toolCallId, result.toolCallName, toolOutput(result)));
      this.#append(message, undefined, before);
      before = message;
    }
  }

  /** `before`: the message it must follow. If that was removed by a reset, nothing is added. */
  #append(message: Message, meta?: Record<string, unknown>, before?: Message): void {
    this.#shownMessages = undefined;
    if (!before || before === this.#messages.at(-1)) this.#messages.push(message);
    else {
      const index = this.#messages.lastIndexOf(before);
      if (index < 0) return;
      this.#messages.splice(index + 1, 0, message);
      this.#prompt.reset(); // later messages may be in the prompt already
    }
    this.emit({ type: 'new_message', data: message }, meta);
  }

  async #resolveModel(): Promise<LanguageModel> {
    const { llmModel, modelSettings } = this.#settings;
    const { router } = this.#options;
    this.#model ??=
      router && typeof llmModel === 'string'
        ? router.languageModel(llmModel)
        : await resolveModel(llmModel, modelSettings);
    return this.#model;
  }

  /** A promise only if a source has changed. */
  #tools(signal: AbortSignal, isRunStart = false): ToolTable | Promise<ToolTable> {
    return this.#toolbox.table(isRunStart) ?? this.#collectTools(signal, 'ready');
  }

  async #collectTools(signal: AbortSignal, wait: ListWait): Promise<ToolTable> {
    const table = await this.#toolbox.collect((change) => this.#toolRenamed(change), signal, wait);
    // a changed tool may be malicious
    for (const tool of this.#access.fingerprints.look(table)) {
      this.logger.warn(`Tool "${tool}" is not what it was when it was first seen.`);
      this.emit({ type: 'tool_changed', data: { tool } });
    }
    const allowed = table.filter((tool) => this.#access.refusal(tool) === undefined);
    warnOfVolume(this.name, allowed, this.logger);
    if (this.#access.hasFilter && allowed.entries.length === 0) warnOfEmptyFilter(this.name, table, this.logger);
    return table;
  }

  #toolRenamed(change: RenamedTool): void {
    this.logger.warn(`Tool "${change.tool}" of ${change.source} is called "${change.name}" here: ${change.reason}.`);
    this.emit({ type: 'tool_renamed', data: change });
  }

  async #postStepAfterFailure(context: HookContext): Promise<void> {
    const { signal } = context;
    const grace = signal.aborted
      ? startDeadline('hooks.postStep', [], LATE_POST_STEP_MS)
      : startDeadline('hooks.postStep', [signal], POST_STEP_MS);
    try {
      await within(grace.signal, this.hooks.postStep?.(context));
    } catch (error) {
      this.logger.error(`hooks.postStep failed after a failed step: ${errorText(error)}`);
    } finally {
      grace.release();
    }
  }
}
