// What a call costs more when it goes through an idle router.
import type { LanguageModelV4, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { Router } from 'pocket-agent';
import { expect, test } from 'vitest';
import { ask } from './router-calls.ts';

const result: LanguageModelV4GenerateResult = {
  content: [{ type: 'text', text: 'Yes.' }],
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  },
  warnings: [],
};

const direct: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'instant',
  modelId: 'instant',
  supportedUrls: {},
  doGenerate: async () => result,
  doStream: () => Promise.reject(new Error('This model does not stream.')),
};

const options = ask('Hello', { abortSignal: new AbortController().signal });

/** Of the processor, so that a busy machine does not count. */
async function microsecondsPerCall(model: LanguageModelV4, calls: number): Promise<number> {
  const started = process.cpuUsage();
  for (let call = 0; call < calls; call++) await model.doGenerate(options);
  const { user, system } = process.cpuUsage(started);
  return (user + system) / calls;
}

test('an idle router with limits costs less than 20 µs a call', async () => {
  const params = { model: direct, rpm: 1e9, tpm: 1e12, maxParallel: 10 };
  const router = new Router({ models: [{ modelName: 'instant', params }] });
  const routed = router.languageModel('instant');
  await microsecondsPerCall(routed, 10_000);
  const costs = { routed: Number.POSITIVE_INFINITY, direct: Number.POSITIVE_INFINITY };
  const overhead = () => costs.routed - costs.direct; // of the least: what others do at the same time only adds
  for (let batch = 0; batch < 15 || (batch < 100 && overhead() > 20); batch++) {
    costs.routed = Math.min(costs.routed, await microsecondsPerCall(routed, 2_000));
    costs.direct = Math.min(costs.direct, await microsecondsPerCall(direct, 2_000));
  }
  console.info(`router overhead: ${overhead().toFixed(1)} µs a call`);
  expect(overhead()).toBeLessThan(20);
  await router.close();
});
