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
  stderrLogger,
  within,
  withoutUndefined,
} from '@pocket-agent/kit';
import { AccessRules } from '../access/access-rules.ts';
import type { Approve } from '../access/approval.ts';
import type { JudgedTool } from '../access/capabilities.ts';
import { filePart, isImagePart } from '../base/file-input.ts';
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
import type { JsonSchema } from '../base/value-schema.ts';
import { defaultCompaction } from '../compaction/compaction-options.ts';
import { type Compaction, Compactor, type PromptRequest } from '../compaction/compactor.ts';
import { type CompactedHistory, plainReference } from '../compaction/history-view.ts';
import type { RunTotals } from '../cost/budget.ts';
import { Ledger } from '../cost/ledger.ts';
import type { ConversationLog } from '../history/conversation-log.ts';
import { History } from '../history/history.ts';
import { memoryTools } from '../history/memory-tools.ts';
import { SavedHistory } from '../history/saved-history.ts';
import type { PocketAgentClient } from '../mcp/client.ts';
import { type CompletionOptions, logWarnings } from '../model/completion-options.ts';
import { callModel, type ModelResponse } from '../model/model-call.ts';
import type { LanguageModel } from '../model/model-names.ts';
import { readOutput } from '../output/output-options.ts';
import { OutputRun } from '../output/output-run.ts';
import { hasExecutedCalls } from '../provider-tools/executed-calls.ts';
import { providerToolSource } from '../provider-tools/provider-tool.ts';
import { emitEvent, nextListenerCall, pendingListeners } from '../run/event-emitter.ts';
import type { AgentEvent, UnsignedEvent } from '../run/events.ts';
import type { RunContext } from '../run/run-context.ts';
import { type RunOptions, runOptions, type TypedRunOptions } from '../run/run-options.ts';
import { AgentServer } from '../serve/agent-server.ts';
import type { AgentServerOptions } from '../serve/server-options.ts';
import { agentSkills } from '../skills/agent-skills.ts';
import { ServedResources } from '../skills/served-resources.ts';
import { agentTool, subAgentTools } from '../tools/agent-tool.ts';
import { type FunctionTool, isFunctionTool } from '../tools/function-tool.ts';
import { readModelAnswer } from '../tools/tool-calls.ts';
import { toolOutput } from '../tools/tool-result.ts';
import { type RequestedCall, runToolCalls } from '../tools/tool-runner.ts';
import { type ToolSource, withoutClose } from '../tools/tool-source.ts';
import type { ToolTable } from '../tools/tool-table.ts';
import { AgentClient } from './agent-client.ts';
import {
  type AgentSettings,
  forkOriginOf,
  type NestedAgentOptions,
  type PocketAgentOptions,
  readHistory,
  readOptions,
  readSettings,
  type TypedAgentOptions,
  withForkOrigin,
} from './agent-config.ts';
import { AgentModel } from './agent-model.ts';
import { type StepOptions, stepOptions } from './agent-options.ts';
import { AgentTools } from './agent-tools.ts';
import { type AgentHooks, type HookContext, hookContextOf, postStepAfterFailure } from './hooks.ts';
import { type OverriddenRun, queueOverriddenRun } from './overridden-run.ts';
import { RunQueue } from './run-queue.ts';
import { RunStream } from './run-stream.ts';
import { finalText, needsAnotherStep, type StepResult } from './step-result.ts';

/** What one step needs. */
interface StepParts {
  context: RunContext;
  completion: CompletionOptions;
  /** The step waits for listeners that were called from then on; a listener may itself wait for a step. */
  firstListenerCall: number;
}

/** One call of the model in the loop. */
interface AskedModel {
  model: LanguageModel;
  context: RunContext;
  table: ToolTable;
  completion: CompletionOptions;
}

/** The calls in an answer, and their results in the same order. */
interface AnsweredCalls {
  llmMessage: Message;
  requested: readonly RequestedCall[];
  results: readonly ToolResult[];
}

export type StreamOptions = Omit<RunOptions, 'onEvent' | 'streaming'>;

/** `Answer` is what `run()` returns: text, a value of `output`, or what an overridden `run()` returns. */
export class PocketAgent<Answer = string> {
  readonly subAgents: readonly PocketAgent<unknown>[];
  readonly hooks: AgentHooks;
  readonly logger: Logger;
  readonly approve: Approve | undefined;
  readonly #options: NestedAgentOptions;
  /** Whether options were given flat: the constructor of a subclass expects them so. */
  readonly #isFlat: boolean;
  readonly #settings: AgentSettings;
  readonly #history: History;
  readonly #model: AgentModel;
  readonly #tools: AgentTools;
  readonly #access: AccessRules;
  readonly #sources: readonly (FunctionTool | ToolSource)[];
  readonly #queue: RunQueue;
  readonly #ledger: Ledger;
  readonly #closedTogether = new Set<{ close(): Promise<void> }>();
  readonly #overriddenRun: OverriddenRun;
  #client: PocketAgentClient | undefined;
  #madeCompactor: Compactor | undefined;
  /** Set if the conversation is saved. */
  #savedHistory: SavedHistory | undefined;

  constructor(given: TypedAgentOptions<Answer>) {
    const options = readOptions(given, new.target !== PocketAgent);
    const origin = forkOriginOf(given);
    this.#settings = readSettings(options, origin);
    this.#isFlat = !('agentConfig' in given);
    const messages = readHistory(options.agentConfig);
    this.#history = new History(messages);
    const skills = options.skills?.length ? frozenList(options.skills) : undefined;
    this.#options = {
      ...options,
      ...(skills ? { skills } : {}),
      agentConfig: { ...options.agentConfig, messages: [...messages] },
    };
    this.hooks = options.hooks ?? {};
    this.logger = options.logger ?? stderrLogger();
    this.subAgents = Object.freeze([...(options.subAgents ?? [])]);
    this.approve = options.approve;
    const { logger } = this;
    this.#access = new AccessRules(options.access, {
      logger,
      hasApprover: Boolean(options.approve),
      forkOf: origin?.access,
    });
    this.#ledger = new Ledger({ name: this.name, prices: options.prices ?? {}, logger });
    this.#queue = new RunQueue(this, { limits: this.#settings, ledger: this.#ledger, rules: this.#access });
    this.#client = options.mcpClient;
    const client = options.mcpClient || options.mcpConfig ? this.mcpClient : undefined;
    const memory = memoryTools(options.memory, () => this.#savedHistory?.memory);
    // servers are last: of several tools with one name, the first keeps it
    const sources = [
      ...(this.subAgents.length > 0 ? [subAgentTools(this.subAgents)] : []),
      ...(options.providerTools?.length ? [providerToolSource(options.providerTools)] : []),
      ...(options.tools ?? []),
      ...(skills ? [agentSkills(skills, this.logger)] : []),
      ...(memory ? [memory] : []),
      ...(client && client.serverNames.length > 0 ? [client] : []),
    ];
    this.#sources = sources;
    const settings = this.#settings;
    this.#model = new AgentModel(this, { settings, router: options.router, ledger: this.#ledger });
    this.#tools = new AgentTools(this, {
      sources,
      borrowed: options.mcpClient,
      access: this.#access,
      settings,
      keepResults: options.keepResults,
      messages: () => this.#history.messages,
      metadata: options.toolCallMetadata,
    });
    this.#overriddenRun = queueOverriddenRun<Answer>(this, PocketAgent.prototype.run, this.#queue);
    if (options.agentConfig.compacted) this.#madeCompactor = this.#newCompactor(options.agentConfig.compacted);
  }

  /** The MCP servers of this agent; created at first use. */
  get mcpClient(): PocketAgentClient {
    this.#client ??= new AgentClient({
      options: this.#options,
      logger: this.logger,
      client: () => this.mcpClient,
      emit: (event) => this.emit(event),
      ledger: this.#ledger,
      model: () => this.#model.resolve(),
      tools: () => this.#tools.known() ?? this.#tools.collect(neverAborted),
      toolRenamed: (change) => this.#tools.renamed(change),
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

  /** The JSON Schema of its answers as other programs get them; undefined for an agent that answers with text. */
  get outputSchema(): JsonSchema | undefined {
    return this.#settings.output?.schema.shared;
  }

  get llmModel(): string | LanguageModel {
    return this.#settings.llmModel;
  }

  /** The history, oldest first, frozen. Only `addMessage`, `addUserMessage` and `resetMessages` change it. */
  get messages(): readonly Message[] {
    return this.#history.messages;
  }

  /** Usage of this agent since it was created, sub-agents included. */
  get totals(): RunTotals {
    return snapshot(this.#ledger.totals);
  }

  /**
   * Asks until the model calls no more tools, and returns its last text, or a value of the schema `output`. Override it for
   * a loop of your own: it takes its turn in the queue too, with limits, abort and events (see `overridden-run.ts`).
   */
  run<Value>(input: string | UserInput, options: TypedRunOptions<Value>): Promise<Value>;
  run(input: string | UserInput, options?: RunOptions): Promise<Answer>;
  async run(input: string | UserInput, options: Partial<TypedRunOptions<unknown>> = {}): Promise<unknown> {
    runOptions.checkSpelling(options);
    // inside an overridden run this is `super.run()`: it may have options of its own, but emits no run events
    const text = this.#overriddenRun.isCurrent() ? undefined : textOfInput(input);
    const output = this.#outputRun(options);
    return this.#queue.enter({ ...options, input: text, output }, (context) => this.#loop(context, input));
  }

  /** The same run, with its events as they happen. Leaving the loop early aborts it. */
  stream<Value>(
    input: string | UserInput,
    options: StreamOptions & Pick<TypedRunOptions<Value>, 'output'>,
  ): AsyncGenerator<AgentEvent, Value>;
  stream(input: string | UserInput, options?: StreamOptions): AsyncGenerator<AgentEvent, Answer>;
  stream(input: string | UserInput, options: StreamOptions = {}): AsyncGenerator<AgentEvent, unknown> {
    return new RunStream(async (onEvent, left) => {
      runOptions.checkSpelling(options);
      const signal = options.signal ? AbortSignal.any([options.signal, left]) : left;
      return this.run(input, { ...options, signal, onEvent });
    });
  }

  /** One answer of the model and the tool calls it asks for. */
  async step(options: StepOptions = {}): Promise<StepResult> {
    if (typeof options !== 'object' || options === null) {
      const advice = 'pass a text to addUserMessage(text) before it';
      throw new PocketError('CONFIG_INVALID', `step() takes an object of options; ${advice}.`);
    }
    stepOptions.check(options);
    const { signal, timeoutMs, traceparent, ...completion } = options;
    return this.#queue.enter({ signal, timeoutMs, traceparent }, (context) =>
      this.#step({ context, completion: withoutUndefined(completion), firstListenerCall: nextListenerCall() }),
    );
  }

  /** Adds a copy of a message to the history. */
  addMessage(message: Message, meta: Record<string, unknown> = {}): void {
    const copy = snapshot(copyMessage(message));
    this.#history.noteCallIds(copy);
    this.#append(copy, meta);
  }

  /** `meta` goes into the `new_message` event. */
  addUserMessage(text: string, options: UserMessageOptions = {}): void {
    userMessageOptions.check(options);
    const { images = [], files = [], meta } = options;
    const { allowImages } = this.#settings;
    const parts = files.map(filePart);
    const kept = allowImages ? parts : parts.filter((part) => !isImagePart(part));
    const dropped = (allowImages ? 0 : images.length) + parts.length - kept.length;
    if (dropped > 0) this.logger.warn(`${dropped} image(s) dropped: allowImages of ${this.name} is not set.`);
    this.#append(deepFreeze(userMessage(text, allowImages ? images : [], kept)), meta);
  }

  /**
   * Summarises older messages for the model, also without the option `compaction`; `messages` stays whole. Undefined if
   * nothing would be gained.
   */
  async compact(options: Pick<RunOptions, 'signal' | 'timeoutMs'> = {}): Promise<Compaction | undefined> {
    runOptions.checkSpelling(options);
    const { signal, timeoutMs } = options;
    return this.#queue.enter({ signal, timeoutMs }, async (context) => {
      const model = await abortable(this.#model.resolve(), context.signal);
      const tools = this.#tools.known() ?? (await abortable(this.#tools.collect(context.signal), context.signal));
      const table = tools.visibleTo(context.policy);
      return this.#compactor.compact(this.#promptRequest({ context, model, table }));
    });
  }

  /** What the model no longer sees word for word. Save it with `messages` to continue the conversation as it is. */
  get compacted(): CompactedHistory | undefined {
    return this.#madeCompactor?.compacted;
  }

  /** Forgets the conversation; the system prompt stays. */
  resetMessages(): void {
    this.#history.reset();
    this.#tools.forgetResults();
    this.#access.forgetApprovals();
  }

  /**
   * From now on the history of this agent is that of a saved conversation: every run reads it first and saves each step.
   * The messages of this agent begin the conversation if it is new. `@pocket-agent/store` has conversations to continue.
   */
  async continueConversation(log: ConversationLog): Promise<void> {
    if (this.#queue.isRunning)
      throw new PocketError(
        'CONFIG_INVALID',
        `${this.name} is running: await its run before it changes conversations.`,
      );
    const saved = new SavedHistory(this.#history, log, this.logger);
    await saved.read();
    this.#savedHistory = saved;
    this.#queue.savedHistory = saved;
  }

  /** Shows an event to `hooks.onEvent`, to listeners of the run, and to parent agents. */
  emit(event: UnsignedEvent, meta?: Record<string, unknown>): void {
    emitEvent({ agent: this, context: this.#queue.observed, event, meta });
  }

  /** A new agent of the same class and options with its own conversation. It uses this agent's MCP connections. */
  fork(): this {
    const { mcpConfig: _shared, agentConfig, ...options } = this.#options;
    const { agentId: _own, ...config } = { ...agentConfig, name: this.name };
    const forked: PocketAgentOptions = {
      ...options,
      ...(this.#isFlat ? config : { agentConfig: config }),
      access: this.#access.options,
      mcpClient: this.mcpClient,
      tools: (this.#options.tools ?? []).map((entry) =>
        isFunctionTool(entry) ? (entry.fork?.() ?? entry) : withoutClose(entry),
      ),
      subAgents: this.subAgents.map((agent) => agent.fork()),
    };
    return this.#construct(withForkOrigin(forked, { access: this.#access, client: this.mcpClient }));
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
  async listTools(signal: AbortSignal = neverAborted): Promise<JudgedTool[]> {
    const table = await this.#tools.collect(signal, 'all');
    return [...table.allowed((tool) => this.#access.refusal(tool)).entries];
  }

  /** What clients may list and read when this agent is served over MCP. */
  get resources(): ServedResources {
    const sources = this.#sources.filter((source): source is ToolSource => !isFunctionTool(source));
    return new ServedResources(this, this.#access, sources);
  }

  /** Closes `part` when this agent closes. Call the returned function when `part` was closed before. */
  closeTogether(part: { close(): Promise<void> }): () => void {
    this.#closedTogether.add(part);
    return () => this.#closedTogether.delete(part);
  }

  /** Aborts runs and closes servers, connections, child processes and sub-agents. The agent cannot be used again. */
  async close(): Promise<void> {
    this.#queue.close();
    const closing = [...this.#closedTogether, this.#tools, ...this.subAgents].map((part) => part.close());
    const failed = (await Promise.allSettled(closing)).find((outcome) => outcome.status === 'rejected');
    await this.#access.close(); // runs that were just ended leave records too
    if (failed) throw failed.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Override it to give the hooks of a step more to work with. */
  protected createHookContext(): Omit<HookContext, 'signal'> | Promise<Omit<HookContext, 'signal'>> {
    return { agent: this, metadata: { ...this.#queue.current?.metadata } };
  }

  /** Null for a run that returns text. */
  #outputRun({ output: given }: Partial<TypedRunOptions<unknown>>): OutputRun | null {
    const output = readOutput(given) ?? this.#settings.output;
    return output ? new OutputRun(output, (value) => this.emit({ type: 'output_delta', data: { value } })) : null;
  }

  async #loop(context: RunContext, input: string | UserInput): Promise<unknown> {
    const firstListenerCall = nextListenerCall();
    const { text, images = [], files = [] } = readInput(input);
    const readFiles = files.length > 0 ? await this.#model.readFiles(files, context.signal) : files;
    this.addUserMessage(text, { images, files: readFiles });
    const isOverridden = this.step !== PocketAgent.prototype.step;
    const { output } = context;
    for (;;) {
      const result = await (isOverridden ? this.step() : this.#step({ context, completion: {}, firstListenerCall }));
      if (output?.answer) return output.answer.value;
      if (needsAnotherStep(result) && output?.cutOffText === undefined) continue;
      const answer = finalText(result, output?.cutOffText);
      if (!output) return answer;
      const read = await output.readText(answer);
      if ('value' in read) return read.value;
      this.addUserMessage(read.request);
    }
  }

  async #step({ context, completion, firstListenerCall }: StepParts): Promise<StepResult> {
    const { hooks } = this;
    const { signal, budget, output } = context;
    const step = this.#countStep(context);
    const hookContext = hookContextOf(context, await within(signal, this.createHookContext()));
    let result: StepResult;
    try {
      signal.throwIfAborted();
      if (hooks.preStep) await within(signal, hooks.preStep(hookContext));
      if (this.#savedHistory) await this.#savedHistory.save();

      const model = this.#model.known ?? (await abortable(this.#model.resolve(), signal));
      const tools = this.#tools.known(step === 1) ?? (await abortable(this.#tools.collect(signal), signal));
      const table = tools.visibleTo(context.policy);
      budget.checkModelCall();
      if (budget.limitsCost) await abortable(this.#ledger.requirePrice(context, model), signal);
      const { resets } = this.#history;
      const asked: AskedModel = { model, context, table, completion };
      const response = await (this.#settings.compaction ? this.#askWithin(asked) : this.#ask(asked));
      logWarnings(model, response.warnings, this.logger);
      const usage = await this.#ledger.record({ run: context, model, answer: response });
      this.#ledger.measureResults({ run: context, answer: response, usage, historyLength: this.#history.length });
      if (hooks.onLlmResponse) await within(signal, hooks.onLlmResponse(hookContext, deepCopy(response)));

      const { message: llmMessage, requested } = readModelAnswer(response, this.#history.callIds, table);
      // drop the answer if the conversation was reset in between
      if (this.#history.resets === resets) this.#append(llmMessage);
      const hasExecuted = hasExecutedCalls(response.content);
      const overBudget = hasExecuted ? this.#tools.reportExecuted(llmMessage, { context, table }) : undefined;
      let toolExecutionResults: ToolResult[] | undefined;
      if (requested.length > 0) {
        const calls = { context, hookContext, table, requested };
        const { results, failure } = await (output
          ? output.runCalls(requested, response.finishReason, (others) =>
              this.#runCalls({ ...calls, requested: others }),
            )
          : this.#runCalls(calls));
        this.#addResults(context, { llmMessage, requested, results });
        if (failure !== undefined) throw failure;
        toolExecutionResults = results;
      }
      if (this.#savedHistory) await this.#savedHistory.save();
      if (overBudget !== undefined) throw overBudget;

      const { unified: finishReason, raw: rawFinishReason } = response.finishReason;
      this.emit({ type: 'step_finished', data: { step, finishReason, usage } });
      const listeners = pendingListeners(this, firstListenerCall);
      if (listeners) await abortable(listeners, signal);
      const toolCalls = toolExecutionResults && requested.map(({ call }) => call);
      result = { llmMessage, toolCalls, toolExecutionResults, finishReason, rawFinishReason, usage };
    } catch (error) {
      await postStepAfterFailure(hooks, hookContext, this.logger);
      throw error;
    }
    if (hooks.postStep) await within(signal, hooks.postStep(hookContext));
    return result;
  }

  #ask({ model, context, table, completion }: AskedModel): Promise<ModelResponse> {
    // neutral: callModel adapts it to the provider
    const prompt = this.#history.prompt(this.systemPrompt);
    const { hasUrls } = this.#history;
    const call = this.#model.call({ model, context, prompt, hasUrls, table, completion });
    return context.output ? context.output.callModel(call) : callModel(call);
  }

  /** Keeps the prompt within the context window. */
  #askWithin(asked: AskedModel): Promise<ModelResponse> {
    return this.#compactor.call(this.#promptRequest(asked), () => this.#ask(asked));
  }

  get #compactor(): Compactor {
    this.#madeCompactor ??= this.#newCompactor();
    return this.#madeCompactor;
  }

  #newCompactor(compacted?: CompactedHistory): Compactor {
    return new Compactor({
      settings: this.#settings.compaction ?? defaultCompaction,
      history: this.#history,
      compacted: snapshot(compacted),
      ledger: this.#ledger,
      logger: this.logger,
      reference: this.#tools.kept?.reference ?? plainReference,
      emit: (event) => this.emit(event),
      summaryModel: (own) => this.#model.summaryModel(own),
      summaryCall: (call) => this.#model.summaryCall(call),
    });
  }

  #promptRequest({ context, model, table }: Omit<AskedModel, 'completion'>): PromptRequest {
    return { context, model, systemPrompt: this.systemPrompt, tools: table.definitions };
  }

  #runCalls(step: Parameters<AgentTools['toolRun']>[0]): ReturnType<typeof runToolCalls> {
    return runToolCalls(this.#tools.toolRun(step), step.requested);
  }

  #construct(options: PocketAgentOptions): this {
    const Class = this.constructor as new (options: PocketAgentOptions) => this;
    try {
      return new Class(options);
    } catch (error) {
      if (this.constructor === PocketAgent) throw error;
      const call = `fork() calls new ${Class.name}(options), which failed: ${errorText(error)}`;
      const advice = `override fork() in ${Class.name} if its constructor takes other parameters.`;
      throw new PocketError('CONFIG_INVALID', `${call} To fix this, ${advice}`, { cause: error });
    }
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

  /** Inserts each result right after the previous one: a message may have been added while the tools ran. */
  #addResults(context: RunContext, { llmMessage, requested, results }: AnsweredCalls): void {
    this.#ledger.recordToolResults(context, context.output ? results.filter(({ extra }) => !extra.isAnswer) : results);
    let before: Message = llmMessage;
    for (const [index, result] of results.entries()) {
      // a hook may have called another tool; the model knows the call by its own name
      const name = requested[index]?.call.name ?? result.toolCallName;
      const message = deepFreeze(toolMessage(result.toolCallId, name, toolOutput(result)));
      this.#append(message, undefined, before);
      before = message;
    }
  }

  #append(message: Message, meta?: Record<string, unknown>, before?: Message): void {
    if (this.#history.add(message, before)) this.emit({ type: 'new_message', data: message }, meta);
  }
}

/** Forks find the skills of their agent by the list of paths. */
function frozenList(paths: readonly string[]): readonly string[] {
  return Object.isFrozen(paths) ? paths : Object.freeze([...paths]);
}
