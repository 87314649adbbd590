// Sampling: answers a server that asks for a model call with the agent's own model, if that is allowed.
import type { LanguageModelV4, LanguageModelV4Message } from '@ai-sdk/provider';
import type { CreateMessageRequest, CreateMessageResult } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import { callModel, type ModelResponse } from '../model/model-call.ts';

type SamplingParams = CreateMessageRequest['params'];

interface Sampling {
  model: LanguageModelV4;
  params: SamplingParams;
  signal: AbortSignal;
  /** Called with every answer, also one that is of no use to the server: it is billed. */
  onAnswer(response: ModelResponse): Promise<unknown>;
}

export async function sample({ model, params, signal, onAnswer }: Sampling): Promise<CreateMessageResult> {
  const { systemPrompt, messages, maxTokens, temperature, stopSequences } = params;
  const system: LanguageModelV4Message[] = systemPrompt ? [{ role: 'system', content: systemPrompt }] : [];
  const response = await callModel({
    model,
    signal,
    maxRetries: 2,
    onRetry: () => {},
    options: {
      prompt: [...system, ...messages.map(promptMessage)],
      maxOutputTokens: maxTokens,
      ...(temperature === undefined ? {} : { temperature }),
      ...(stopSequences === undefined ? {} : { stopSequences }),
    },
  });
  await onAnswer(response);
  const finish = response.finishReason.unified;
  if (finish === 'content-filter') {
    throw new PocketError('ANSWER_FILTERED', 'The answer was blocked by the content filter of the provider.');
  }
  if (finish === 'error') throw new PocketError('MODEL_FAILED', 'The model ended its answer with an error.');
  if (finish === 'interrupted')
    throw new PocketError('ANSWER_CUT_OFF', 'The provider interrupted the answer; ask again.');
  const text = response.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const stopReason = finish === 'length' ? 'maxTokens' : 'endTurn';
  return { model: model.modelId, role: 'assistant', content: { type: 'text', text }, stopReason };
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
