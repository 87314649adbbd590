// Sampling: answers servers that ask for a model call with the agent's own model.
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { CreateMessageRequest, CreateMessageResult } from '@modelcontextprotocol/client';
import { errorText, isPocketError, type Logger, PocketError, publicErrorText } from '@pocket-agent/kit';
import { textOf } from '../base/messages.ts';
import type { Budget } from '../cost/budget.ts';
import type { Ledger } from '../cost/ledger.ts';
import { callModel } from '../model/model-call.ts';
import type { LanguageModel } from '../providers/model-names.ts';
import { modelCallReporter } from '../run/model-calls.ts';
import { currentRun, type QuestionOrigin, type RunContext } from '../run/run-context.ts';
import { finalText } from './step-result.ts';

type SamplingParams = CreateMessageRequest['params'];

interface SamplingOptions {
  model(): Promise<LanguageModel>;
  ledger: Ledger;
  logger: Logger;
}

/** Per run: limits what a server can spend if the agent has no budget. */
const MAX_SAMPLES = 100;

const samples = new WeakMap<Budget, { count: number; last: Promise<unknown> }>();

/** Counts towards the budget of the run that calls the server: one at a time, so that the limit holds. */
export async function answerSampling(
  params: SamplingParams,
  { server, ...options }: SamplingOptions & QuestionOrigin,
): Promise<CreateMessageResult> {
  const run = currentRun();
  if (!run) throw new Error(`MCP server "${server}" asked for a model call outside of a run that calls it.`);
  const { count, last } = samples.get(run.budget) ?? { count: 0, last: Promise.resolve() };
  if (count >= MAX_SAMPLES)
    throw new PocketError('BUDGET_REACHED', `A run answers at most ${MAX_SAMPLES} sampling requests.`);
  const sampled = last.then(() => sample(params, { ...options, run }));
  samples.set(run.budget, { count: count + 1, last: sampled.catch(() => {}) });
  return sampled.catch((error) => {
    throw forServer(error, server, options.logger);
  });
}

async function sample(
  params: SamplingParams,
  { model: resolve, ledger, run, signal }: SamplingOptions & { run: RunContext; signal: AbortSignal },
): Promise<CreateMessageResult> {
  const { systemPrompt, messages, maxTokens, temperature, stopSequences } = params;
  const model = await resolve();
  run.budget.checkModelCall();
  if (run.budget.limitsCost) await ledger.requirePrice(run, model);
  const system: LanguageModelV4Message[] = systemPrompt ? [{ role: 'system', content: systemPrompt }] : [];
  const answer = await callModel({
    model,
    signal,
    maxRetries: 2,
    onRetry: () => {},
    onRequest: modelCallReporter(run.agent, run),
    options: {
      prompt: [...system, ...messages.map(promptMessage)],
      maxOutputTokens: maxTokens,
      ...(temperature === undefined ? {} : { temperature }),
      ...(stopSequences === undefined ? {} : { stopSequences }),
    },
  });
  await ledger.record({ run, model, answer }); // before it is checked: an unusable answer is billed too
  const { unified: finishReason, raw: rawFinishReason } = answer.finishReason;
  const isCutOff = finishReason === 'length';
  const text = isCutOff ? textOf(answer) : finalText({ finishReason, rawFinishReason }, textOf(answer));
  const stopReason = isCutOff ? 'maxTokens' : 'endTurn';
  return { model: model.modelId, role: 'assistant', content: { type: 'text', text }, stopReason };
}

/** Servers do not see the error texts of the provider. */
function forServer(error: unknown, server: string, logger: Logger): unknown {
  if (!isPocketError(error) || error.cause === undefined) return error;
  const text = publicErrorText(error, 'The model');
  if (text === error.message) return error;
  logger.error(`Sampling for MCP server "${server}": ${errorText(error)}`);
  return new PocketError(error.code, text);
}

function promptMessage({ role, content }: SamplingParams['messages'][number]): LanguageModelV4Message {
  const blocks = Array.isArray(content) ? content : [content];
  const parts = blocks.map((block) => {
    if (block.type === 'text') return { type: 'text' as const, text: block.text };
    if (block.type === 'image' || block.type === 'audio') {
      return { type: 'file' as const, mediaType: block.mimeType, data: { type: 'data' as const, data: block.data } };
    }
    return { type: 'text' as const, text: JSON.stringify(block) };
  });
  return { role, content: parts };
}
