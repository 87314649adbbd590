// Which deployment gets the next call, with a fixed random number.
import type { RouterOptions, StrategyName } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Candidate, choose } from '../../src/router/strategy.ts';
import { ask, eventsOf, generated, watchedRouter } from './calls.ts';

function candidate(facts: Partial<Candidate> = {}): Candidate {
  return { weight: 1, inFlight: 0, latencyMs: undefined, costUsd: undefined, usedShare: 0, ...facts };
}

interface Row {
  strategy: StrategyName;
  says: string;
  candidates: Partial<Candidate>[];
  random?: number;
  picks: number | undefined;
}

const table: Row[] = [
  { strategy: 'weighted-shuffle', says: 'none of none', candidates: [], picks: undefined },
  { strategy: 'weighted-shuffle', says: 'the only one', candidates: [{ weight: 7 }], random: 0.99, picks: 0 },
  {
    strategy: 'weighted-shuffle',
    says: 'first share',
    candidates: [{ weight: 3 }, { weight: 1 }],
    random: 0,
    picks: 0,
  },
  {
    strategy: 'weighted-shuffle',
    says: 'end of it',
    candidates: [{ weight: 3 }, { weight: 1 }],
    random: 0.74,
    picks: 0,
  },
  {
    strategy: 'weighted-shuffle',
    says: 'next share',
    candidates: [{ weight: 3 }, { weight: 1 }],
    random: 0.75,
    picks: 1,
  },
  { strategy: 'weighted-shuffle', says: 'last share', candidates: [{ weight: 3 }, { weight: 1 }], random: 1, picks: 1 },
  { strategy: 'weighted-shuffle', says: 'load as nothing', candidates: [{ inFlight: 99 }, {}], random: 0, picks: 0 },
  { strategy: 'least-busy', says: 'fewest calls', candidates: [{ inFlight: 2 }, { inFlight: 1 }], picks: 1 },
  { strategy: 'least-busy', says: 'chance in a tie', candidates: [{}, { inFlight: 1 }, {}], random: 0.6, picks: 2 },
  { strategy: 'least-busy', says: 'weight in a tie', candidates: [{ weight: 9 }, {}], random: 0.6, picks: 0 },
  { strategy: 'lowest-latency', says: 'the fastest', candidates: [{ latencyMs: 90 }, { latencyMs: 80 }], picks: 1 },
  { strategy: 'lowest-latency', says: 'the untried first', candidates: [{ latencyMs: 1 }, {}], picks: 1 },
  { strategy: 'lowest-cost', says: 'the cheapest', candidates: [{ costUsd: 5 }, { costUsd: 0.5 }], picks: 1 },
  { strategy: 'lowest-cost', says: 'the free one', candidates: [{ costUsd: 0.5 }, { costUsd: 0 }], picks: 1 },
  { strategy: 'lowest-cost', says: 'the unknown last', candidates: [{}, { costUsd: 1_000 }], picks: 1 },
  { strategy: 'lowest-cost', says: 'chance if all are unknown', candidates: [{}, {}], random: 0.9, picks: 1 },
  { strategy: 'usage-based', says: 'the emptiest', candidates: [{ usedShare: 0.5 }, { usedShare: 0.4 }], picks: 1 },
  { strategy: 'usage-based', says: 'chance in a tie', candidates: [{}, {}, { usedShare: 1 }], random: 0.9, picks: 1 },
];

test.each(table)('$strategy chooses $says', ({ strategy, candidates, random = 0, picks }) => {
  const all = candidates.map(candidate);
  const chosen = choose(strategy, all, () => random);
  expect(chosen && all.indexOf(chosen)).toBe(picks);
});

test('a weighted shuffle shares the work by weight', () => {
  const all = [candidate({ weight: 6 }), candidate({ weight: 3 }), candidate({ weight: 1 })];
  const counts = [0, 0, 0];
  for (let step = 0; step < 1_000; step++) {
    const chosen = choose('weighted-shuffle', all, () => step / 1_000);
    const index = chosen ? all.indexOf(chosen) : -1;
    counts[index] = (counts[index] ?? 0) + 1;
  }
  expect(counts).toEqual([600, 300, 100]);
});

type Params = Partial<RouterOptions['models'][number]['params']>;

function answers(count: number, { provider = 'scripted', modelId = 'script' } = {}): ScriptedModel {
  return new ScriptedModel(new Array(count).fill('Yes.'), { provider, modelId });
}

/** A router of deployments a, b, c … that were given a weight of 1. */
function routed(strategy: StrategyName, deployments: Params[], more: Partial<RouterOptions> = {}) {
  const models = deployments.map((params, index) => ({
    modelName: 'any',
    params: { model: answers(100), weight: 1, id: 'abc'[index] ?? '', ...params },
  }));
  const router = watchedRouter({ strategy, models, ...more });
  const model = router.languageModel('any');
  const chosen = () =>
    eventsOf(router, 'chosen')
      .map(({ deployment }) => deployment)
      .join('');
  return { router, chosen, call: () => generated(model, ask('Hello', { maxOutputTokens: 5 })) };
}

describe('in a router', () => {
  test('weighted shuffle follows the weights, which default to the limits', async () => {
    const points = [0, 0.29, 0.31, 0.89, 0.91];
    const random = () => points.shift() ?? 0;
    const deployments = [
      { rpm: 300, weight: undefined },
      { rpm: 600, weight: undefined },
      { rpm: 9, weight: 100 },
    ];
    const { call, chosen } = routed('weighted-shuffle', deployments as Params[], { random });
    for (let count = 0; count < 5; count++) await call();
    expect(chosen()).toBe('aabbc');
  });

  test('least busy spreads calls that run at the same time', async () => {
    const gate = Promise.withResolvers<void>();
    const gated = () => {
      const inner = answers(2);
      const model = answers(0);
      model.doGenerate = (options) => gate.promise.then(() => inner.doGenerate(options));
      return { model };
    };
    const { call, chosen } = routed('least-busy', [gated(), gated(), gated()]);
    const calls = Array.from({ length: 6 }, call);
    while (chosen().length < 6) await new Promise(setImmediate);
    gate.resolve();
    await Promise.all(calls);
    expect(chosen()).toBe('abcabc');
  });

  test('lowest latency tries all, then uses the fastest', async () => {
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const taking = (ms: number) => {
      const inner = answers(9);
      const model = answers(0);
      model.doGenerate = (options) => {
        now += ms;
        return inner.doGenerate(options);
      };
      return { model };
    };
    const { call, chosen } = routed('lowest-latency', [taking(300), taking(1), taking(150)]);
    for (let count = 0; count < 6; count++) await call();
    expect(chosen()).toBe('abcbbb');
  });

  test('lowest cost takes prices from the table', async () => {
    const { call, chosen } = routed('lowest-cost', [
      { model: answers(0, { provider: 'openai.responses', modelId: 'gpt-5' }) },
      { model: answers(0, { provider: 'unknown', modelId: 'of-unknown-price' }) },
      { model: answers(3, { provider: 'openai.responses', modelId: 'gpt-5-nano' }) },
    ]);
    await Promise.all([call(), call(), call()]);
    expect(chosen()).toBe('ccc');
  });

  test('lowest cost knows that a local model is free', async () => {
    const { call, chosen } = routed('lowest-cost', [
      { model: answers(0, { provider: 'openai.responses', modelId: 'gpt-5-nano' }) },
      { model: answers(1, { provider: 'ollama', modelId: 'local' }) },
    ]);
    await call();
    expect(chosen()).toBe('b');
  });

  test('lowest cost takes own prices first, and the next best when the cheapest is full', async () => {
    const { call, chosen } = routed('lowest-cost', [
      { model: answers(3, { provider: 'openai', modelId: 'gpt-5-nano' }) },
      { price: { input: 0, output: 0.001 }, rpm: 2 },
    ]);
    for (let count = 0; count < 5; count++) await call();
    expect(chosen()).toBe('bbaaa');
  });

  test('lowest cost skips a model that cannot be loaded', async () => {
    const { call, chosen } = routed('lowest-cost', [
      { model: 'openai-compatible/nowhere', baseUrl: 'no address' },
      { price: { input: 1, output: 1 } },
    ]);
    await call();
    expect(chosen()).toBe('b');
  });

  test('usage-based fills limits of requests and of tokens evenly', async () => {
    // a scripted answer is 15 tokens
    const { call, chosen } = routed('usage-based', [{ rpm: 10 }, { rpm: 20 }, { tpm: 20 * 15 }]);
    for (let count = 0; count < 11; count++) await call();
    expect(chosen()).toBe('abcbcabcbca');
  });

  test('every strategy continues with the deployments that have room', async () => {
    const strategies: StrategyName[] = [
      'weighted-shuffle',
      'least-busy',
      'lowest-latency',
      'lowest-cost',
      'usage-based',
    ];
    for (const strategy of strategies) {
      const { call, router } = routed(strategy, [{ rpm: 1 }, { rpm: 2 }, { rpm: 3 }]);
      await Promise.all(Array.from({ length: 6 }, call));
      const { deployments } = await router.status();
      expect(deployments.map(({ calls }) => calls)).toEqual([1, 2, 3]);
    }
  });
});
