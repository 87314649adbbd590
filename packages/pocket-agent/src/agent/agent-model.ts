// The model of one agent: found at first use, and what one call of it in the loop needs.
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { abortable, deepCopy, type Logger, withoutUndefined } from '@pocket-agent/kit';
import { type FileInput, filePart } from '../base/file-input.ts';
import type { Ledger } from '../cost/ledger.ts';
import type { CompletionOptions } from '../model/completion-options.ts';
import type { ModelCall } from '../model/model-call.ts';
import { type LanguageModel, providerOf, resolveModel } from '../model/model-names.ts';
import { warnOfProviderTools } from '../model/model-request.ts';
import { checkFileTypes } from '../model/provider-rules.ts';
import type { UnsignedEvent } from '../run/events.ts';
import type { RunContext } from '../run/run-context.ts';
import { ToolTable } from '../tools/tool-table.ts';
import type { AgentSettings, ModelRouter } from './agent-config.ts';

interface ModelOwner {
  readonly logger: Logger;
  emit(event: UnsignedEvent): void;
}

interface AgentModelOptions {
  settings: AgentSettings;
  router: ModelRouter | undefined;
  ledger: Ledger;
}

/** What one step asks of the model. */
interface StepRequest {
  model: LanguageModel;
  context: RunContext;
  prompt: LanguageModelV4Prompt;
  hasUrls: boolean;
  table: ToolTable;
  /** Options of this step; they override those of the agent. */
  completion: CompletionOptions;
}

const noTools = new ToolTable(new Map());

export class AgentModel {
  readonly #agent: ModelOwner;
  readonly #options: AgentModelOptions;
  #known: LanguageModel | undefined;
  #summaryModel: LanguageModel | undefined;

  constructor(agent: ModelOwner, options: AgentModelOptions) {
    this.#agent = agent;
    this.#options = options;
  }

  /** Undefined before the first use. */
  get known(): LanguageModel | undefined {
    return this.#known;
  }

  async resolve(): Promise<LanguageModel> {
    const { settings, router } = this.#options;
    const { llmModel, modelSettings } = settings;
    this.#known ??=
      router && typeof llmModel === 'string'
        ? router.languageModel(llmModel)
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

  /** The model that writes summaries: `model` of the option `compaction`, or the agent's own. */
  async summaryModel(own: LanguageModel): Promise<LanguageModel> {
    const { settings, router } = this.#options;
    const model = settings.compaction?.model ?? own;
    if (typeof model !== 'string') return model;
    if (router) return router.languageModel(model);
    const { llmModel, modelSettings } = settings;
    const isSameProvider = typeof llmModel === 'string' && providerOf(llmModel) === providerOf(model);
    this.#summaryModel ??= await resolveModel(model, isSameProvider ? modelSettings : undefined);
    return this.#summaryModel;
  }

  /** A call that writes a summary. It is not streamed: its text is not an answer. */
  summaryCall({ model, context, prompt }: Pick<StepRequest, 'model' | 'context' | 'prompt'>): ModelCall {
    const { headers, providerOptions } = this.#options.settings.completionOptions ?? {};
    const own = model === this.#known ? withoutUndefined({ headers, providerOptions }) : {};
    const call = this.call({ model, context, prompt, hasUrls: false, table: noTools, completion: {} });
    return { ...call, options: { ...own, prompt }, onDelta: undefined };
  }

  /** Retries are logged and shown as events; failed answers that are billed are recorded. */
  call(request: StepRequest): ModelCall {
    const { model, context, hasUrls, table } = request;
    const { settings, ledger } = this.#options;
    const { logger } = this.#agent;
    if (table.hasProviderTools) void warnOfProviderTools(model, table.definitions, logger);
    return {
      model,
      options: callOptions(request, settings.completionOptions),
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
    };
  }
}

function callOptions(
  { prompt, table, completion }: StepRequest,
  defaults: CompletionOptions | undefined,
): LanguageModelV4CallOptions {
  const options = { ...deepCopy(defaults), ...completion };
  const { definitions: tools } = table;
  const { toolChoice: choice = 'auto', ...withoutChoice } = options;
  if (tools.length === 0) return { ...withoutChoice, prompt };
  const toolChoice = typeof choice === 'string' ? { type: choice } : choice;
  return { ...withoutChoice, prompt, tools, toolChoice };
}
