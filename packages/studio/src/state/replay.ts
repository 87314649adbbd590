// Asks a model again what it was asked before, with another model or another prompt. No tool is called.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { errorText, isRecord } from '@pocket-agent/kit';
import { type LanguageModel, resolveModel } from 'pocket-agent';
import type { ModelCallDetails, Replay } from '../wire.ts';
import { Refusal } from './refusal.ts';

const MAX_MS = 300_000;

export interface ReplayRequest {
  call: ModelCallDetails;
  /** Of the call, or another one by its name. */
  model: LanguageModel | string;
  /** In place of the prompt of the call. */
  prompt: unknown;
  signal: AbortSignal;
}

export async function replay({ call, model, prompt = call.prompt, signal }: ReplayRequest): Promise<Replay> {
  if (!isPrompt(prompt)) throw new Refusal(400, 'A prompt is a list of messages with "role" and "content".');
  const asked = typeof model === 'string' ? await resolveModel(model) : model;
  const options = {
    ...call.settings,
    tools: call.tools,
    prompt,
    abortSignal: AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]),
  } as LanguageModelV4CallOptions; // made from those of an earlier call
  const startedAt = Date.now();
  try {
    const { content, finishReason, usage } = await asked.doGenerate(options);
    const name = `${asked.provider}/${asked.modelId}`;
    return { model: name, answer: { content, finishReason, usage }, durationMs: Date.now() - startedAt };
  } catch (error) {
    throw new Refusal(400, `The model did not answer: ${errorText(error)}`);
  }
}

function isPrompt(prompt: unknown): boolean {
  return Array.isArray(prompt) && prompt.every((each) => isRecord(each) && typeof each.role === 'string');
}
