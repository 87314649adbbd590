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
import { resultMessage } from '../tools/inner-calls.ts';
import type { RequestedCall } from '../tools/step-calls.ts';
import { readModelAnswer, requestedIn } from '../tools/tool-calls.ts';
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
  /** The `step` of a subclass, which takes the place of ours; undefined if `step` is not overridden. */
  stepOfSubclass(): (() => Promise<StepResult>) | undefined;
}

/** A run begins with a message, or goes on from the history. */
type RunStart = { input: string | UserInput } | { resumes: true };

interface StepRequest {
  /** Options of this step; they override those of the agent. */
  completion?: CompletionOptions;
  /** The step waits for listeners called since this mark. One called earlier may have called the step: it would wait for itself. */
  firstListenerCall: number;
  /** The model has answered already. */
  saved?: SavedAnswer;
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

/** What the model answered, or had answered already. */
interface ModelAnswer {
  llmMessage: AssistantMessage;
  requested: readonly RequestedCall[];
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

  /** Takes steps until the model calls no more tools. */
  async run(context: RunContext, start: RunStart): Promise<unknown> {
    const { output } = context;
    if (output) await output.checkSchema();
    const firstListenerCall = nextListenerCall();
    const takeStep = this.#parts.stepOfSubclass() ?? (() => this.step(context, { firstListenerCall }));
    let resumed: StepResult | undefined;
    if ('input' in start) await this.#addInput(context, start.input);
    else resumed = await this.#resumedStep(context, firstListenerCall);
    for (let result = resumed ?? (await takeStep()); ; result = await takeStep()) {
      if (output?.answer) return output.answer.value; // by a call of the answer tool
      if (needsAnotherStep(result) && output?.cutOffText === undefined) continue;
      const text = finalText(result, output?.cutOffText ?? textOf(result.llmMessage)); // throws if the answer was cut off
      if (!output) return text;
      const read = await output.readText(text, context.signal);
      if ('value' in read) return read.value;
      this.#agent.addUserMessage(read.request); // asks for a correction
    }
  }

  async #addInput({ signal }: RunContext, input: string | UserInput): Promise<void> {
    const { text, images = [], files = [] } = readInput(input);
    const readFiles = files.length > 0 ? await this.#parts.model.readFiles(files, signal) : files;
    this.#agent.addUserMessage(text, { images, files: readFiles });
  }

  /** The last step of the history, finished if it was not. Undefined if the history ends with a message of the user. */
  async #resumedStep(context: RunContext, firstListenerCall: number): Promise<StepResult | undefined> {
    const { history } = this.#parts;
    if (history.length === 0)
      throw configError(`${this.#agent.name} has nothing to resume: its history is empty. Ask it with run().`);
    const last = lastAnswer(history.messages);
    const progress = history.saved?.progress;
    if (progress) {
      context.budget.continueFrom(progress.totals);
      context.shared.steps = progress.steps - (last?.isOpen ? 1 : 0);
    }
    if (!last) return undefined;
    const finishReason = progress?.finishReason ?? { unified: last.isOpen ? 'tool-calls' : 'stop', raw: undefined };
    const saved = { message: last.message, finishReason };
    return last.isOpen ? this.step(context, { firstListenerCall, saved }) : this.#savedStep(context, saved);
  }

  /** One answer of the model and the tool calls it asks for. */
  async step(context: RunContext, { completion = {}, firstListenerCall, saved }: StepRequest): Promise<StepResult> {
    const { settings, history, ledger, tools, model: agentModel } = this.#parts;
    const { hooks, logger } = this.#agent;
    const { signal, budget, output } = context;
    const stepNumber = this.#beginStep(context); // a step that cannot begin has no hooks
    const hookContext = hookContextOf(context, await within(signal, this.#parts.createHookContext()));
    let result: StepResult;
    try {
      signal.throwIfAborted();
      if (hooks.preStep) await within(signal, hooks.preStep(hookContext));
      if (history.saved) await history.saved.save();

      const isRunStart = stepNumber === 1 || saved !== undefined;
      const { model, exposed } = await this.#modelAndTools(context, { isRunStart, completion });
      let answer: ModelAnswer;
      if (saved) answer = this.#readAgain(context, exposed, saved);
      else {
        budget.checkModelCall();
        if (budget.limitsCost) await abortable(ledger.requirePrice(context, model), signal);
        const { resets } = history;
        const request = { model, context, table: exposed.shown, completion };
        const asked = await (settings.compaction ? agentModel.askWithinWindow(request) : agentModel.ask(request));
        if (hooks.onLlmResponse) await within(signal, hooks.onLlmResponse(hookContext, deepCopy(asked.response)));
        answer = this.#addAnswer(asked, { exposed, resets });
      }

      const { llmMessage, requested, finishReason, usage } = answer;
      let toolExecutionResults: ToolResult[] | undefined;
      if (requested.length > 0) {
        if (history.saved?.hasJournal) await history.saved.save(progressOf(context, finishReason));
        const known = history.saved?.openAnswer(llmMessage);
        const unanswered = known ? withoutAnswered(requested, known, context) : requested;
        const calls = tools.stepCalls({ context, hookContext, exposed, llmMessage, requested: unanswered });
        const results = await (output
          ? output.runCalls(unanswered, { finishReason, signal }, (others) => runToolCalls(calls, others))
          : runToolCalls(calls, unanswered));
        toolExecutionResults = this.#addResults(context, { llmMessage, requested, known }, results);
      }
      if (history.saved) await history.saved.save(progressOf(context, finishReason));
      if (answer.budgetError !== undefined) throw answer.budgetError;

      this.#agent.emit({
        type: 'step_finished',
        data: { step: stepNumber, finishReason: finishReason.unified, usage },
      });
      const listeners = pendingListeners(this.#agent, firstListenerCall);
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

  /** Adds the response of the model to the history. `resets`: of the history before the model was asked. */
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
    return { llmMessage, requested, finishReason, usage, budgetError: executed?.report(llmMessage) };
  }

  /** An answer that the history has already. What it cost was counted then. */
  #readAgain({ output }: RunContext, { shown, callable }: ExposedTools, saved: SavedAnswer): ModelAnswer {
    const { message: llmMessage, finishReason } = saved;
    output?.resume(shown.entries);
    return { llmMessage, requested: requestedIn(llmMessage, callable), finishReason, usage: noUsage() };
  }

  /** A step of the history: only a typed answer among its calls is read again. */
  async #savedStep(context: RunContext, saved: SavedAnswer): Promise<StepResult> {
    const { output, signal } = context;
    const { exposed } = await this.#modelAndTools(context, { isRunStart: true });
    const { llmMessage, requested, finishReason, usage } = this.#readAgain(context, exposed, saved);
    const isAnswered = async () => ({ results: [], runError: undefined });
    const { runError } = (await output?.runCalls(requested, { finishReason, signal }, isAnswered)) ?? {};
    if (runError !== undefined) throw runError;
    const called =
      requested.length > 0 ? { toolCalls: requested.map(({ call }) => call), toolExecutionResults: [] } : {};
    return stepResult({ llmMessage, finishReason, usage, ...called });
  }

  /** Adds the results of the calls to the history, those of the journal too. Throws what must end the run. */
  #addResults(
    context: RunContext,
    { llmMessage, requested, known }: Pick<ModelAnswer, 'llmMessage' | 'requested'> & { known: OpenAnswer | undefined },
    { results, runError, suspended }: CallResults,
  ): ToolResult[] {
    if (suspended && runError === undefined) throw suspended; // its calls stay open
    const { history, ledger } = this.#parts;
    ledger.recordToolResults(context, context.output ? results.filter(({ extra }) => !extra.isAnswer) : results);
    const made = results.values();
    let result = made.next().value;
    // each result right after the previous one: a message may have been added while the tools ran
    let after: Message = llmMessage;
    for (const { call } of requested) {
      let message = known?.resultOf(call.id);
      if (result?.toolCallId === call.id) {
        message ??= resultMessage(call.name, result);
        result = made.next().value;
      }
      if (!message) continue;
      history.add(message, { after });
      after = message;
    }
    if (runError !== undefined) throw runError; // only now: each call in the history has its result
    return results;
  }

  /** Summarises older messages now. */
  async compact(context: RunContext): Promise<Compaction | undefined> {
    const { model, exposed } = await this.#modelAndTools(context);
    return this.#parts.model.compact({ context, model, table: exposed.shown });
  }

  /** Model and tools are resolved at first use; the tools again when a source has changed. */
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

/** The calls that have no result in the journal of the conversation. */
function withoutAnswered(
  requested: readonly RequestedCall[],
  known: OpenAnswer,
  { budget, pathKey }: RunContext,
): readonly RequestedCall[] {
  const unanswered: RequestedCall[] = [];
  for (const each of requested) {
    const { id, name } = each.call;
    if (!known.resultOf(id)) {
      unanswered.push(known.isLost(id) ? { ...each, isLost: true } : each);
      continue;
    }
    // the totals that were saved are from before these calls
    for (const call of [{ name }, ...known.calledBy(id)]) budget.countToolCall(pathKey, call.name);
    for (const used of known.usedBy(id)) budget.add(used);
  }
  return unanswered;
}

function progressOf({ shared, budget }: RunContext, finishReason: FinishReason): RunProgress {
  return { steps: shared.steps, totals: structuredClone(budget.totals), finishReason };
}
