// The functions of the AI SDK: generateText and streamText.
import { generateText, isStepCount, streamText, type ToolSet } from 'ai';
import { aiSdkModel } from '../../contenders/ai-sdk-model.ts';
import type { Contender, Job, Running } from '../../contenders/contender.ts';
import { endlessScript } from '../../contenders/script.ts';
import { withTools } from './tools.ts';

function running(job: Job, tools: ToolSet): Running {
  const what = { model: aiSdkModel(endlessScript(job)), tools, stopWhen: isStepCount(1_000), prompt: 'go' };
  return {
    run: async () => (await generateText(what)).text,
    async stream() {
      let seen = 0;
      for await (const _delta of streamText(what).textStream) seen++;
      return seen;
    },
  };
}

export const contender: Omit<Contender, 'connect'> = withTools(running);
