// Asks a model again what it was asked before, with another model or another prompt. No tool is called.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { errorText, isRecord, recordsIn } from '@pocket-agent/kit';
import { type LanguageModel, resolveModel } from 'pocket-agent';
import type { ModelCallDetails, Replay } from '../wire/wire.ts';
import { Refusal } from './refusal.ts';

const MAX_MS = 300_000;

export interface ReplayRequest {
  call: ModelCallDetails;
  /** The model of the call, or another one by its name. */
  model: LanguageModel | string;
  /** In place of the prompt of the call. */
  prompt: unknown;
  signal: AbortSignal;
}

export async function replay({ call, model, prompt = call.prompt, signal }: ReplayRequest): Promise<Replay> {
  if (!isPrompt(prompt)) throw new Refusal(400, 'A prompt is a list of messages with "role" and "content".');
  const chosenModel = typeof model === 'string' ? await resolveModel(model) : model;
  // the provider would run its tools by itself
  const tools = recordsIn(call.tools).filter(({ type }) => type !== 'provider');
  const { toolChoice, ...settings } = call.settings;
  const isOffered = !isRecord(toolChoice) || isChoiceOf(tools, toolChoice);
  const options = {
    ...settings,
    ...(isOffered ? { toolChoice } : {}),
    tools,
    prompt,
    abortSignal: AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]),
  } as LanguageModelV4CallOptions; // made from those of an earlier call
  const startedAt = Date.now();
  try {
    const { content, finishReason, usage } = await chosenModel.doGenerate(options);
    const name = `${chosenModel.provider}/${chosenModel.modelId}`;
    return { model: name, answer: { content, finishReason, usage }, durationMs: Date.now() - startedAt };
  } catch (error) {
    throw new Refusal(400, `The model did not answer: ${errorText(error)}`);
  }
}

/** Providers reject a choice of a tool that is not in the request. */
function isChoiceOf(tools: readonly Record<string, unknown>[], { type, toolName }: Record<string, unknown>): boolean {
  if (type === 'tool') return tools.some(({ name }) => name === toolName);
  return type !== 'required' || tools.length > 0;
}

function isPrompt(prompt: unknown): boolean {
  return Array.isArray(prompt) && prompt.every((each) => isRecord(each) && typeof each.role === 'string');
}
