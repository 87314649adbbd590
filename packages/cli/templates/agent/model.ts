// The model that the variable MODEL names. With REDIS_URL, all processes together stay below MODEL_RPM.
import { redisRateStore } from '@pocket-agent/redis';
import { Router } from 'pocket-agent';
import { numberFrom } from './program.ts';

export function openModel(): { llmModel: string; router?: Router } {
  const { MODEL: model = 'demo', REDIS_URL: url } = process.env;
  if (!url) return { llmModel: model };
  const router = new Router({
    models: [{ modelName: 'main', params: { id: model, model, rpm: numberFrom('MODEL_RPM', 60) } }],
    rateStore: redisRateStore({ url, prefix: 'my-project' }),
  });
  return { llmModel: 'main', router };
}
