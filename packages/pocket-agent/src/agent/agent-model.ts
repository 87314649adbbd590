// The model of one agent: resolved at first use, and asked in the loop.
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { abortable, deepCopy, snapshot, withoutUndefined } from '@pocket-agent/kit';
import { type FileInput, filePart } from '../base/file-input.ts';
import { defaultCompaction } from '../compaction/compaction-options.ts';
import { type Compaction, Compactor, type PromptRequest } from '../compaction/compactor.ts';
import type { CompactedHistory } from '../compaction/history-view.ts';
import type { Usage } from '../cost/usage.ts';
import { type CompletionOptions, logWarnings } from '../model/completion-options.ts';
import { checkFileTypes } from '../model/file-rules.ts';
import { callModel, type ExecutedPart, type ModelCall, type ModelResponse } from '../model/model-call.ts';
import { warnOfProviderTools } from '../model/model-request.ts';
import { type ExecutedCalls, hasExecutedCalls } from '../provider-tools/executed-calls.ts';
import { type LanguageModel, providerOf, resolveModel } from '../providers/model-names.ts';
import { modelCallReporter } from '../run/model-calls.ts';
import type { RunContext } from '../run/run-context.ts';
import { ToolTable } from '../tools/tool-table.ts';
import type { PocketAgent } from './agent.ts';
import type { AgentParts } from './agent-parts.ts';
import type { AgentTools } from './agent-tools.ts';

interface StepRequest {
  model: LanguageModel;
  context: RunContext;
  table: ToolTable;
  /** Options of this step; they override those of the agent. */
  completion: CompletionOptions;
}

export interface PaidResponse {
  response: ModelResponse;
  usage: Usage;
  /** Set if the provider ran tools. */
  executed: ExecutedCalls | undefined;
}

/** One prompt, for the loop or for a summary. */
interface PromptedRequest extends StepRequest {
  prompt: LanguageModelV4Prompt;
  hasUrls: boolean;
  /** Gets the calls that the provider runs while the model streams. */
  onExecuted?: (part: ExecutedPart) => void;
}

const noTools = new ToolTable(new Map());

export class AgentModel {
  readonly #agent: PocketAgent<unknown>;
  readonly #parts: AgentParts & { tools: AgentTools };
  #known: LanguageModel | undefined;
  #summaryModel: LanguageModel | undefined;
  #compactor: Compactor | undefined;

  constructor(agent: PocketAgent<unknown>, parts: AgentParts & { tools: AgentTools }) {
    this.#agent = agent;
    this.#parts = parts;
  }

  /** Undefined before the first use. */
  get known(): LanguageModel | undefined {
    return this.#known;
  }

  async resolve(): Promise<LanguageModel> {
    const { settings, options } = this.#parts;
    const { llmModel, modelSettings } = settings;
    this.#known ??=
      options.router && typeof llmModel === 'string'
        ? options.router.languageModel(llmModel)
        : await resolveModel(llmModel, modelSettings);
    return this.#known;
  }

  /** The files of a run, read from disk. Throws if the model does not take one of them. */
  async readFiles(files: readonly FileInput[], signal: AbortSignal): Promise<FileInput[]> {
    const { readFiles } = await import('../base/read-files.ts');
    const [read, model] = await abortable(Promise.all([readFiles(files), this.resolve()]), signal);
    await checkFileTypes(model, read.map(filePart));
    return read;
  }

  /** Asks for the next message of the conversation, and records its cost. */
  async ask(request: StepRequest): Promise<PaidResponse> {
    const { history, ledger, tools } = this.#parts;
    const { context, model, table } = request;
    const { output } = context;
    let executed: ExecutedCalls | undefined;
    const onExecuted = (part: ExecutedPart) => {
      executed ??= tools.executedCalls({ context, table });
      executed.show(part);
    };
    // neutral: callModel adapts it to the provider
    const prompt = history.prompt(this.#agent.systemPrompt);
    const call = this.#call({ ...request, prompt, hasUrls: history.hasUrls, onExecuted });
    const response = await (output ? output.callModel(call) : callModel(call));
    logWarnings(model, response.warnings, this.#agent.logger);
    const usage = await ledger.record({ run: context, model, answer: response });
    ledger.attributeInputToResults({ run: context, answer: response, usage, historyLength: history.length });
    // without streaming, the calls arrive with the answer
    if (hasExecutedCalls(response.content)) executed ??= tools.executedCalls({ context, table });
    return { response, usage, executed };
  }

  /** Like `ask`, with a prompt that is compacted if it would not fit into the context window. */
  askWithinWindow(request: StepRequest): Promise<PaidResponse> {
    return this.#compaction().call(this.#promptRequest(request), () => this.ask(request));
  }

  /** Compacts now. Undefined if nothing would be gained. */
  compact(request: Omit<StepRequest, 'completion'>): Promise<Compaction | undefined> {
    return this.#compaction().compact(this.#promptRequest(request));
  }

  /** The compacted part of the history. */
  get compacted(): CompactedHistory | undefined {
    return this.#compactor?.compacted;
  }

  /** Continues with the compaction of another agent that had the same history. */
  resumeCompaction(compacted: CompactedHistory): void {
    this.#compaction().resume(snapshot(compacted));
  }

  #compaction(): Compactor {
    this.#compactor ??= this.#newCompactor();
    return this.#compactor;
  }

  #newCompactor(): Compactor {
    const { settings, history, ledger, tools } = this.#parts;
    return new Compactor({
      settings: settings.compaction ?? defaultCompaction,
      history,
      ledger,
      logger: this.#agent.logger,
      reference: tools.reference,
      returnsInstructions: (toolName) => tools.returnsInstructions(toolName),
      emit: (event) => this.#agent.emit(event),
      summaryModel: (own) => this.#resolveSummaryModel(own),
      summaryCall: (call) => this.#summaryCall(call),
    });
  }

  #promptRequest({ context, model, table }: Omit<StepRequest, 'completion'>): PromptRequest {
    return { context, model, systemPrompt: this.#agent.systemPrompt, tools: table.definitions };
  }

  /** `model` of the option `compaction`, or the agent's own. */
  async #resolveSummaryModel(own: LanguageModel): Promise<LanguageModel> {
    const { settings, options } = this.#parts;
    const model = settings.compaction?.model ?? own;
    if (typeof model !== 'string') return model;
    if (options.router) return options.router.languageModel(model);
    const { llmModel, modelSettings } = settings;
    const isSameProvider = typeof llmModel === 'string' && providerOf(llmModel) === providerOf(model);
    this.#summaryModel ??= await resolveModel(model, isSameProvider ? modelSettings : undefined);
    return this.#summaryModel;
  }

  /** A summary is not streamed: its text is not an answer. */
  #summaryCall({ model, context, prompt }: Pick<PromptedRequest, 'model' | 'context' | 'prompt'>): ModelCall {
    const { headers, providerOptions } = this.#parts.settings.completionOptions ?? {};
    const own = model === this.#known ? withoutUndefined({ headers, providerOptions }) : {};
    const call = this.#call({ model, context, prompt, hasUrls: false, table: noTools, completion: {} });
    return { ...call, options: { ...own, prompt }, onDelta: undefined };
  }

  /** Retries are logged and shown as events; failed answers that are billed are recorded. */
  #call(request: PromptedRequest): ModelCall {
    const { model, context, hasUrls, table, onExecuted } = request;
    const { settings, ledger } = this.#parts;
    const { logger } = this.#agent;
    if (table.hasProviderTools) void warnOfProviderTools(model, table.definitions, logger);
    return {
      model,
      options: callOptions(request, settings.completionOptions),
      content: context.content,
      signal: context.signal,
      hasUrls,
      maxRetries: settings.modelRetries,
      onRetry: (retry) => {
        logger.info(`The model is asked again in ${Math.round(retry.delayMs)} ms: ${retry.reason}`);
        this.#agent.emit({ type: 'model_retry', data: retry });
      },
      onRejection: (leftOut, reason) => logger.warn(`The provider rejected ${leftOut}; retrying without it: ${reason}`),
      onFailedAnswer: (answer) => ledger.record({ run: context, model, answer }),
      onDelta: context.streaming ? (type, delta) => this.#agent.emit({ type, data: { delta } }) : undefined,
      onExecuted,
      onRequest: modelCallReporter(this.#agent, context),
    };
  }
}

function callOptions(
  { prompt, table, completion }: PromptedRequest,
  defaults: CompletionOptions | undefined,
): LanguageModelV4CallOptions {
  const options = { ...deepCopy(defaults), ...completion };
  const { definitions: tools } = table;
  const { toolChoice: choice = 'auto', ...withoutChoice } = options;
  if (tools.length === 0) return { ...withoutChoice, prompt };
  const toolChoice = typeof choice === 'string' ? { type: choice } : choice;
  return { ...withoutChoice, prompt, tools, toolChoice };
}
