// A scripted model for the AI SDK.
import { setTimeout as delay } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { ModelInput, Script, Turn } from './script.ts';

const usage: LanguageModelV4Usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

export function aiSdkModel(script: Script): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'script',
    supportedUrls: {},
    async doGenerate(options) {
      if (script.latencyMs !== undefined) await delay(script.latencyMs);
      const turn = script.next(modelInput(options));
      const text = turn.deltas.join('');
      const content: LanguageModelV4Content[] = text ? [{ type: 'text', text }] : toolCalls(turn);
      return { content, finishReason: finish(turn), usage, warnings: [] };
    },
    async doStream(options) {
      const turn = script.next(modelInput(options));
      const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }];
      if (turn.deltas.length > 0) {
        parts.push({ type: 'text-start', id: '0' });
        for (const delta of turn.deltas) parts.push({ type: 'text-delta', id: '0', delta });
        parts.push({ type: 'text-end', id: '0' });
      }
      parts.push(...toolCalls(turn), { type: 'finish', finishReason: finish(turn), usage });
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          for (const part of parts) controller.enqueue(part);
          controller.close();
        },
      });
      return { stream };
    },
  };
}

function toolCalls({ calls }: Turn) {
  return calls.map(({ id, name, arguments: input }) => ({
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: name,
    input,
  }));
}

function finish({ calls }: Turn): LanguageModelV4FinishReason {
  const unified = calls.length > 0 ? 'tool-calls' : 'stop';
  return { unified, raw: unified };
}

function modelInput({ prompt, tools = [] }: LanguageModelV4CallOptions): ModelInput {
  return {
    offered: () => tools.map(({ name }) => name),
    results: () =>
      prompt.flatMap((message) =>
        message.role !== 'tool'
          ? []
          : message.content.flatMap((part): [string, string][] =>
              part.type === 'tool-result' ? [[part.toolCallId, JSON.stringify(part.output)]] : [],
            ),
      ),
  };
}
