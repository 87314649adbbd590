// PocketAgent: a model and tools in a loop. `step` is the unit, `run` stands on it, `stream` watches it.
import {
  abortableAfter,
  deepCopy,
  errorText,
  isPocketError,
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
import type { Approve } from '../access/approval.ts';
import { type CallRecord, keepsRecords, recordCall } from '../access/audit.ts';
import { Gate } from '../access/gate.ts';
import { visibleIn } from '../access/rights.ts';
import type { AgentEvent, UnsignedEvent } from '../base/events.ts';
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
import type { RunFrame } from '../base/run-frame.ts';
import type { RunTotals } from '../cost/budget.ts';
import { Ledger } from '../cost/ledger.ts';
import type { PocketAgentClient } from '../mcp/client.ts';
import type { CompletionOptions } from '../model/completion-options.ts';
import { type LanguageModel, resolveModel } from '../model/model.ts';
import { callModel, type ModelResponse } from '../model/model-call.ts';
import { logWarnings } from '../model/model-warnings.ts';
import { PromptBuilder } from '../model/prompt.ts';
import type { AgentServer, AgentServerOptions } from '../serve/serve.ts';
import { type FunctionTool, isFunctionTool } from '../tools/function-tool.ts';
import { callIdsIn, type ReadAnswer, readAnswer } from '../tools/tool-calls.ts';
import { toolOutput } from '../tools/tool-result.ts';
import { runToolCalls, type ToolRun } from '../tools/tool-runner.ts';
import { warnOfEmptyFilter, warnOfVolume } from '../tools/tool-volume.ts';
import { Toolbox } from '../tools/toolbox.ts';
import { borrow, type ListWait, type RenamedTool, type ToolResult, type ToolTable } from '../tools/tools.ts';
import { AgentClient } from './agent-client.ts';
import {
  type AgentSettings,
  modelOptions,
  type PocketAgentOptions,
  readHistory,
  readSettings,
} from './agent-config.ts';
import { type StepOptions, stepOptions } from './agent-options.ts';
import type { AgentHooks, HookContext } from './hooks.ts';
import { RunStream } from './run-stream.ts';
import { finalText, goesOn, type StepResult } from './step-result.ts';
import { agentTool, subAgentTools } from './sub-agents.ts';
import { type RunOptions, runOptions, Turns } from './turns.ts';

/** How long a failed step waits for its postStep, but not beyond the end of the run. */
const POST_STEP_MS = 5_000;
/** The same after the run has ended: for work that is done at once. */
const LATE_POST_STEP_MS = 100;
/** How long an overridden `run` may take to settle after its run was aborted or timed out. */
const OWN_RUN_MS = 1_000;
/** Options of a step that was given none. */
const nothing = {};

export type StreamOptions = Omit<RunOptions, 'onEvent' | 'streaming'>;

/** `Answer` is what an overridden `run()` returns: text, an object, a whole tool result or nothing. */
export class PocketAgent<Answer = string> {
  readonly subAgents: readonly PocketAgent<unknown>[];
  readonly hooks: AgentHooks;
  readonly logger: Logger;
  readonly gate: Gate;
  readonly approve: Approve | undefined;
  readonly #options: PocketAgentOptions;
  readonly #settings: AgentSettings;
  readonly #toolbox: Toolbox;
  readonly #prompt = new PromptBuilder();
  readonly #turns: Turns;
  readonly #ledger: Ledger;
  readonly #closedTogether = new Set<{ close(): Promise<void> }>();
  #knownCallIds: Set<string> | undefined;
  readonly #takesOtherOptions: boolean;
  #messages: Message[];
  /** What `messages` returns, until the history changes. */
  #shownMessages: readonly Message[] | undefined;
  #client: PocketAgentClient | undefined;
  #model: LanguageModel | undefined;

  constructor(options: PocketAgentOptions) {
    this.#settings = readSettings(options, new.target !== PocketAgent);
    this.#messages = readHistory(options.agentConfig);
    this.#options = { ...options, agentConfig: { ...options.agentConfig, messages: [...this.#messages] } };
    this.hooks = options.hooks ?? {};
    this.logger = options.logger ?? stderrLogger();
    this.subAgents = Object.freeze([...(options.subAgents ?? [])]);
    this.gate = new Gate(options.access);
    this.approve = options.approve;
    this.#ledger = new Ledger(this.name, options.prices ?? {});
    this.#turns = new Turns(this, this.#settings, this.#ledger);
    this.#client = options.mcpClient;
    const client = options.mcpClient || options.mcpConfig ? this.mcpClient : undefined;
    const servers = options.mcpClient ? borrow(options.mcpClient) : client;
    const tools = [
      ...(servers && client && client.serverNames.length > 0 ? [servers] : []),
      ...(options.tools ?? []),
      ...(this.subAgents.length > 0 ? [subAgentTools(this.subAgents)] : []),
    ];
    this.#toolbox = new Toolbox(tools);
    let { run } = this; // that of a subclass, if it has its own
    this.#takesOtherOptions = run !== PocketAgent.prototype.run;
    const inTurn: typeof run = (input, given = {}) => {
      const wrong = this.#wrongInRun(given);
      return wrong ? Promise.reject(wrong) : this.#turns.take(given, (frame) => this.#runIn(frame, run, input, given));
    };
    // not configurable: a class field `run = …` would replace it, and with it queue, limits and abort
    Object.defineProperty(this, 'run', {
      enumerable: true,
      get: () => inTurn,
      set: (own: typeof run) => {
        run = own;
      },
    });
  }

  /** The MCP servers of this agent; made when there are some, or somebody asks. */
  get mcpClient(): PocketAgentClient {
    this.#client ??= new AgentClient({
      options: this.#options,
      logger: this.logger,
      client: () => this.mcpClient,
      turns: this.#turns,
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

  /** The history so far, oldest first, frozen. It changes through `addMessage` and its kin only. */
  get messages(): readonly Message[] {
    this.#shownMessages ??= Object.freeze([...this.#messages]);
    return this.#shownMessages;
  }

  /** What this agent has used up to now, its sub-agents included. */
  get totals(): RunTotals {
    return snapshot(this.#ledger.totals);
  }

  /**
   * Asks until the model calls no more tools, and returns its last text. Override it for a loop of your own: it is
   * always called as a turn of this agent, with limits, abort and events in place.
   */
  async run(input: string | UserInput, _options: RunOptions = {}): Promise<Answer> {
    const { text, images = [] } = readInput(input);
    this.addUserMessage(text, { images });
    let result = await this.step();
    while (goesOn(result)) result = await this.step();
    return finalText(result) as Answer;
  }

  /** The same run, seen live. Leaving the loop early aborts it. */
  stream(input: string | UserInput, options: StreamOptions = {}): AsyncGenerator<AgentEvent, Answer> {
    return new RunStream((onEvent, left) => {
      const wrong = this.#wrongInRun(options);
      if (wrong) return Promise.reject(wrong);
      const signal = options.signal ? AbortSignal.any([options.signal, left]) : left;
      return this.run(input, { ...options, signal, onEvent });
    });
  }

  /** One answer of the model and the tool calls it asks for. */
  step(options?: StepOptions): Promise<StepResult> {
    if (options === undefined) return this.#turns.take(nothing, (frame) => this.#stepIn(frame, nothing));
    if (typeof options !== 'object' || options === null) {
      const wayOut = 'a text goes to addUserMessage(text) before it';
      return Promise.reject(new PocketError('CONFIG_INVALID', `step() takes an object of options; ${wayOut}.`));
    }
    const wrong = stepOptions.findError(options);
    if (wrong) return Promise.reject(wrong);
    const { signal, timeoutMs, traceparent, ...completion } = options;
    return this.#turns.take({ signal, timeoutMs, traceparent }, (frame) =>
      this.#stepIn(frame, withoutUndefined(completion)),
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
    this.#append(snapshot(userMessage(text, this.#settings.allowImages ? images : [])), meta);
  }

  /** Forgets the conversation; the system prompt stays. */
  resetMessages(): void {
    this.#messages = [];
    this.#shownMessages = undefined;
    this.#knownCallIds = undefined;
    this.gate.forget();
    this.#prompt.reset();
  }

  /** Shows an event to `hooks.onEvent`, to whoever watches this run, and to the agents above. */
  emit(event: UnsignedEvent, meta?: Record<string, unknown>): void {
    this.#turns.emit(event, meta);
  }

  /** A new agent of the same making with its own conversation. It uses this agent's MCP connections. */
  fork(): this {
    const Maker = this.constructor as new (options: PocketAgentOptions) => this;
    const { mcpConfig: _shared, ...options } = this.#options;
    const { agentId: _own, ...agentConfig } = options.agentConfig;
    return new Maker({
      ...options,
      agentConfig: { ...agentConfig, name: this.name },
      access: this.gate.optionsOfFork(),
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
  async asMcpServer(options: AgentServerOptions = {}): Promise<AgentServer> {
    const { AgentServer } = await import('../serve/serve.ts');
    return new AgentServer(this, options);
  }

  /** The tools that the model of this agent may see, its MCP servers' included. */
  async listTools(signal: AbortSignal = new AbortController().signal): Promise<JudgedTool[]> {
    const { entries } = await this.#collectTools(signal, 'all');
    return entries.filter((tool) => this.gate.refusal(tool) === undefined);
  }

  /** Closes `part` when this agent closes. Call the returned function when `part` was closed before. */
  closeTogether(part: { close(): Promise<void> }): () => void {
    this.#closedTogether.add(part);
    return () => this.#closedTogether.delete(part);
  }

  /** Ends what runs, closes servers, connections, children and sub-agents. The agent cannot be used afterwards. */
  async close(): Promise<void> {
    this.#turns.close();
    const closing = [...this.#closedTogether, this.#toolbox, ...this.subAgents].map((part) => part.close());
    const failed = (await Promise.allSettled(closing)).find((outcome) => outcome.status === 'rejected');
    await this.gate.close(); // what was ended just now leaves records too
    if (failed) throw failed.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Override it to give the hooks of a step more to work with. */
  protected createHookContext(): Omit<HookContext, 'signal'> | Promise<Omit<HookContext, 'signal'>> {
    return { agent: this, metadata: {} };
  }

  /** Of the history; read when a model has answered. */
  get #callIds(): Set<string> {
    this.#knownCallIds ??= callIdsIn(this.#messages);
    return this.#knownCallIds;
  }

  #wrongInRun(options: RunOptions): PocketError | undefined {
    return this.#takesOtherOptions ? runOptions.findErrorInKnown(options) : runOptions.findErrorOrMisspelling(options);
  }

  async #runIn(frame: RunFrame, run: typeof this.run, input: string | UserInput, options: RunOptions): Promise<Answer> {
    this.emit({ type: 'run_started', data: { input: textOfInput(input) } });
    try {
      const running = run.call(this, input, options);
      const answer = await (run === PocketAgent.prototype.run
        ? running
        : abortableAfter(Promise.resolve(running), frame.signal, OWN_RUN_MS));
      this.emit({ type: 'run_finished', data: { answer, totals: frame.budget.totals } });
      return answer;
    } catch (error) {
      const code = isPocketError(error) ? error.code : 'FAILED';
      this.emit({ type: 'run_failed', data: { code, message: errorText(error) } });
      throw error;
    }
  }

  async #stepIn(frame: RunFrame, completion: CompletionOptions): Promise<StepResult> {
    const { maxSteps } = this.#settings;
    if (++frame.count.steps > maxSteps) {
      throw new PocketError(
        'MAX_STEPS',
        `${this.name} stopped after ${maxSteps} ${maxSteps === 1 ? 'step' : 'steps'} without a final answer (limits.maxSteps).`,
      );
    }
    this.emit({ type: 'step_started', data: { step: frame.count.steps } });
    const made = this.createHookContext();
    const given = made instanceof Promise ? await within(frame.signal, made) : made;
    const context = contextWith(frame.signal, given);
    let result: StepResult;
    try {
      result = await this.#step(frame, context, completion);
    } catch (error) {
      await this.#postStepAfterFailure(context);
      throw error;
    }
    const done = this.hooks.postStep?.(context);
    if (done) await within(frame.signal, done);
    return result;
  }

  // what is not there, or is there at once, is not waited for: a step costs microseconds
  async #step(frame: RunFrame, context: HookContext, completion: CompletionOptions): Promise<StepResult> {
    const { hooks } = this;
    const step = frame.count.steps;
    frame.signal.throwIfAborted();
    const prepared = hooks.preStep?.(context);
    if (prepared) await within(frame.signal, prepared);
    const collected = this.#tools(frame.signal, frame.count.steps === 1);
    const [model, table] =
      this.#model && !(collected instanceof Promise)
        ? [this.#model, collected]
        : await within(frame.signal, Promise.all([this.#resolveModel(), collected]));
    const tools = visibleIn(frame, table);
    const priced = this.#ledger.beforeModelCall(frame, model);
    if (priced) await within(frame.signal, priced);
    const asked = this.#messages;
    const response = await this.#askModel(frame, model, tools, completion);
    logWarnings(model, response.warnings, this.logger);
    const entered = this.#ledger.afterModelCall(frame, model, response, this.#messages.length);
    const usage = entered instanceof Promise ? await entered : entered;
    const seen = hooks.onLlmResponse?.(context, deepCopy(response));
    if (seen) await within(frame.signal, seen);
    const { message: llmMessage, requested: written } = readAnswer(response, this.#callIds);
    const requested = written.map(({ call, ...request }) => {
      return { ...request, call: snapshot({ ...call, arguments: tools.ownArguments(call) }) };
    });
    const answer = { message: llmMessage, requested };
    // a conversation that was forgotten meanwhile does not begin again with an answer
    if (this.#messages === asked) this.#append(llmMessage);
    const toolExecutionResults = requested.length > 0 ? await this.#runTools(frame, context, tools, answer) : undefined;
    const { unified: finishReason, raw: rawFinishReason } = response.finishReason;
    this.emit({ type: 'step_finished', data: { step, finishReason, usage } });
    const heard = this.#turns.hooksDone(frame.signal);
    if (heard) await heard;
    const toolCalls = toolExecutionResults && requested.map(({ call }) => call);
    return { llmMessage, toolCalls, toolExecutionResults, finishReason, rawFinishReason, usage };
  }

  #askModel(
    frame: RunFrame,
    model: LanguageModel,
    tools: ToolTable,
    completion: CompletionOptions,
  ): Promise<ModelResponse> {
    const { completionOptions, systemPrompt, modelRetries } = this.#settings;
    const prompt = this.#prompt.build(this.#messages, systemPrompt);
    return callModel({
      model,
      options: modelOptions(prompt, completionOptions, completion, tools.definitions),
      signal: frame.signal,
      maxRetries: modelRetries,
      onRetry: (retry) => {
        this.logger.info(`The model is asked again in ${Math.round(retry.delayMs)} ms: ${retry.reason}`);
        this.emit({ type: 'model_retry', data: retry });
      },
      onRefusal: (leftOut, reason) => this.logger.warn(`The model refused ${leftOut}, so that is left out: ${reason}`),
      onFailedAnswer: (answer) => this.#ledger.enter(frame, model, answer),
      onDelta: frame.streaming ? (type, delta) => this.emit({ type, data: { delta } }) : undefined,
    });
  }

  async #runTools(
    frame: RunFrame,
    context: HookContext,
    table: ToolTable,
    { message: calls, requested }: ReadAnswer,
  ): Promise<ToolResult[]> {
    const run: ToolRun = {
      settings: this.#settings,
      hooks: this.hooks,
      context,
      frame,
      table,
      tableNow: () => this.#tools(frame.signal),
      audit: this.#turns.isObserved || keepsRecords(frame) ? (record) => this.#audit(frame, record) : undefined,
      metaOf: ({ id }) => ({
        tool_call_id: id,
        context_id: this.agentId,
        agent_name: this.name,
        is_sub_agent: frame.path.length > 1,
        ...(frame.traceparent ? { traceparent: frame.traceparent } : {}),
        ...deepCopy(this.#options.toolCallMetadata),
      }),
      emit: (event) => this.emit(event),
    };
    const { results, failure } = await runToolCalls(run, requested);
    this.#ledger.toolResults(frame, results);
    let before: Message = calls;
    for (const result of results) {
      const message = snapshot(toolMessage(result.toolCallId, result.toolCallName, toolOutput(result)));
      this.#append(message, undefined, before);
      before = message;
    }
    if (failure !== undefined) throw failure;
    return results;
  }

  /** `before`: what it must follow, whatever was added meanwhile; when that was forgotten, so is this. */
  #append(message: Message, meta?: Record<string, unknown>, before?: Message): void {
    this.#shownMessages = undefined;
    if (!before || before === this.#messages.at(-1)) this.#messages.push(message);
    else {
      const index = this.#messages.lastIndexOf(before);
      if (index < 0) return;
      this.#messages.splice(index + 1, 0, message);
      this.#prompt.reset(); // what comes after it may have been shown to the model already
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

  /** A promise only when there is something to collect. */
  #tools(signal: AbortSignal, isRunStart = false): ToolTable | Promise<ToolTable> {
    return this.#toolbox.table(isRunStart) ?? this.#collectTools(signal, 'ready');
  }

  async #collectTools(signal: AbortSignal, wait: ListWait): Promise<ToolTable> {
    const table = await this.#toolbox.collect((change) => this.#toolRenamed(change), signal, wait);
    // a tool that is no longer what it was may have been made for harm
    for (const tool of this.gate.look(table)) {
      this.logger.warn(`Tool "${tool}" is not what it was when it was first seen.`);
      this.emit({ type: 'tool_changed', data: { tool } });
    }
    const allowed = table.filter((tool) => this.gate.refusal(tool) === undefined);
    warnOfVolume(this.name, allowed, this.logger);
    if (this.gate.hasFilter && allowed.entries.length === 0) warnOfEmptyFilter(this.name, table, this.logger);
    return table;
  }

  #audit(frame: RunFrame, record: CallRecord): void {
    this.emit({ type: 'audit', data: recordCall(frame, this.agentId, record, this.logger) });
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

/** A new object: what `createHookContext` returned may be shared by several steps. */
function contextWith(signal: AbortSignal, given: Omit<HookContext, 'signal'>): HookContext {
  return Object.assign(Object.create(Object.getPrototypeOf(given)), given, { signal });
}
