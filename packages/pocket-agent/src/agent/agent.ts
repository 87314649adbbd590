// PocketAgent: a model and tools in a loop. `run` repeats `step`; `stream` is `run` with live events.
import {
  checkValue,
  configError,
  deepFreeze,
  errorText,
  type Logger,
  neverAborted,
  objectRule,
  readable,
  snapshot,
  stderrLogger,
  withoutUndefined,
} from '@pocket-agent/kit';
import { AccessRules } from '../access/access-rules.ts';
import type { Approve } from '../access/approval.ts';
import type { HiddenTool, JudgedTool } from '../access/capabilities.ts';
import { fileParts, isImagePart } from '../base/file-input.ts';
import {
  copyMessage,
  type Message,
  textOf,
  textOfInput,
  type UserInput,
  type UserMessageOptions,
  userMessage,
  userMessageOptions,
} from '../base/messages.ts';
import type { JsonSchema } from '../base/value-schema.ts';
import type { Compaction } from '../compaction/compactor.ts';
import type { CompactedHistory } from '../compaction/history-view.ts';
import type { BudgetLimits, RunTotals } from '../cost/budget.ts';
import { Ledger } from '../cost/ledger.ts';
import type { ConversationLog } from '../history/conversation-log.ts';
import { History } from '../history/history.ts';
import type { PocketAgentClient } from '../mcp/client.ts';
import { readOutput } from '../output/output-options.ts';
import { OutputRun } from '../output/output-run.ts';
import type { LanguageModel } from '../providers/model-names.ts';
import { emitEvent, nextListenerCall } from '../run/event-emitter.ts';
import type { AgentEvent, UnsignedEvent } from '../run/events.ts';
import { type RunOptions, refuseMisplaced, runOptions, type TypedRunOptions } from '../run/run-options.ts';
import { AgentServer } from '../serve/agent-server.ts';
import type { AgentServerOptions } from '../serve/server-options.ts';
import type { ServedResources } from '../skills/served-resources.ts';
import { agentTool } from '../tools/agent-tool.ts';
import type { FunctionTool } from '../tools/function-tool.ts';
import { AgentClient } from './agent-client.ts';
import { type PocketAgentOptions, readAgent, type TypedAgentOptions } from './agent-config.ts';
import { AgentLoop } from './agent-loop.ts';
import { AgentModel } from './agent-model.ts';
import { type StepOptions, stepOptions } from './agent-options.ts';
import type { AgentParts } from './agent-parts.ts';
import { AgentTools } from './agent-tools.ts';
import { type ForkChanges, forkOptions, forkOriginOf } from './fork.ts';
import type { AgentHooks, HookContext } from './hooks.ts';
import { OverriddenRun } from './overridden-run.ts';
import { RunQueue } from './run-queue.ts';
import { RunStream } from './run-stream.ts';
import type { StepResult } from './step-result.ts';

/** The options of a run, except for those that `stream()` itself sets. */
export type StreamOptions = Omit<RunOptions, 'onEvent' | 'streaming'>;

/** `Answer` is what `run()` returns: text, a value of `output`, or what an overridden `run()` returns. */
export class PocketAgent<Answer = string> {
  /**
   * The property `run` of every agent: an overridden `run` enters the queue first. It is not configurable, because a class field
   * `run = …` would bypass queue, limits and abort; so that throws.
   */
  static readonly #queuedRun: PropertyDescriptor & ThisType<PocketAgent<unknown>> = {
    get() {
      return this.#overriddenRun.queued;
    },
    set(assigned: PocketAgent<unknown>['run']) {
      this.#overriddenRun.replace(assigned);
    },
  };

  readonly subAgents: readonly PocketAgent<unknown>[];
  readonly hooks: AgentHooks;
  readonly logger: Logger;
  readonly approve: Approve | undefined;
  /** Whether the options were given flat, so that forks of a subclass get them in the same form. */
  readonly #isFlat: boolean;
  readonly #parts: AgentParts;
  readonly #model: AgentModel;
  readonly #tools: AgentTools;
  readonly #loop: AgentLoop;
  readonly #queue: RunQueue;
  #closedTogether: Set<{ close(): Promise<void> }> | undefined;
  readonly #overriddenRun: OverriddenRun<Answer>;
  #client: PocketAgentClient | undefined;
  #agentId: string | undefined;

  constructor(given: TypedAgentOptions<Answer>) {
    const origin = forkOriginOf(given);
    const isSubclass = new.target !== PocketAgent;
    const { options, settings, messages } = readAgent(given, { isSubclass, origin });
    const logger = options.logger ?? stderrLogger();
    this.#isFlat = !('agentConfig' in given);
    this.#agentId = settings.agentId;
    this.hooks = options.hooks ?? {};
    this.logger = logger;
    this.subAgents = Object.freeze([...(options.subAgents ?? [])]);
    this.approve = options.approve;
    this.#parts = {
      options: { ...options, agentConfig: { ...options.agentConfig, messages: [...messages] } },
      settings,
      history: new History(messages, (data, meta) => this.emit({ type: 'new_message', data }, meta)),
      ledger: new Ledger({ name: settings.name, prices: options.prices ?? {}, logger }),
      access: new AccessRules(options.access, { logger, forkOf: origin?.access }),
    };
    // each part uses those above it; what it needs of a part below is passed as a function
    this.#queue = new RunQueue(this, this.#parts);
    this.#client = options.mcpClient ?? (options.mcpConfig ? this.#newClient() : undefined);
    this.#tools = new AgentTools(this, { ...this.#parts, client: this.#client, compacted: () => this.compacted });
    this.#model = new AgentModel(this, { ...this.#parts, tools: this.#tools });
    this.#loop = new AgentLoop(this, {
      ...this.#parts,
      model: this.#model,
      tools: this.#tools,
      createHookContext: () => this.createHookContext(),
      stepOfSubclass: () => (this.step === PocketAgent.prototype.step ? undefined : () => this.step()),
    });
    this.#overriddenRun = new OverriddenRun<Answer>(this, PocketAgent.prototype.run, this.#queue);
    Object.defineProperty(this, 'run', PocketAgent.#queuedRun);
    if (options.agentConfig.compacted) this.#model.resumeCompaction(options.agentConfig.compacted);
  }

  /** The MCP servers of this agent. Without servers, the client is made at first use. */
  get mcpClient(): PocketAgentClient {
    this.#client ??= this.#newClient();
    return this.#client;
  }

  get name(): string {
    return this.#parts.settings.name;
  }

  /** The `agentId` of the options, or one that is made at first use. */
  get agentId(): string {
    this.#agentId ??= crypto.randomUUID();
    return this.#agentId;
  }

  get roleDescription(): string | undefined {
    return this.#parts.settings.roleDescription;
  }

  get systemPrompt(): string | undefined {
    return this.#parts.settings.systemPrompt;
  }

  get allowImages(): boolean {
    return this.#parts.settings.allowImages;
  }

  /** The JSON Schema of its answers as other programs get them; undefined for an agent that answers with text. */
  get outputSchema(): JsonSchema | undefined {
    return this.#parts.settings.output?.schema.shared;
  }

  get llmModel(): string | LanguageModel {
    return this.#parts.settings.llmModel;
  }

  /** The history, oldest first, frozen. Runs change it; programs with `addMessage`, `addUserMessage` and `resetMessages`. */
  get messages(): readonly Message[] {
    return this.#parts.history.messages;
  }

  /** The limits of one run, sub-agents included. Undefined: no limit. */
  get budget(): BudgetLimits {
    const { maxTokens, maxCostUsd, maxToolCalls } = this.#parts.settings;
    return { maxTokens, maxCostUsd, maxToolCalls };
  }

  /** Usage of this agent since it was created, sub-agents included. */
  get totals(): RunTotals {
    return snapshot(this.#parts.ledger.totals);
  }

  /**
   * Asks until the model calls no more tools, and returns its last text, or a value of the schema `output`. Override it to
   * write your own loop, which has the same queue, limits, abort and events (see `overridden-run.ts`).
   */
  run<Value>(input: string | UserInput, options: TypedRunOptions<Value>): Promise<Value>;
  run(input: string | UserInput, options?: RunOptions): Promise<Answer>;
  async run(input: string | UserInput, options: Partial<TypedRunOptions<unknown>> = {}): Promise<unknown> {
    runOptions.checkSpelling(options);
    // such as `super.run()`: the overridden run has announced itself, and may have options of its own
    const isInsideOverridden = this.#overriddenRun.isInside;
    if (!isInsideOverridden) refuseMisplaced(options);
    const announcedInput = isInsideOverridden ? undefined : textOfInput(input);
    const returns = this.#returns(options);
    return this.#queue.enter({ options, returns, announcedInput }, (context) => this.#loop.run(context, { input }));
  }

  /**
   * Continues a run that ended before its answer, without a new message: makes the open calls of the last answer, and takes
   * further steps. If the history ends with an answer, that is returned. In a conversation with a journal
   * (`ConversationLog`) the run may have begun in another process; give it the same options.
   */
  resume<Value>(options: TypedRunOptions<Value>): Promise<Value>;
  resume(options?: RunOptions): Promise<Answer>;
  async resume(options: Partial<TypedRunOptions<unknown>> = {}): Promise<unknown> {
    runOptions.checkSpelling(options);
    refuseMisplaced(options);
    if (this.#overriddenRun.isOverridden)
      throw configError(`${this.name} has a run() of its own, which resume() cannot continue.`);
    if (this.#queue.current) throw configError(`${this.name} cannot be resumed from inside its own run.`);
    const announcedInput = textOf(this.messages.findLast(({ role }) => role === 'user') ?? { content: [] });
    const returns = this.#returns(options);
    return this.#queue.enter({ options, returns, announcedInput, isResumed: true }, (context) =>
      this.#loop.run(context, { isResumed: true }),
    );
  }

  /** Whether `resume()` can continue a run of this agent. */
  get resumes(): boolean {
    return !this.#overriddenRun.isOverridden;
  }

  /**
   * A run that answers a call of a parent agent. A run that began in another process is resumed if this agent continues the
   * journal of that process.
   */
  async runForCall(message: string, options: { signal: AbortSignal; callId: string }): Promise<unknown> {
    const { signal, callId: madeFor } = options;
    const { saved } = this.#parts.history;
    if (!saved || !this.resumes) return this.run(message, { signal });
    const entry = { options: { signal }, returns: this.#returns({}), announcedInput: message, madeFor };
    return this.#queue.enter(entry, (context) =>
      // known only now: the queue has read the journal, which may have the beginning of this run
      this.#loop.run(context, saved.continues ? { isResumed: true } : { input: message }),
    );
  }

  /** Like `run()`, with events as they happen. Leaving the loop early aborts the run. */
  stream<Value>(
    input: string | UserInput,
    options: StreamOptions & Pick<TypedRunOptions<Value>, 'output'>,
  ): AsyncGenerator<AgentEvent, Value>;
  stream(input: string | UserInput, options?: StreamOptions): AsyncGenerator<AgentEvent, Answer>;
  stream(input: string | UserInput, options: StreamOptions = {}): AsyncGenerator<AgentEvent, unknown> {
    return new RunStream(async (onEvent, leaving) => {
      runOptions.checkSpelling(options);
      const signal = options.signal ? AbortSignal.any([options.signal, leaving]) : leaving;
      return this.run(input, { ...options, signal, onEvent });
    });
  }

  /** One answer of the model and the tool calls it asks for. */
  async step(options: StepOptions = {}): Promise<StepResult> {
    if (typeof options !== 'object' || options === null) {
      const advice = 'pass a text to addUserMessage(text) before it';
      throw configError(`step() takes an object of options; ${advice}.`);
    }
    stepOptions.check(options);
    const { signal, timeoutMs, traceparent, ...completion } = options;
    return this.#queue.enter({ options: { signal, timeoutMs, traceparent } }, (context) =>
      this.#loop.step(context, { completion: withoutUndefined(completion), firstListenerCall: nextListenerCall() }),
    );
  }

  /** Adds a copy of a message to the history. */
  addMessage(message: Message, meta: Record<string, unknown> = {}): void {
    const copy = readable('A message', () => snapshot(copyMessage(message)));
    this.#parts.history.noteCallIds(copy);
    this.#parts.history.add(copy, { meta });
  }

  /** `meta` goes into the `new_message` event. */
  addUserMessage(text: string, options: UserMessageOptions = {}): void {
    checkValue('The options of addUserMessage()', options, objectRule);
    userMessageOptions.check(options);
    const { images = [], files = [], meta } = options;
    const { allowImages } = this.#parts.settings;
    const parts = fileParts(files, images);
    const kept = allowImages ? parts : parts.filter((part) => !isImagePart(part));
    const dropped = (allowImages ? 0 : images.length) + parts.length - kept.length;
    if (dropped > 0) this.logger.warn(`${dropped} image(s) dropped: allowImages of ${this.name} is not set.`);
    this.#parts.history.add(deepFreeze(userMessage(text, allowImages ? images : [], kept)), { meta });
  }

  /**
   * Summarises older messages for the model, also without the option `compaction`; `messages` stays whole. Undefined if
   * nothing would be gained.
   */
  async compact(options: Pick<RunOptions, 'signal' | 'timeoutMs'> = {}): Promise<Compaction | undefined> {
    runOptions.checkSpelling(options);
    const { signal, timeoutMs } = options;
    return this.#queue.enter({ options: { signal, timeoutMs } }, (context) => this.#loop.compact(context));
  }

  /** The compacted part of `messages`. Save both to continue the conversation as it is. */
  get compacted(): CompactedHistory | undefined {
    return this.#model.compacted;
  }

  /** Forgets the conversation; the system prompt stays. */
  resetMessages(): void {
    this.#parts.history.reset();
    this.#tools.forgetResults();
    this.#parts.access.forgetApprovals();
  }

  /**
   * Continues a saved conversation: from now on every run reads it first, and saves each step. The messages of this agent
   * begin the conversation if it is new. `@pocket-agent/store` saves conversations.
   */
  async continueConversation(log: ConversationLog): Promise<void> {
    const { SavedHistory } = await import('../history/saved-history.ts');
    if (this.#queue.isRunning)
      throw configError(`${this.name} is running: await its run before it changes conversations.`);
    const saved = new SavedHistory({ history: this.#parts.history, view: this.#model, log, logger: this.logger });
    await saved.read();
    this.#parts.history.saved = saved;
    if (log.journal) await this.#tools.continueSubAgents(log.journal);
  }

  /** Shows an event to `hooks.onEvent`, to listeners of the run, and to parent agents. */
  emit(event: UnsignedEvent, meta?: Record<string, unknown>): void {
    emitEvent({ agent: this, context: this.#queue.runOfEvents, event, meta });
  }

  /** The model that is asked: `llmModel`, resolved if it is a name. */
  languageModel(): Promise<LanguageModel> {
    return this.#model.resolve();
  }

  /**
   * A new agent of the same class and options with its own conversation. It uses the MCP connections of this agent.
   * `changes` are its model, and the messages that it begins with: `fork({ messages })` branches off any conversation.
   */
  fork(changes: ForkChanges = {}): this {
    return this.#construct(forkOptions(this, { ...this.#parts, isFlat: this.#isFlat, changes }));
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
  listTools(signal: AbortSignal = neverAborted()): Promise<JudgedTool[]> {
    return this.#tools.listed(signal);
  }

  /** The tools that the model of this agent may not see, and the rule of `access` that hides each. */
  listHiddenTools(signal: AbortSignal = neverAborted()): Promise<HiddenTool[]> {
    return this.#tools.hidden(signal);
  }

  /** Resources that clients may list and read when this agent is served over MCP. */
  get resources(): ServedResources {
    return this.#tools.resources;
  }

  /** Closes `part` when this agent closes. Call the returned function when `part` was closed before. */
  closeTogether(part: { close(): Promise<void> }): () => void {
    this.#closedTogether ??= new Set();
    this.#closedTogether.add(part);
    return () => this.#closedTogether?.delete(part);
  }

  /** Aborts runs and closes servers, connections, child processes and sub-agents. The agent cannot be used again. */
  async close(): Promise<void> {
    this.#queue.close();
    const closing = [...(this.#closedTogether ?? []), this.#tools, ...this.subAgents].map((part) => part.close());
    const failed = (await Promise.allSettled(closing)).find((outcome) => outcome.status === 'rejected');
    await this.#parts.access.close(); // after the records of the runs that were aborted
    if (failed) throw failed.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Override it to pass more to the hooks of a step. */
  protected createHookContext(): Omit<HookContext, 'signal'> | Promise<Omit<HookContext, 'signal'>> {
    return { agent: this, metadata: { ...this.#queue.current?.metadata } };
  }

  /** The type of value that a run with these options returns. */
  #returns({ output: given }: Partial<TypedRunOptions<unknown>>): OutputRun | 'text' {
    const output = readOutput(given) ?? this.#parts.settings.output;
    return output ? new OutputRun(output, (value) => this.emit({ type: 'output_delta', data: { value } })) : 'text';
  }

  #newClient(): AgentClient {
    return new AgentClient(this, {
      ...this.#parts,
      model: () => this.#model.resolve(),
      tools: () => this.#tools.known() ?? this.#tools.collect(neverAborted()),
      toolRenamed: (change) => this.#tools.renamed(change),
    });
  }

  #construct(options: PocketAgentOptions): this {
    const Class = this.constructor as new (options: PocketAgentOptions) => this;
    try {
      return new Class(options);
    } catch (error) {
      if (this.constructor === PocketAgent) throw error;
      const call = `fork() calls new ${Class.name}(options), which failed: ${errorText(error)}`;
      const advice = `override fork() in ${Class.name} if its constructor takes other parameters.`;
      throw configError(`${call} To fix this, ${advice}`, error);
    }
  }
}
