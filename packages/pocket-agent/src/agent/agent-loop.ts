// The loop of an agent: `run` adds the user's message and takes steps until the model calls no more tools.
import { abortable, configError, deepCopy, PocketError, within } from '@pocket-agent/kit';
import { type AssistantMessage, type Message, readInput, textOf, type UserInput } from '../base/messages.ts';
import type { ToolResult } from '../base/tool-call.ts';
import type { Compaction } from '../compaction/compactor.ts';
import { noUsage, type Usage } from '../cost/usage.ts';
import type { ExposedTools } from '../exposure/exposed-tools.ts';
import type { RunProgress } from '../history/conversation-log.ts';
import { lastAnswer } from '../history/open-answer.ts';
import { type CompletionOptions, logWarnings } from '../model/completion-options.ts';
import type { ExecutedPart, ModelResponse } from '../model/model-call.ts';
import { type ExecutedCalls, hasExecutedCalls } from '../provider-tools/executed-calls.ts';
import type { LanguageModel } from '../providers/model-names.ts';
import { nextListenerCall, pendingListeners } from '../run/event-emitter.ts';
import type { RunContext } from '../run/run-context.ts';
import { resultMessage } from '../tools/inner-calls.ts';
import type { RequestedCall } from '../tools/step-calls.ts';
import { readModelAnswer, requestedIn } from '../tools/tool-calls.ts';
import { runToolCalls } from '../tools/tool-runner.ts';
import type { PocketAgent } from './agent.ts';
import type { AgentModel } from './agent-model.ts';
import type { AgentParts } from './agent-parts.ts';
import type { AgentTools } from './agent-tools.ts';
import { type HookContext, hookContextOf, postStepAfterFailure } from './hooks.ts';
import { finalText, needsAnotherStep, type StepResult, sourcesIn, stepResult } from './step-result.ts';

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
  /** The model has answered already. */
  answer?: SavedAnswer;
}

interface ToolsRequest {
  isRunStart?: boolean;
  completion?: CompletionOptions;
}

interface StepParts {
  model: LanguageModel;
  exposed: ExposedTools;
}

type FinishReason = ModelResponse['finishReason'];

/** An answer of the history, whose step was not finished. */
interface SavedAnswer {
  message: AssistantMessage;
  finishReason: FinishReason;
}

interface Answer {
  llmMessage: AssistantMessage;
  requested: readonly RequestedCall[];
  exposed: ExposedTools;
  finishReason: FinishReason;
  usage: Usage;
  /** Thrown when the results are in the history. */
  budgetError?: unknown;
}

export class AgentLoop {
  readonly #agent: PocketAgent<unknown>;
  readonly #parts: LoopParts;

  constructor(agent: PocketAgent<unknown>, parts: LoopParts) {
    this.#agent = agent;
    this.#parts = parts;
  }

  async run(context: RunContext, input: string | UserInput): Promise<unknown> {
    const { model } = this.#parts;
    if (context.output) await context.output.checkSchema();
    const firstListenerCall = nextListenerCall();
    const { text, images = [], files = [] } = readInput(input);
    const readFiles = files.length > 0 ? await model.readFiles(files, context.signal) : files;
    this.#agent.addUserMessage(text, { images, files: readFiles });
    return this.#untilAnswer(context, firstListenerCall);
  }

  /** Goes on from the history. */
  async resume(context: RunContext): Promise<unknown> {
    const { history } = this.#parts;
    if (context.output) await context.output.checkSchema();
    if (history.length === 0)
      throw configError(`${this.#agent.name} has nothing to resume: its history is empty. Ask it with run().`);
    const firstListenerCall = nextListenerCall();
    const last = lastAnswer(history.messages);
    const progress = history.saved?.progress;
    if (progress) {
      context.budget.continueFrom(progress.totals);
      context.shared.steps = progress.steps - (last?.isOpen ? 1 : 0);
    }
    if (!last) return this.#untilAnswer(context, firstListenerCall);
    const finishReason = progress?.finishReason ?? { unified: last.isOpen ? 'tool-calls' : 'stop', raw: undefined };
    const answer = { message: last.message, finishReason };
    const step = last.isOpen
      ? await this.step(context, { firstListenerCall, answer })
      : await this.#savedStep(context, answer);
    return this.#untilAnswer(context, firstListenerCall, step);
  }

  /** Takes steps until the model calls no more tools. `taken` was taken before. */
  async #untilAnswer(context: RunContext, firstListenerCall: number, taken?: StepResult): Promise<unknown> {
    const { output } = context;
    const ownStep = this.#parts.stepOfSubclass();
    for (let last = taken; ; last = undefined) {
      const result = last ?? (await (ownStep ? ownStep() : this.step(context, { firstListenerCall })));
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
  async step(context: RunContext, request: StepRequest): Promise<StepResult> {
    const { history } = this.#parts;
    const { hooks, logger } = this.#agent;
    const { signal } = context;
    const step = this.#beginStep(context); // a step that cannot begin has no hooks
    const hookContext = hookContextOf(context, await within(signal, this.#parts.createHookContext()));
    let result: StepResult;
    try {
      signal.throwIfAborted();
      if (hooks.preStep) await within(signal, hooks.preStep(hookContext));
      if (history.saved) await history.saved.save();

      const answer = request.answer
        ? await this.#readAgain(context, request.answer)
        : await this.#ask(context, { ...request, step, hookContext });
      const { llmMessage, requested, finishReason, usage } = answer;
      const toolExecutionResults = requested.length > 0 ? await this.#call(context, hookContext, answer) : undefined;
      if (history.saved) await history.saved.save(progressOf(context, finishReason));
      if (answer.budgetError !== undefined) throw answer.budgetError;

      this.#agent.emit({ type: 'step_finished', data: { step, finishReason: finishReason.unified, usage } });
      const listeners = pendingListeners(this.#agent, request.firstListenerCall);
      if (listeners) await abortable(listeners, signal);
      const toolCalls = toolExecutionResults && requested.map(({ call }) => call);
      result = stepResult({ llmMessage, finishReason, usage, toolCalls, toolExecutionResults });
    } catch (error) {
      await postStepAfterFailure(hooks, hookContext, logger);
      throw error;
    }
    // outside of try: a postStep that fails is not called again
    if (hooks.postStep) await within(signal, hooks.postStep(hookContext));
    return result;
  }

  /** Asks the model, and adds its answer to the history. */
  async #ask(
    context: RunContext,
    { step, hookContext, completion = {} }: StepRequest & { step: number; hookContext: HookContext },
  ): Promise<Answer> {
    const { settings, history, ledger, tools, model: agentModel } = this.#parts;
    const { hooks, logger } = this.#agent;
    const { signal, budget } = context;
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

    const { finishReason } = response;
    const { message: llmMessage, requested } = readModelAnswer(response, history.callIds, exposed.callable);
    // after a reset the answer is dropped, and with it the results of its calls
    if (history.resets === resetsBefore) history.add(llmMessage);
    for (const data of sourcesIn(response.content)) this.#agent.emit({ type: 'source', data });
    // of answers that were not streamed, the calls are reported here
    if (hasExecutedCalls(response.content)) providerCalls ??= tools.executedCalls({ context, table: shownTools });
    const budgetError = providerCalls?.report(llmMessage);
    if (requested.length > 0 && history.saved?.hasJournal) await history.saved.save(progressOf(context, finishReason));
    return { llmMessage, requested, exposed, finishReason, usage, budgetError };
  }

  /** An answer of the history, with what is not known any more. */
  async #readAgain(context: RunContext, { message: llmMessage, finishReason }: SavedAnswer): Promise<Answer> {
    const { exposed } = await this.#modelAndTools(context, { isRunStart: true });
    context.output?.resume(exposed.shown.entries);
    const requested = requestedIn(llmMessage, exposed.callable);
    return { llmMessage, requested, exposed, finishReason, usage: noUsage() };
  }

  /** A step of the history: only a typed answer among its calls is read again. */
  async #savedStep(context: RunContext, answer: SavedAnswer): Promise<StepResult> {
    const { llmMessage, requested, finishReason, usage } = await this.#readAgain(context, answer);
    const isAnswered = async () => ({ results: [], failure: undefined });
    const { failure } =
      (await context.output?.runCalls(requested, { finishReason, signal: context.signal }, isAnswered)) ?? {};
    if (failure !== undefined) throw failure;
    const called =
      requested.length > 0 ? { toolCalls: requested.map(({ call }) => call), toolExecutionResults: [] } : {};
    return stepResult({ llmMessage, finishReason, usage, ...called });
  }

  /** Makes the calls of an answer, unless their results are known, and adds the results to the history. */
  async #call(context: RunContext, hookContext: HookContext, answer: Answer): Promise<ToolResult[]> {
    const { history, ledger, tools } = this.#parts;
    const { output, budget, pathKey } = context;
    const { llmMessage, exposed, finishReason } = answer;
    const known = history.saved?.openAnswer(llmMessage);
    const messages = new Map<string, Message>();
    const requested: RequestedCall[] = [];
    for (const each of answer.requested) {
      const { id, name } = each.call;
      const saved = known?.resultOf(id);
      if (saved) {
        messages.set(id, saved);
        budget.takeToolCall(pathKey, name);
      } else requested.push(known?.isLost(id) ? { ...each, isLost: true } : each);
    }
    const calls = tools.stepCalls({ context, hookContext, exposed, llmMessage, requested });
    const { results, failure, suspended } = await (output
      ? output.runCalls(requested, { finishReason, signal: context.signal }, (others) => runToolCalls(calls, others))
      : runToolCalls(calls, requested));
    if (suspended && failure === undefined) throw suspended; // its calls stay open
    ledger.recordToolResults(context, output ? results.filter(({ extra }) => !extra.isAnswer) : results);
    for (const [index, result] of results.entries()) {
      const name = requested[index]?.call.name ?? result.toolCallName;
      messages.set(result.toolCallId, resultMessage(name, result));
    }
    // each result right after the previous one: a message may have been added while the tools ran
    let after: Message = llmMessage;
    for (const { call } of answer.requested) {
      const message = messages.get(call.id);
      if (!message) continue;
      history.add(message, { after });
      after = message;
    }
    if (failure !== undefined) throw failure; // only now: each call in the history has its result
    return results;
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
    const all =
      (isRunStart ? tools.knownAtRunStart() : tools.known()) ?? (await abortable(tools.collect(signal), signal));
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
}

function progressOf({ shared, budget }: RunContext, finishReason: FinishReason): RunProgress {
  return { steps: shared.steps, totals: structuredClone(budget.totals), finishReason };
}
