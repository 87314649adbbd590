// The loop of an agent: `run` adds the user's message and takes steps until the model calls no more tools.
import { abortable, configError, deepCopy, PocketError, within } from '@pocket-agent/kit';
import { type AssistantMessage, type Message, readInput, textOf, type UserInput } from '../base/messages.ts';
import type { CallResults, ToolResult } from '../base/tool-call.ts';
import type { Compaction } from '../compaction/compactor.ts';
import { noUsage, type Usage } from '../cost/usage.ts';
import type { ExposedTools } from '../exposure/exposed-tools.ts';
import type { RunProgress } from '../history/conversation-log.ts';
import { lastAnswer, type OpenAnswer } from '../history/open-answer.ts';
import type { CompletionOptions } from '../model/completion-options.ts';
import type { ModelResponse } from '../model/model-call.ts';
import type { LanguageModel } from '../providers/model-names.ts';
import { nextListenerCall, pendingListeners } from '../run/event-emitter.ts';
import type { RunContext } from '../run/run-context.ts';
import type { RequestedCall } from '../tools/step-calls.ts';
import { readModelAnswer, requestedIn } from '../tools/tool-calls.ts';
import { resultMessage } from '../tools/tool-result.ts';
import { runToolCalls } from '../tools/tool-runner.ts';
import type { PocketAgent } from './agent.ts';
import type { AgentModel, PaidResponse } from './agent-model.ts';
import type { AgentParts } from './agent-parts.ts';
import type { AgentTools } from './agent-tools.ts';
import { type HookContext, hookContextOf, postStepAfterFailure } from './hooks.ts';
import { finalText, needsAnotherStep, type StepResult, sourceIn, stepResult } from './step-result.ts';

interface LoopParts extends AgentParts {
  model: AgentModel;
  tools: AgentTools;
  createHookContext(): Omit<HookContext, 'signal'> | Promise<Omit<HookContext, 'signal'>>;
  /** The `step` of a subclass, which replaces ours; undefined if `step` is not overridden. */
  stepOfSubclass(): (() => Promise<StepResult>) | undefined;
}

/** A run begins with a message, or continues from the history. */
type RunStart = { input: string | UserInput } | { isResumed: true };

interface StepRequest {
  /** Options of this step; they override those of the agent. */
  completion?: CompletionOptions;
  /** The step waits for listeners called since this mark. An earlier listener may have called the step, and waits for it. */
  firstListenerCall: number;
  /** The answer, if the model has answered already. */
  earlier?: EarlierAnswer;
}

type FinishReason = ModelResponse['finishReason'];

/** The last answer in the history, with which a run continues. */
interface EarlierAnswer {
  message: AssistantMessage;
  finishReason: FinishReason;
}

/** The answer of the model, or of the history. */
interface ModelAnswer {
  llmMessage: AssistantMessage;
  requested: readonly RequestedCall[];
  finishReason: FinishReason;
  usage: Usage;
  /** Thrown at the end of the step, when the results are in the history. */
  budgetError?: unknown;
}

interface OpenCalls {
  open: readonly RequestedCall[];
  known: OpenAnswer | undefined;
}

interface EndedStep extends Pick<StepRequest, 'firstListenerCall'> {
  number: number;
  answer: ModelAnswer;
  /** Undefined if the model called no tool. */
  results: ToolResult[] | undefined;
}

export class AgentLoop {
  readonly #agent: PocketAgent<unknown>;
  readonly #parts: LoopParts;

  constructor(agent: PocketAgent<unknown>, parts: LoopParts) {
    this.#agent = agent;
    this.#parts = parts;
  }

  /** Takes steps until the model calls no more tools. */
  async run(context: RunContext, start: RunStart): Promise<unknown> {
    const { output } = context;
    if (output) await output.checkSchema();
    const firstListenerCall = nextListenerCall();
    const takeStep = this.#parts.stepOfSubclass() ?? (() => this.step(context, { firstListenerCall }));
    let resumed: StepResult | undefined;
    if ('input' in start) await this.#addInput(context, start.input);
    else resumed = await this.#resumedStep(context, firstListenerCall);
    let result = resumed ?? (await takeStep());
    for (;;) {
      while (!output?.isSettled && needsAnotherStep(result)) result = await takeStep();
      if (output?.answer) return output.answer.value; // by a call of the answer tool
      const text = finalText(result, output?.cutOffText ?? textOf(result.llmMessage)); // throws if the answer was cut off
      if (!output) return text;
      const read = await output.readText(text, context.signal);
      if ('value' in read) return read.value;
      this.#agent.addUserMessage(read.request); // asks for a correction
      result = await takeStep();
    }
  }

  async #addInput({ signal }: RunContext, input: string | UserInput): Promise<void> {
    const { text, images = [], files = [] } = readInput(input);
    const readFiles = files.length > 0 ? await this.#parts.model.readFiles(files, signal) : files;
    this.#agent.addUserMessage(text, { images, files: readFiles });
  }

  /** Finishes the last step of the history. Undefined if the history ends with a message of the user. */
  async #resumedStep(context: RunContext, firstListenerCall: number): Promise<StepResult | undefined> {
    const { history } = this.#parts;
    if (history.length === 0)
      throw configError(`${this.#agent.name} has nothing to resume: its history is empty. Ask it with run().`);
    const last = lastAnswer(history.messages);
    const progress = history.saved?.progress;
    if (progress) {
      context.budget.continueFrom(progress.totals);
      // an open answer was counted with its step, which `step` counts again
      context.shared.steps = progress.steps - (last?.isOpen ? 1 : 0);
    }
    if (!last) return undefined;
    const finishReason = progress?.finishReason ?? { unified: last.isOpen ? 'tool-calls' : 'stop', raw: undefined };
    const earlier = { message: last.message, finishReason };
    return last.isOpen ? this.step(context, { firstListenerCall, earlier }) : this.#finishedStep(context, earlier);
  }

  /** One answer of the model and the tool calls it asks for. */
  async step(context: RunContext, { completion = {}, firstListenerCall, earlier }: StepRequest): Promise<StepResult> {
    const { settings, history, tools, model: agentModel, createHookContext } = this.#parts;
    const { hooks, logger } = this.#agent;
    const { signal, output } = context;
    const number = this.#beginStep(context); // a step that cannot begin has no hooks
    const hookContext = hookContextOf(context, await within(signal, createHookContext()));
    let result: StepResult;
    try {
      signal.throwIfAborted();
      if (hooks.preStep) await within(signal, hooks.preStep(hookContext));
      if (history.saved) await history.saved.saveAll();
      const isRunStart = number === 1 || earlier !== undefined;
      const { model, exposed } = await this.#modelAndTools(context, { isRunStart, completion });

      let answer: ModelAnswer;
      if (earlier) answer = this.#readEarlier(context, exposed, earlier);
      else {
        await this.#checkBudget(context, model);
        const { resets } = history;
        const request = { model, context, table: exposed.shown, completion };
        const asked = await (settings.compaction ? agentModel.askWithinWindow(request) : agentModel.ask(request));
        if (hooks.onLlmResponse) await within(signal, hooks.onLlmResponse(hookContext, deepCopy(asked.response)));
        answer = this.#addAnswer(asked, { exposed, resets });
      }

      let results: ToolResult[] | undefined;
      if (answer.requested.length > 0) {
        const { llmMessage, finishReason } = answer;
        const { open, known } = await this.#openCalls(context, answer);
        const calls = tools.stepCalls({ context, hookContext, exposed, llmMessage, requested: open });
        const outcome = await (output
          ? output.runCalls(open, { finishReason, signal }, (others) => runToolCalls(calls, others))
          : runToolCalls(calls, open));
        results = this.#addResults(context, { ...answer, known }, outcome);
      }
      result = await this.#endStep(context, { number, firstListenerCall, answer, results });
    } catch (error) {
      await postStepAfterFailure(hooks, hookContext, logger);
      throw error;
    }
    // outside of try: a postStep that fails is not called again
    if (hooks.postStep) await within(signal, hooks.postStep(hookContext));
    return result;
  }

  /** Throws if the budget of the run does not allow another model call. */
  async #checkBudget(context: RunContext, model: LanguageModel): Promise<void> {
    const { budget, signal } = context;
    budget.checkModelCall();
    if (budget.limitsCost) await abortable(this.#parts.ledger.requirePrice(context, model), signal);
  }

  /** Adds the response of the model to the history. `resets`: those of the history before the model was asked. */
  #addAnswer(
    { response, usage, executed }: PaidResponse,
    { exposed, resets }: { exposed: ExposedTools; resets: number },
  ): ModelAnswer {
    const { history } = this.#parts;
    const { content, finishReason } = response;
    const { message: llmMessage, requested } = readModelAnswer(response, history.callIds, exposed.callable);
    // after a reset the answer is dropped, and with it the results of its calls
    if (history.resets === resets) history.add(llmMessage);
    for (const part of content) {
      const data = sourceIn(part);
      if (data) this.#agent.emit({ type: 'source', data });
    }
    const budgetError = executed?.report(llmMessage); // also shows and audits the calls that the provider has run
    return { llmMessage, requested, finishReason, usage, budgetError };
  }

  /** Reads an answer of the history. Its cost was counted when the model gave it. */
  #readEarlier({ output }: RunContext, { shown, callable }: ExposedTools, earlier: EarlierAnswer): ModelAnswer {
    const { message: llmMessage, finishReason } = earlier;
    output?.resume(shown.entries);
    return { llmMessage, requested: requestedIn(llmMessage, callable), finishReason, usage: noUsage() };
  }

  /** A finished step of the history. Only a typed answer among its calls is read again. */
  async #finishedStep(context: RunContext, earlier: EarlierAnswer): Promise<StepResult> {
    const { output, signal } = context;
    const { exposed } = await this.#modelAndTools(context, { isRunStart: true });
    const { llmMessage, requested, finishReason, usage } = this.#readEarlier(context, exposed, earlier);
    const noOtherCalls = async () => ({ results: [], runError: undefined });
    const { runError } = (await output?.runCalls(requested, { finishReason, signal }, noOtherCalls)) ?? {};
    if (runError !== undefined) throw runError;
    const called =
      requested.length > 0 ? { toolCalls: requested.map(({ call }) => call), toolExecutionResults: [] } : {};
    return stepResult({ llmMessage, finishReason, usage, ...called });
  }

  /** The calls of an answer that have no result yet. In a conversation with a journal the others are `known`. */
  async #openCalls(context: RunContext, { llmMessage, requested, finishReason }: ModelAnswer): Promise<OpenCalls> {
    const { saved } = this.#parts.history;
    if (saved?.hasJournal) await saved.save(progressOf(context, finishReason));
    const known = saved?.openAnswer(llmMessage);
    return { open: known ? known.unanswered(requested, context) : requested, known };
  }

  /** Adds the results of the calls to the history, those of the journal included. Throws the error that ends the run. */
  #addResults(
    context: RunContext,
    { llmMessage, requested, known }: Pick<ModelAnswer, 'llmMessage' | 'requested'> & { known: OpenAnswer | undefined },
    { results, runError, suspended }: CallResults,
  ): ToolResult[] {
    if (suspended && runError === undefined) throw suspended; // its calls stay open
    const { history, ledger } = this.#parts;
    ledger.recordToolResults(context, context.output ? results.filter(({ extra }) => !extra.isAnswer) : results);
    const made = [...results]; // in the order of the calls; those that the journal knows are missing
    // each result right after the previous one: a message may have been added while the tools ran
    let after: Message = llmMessage;
    for (const { call } of requested) {
      const result = made[0]?.toolCallId === call.id ? made.shift() : undefined;
      const message = known?.resultOf(call.id) ?? (result && resultMessage(call.name, result));
      if (!message) continue;
      history.add(message, { after });
      after = message;
    }
    if (runError !== undefined) throw runError; // only now: each call in the history has its result
    return results;
  }

  /** Saves the step, announces its end, and waits for the listeners that it called. */
  async #endStep(
    context: RunContext,
    { number, firstListenerCall, answer, results: toolExecutionResults }: EndedStep,
  ): Promise<StepResult> {
    const { llmMessage, requested, finishReason, usage, budgetError } = answer;
    const { saved } = this.#parts.history;
    if (saved) await saved.save(progressOf(context, finishReason));
    if (budgetError !== undefined) throw budgetError;
    const data = { step: number, finishReason: finishReason.unified, usage };
    this.#agent.emit({ type: 'step_finished', data });
    const listeners = pendingListeners(this.#agent, firstListenerCall);
    if (listeners) await abortable(listeners, context.signal);
    const toolCalls = toolExecutionResults && requested.map(({ call }) => call);
    return stepResult({ llmMessage, finishReason, usage, toolCalls, toolExecutionResults });
  }

  /** Summarises older messages now. */
  async compact(context: RunContext): Promise<Compaction | undefined> {
    const { model, exposed } = await this.#modelAndTools(context);
    return this.#parts.model.compact({ context, model, table: exposed.shown });
  }

  /** Model and tools are resolved at first use; the tools again when a source has changed. */
  async #modelAndTools(
    context: RunContext,
    { isRunStart = false, completion = {} }: { isRunStart?: boolean; completion?: CompletionOptions } = {},
  ): Promise<{ model: LanguageModel; exposed: ExposedTools }> {
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
