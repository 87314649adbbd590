// The smallest possible agent: a hand-written loop over model and tools.
import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { aiSdkModel } from './ai-sdk-model.ts';
import type { BenchAgent, Job } from './contender.ts';
import { repeatingScript } from './script.ts';

interface Definition {
  name: string;
  description: string;
  /** A JSON Schema. */
  inputSchema: object;
}
export type Call = (name: string, args: { a: number; b: number }) => Promise<string>;

interface LoopParts {
  job: Job;
  definitions: readonly Definition[];
  call: Call;
}

export function handLoop({ job, definitions, call }: LoopParts): BenchAgent {
  const model = aiSdkModel(repeatingScript(job));
  const tools = definitions.map((definition) => ({ type: 'function', ...definition }) as LanguageModelV4FunctionTool);
  return {
    async run() {
      const prompt: LanguageModelV4Prompt = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }];
      for (;;) {
        const { content } = await model.doGenerate({ prompt, tools });
        const texts = content.filter((part) => part.type === 'text');
        const calls = content.filter((part) => part.type === 'tool-call');
        if (calls.length === 0) return texts.map((part) => part.text).join('');
        const requested = calls.map(({ toolCallId, toolName, input }) => ({
          type: 'tool-call' as const,
          toolCallId,
          toolName,
          input: JSON.parse(input),
        }));
        prompt.push({ role: 'assistant', content: [...texts, ...requested] });
        const results = await Promise.all(
          requested.map(async ({ toolCallId, toolName, input }) => ({
            type: 'tool-result' as const,
            toolCallId,
            toolName,
            output: { type: 'text' as const, value: await call(toolName, input) },
          })),
        );
        prompt.push({ role: 'tool', content: results });
      }
    },
    async stream() {
      const prompt: LanguageModelV4Prompt = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }];
      const { stream } = await model.doStream({ prompt, tools });
      const reader = stream.getReader();
      let seen = 0;
      for (let next = await reader.read(); !next.done; next = await reader.read())
        if (next.value.type === 'text-delta') seen++;
      return seen;
    },
  };
}
