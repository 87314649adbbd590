// The cost of a model call through an idle router with limits; the floor calls the model directly.
import { Router } from 'pocket-agent';
import { aiSdkModel } from '../contenders/ai-sdk-model.ts';
import { type Effort, type Figures, toolsOf } from '../contenders/contender.ts';
import { us } from '../contenders/contenders.ts';
import { repeatingScript } from '../contenders/script.ts';
import { timed } from '../measuring/timing.ts';

const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];

export async function router(contender: string, effort: Effort): Promise<Figures> {
  const direct = aiSdkModel(repeatingScript({ turns: { steps: 0, calls: 0, deltas: 1 }, tools: toolsOf(1) }));
  const params = { model: direct, rpm: 1e9, tpm: 1e12, maxParallel: 10 };
  const routes = new Router({ models: [{ modelName: 'bench', params }] });
  const model = contender === us ? routes.languageModel('bench') : direct;
  const { cpu } = await timed(async () => model.doGenerate({ prompt }), effort);
  await routes.close();
  return { modelCall: cpu };
}
