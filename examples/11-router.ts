// Several deployments as one model: calls are paced before a limit is met, go round what fails, and fall back.
import assert from 'node:assert/strict';
import { PocketAgent, Router } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const overloaded = Object.assign(new Error('503 overloaded'), { statusCode: 503 });
const eu = new ScriptedModel(['From the EU.', 'From the EU again.']);
const us = new ScriptedModel([{ error: overloaded }, { error: overloaded }, { error: overloaded }]);
const spare = new ScriptedModel(['From the spare model.']);

const router = new Router({
  models: [
    // with real ones: params: { model: 'azure/gpt-5', baseUrl: '…', apiKey: '…', rpm: 5_000, tpm: 3_000_000 }
    { modelName: 'gpt-5', params: { id: 'eu', model: eu, rpm: 2, tpm: 100_000 } },
    { modelName: 'gpt-5', params: { id: 'us', model: us, rpm: 1_000, tpm: 100_000 } },
    { modelName: 'spare', params: { id: 'spare', model: spare } },
  ],
  fallbacks: { 'gpt-5': ['spare'] },
  allowedFailures: 0, // one failure, and a deployment is left alone for a while
  maxWaitMs: 200,
  onEvent: (event) => {
    if (event.type === 'failed') console.log(`${event.deployment} failed: ${event.reason}`);
    if (event.type === 'fallback') console.log(`${event.from} → ${event.to}: ${event.reason}`);
  },
});

const answers: string[] = [];
for (const question of ['one', 'two', 'three']) {
  const agent = new PocketAgent({ agentConfig: { llmModel: 'gpt-5' }, router });
  answers.push(await agent.run(question));
}
console.log(answers);
console.log((await router.status()).deployments.map(({ id, calls, failures }) => ({ id, calls, failures })));
await router.close();

// two calls fit into the limit of the EU, the third finds it full and the US broken
assert.deepEqual(answers, ['From the EU.', 'From the EU again.', 'From the spare model.']);
