// Several deployments as one model. The router keeps within rate limits, avoids failing deployments and falls back.
import assert from 'node:assert/strict';
import { PocketAgent, Router } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const overloaded = Object.assign(new Error('503 overloaded'), { statusCode: 503 });
const eu = new ScriptedModel(['From the EU.', 'From the EU again.']);
const us = new ScriptedModel([{ error: overloaded }, { error: overloaded }, { error: overloaded }]);
const spare = new ScriptedModel(['From the spare model.']);

const router = new Router({
  models: [
    // a real deployment: params: { model: 'azure/gpt-5', baseUrl: '…', apiKey: '…', rpm: 5_000, tpm: 3_000_000 }
    { modelName: 'gpt-5', params: { id: 'eu', model: eu, rpm: 2, tpm: 100_000 } },
    { modelName: 'gpt-5', params: { id: 'us', model: us, rpm: 1_000, tpm: 100_000 } },
    { modelName: 'spare', params: { id: 'spare', model: spare } },
  ],
  fallbacks: { 'gpt-5': ['spare'] },
  allowedFailures: 0, // after one failure a deployment is not used for a while
  maxWaitMs: 200,
  onEvent: (event) => {
    if (event.type === 'failed') console.log(`${event.deployment} failed: ${event.reason}`);
    if (event.type === 'fallback') console.log(`${event.from} → ${event.to}: ${event.reason}`);
  },
});

const answers: string[] = [];
for (const question of ['one', 'two', 'three']) {
  const agent = new PocketAgent({ llmModel: 'gpt-5', router });
  answers.push(await agent.run(question));
}
console.log(answers);
console.log((await router.status()).deployments.map(({ id, calls, failures }) => ({ id, calls, failures })));
await router.close();

// the EU deployment allows two calls; the third call finds it full and the US deployment failing
assert.deepEqual(answers, ['From the EU.', 'From the EU again.', 'From the spare model.']);
