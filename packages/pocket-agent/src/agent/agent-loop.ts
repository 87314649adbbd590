// The loop of an agent: `run` adds the user's message and takes steps until the model calls no more tools.
import { abortable, deepCopy, deepFreeze, PocketError, within } from '@pocket-agent/kit';
import { type Message, readInput, textOf, toolMessage, type UserInput } from '../base/messages.ts';
import type { ToolResult } from '../base/tool-call.ts';
import type { Compaction } from '../compaction/compactor.ts';
import type { ExposedTools } from '../exposure/exposed-tools.ts';
import { type CompletionOptions, logWarnings } from '../model/completion-options.ts';
import type { ExecutedPart } from '../model/model-call.ts';
import { type ExecutedCalls, hasExecutedCalls } from '../provider-tools/executed-calls.ts';
import type { LanguageModel } from '../providers/model-names.ts';
import { nextListenerCall, pendingListeners } from '../run/event-emitter.ts';
import type { RunContext } from '../run/run-context.ts';
import { callLog } from '../tools/inner-calls.ts';
import { readModelAnswer } from '../tools/tool-calls.ts';
import { toolOutput } from '../tools/tool-result.ts';
import type { RequestedCall } from '../tools/tool-run.ts';
import { runToolCalls } from '../tools/tool-runner.ts';
import type { PocketAgent } from './agent.ts';
import type { AgentModel } from './agent-model.ts';
import type { AgentParts } from './agent-parts.ts';
import type { AgentTools } from './agent-tools.ts';
import { type HookContext, hookContextOf, postStepAfterFailure } from './hooks.ts';
import { finalText, needsAnotherStep, type StepResult } from './step-result.ts';

interface LoopParts extends AgentParts {
  model: AgentModel;
  tools: AgentTools;
  createHookContext(): Omit<HookContext, 'signal'> | Promise<Omit<HookContext, 'signal'>>;
  /** The `step` of a subclass, which takes the place of ours; undefined if `step` is not overridden. */
  stepOfSubclass(): (() => Promise<StepResult>) | undefined;
}

interface StepRequest {
  /** Options of this step; they override those of the agent. */
  completion?: CompletionOptions;
  /** The step waits for listeners called since this mark. One called earlier may have called the step: it would wait for itself. */
  firstListenerCall: number;
}

interface ToolsRequest {
  isRunStart?: boolean;
  completion?: CompletionOptions;
}

interface StepParts {
  model: LanguageModel;
  exposed: ExposedTools;
}

/** The calls in an answer, and their results in the same order. */
interface AnsweredCalls {
  llmMessage: Message;
  requested: readonly RequestedCall[];
  results: readonly ToolResult[];
}

export class AgentLoop {
  readonly #agent: PocketAgent<unknown>;
  readonly #parts: LoopParts;

  constructor(agent: PocketAgent<unknown>, parts: LoopParts) {
    this.#agent = agent;
    this.#parts = parts;
  }

  async run(context: RunContext, input: string | UserInput): Promise<unknown> {
    const { model, stepOfSubclass } = this.#parts;
    const { output } = context;
    if (output) await output.checkSchema();
    const firstListenerCall = nextListenerCall();
    const { text, images = [], files = [] } = readInput(input);
    const readFiles = files.length > 0 ? await model.readFiles(files, context.signal) : files;
    this.#agent.addUserMessage(text, { images, files: readFiles });
    const ownStep = stepOfSubclass();
    for (;;) {
      const result = await (ownStep ? ownStep() : this.step(context, { firstListenerCall }));
      if (output?.answer) return output.answer.value; // by a call of the answer tool
      if (needsAnotherStep(result) && output?.cutOffText === undefined) continue;
      const answer = finalText(result, output?.cutOffText ?? textOf(result.llmMessage)); // throws if the answer was cut off
      if (!output) return answer;
      const read = await output.readText(answer, context.signal);
      if ('value' in read) return read.value;
      this.#agent.addUserMessage(read.request); // asks for a correction
    }
  }

  /** One answer of the model and the tool calls it asks for. */
  async step(context: RunContext, { completion = {}, firstListenerCall }: StepRequest): Promise<StepResult> {
    const { settings, history, ledger, tools, model: agentModel } = this.#parts;
    const { hooks, logger } = this.#agent;
    const { signal, budget, output } = context;
    const step = this.#beginStep(context); // a step that cannot begin has no hooks
    const hookContext = hookContextOf(context, await within(signal, this.#parts.createHookContext()));
    let result: StepResult;
    try {
      signal.throwIfAborted();
      if (hooks.preStep) await within(signal, hooks.preStep(hookContext));
      if (history.saved) await history.saved.save();

      const { model, exposed } = await this.#modelAndTools(context, { isRunStart: step === 1, completion });
      const shownTools = exposed.shown;
      budget.checkModelCall();
      if (budget.limitsCost) await abortable(ledger.requirePrice(context, model), signal);
      const resetsBefore = history.resets;
      let providerCalls: ExecutedCalls | undefined;
      const onExecuted = (part: ExecutedPart) => {
        providerCalls ??= tools.executedCalls({ context, table: shownTools });
        providerCalls.show(part);
      };
      const request = { model, context, table: shownTools, completion, onExecuted };
      const response = await (settings.compaction ? agentModel.askWithinWindow(request) : agentModel.ask(request));
      logWarnings(model, response.warnings, logger);
      const usage = await ledger.record({ run: context, model, answer: response });
      ledger.attributeInputToResults({ run: context, answer: response, usage, historyLength: history.length });
      if (hooks.onLlmResponse) await within(signal, hooks.onLlmResponse(hookContext, deepCopy(response)));

      const { message: llmMessage, requested } = readModelAnswer(response, history.callIds, exposed.callable);
      // after a reset the answer is dropped, and with it the results of its calls
      if (history.resets === resetsBefore) history.add(llmMessage);
      // of answers that were not streamed, the calls are reported here
      if (hasExecutedCalls(response.content)) providerCalls ??= tools.executedCalls({ context, table: shownTools });
      const budgetError = providerCalls?.report(llmMessage); // thrown when the results are in the history
      let toolExecutionResults: ToolResult[] | undefined;
      if (requested.length > 0) {
        const run = tools.toolRun({ context, hookContext, exposed, requested });
        const { results, failure } = await (output
          ? output.runCalls(requested, { finishReason: response.finishReason, signal }, (others) =>
              runToolCalls(run, others),
            )
          : runToolCalls(run, requested));
        this.#addResults(context, { llmMessage, requested, results });
        if (failure !== undefined) throw failure; // only now: each call in the history has its result
        toolExecutionResults = results;
      }
      if (history.saved) await history.saved.save();
      if (budgetError !== undefined) throw budgetError;

      const { unified: finishReason, raw: rawFinishReason } = response.finishReason;
      this.#agent.emit({ type: 'step_finished', data: { step, finishReason, usage } });
      const listeners = pendingListeners(this.#agent, firstListenerCall);
      if (listeners) await abortable(listeners, signal);
      const toolCalls = toolExecutionResults && requested.map(({ call }) => call);
      result = { llmMessage, toolCalls, toolExecutionResults, finishReason, rawFinishReason, usage };
    } catch (error) {
      await postStepAfterFailure(hooks, hookContext, logger);
      throw error;
    }
    // outside of try: a postStep that fails is not called again
    if (hooks.postStep) await within(signal, hooks.postStep(hookContext));
    return result;
  }

  /** Summarises older messages now. */
  async compact(context: RunContext): Promise<Compaction | undefined> {
    const { model, exposed } = await this.#modelAndTools(context);
    return this.#parts.model.compact({ context, model, table: exposed.shown });
  }

  /** Both are resolved at first use; the tools again when a source has changed. */
  async #modelAndTools(
    context: RunContext,
    { isRunStart = false, completion = {} }: ToolsRequest = {},
  ): Promise<StepParts> {
    const { model: agentModel, settings, tools } = this.#parts;
    const { signal } = context;
    const model = agentModel.known ?? (await abortable(agentModel.resolve(), signal));
    const all = tools.known(isRunStart) ?? (await abortable(tools.collect(signal), signal));
    const { toolChoice = settings.completionOptions?.toolChoice } = completion;
    const exposed = tools.expose(all, { context, model, toolChoice });
    return { model, exposed: exposed instanceof Promise ? await abortable(exposed, signal) : exposed };
  }

  #beginStep({ shared }: RunContext): number {
    const { maxSteps } = this.#parts.settings;
    if (++shared.steps > maxSteps) {
      const steps = maxSteps === 1 ? 'step' : 'steps';
      const text = `${this.#agent.name} stopped after ${maxSteps} ${steps} without a final answer (limits.maxSteps).`;
      throw new PocketError('MAX_STEPS', text);
    }
    this.#agent.emit({ type: 'step_started', data: { step: shared.steps } });
    return shared.steps;
  }

  /** Inserts each result right after the previous one: a message may have been added while the tools ran. */
  #addResults(context: RunContext, { llmMessage, requested, results }: AnsweredCalls): void {
    const { history, ledger } = this.#parts;
    ledger.recordToolResults(context, context.output ? results.filter(({ extra }) => !extra.isAnswer) : results);
    let after: Message = llmMessage;
    for (const [index, result] of results.entries()) {
      // a hook may have called another tool; the model knows the call by its own name
      const name = requested[index]?.call.name ?? result.toolCallName;
      const message = deepFreeze(toolMessage(result.toolCallId, name, toolOutput(result), callLog(result)));
      history.add(message, { after });
      after = message;
    }
  }
}
