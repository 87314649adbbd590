// Keeps the prompts of one agent within the context window of its model. The history itself stays whole.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { errorText, isPocketError, PocketError } from '@pocket-agent/kit';
import type { Message } from '../base/messages.ts';
import type { ModelResponse } from '../model/model-call.ts';
import type { PromptStart } from '../model/prompt.ts';
import { BYTES_PER_TOKEN, estimateTokens } from '../model/token-estimate.ts';
import { modelName } from '../providers/model-names.ts';
import type { UnsignedEvent } from '../run/events.ts';
import type { RunContext } from '../run/run-context.ts';
import type { ToolTable } from '../tools/tool-table.ts';
import { findCut } from './boundaries.ts';
import type { CompactionSettings } from './compaction-options.ts';
import { ContextWindows, isContextOverflow } from './context-window.ts';
import {
  type CompactedHistory,
  compactedLength,
  isError,
  isViewOf,
  type Reference,
  resultBytes,
  resultsIn,
  startOf,
} from './history-view.ts';
import type { SummaryWriterOptions } from './summary-writer.ts';

/** The history that a compactor shortens for the model. */
interface CompactableHistory {
  readonly messages: readonly Message[];
  readonly resets: number;
  /** Builds later prompts with this start. */
  startPromptWith(start: PromptStart | undefined): void;
}

interface CompactorOptions extends Omit<SummaryWriterOptions, 'windows'> {
  settings: CompactionSettings;
  history: CompactableHistory;
  /** The line that replaces an old result. */
  reference: Reference;
  /** Whether results of this tool are instructions, which stay whole. */
  returnsInstructions(toolName: string): boolean;
  emit(event: UnsignedEvent): void;
}

/** The parts of a prompt besides the history. */
export interface PromptRequest {
  model: LanguageModelV4;
  context: RunContext;
  systemPrompt: string | undefined;
  tools: ToolTable['definitions'];
}

/** Estimated tokens of the prompt. */
export interface Compaction {
  tokensBefore: number;
  tokensAfter: number;
}

/** Why a prompt is compacted: it has reached the threshold, the provider rejected it, or the program asks for it. */
type Occasion = 'threshold' | 'overflow' | 'command';

/** All in tokens of the model. */
interface Plan {
  request: PromptRequest;
  occasion: Occasion;
  before: number;
  /** The tokens of system prompt and tools. */
  fixed: number;
  /** The longest prompt that is not compacted. */
  at: number;
  /** The part of it for messages. */
  room: number;
  keep: number;
  /** A prompt of this length is short enough. */
  goal: number;
  window: number | undefined;
}

/** The part of the window, if the option names none. */
const DEFAULT_AT = 0.8;
const MIN_RESULT_BYTES = 500;
/** A summary of less would not be shorter. */
const MIN_SUMMARISED_TOKENS = 150;

export class Compactor {
  readonly #options: CompactorOptions;
  readonly #windows = new ContextWindows();
  #view: CompactedHistory = { from: 0, resultsFrom: 0 };
  #start: PromptStart = { before: [], from: 0 };
  #resets: number;
  /** After an attempt, the prompt must grow beyond this before the next one. */
  #nextAbove = 0;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#resets = options.history.resets;
  }

  /** Continues with the compaction of another agent that had the same history. */
  resume(compacted: CompactedHistory): void {
    const { history, logger } = this.#options;
    if (isViewOf(history.messages, compacted)) this.#show(compacted);
    else logger.warn('What was compacted earlier does not belong to these messages and is ignored.');
  }

  /** The compacted part of the history; undefined if the model sees all of it. */
  get compacted(): CompactedHistory | undefined {
    return compactedLength(this.#currentView()) > 0 ? this.#view : undefined;
  }

  /** Makes a model call: compacts before it if the prompt is too long, and repeats it once if the provider says so. */
  async call<Made extends { response: ModelResponse }>(
    request: PromptRequest,
    call: () => Promise<Made>,
  ): Promise<Made> {
    const { model } = request;
    const { at } = this.#thresholds(await this.#windows.window(model));
    const tokens = this.#tokens(request);
    if (at !== undefined && tokens > Math.max(at, this.#nextAbove)) await this.#compact(request, 'threshold');
    const estimated = this.#estimated(request);
    try {
      const made = await call();
      this.#windows.learn(model, estimated, made.response);
      return made;
    } catch (error) {
      // text that was shown cannot be taken back
      if (!isContextOverflow(error) || (isPocketError(error) && error.details.text)) throw error;
      this.#windows.learnOverflow(model, estimated, error);
      if (!(await this.#compact(request, 'overflow'))) throw await this.#tooLong(request, error);
    }
    try {
      return await call();
    } catch (error) {
      throw isContextOverflow(error) ? await this.#tooLong(request, error) : error;
    }
  }

  /** Compacts now. Undefined if nothing would be gained. */
  compact(request: PromptRequest): Promise<Compaction | undefined> {
    return this.#compact(request, 'command');
  }

  async #compact(request: PromptRequest, occasion: Occasion): Promise<Compaction | undefined> {
    const plan = await this.#plan(request, occasion);
    const { history } = this.#options;
    const { messages, resets } = history;
    const { view, summary } = await this.#shorterView(plan, messages);
    const tokensAfter = Math.ceil(this.#tokensWith(plan, messages, view));
    this.#nextAbove = Math.min(tokensAfter, plan.before) + Math.max(plan.room / 8, plan.at / 20);
    // the conversation may have been reset while the summary was written
    if (history.resets !== resets || tokensAfter >= plan.before) return undefined;
    this.#show(view);
    this.#options.ledger.promptCompacted(tokensAfter);
    const compaction = { tokensBefore: Math.ceil(plan.before), tokensAfter };
    this.#options.emit({ type: 'compacted', data: summary === undefined ? compaction : { ...compaction, summary } });
    if (summary !== undefined && occasion !== 'command') request.context.budget.checkModelCall();
    return compaction;
  }

  /** Leaves out old results; if that is not enough, also older messages; then also parts of the newest results. */
  async #shorterView(plan: Plan, messages: readonly Message[]): Promise<{ view: CompactedHistory; summary?: string }> {
    const { occasion, keep: keepTokens } = plan;
    const old = this.#currentView();
    const { from } = old;
    const cut = findCut({ messages, from, keepTokens, tokensOf: (message) => this.#tokensOf(plan, message) });
    if (cut === undefined) return { view: this.#withShortResults(plan, messages, old) };
    // the view has those of earlier results
    const instructions = this.#instructionsIn(messages.slice(old.resultsFrom, cut), old);
    const withoutResults = { ...old, ...instructions, resultsFrom: Math.max(old.resultsFrom, cut) };
    if (occasion !== 'command' && this.#tokensWith(plan, messages, withoutResults) <= plan.goal)
      return { view: withoutResults };
    const older = messages.slice(from, cut);
    const isShort = older.reduce((sum, message) => sum + this.#tokensOf(plan, message), 0) < MIN_SUMMARISED_TOKENS;
    if (isShort) return { view: this.#withShortResults(plan, messages, withoutResults) };
    const { request, room, at, window } = plan;
    const { SummaryWriter } = await import('./summary-writer.ts');
    const summary = await new SummaryWriter({ ...this.#options, windows: this.#windows }).write({
      messages: older,
      earlier: old.summary,
      context: request.context,
      own: request.model,
      room,
      window: window ?? at / DEFAULT_AT,
      isRequired: occasion === 'command',
    });
    if (summary !== undefined) {
      const view = { from: cut, summary, resultsFrom: cut, ...instructions, ...this.#requestLimit(plan) };
      return { view: this.#withShortResults(plan, messages, view), summary };
    }
    // the prompt may fit nevertheless, so the newest results stay unless the provider has rejected it
    return { view: occasion === 'overflow' ? this.#withShortResults(plan, messages, withoutResults) : withoutResults };
  }

  /** A tool that is gone by now may have returned some of the earlier ones. */
  #instructionsIn(messages: readonly Message[], { instructions = [] }: CompactedHistory): Partial<CompactedHistory> {
    const found = messages.flatMap(resultsIn).filter((part) => {
      return !isError(part) && this.#options.returnsInstructions(part.toolName);
    });
    const ids = new Set([...instructions, ...found.map(({ toolCallId }) => toolCallId)]);
    return ids.size > 0 ? { instructions: [...ids] } : {};
  }

  async #plan(request: PromptRequest, occasion: Occasion): Promise<Plan> {
    const { model } = request;
    const window = await this.#windows.window(model);
    const before = this.#tokens(request);
    const thresholds = this.#thresholds(window);
    const limit = occasion === 'overflow' && window !== undefined ? DEFAULT_AT * window : before;
    const at = Math.min(thresholds.at ?? before, limit, before);
    const fixed = fixedTokens(request) * this.#windows.factor(model);
    const room = Math.max(0, at - fixed);
    // the rest is for the summary and for new messages
    const most = occasion === 'command' ? (before - fixed) / 3 : room / 2;
    const keep = Math.min(thresholds.keep ?? most, most);
    return { request, occasion, before, fixed, at, room, keep, goal: (at + Math.min(at, fixed + keep)) / 2, window };
  }

  /** In tokens; undefined if the option gives parts of a context window that is unknown. */
  #thresholds(window: number | undefined): { at: number | undefined; keep: number | undefined } {
    const { at, keep } = this.#options.settings;
    const inTokens = (amount: number) => (amount > 1 ? amount : window && amount * window);
    return { at: inTokens(at), keep: inTokens(keep) };
  }

  #requestLimit({ room, request }: Plan): { maxRequestBytes: number } {
    return { maxRequestBytes: Math.floor(((room / 4) * BYTES_PER_TOKEN) / this.#windows.factor(request.model)) };
  }

  /** If the newest step alone is too long, its results keep only their beginning and end. */
  #withShortResults(plan: Plan, messages: readonly Message[], view: CompactedHistory): CompactedHistory {
    const tokens = this.#tokensWith(plan, messages, view);
    if (tokens <= plan.at) return view;
    const kept = messages.slice(view.resultsFrom);
    const sizes = kept.flatMap(({ role, content }) =>
      role === 'tool' ? content.flatMap((part) => (part.type === 'tool-result' ? [resultBytes(part)] : [])) : [],
    );
    if (sizes.length === 0) return view;
    const factor = this.#windows.factor(plan.request.model);
    const excess = ((tokens - plan.goal) * BYTES_PER_TOKEN) / factor;
    const sum = (limit: number) => sizes.reduce((total, size) => total + Math.min(size, limit), 0);
    let limit = Math.max(...sizes);
    const target = sum(limit) - excess;
    while (limit > MIN_RESULT_BYTES && sum(limit) > target) limit = Math.max(MIN_RESULT_BYTES, limit / 2);
    return { ...view, shortenedTo: messages.length, maxResultBytes: Math.floor(limit) };
  }

  async #tooLong(request: PromptRequest, overflow: unknown): Promise<PocketError> {
    const { window, before } = await this.#plan(request, 'overflow');
    const limit = window === undefined ? '' : ` of about ${Math.round(window)} tokens`;
    const text = `The prompt for ${modelName(request.model)} is longer than its context window${limit}, and compaction cannot shorten it below about ${Math.round(before)} tokens: shorten the newest message, the system prompt or the tools, or use a model with a larger window.`;
    const details = isPocketError(overflow) ? overflow.details : {};
    return new PocketError('MODEL_FAILED', `${text} ${errorText(overflow)}`, { cause: overflow, details });
  }

  #show(view: CompactedHistory): void {
    const { history, reference } = this.#options;
    this.#view = Object.freeze(view);
    this.#resets = history.resets;
    this.#start = startOf(history.messages, view, reference);
    history.startPromptWith(this.#start);
  }

  /** The view, unless the conversation was reset since. */
  #currentView(): CompactedHistory {
    const { resets } = this.#options.history;
    if (resets !== this.#resets) {
      this.#resets = resets;
      this.#view = { from: 0, resultsFrom: 0 };
      this.#start = { before: [], from: 0 };
      this.#nextAbove = 0;
    }
    return this.#view;
  }

  #tokens(request: PromptRequest): number {
    return this.#estimated(request) * this.#windows.factor(request.model);
  }

  /** The tokens of the next prompt, before the correction for the model. */
  #estimated(request: PromptRequest): number {
    this.#currentView();
    return fixedTokens(request) + sumOf(this.#options.history.messages, this.#start);
  }

  #tokensWith(plan: Plan, messages: readonly Message[], view: CompactedHistory): number {
    const start = view === this.#view ? this.#start : startOf(messages, view, this.#options.reference);
    return plan.fixed + sumOf(messages, start) * this.#windows.factor(plan.request.model);
  }

  #tokensOf({ request }: Plan, message: Message): number {
    return estimateTokens(message) * this.#windows.factor(request.model);
  }
}

function sumOf(messages: readonly Message[], { before, from }: PromptStart): number {
  let tokens = 0;
  for (const message of before) tokens += estimateTokens(message);
  for (let index = from; index < messages.length; index++) {
    const message = messages[index];
    if (message) tokens += estimateTokens(message);
  }
  return tokens;
}

function fixedTokens({ systemPrompt: content = '', tools }: PromptRequest): number {
  return estimateTokens({ role: 'system', content }) + estimateTokens(tools);
}
