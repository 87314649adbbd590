// The functions of the AI SDK: generateText and streamText.
import { generateText, isStepCount, streamText, type ToolSet } from 'ai';
import { aiSdkModel } from '../../contenders/ai-sdk-model.ts';
import type { BenchAgent, Contender, Job } from '../../contenders/contender.ts';
import { repeatingScript } from '../../contenders/script.ts';
import { withTools } from './tools.ts';

function makeAgent(job: Job, tools: ToolSet): BenchAgent {
  const what = { model: aiSdkModel(repeatingScript(job)), tools, stopWhen: isStepCount(1_000), prompt: 'go' };
  return {
    run: async () => (await generateText(what)).text,
    async stream() {
      let seen = 0;
      for await (const _delta of streamText(what).textStream) seen++;
      return seen;
    },
  };
}

export const contender: Omit<Contender, 'connect'> = withTools(makeAgent);
