// The life of a call: when it holds a place at a deployment, and when it frees it.
import { setTimeout as passed } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { PocketError, type RateStoreFactory, type Router, type RouterOptions } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { memoryRateStore } from '../../src/router/rate-window.ts';
import { silent } from '../helpers.ts';
import { ask, eventsOf, failureOf, fastForward, generated, partsOf, watchedRouter } from './calls.ts';

type Params = RouterOptions['models'][number]['params'];
type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;

const delta: LanguageModelV4StreamPart = { type: 'text-delta', id: '1', delta: 'Half ' };

function usageOf(input: number | undefined, output: number | undefined): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  };
}

function finish(unified: FinishPart['finishReason']['unified'], usage = usageOf(3, 4)): FinishPart {
  return { type: 'finish', finishReason: { unified, raw: undefined }, usage };
}

/** Streams these parts; then ends or, if it `hangs`, does not. */
function streaming(parts: readonly LanguageModelV4StreamPart[], hangs = false): LanguageModelV4 {
  const model = new ScriptedModel([]);
  model.doStream = async () => ({
    stream: new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        if (!hangs) controller.close();
      },
    }),
  });
  return model;
}

/** Answers with this usage and these headers. */
function answering(usage = usageOf(3, 4), headers: Record<string, string> = {}): LanguageModelV4 {
  const model = new ScriptedModel([]);
  model.doGenerate = async () => ({
    content: [{ type: 'text', text: 'Done.' }],
    finishReason: { unified: 'stop', raw: undefined },
    usage,
    warnings: [],
    response: { headers },
  });
  return model;
}

function failing(message: string, statusCode: number): LanguageModelV4 {
  const model = new ScriptedModel([]);
  model.doGenerate = () => Promise.reject(Object.assign(new Error(message), { statusCode }));
  return model;
}

function single(model: LanguageModelV4, params: Partial<Params> = {}, options: Partial<RouterOptions> = {}) {
  const router = watchedRouter({ models: [{ modelName: 'main', params: { id: 'a', model, ...params } }], ...options });
  return { router, model: router.languageModel('main') };
}

async function inFlight(router: Router): Promise<number | undefined> {
  return (await router.status()).deployments[0]?.inFlight;
}

describe('rate-limit headers of a provider', () => {
  test('stop calls if its limit is lower than ours', async () => {
    const headers = { 'x-ratelimit-limit-requests': '10', 'x-ratelimit-reset-requests': '50s' };
    const provider = answering(undefined, { ...headers, 'x-ratelimit-remaining-requests': '0' });
    const { model } = single(provider, { rpm: 100 }, { maxWaitMs: 10 });
    await generated(model, ask('One'));
    expect(await failureOf(generated(model, ask('Two')))).toMatchObject({ code: 'RATE_LIMITED' });
  });

  test('do not stop calls if they are about a daily limit', async () => {
    const headers = { 'x-ratelimit-limit-requests': '14400', 'x-ratelimit-reset-requests': '6h' };
    const provider = answering(undefined, { ...headers, 'x-ratelimit-remaining-requests': '14000' });
    const { model } = single(provider, { rpm: 30 }, { maxWaitMs: 10 });
    for (let count = 0; count < 5; count++) expect(await generated(model, ask('Hello'))).toBe('Done.');
  });
});

test('a listener that rejects does not fail the call', async () => {
  const complaints: string[] = [];
  const logger = { ...silent, error: (message: string) => void complaints.push(message) };
  const onEvent = () => Promise.reject(new Error('a bad listener'));
  const { model } = single(answering(), {}, { onEvent, logger });
  expect(await generated(model, ask('Hello'))).toBe('Done.');
  await passed(5);
  expect(complaints).toContain('Router: onEvent failed: a bad listener');
});

describe('a closed router', () => {
  const closed = { code: 'AGENT_CLOSED', message: 'The router was closed.' };

  test('accepts no calls', async () => {
    const { router, model } = single(answering(), {}, { fallbacks: { main: ['main'] } });
    await router.close();
    expect(await failureOf(generated(model, ask('Hello')))).toMatchObject(closed);
    expect(router.events).toEqual([]);
  });

  test('does not retry a failed call', async () => {
    const { router, model } = single(failing('Ill.', 500), {}, { cooldownMs: 30_000 });
    const call = failureOf(generated(model, ask('Hello')));
    while (eventsOf(router, 'failed').length === 0) await passed(1);
    const started = performance.now();
    await router.close();
    expect(await call).toMatchObject(closed);
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(eventsOf(router, 'chosen')).toHaveLength(1);
  });
});

describe('a stream frees its place', () => {
  test('when its end reports no usage', async () => {
    const { usage: _, ...bare } = finish('stop');
    const { router, model } = single(streaming([delta, bare as FinishPart]));
    expect((await partsOf(model, ask('Hello'))).at(-1)?.type).toBe('finish');
    expect(await inFlight(router)).toBe(0);
    expect(eventsOf(router, 'finished')).toMatchObject([{ tokens: undefined }]);
  });

  test('with an error when it hangs for longer than timeoutMs', async () => {
    const { router, model } = single(streaming([delta], true), { timeoutMs: 30 });
    expect(await failureOf(partsOf(model, ask('Hello')))).toMatchObject({ code: 'TIMEOUT' });
    expect(await inFlight(router)).toBe(0);
    expect(eventsOf(router, 'failed')).toMatchObject([{ kind: 'timeout' }]);
  });

  test('when it is not read for timeoutMs, and can still be read after that', async () => {
    const { router, model } = single(streaming([delta, finish('stop')]), { timeoutMs: 2_000, maxParallel: 1 });
    const { stream } = await model.doStream(ask('Hello'));
    expect(await inFlight(router)).toBe(1);
    await expect.poll(() => inFlight(router)).toBe(0);
    const parts: LanguageModelV4StreamPart[] = [];
    for await (const part of stream) parts.push(part);
    expect(parts).toMatchObject([delta, { type: 'finish' }]);
    expect(await inFlight(router)).toBe(0);
    expect(router.events.map(({ type }) => type)).toEqual(['chosen', 'finished']);
  });

  test('only at its end while parts keep arriving', async () => {
    const slow = new ScriptedModel([]);
    let left = 6;
    slow.doStream = async () => ({
      stream: new ReadableStream({
        async pull(controller) {
          await passed(300);
          controller.enqueue(left-- > 0 ? delta : finish('stop'));
          if (left < 0) controller.close();
        },
      }),
    });
    const { router, model } = single(slow, { timeoutMs: 2_000 });
    expect(await partsOf(model, ask('Hello'))).toHaveLength(7);
    expect(router.events.map(({ type }) => type)).toEqual(['chosen', 'finished']);
  });
});

test.each([
  [Number.NaN, 4],
  [3, -1_000],
  [Number.POSITIVE_INFINITY, 4],
])('a usage of %s and %s tokens counts as unknown', async (input, output) => {
  const { router, model } = single(answering(usageOf(input, output)), { tpm: 10_000 });
  await generated(model, ask('Hello'));
  await generated(model, ask('Hello'));
  const [state] = (await router.status()).deployments;
  expect(state?.tokens).toBe(0);
  expect(state?.used.tokens).toBeGreaterThan(0);
  expect(state?.used.tokens).toBeLessThan(1_000);
});

describe('the route', () => {
  const price = { input: 1, output: 2, cachedInput: 0.5 };

  test('contains the price of the deployment if it has its own', async () => {
    const { model } = single(answering(), { price });
    expect((await model.doGenerate(ask('Hello'))).providerMetadata?.router?.price).toEqual(price);
  });

  test('is also part of a stream that was cut off', async () => {
    const { model } = single(streaming([delta, finish('interrupted')]), { price });
    const last = (await partsOf(model, ask('Hello'))).at(-1);
    expect(last).toMatchObject({ providerMetadata: { router: { deployment: 'a', price } } });
  });
});

describe('maxWaitMs', () => {
  test('covers all models of a call together', async () => {
    const names = ['main', 'second', 'third'];
    const router = watchedRouter({
      models: names.map((modelName) => ({ modelName, params: { model: answering(), rpm: 1 } })),
      fallbacks: { main: ['second', 'third'] },
      maxWaitMs: 1_000,
    });
    const error = await fastForward(router, async () => {
      for (const name of names) await generated(router.languageModel(name), ask('Hello'));
      const started = performance.now();
      const failure = await failureOf(generated(router.languageModel('main'), ask('Hello')));
      expect(performance.now() - started).toBeLessThan(2_000);
      return failure;
    });
    expect(error).toMatchObject({ code: 'RATE_LIMITED' });
  });

  test('ends the wait of a call behind another one with more time left', async () => {
    const router = watchedRouter({
      models: ['main', 'second'].map((modelName) => ({ modelName, params: { model: answering(), rpm: 1 } })),
      fallbacks: { main: ['second'] },
      maxWaitMs: 1_200,
    });
    const late = await fastForward(router, async () => {
      for (const name of ['main', 'second']) await generated(router.languageModel(name), ask('Hello'));
      const started = performance.now();
      const both = failureOf(generated(router.languageModel('main'), ask('has waited')));
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const failure = failureOf(generated(router.languageModel('second'), ask('late')));
      await both;
      expect(performance.now() - started).toBeLessThan(2_000);
      return failure;
    });
    expect(late).toMatchObject({ code: 'RATE_LIMITED' });
  });
});

test('when no deployment is available, the error lists the attempts of every model', async () => {
  const router = watchedRouter({
    models: [
      { modelName: 'main', params: { id: 'a', model: failing('a is ill', 500) } },
      { modelName: 'other', params: { id: 'b', model: failing('b has no key', 401) } },
    ],
    fallbacks: { main: ['other'] },
  });
  await failureOf(generated(router.languageModel('other'), ask('Hello')));
  const error = await failureOf(generated(router.languageModel('main'), ask('Hello')));
  expect(error).toBeInstanceOf(PocketError);
  expect(error).toMatchObject({ code: 'MODEL_FAILED', message: expect.stringContaining('a: a is ill') });
  expect(error).toMatchObject({ message: expect.stringContaining('b: b has no key') });
});

describe('a rate store in another process', () => {
  /** Answers in order, each after a round trip. */
  const distantStore =
    (roundTripMs: number): RateStoreFactory =>
    (settings) => {
      const store = memoryRateStore(settings);
      return {
        ...store,
        maxConcurrent: 32,
        counter(id) {
          const near = store.counter(id);
          return {
            reserve: async (tokens, limits) => {
              await passed(roundTripMs);
              return near.reserve(tokens, limits);
            },
            settle: (reservation, tokens) => near.settle(reservation, tokens),
            raise: (count) => near.raise(count),
            total: () => near.total(),
          };
        },
      };
    };

  test('is asked for several calls at a time, and the calls start in order', async () => {
    const started = performance.now();
    const asked: string[] = [];
    const provider = answering();
    const { doGenerate } = provider;
    provider.doGenerate = (options) => {
      asked.push(JSON.stringify(options.prompt));
      return doGenerate(options);
    };
    const { model } = single(provider, {}, { rateStore: distantStore(100) });
    const texts = Array.from({ length: 100 }, (_, number) => `call ${number + 100}`);
    await Promise.all(texts.map((text) => generated(model, ask(text))));
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(asked).toEqual([...asked].sort());
  });

  test('does not break maxParallel', async () => {
    let [running, most] = [0, 0];
    const provider = answering();
    const { doGenerate } = provider;
    provider.doGenerate = async (options) => {
      most = Math.max(most, ++running);
      await passed(100);
      running--;
      return doGenerate(options);
    };
    const { router, model } = single(provider, { maxParallel: 3 }, { rateStore: distantStore(20) });
    await Promise.all(Array.from({ length: 12 }, () => generated(model, ask('Hello'))));
    expect(most).toBe(3);
    expect(await inFlight(router)).toBe(0);
  });
});
