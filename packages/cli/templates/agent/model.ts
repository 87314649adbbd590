// The model that the variable MODEL names. With REDIS_URL, all processes together stay below MODEL_RPM.
import { redisRateStore } from '@pocket-agent/redis';
import { Router } from 'pocket-agent';

export function openModel(): { llmModel: string; router?: Router } {
  const { MODEL: model = 'demo', MODEL_RPM: rpm = '60', REDIS_URL: url } = process.env;
  if (!url) return { llmModel: model };
  const router = new Router({
    models: [{ modelName: 'main', params: { id: model, model, rpm: Number(rpm) } }],
    rateStore: redisRateStore({ url, prefix: 'my-project' }),
  });
  return { llmModel: 'main', router };
}
