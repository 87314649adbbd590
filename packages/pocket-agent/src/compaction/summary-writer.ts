// Writes summaries of older messages: chooses their length, and pays for the calls of the model.
import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { abortable, errorText, isPocketError, type Logger, type PocketErrorCode } from '@pocket-agent/kit';
import type { Message } from '../base/messages.ts';
import type { Ledger } from '../cost/ledger.ts';
import { callModel, type ModelCall } from '../model/model-call.ts';
import { BYTES_PER_TOKEN, estimateInputTokens } from '../model/token-estimate.ts';
import type { RunContext } from '../run/run-context.ts';
import { type ContextWindows, isContextOverflow } from './context-window.ts';
import { summarize } from './summary.ts';

export interface SummaryWriterOptions {
  windows: ContextWindows;
  ledger: Ledger;
  logger: Logger;
  /** The model that writes summaries; `model` is the model of the agent. */
  summaryModel(model: LanguageModelV4): Promise<LanguageModelV4>;
  /** A call of that model, without tools. */
  summaryCall(call: { model: LanguageModelV4; context: RunContext; prompt: LanguageModelV4Prompt }): ModelCall;
}

interface SummaryRequest {
  messages: readonly Message[];
  /** The summary of the messages before them. */
  earlier: string | undefined;
  context: RunContext;
  /** The model of the agent. */
  own: LanguageModelV4;
  /** Tokens that messages may take of the prompt. */
  room: number;
  /** Tokens of the window of `own`, used if that of the summary model is unknown. */
  window: number;
  /** Whether errors of the model are thrown. */
  isRequired: boolean;
}

const MIN_SUMMARY_TOKENS = 150;
const MAX_SUMMARY_TOKENS = 4_000;
const WORDS_PER_TOKEN = 0.6;
/** Part of the context window that a transcript may take. */
const TRANSCRIPT_PART = 0.75;
const MIN_PIECE_TOKENS = 200;
/** The run continues without a summary after these errors. */
const tolerated: readonly PocketErrorCode[] = ['MODEL_FAILED', 'ANSWER_FILTERED', 'ANSWER_CUT_OFF', 'RATE_LIMITED'];

export class SummaryWriter {
  readonly #options: SummaryWriterOptions;

  constructor(options: SummaryWriterOptions) {
    this.#options = options;
  }

  /** Undefined if the model failed: then only old results are left out, and the run continues. */
  async write(request: SummaryRequest): Promise<string | undefined> {
    try {
      return await this.#write(request);
    } catch (error) {
      request.context.signal.throwIfAborted();
      const isTolerated = tolerated.some((code) => isPocketError(error, code));
      if (request.isRequired || !isTolerated) throw error;
      this.#options.logger.warn(
        `The conversation could not be summarised; the run continues without a summary: ${errorText(error)}`,
      );
      return undefined;
    }
  }

  async #write({ messages, earlier, context, own, room, window: ownWindow }: SummaryRequest): Promise<string> {
    const { windows, ledger, summaryModel, summaryCall } = this.#options;
    const { budget, signal } = context;
    const model = await abortable(summaryModel(own), signal);
    const factor = windows.factor(model);
    const window = (await windows.window(model)) ?? ownWindow;
    const summaryTokens = Math.min(Math.max(room / 10, MIN_SUMMARY_TOKENS), MAX_SUMMARY_TOKENS);
    const pieceTokens = Math.max(window * TRANSCRIPT_PART - 2 * summaryTokens, MIN_PIECE_TOKENS);
    return summarize({
      messages,
      earlier,
      pieceBytes: Math.floor((pieceTokens * BYTES_PER_TOKEN) / factor),
      maxWords: Math.floor(summaryTokens * WORDS_PER_TOKEN),
      ask: async (prompt) => {
        budget.checkModelCall();
        if (budget.limitsCost) await abortable(ledger.requirePrice(context, model), signal);
        try {
          const answer = await callModel(summaryCall({ model, context, prompt }));
          await ledger.record({ run: context, model, answer });
          return answer;
        } catch (error) {
          if (isContextOverflow(error)) windows.learnOverflow(model, estimateInputTokens({ prompt }), error);
          throw error;
        }
      },
    });
  }
}
