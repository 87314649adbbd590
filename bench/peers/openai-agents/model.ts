// A scripted model for the OpenAI Agents SDK.
import {
  type AgentOutputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  Usage,
} from '@openai/agents';
import type { ModelInput, Script, Turn } from '../../contenders/script.ts';

export function scriptModel(script: Script): Model {
  return {
    async getResponse(request) {
      return response(script.next(modelInput(request)));
    },
    async *getStreamedResponse(request) {
      const turn = script.next(modelInput(request));
      yield { type: 'response_started' };
      for (const delta of turn.deltas) yield { type: 'output_text_delta', delta };
      const { output } = response(turn);
      const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
      yield { type: 'response_done', response: { id: 'r', usage, output } } as StreamEvent;
    },
  };
}

function response({ calls, deltas }: Turn): ModelResponse {
  const output: AgentOutputItem[] = calls.map(({ id, name, arguments: args }) => ({
    type: 'function_call',
    callId: id,
    name,
    arguments: args,
    status: 'completed',
  }));
  if (calls.length === 0) {
    const text = deltas.join('');
    const content = [{ type: 'output_text' as const, text }];
    output.push({ type: 'message', role: 'assistant', status: 'completed', content });
  }
  return { usage: new Usage({ inputTokens: 10, outputTokens: 5, totalTokens: 15 }), output };
}

function modelInput({ input, tools }: ModelRequest): ModelInput {
  return {
    offered: () => tools.map(({ name }) => name),
    results: () =>
      typeof input === 'string'
        ? []
        : input.flatMap((item): [string, string][] =>
            item.type === 'function_call_result' ? [[item.callId, JSON.stringify(item.output)]] : [],
          ),
  };
}
