// Two thousand concurrent calls to three providers with limits, in virtual time: no limit is exceeded, little time is lost.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { Router, type RouterEvent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ask, generated, streamed } from './calls.ts';

const CALLS = 2_000;
const WINDOW_MS = 9_000;
const MARGIN_MS = 300;
const LATENCY_MS = 20;
const INPUT_TOKENS = 8;
const OUTPUT_TOKENS = 4;
const TOKENS = INPUT_TOKENS + OUTPUT_TOKENS;

const textOf = (number: number) => `Request ${String(number).padStart(4, '0')}`;

const end = {
  finishReason: { unified: 'stop' as const, raw: undefined },
  usage: {
    inputTokens: { total: INPUT_TOKENS, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: OUTPUT_TOKENS, text: undefined, reasoning: undefined },
  },
};

/** A model whose provider counts the requests that arrive. */
class LimitedProvider {
  readonly arrivals: number[] = [];
  /** The requests in the order in which the router sent them. */
  readonly sent: string[] = [];
  /** How often a window held more than the limits allow. */
  violations = 0;
  readonly perWindow: number;
  readonly model: LanguageModelV4;

  constructor({ rpm, tpm }: { rpm: number; tpm: number }) {
    this.perWindow = Math.min(rpm, Math.floor(tpm / TOKENS));
    this.model = new ScriptedModel([]);
    this.model.doGenerate = async (options) => {
      const text = await this.#answer(options);
      return { content: [{ type: 'text', text }], ...end, warnings: [] };
    };
    this.model.doStream = async (options) => {
      const delta = await this.#answer(options);
      const parts: LanguageModelV4StreamPart[] = [
        { type: 'text-delta', id: '1', delta },
        { type: 'finish', ...end },
      ];
      return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> };
    };
  }

  async #answer({ prompt }: LanguageModelV4CallOptions): Promise<string> {
    const [message] = prompt;
    const text = message?.role === 'user' && message.content[0]?.type === 'text' ? message.content[0].text : '';
    // the worst case: every other window of requests is as late as the margin allows, the next one is not
    const isLate = Math.floor(this.sent.length / this.perWindow) % 2 === 0;
    this.sent.push(text);
    await passed(isLate ? MARGIN_MS : 0);
    const now = performance.now();
    this.arrivals.push(now);
    if (this.arrivals.filter((at) => at > now - WINDOW_MS).length > this.perWindow) this.violations++;
    await passed(LATENCY_MS);
    return `Answer to: ${text}`;
  }
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Lets a millisecond pass in each turn of the event loop, until the work is done. */
async function inVirtualTime<Result>(work: () => Promise<Result>): Promise<Result> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let isOver = false;
  const result = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise(setImmediate);
    vi.advanceTimersByTime(1);
  }
  return result;
}

test('2,000 concurrent calls keep all limits, use more than 90 % of the rate and start in order', async () => {
  const limits = [
    { rpm: 320, tpm: 320 * 100 },
    { rpm: 400, tpm: 240 * TOKENS },
    { rpm: 150, tpm: 150 * 100 },
  ];
  const providers = limits.map((limit) => new LimitedProvider(limit));
  const failed: RouterEvent[] = [];
  const router = new Router({
    models: providers.map(({ model }, index) => ({ modelName: 'fast', params: { model, ...limits[index] } })),
    windowMs: WINDOW_MS,
    arrivalMarginMs: MARGIN_MS,
    onEvent: (event) => {
      if (event.type === 'failed') failed.push(event);
    },
  });
  onTestFinished(() => router.close());
  const model = router.languageModel('fast');
  const answers = await inVirtualTime(() =>
    Promise.all(
      Array.from({ length: CALLS }, (_, number) => {
        const options = ask(textOf(number), { maxOutputTokens: OUTPUT_TOKENS });
        return number % 4 === 0 ? streamed(model, options) : generated(model, options);
      }),
    ),
  );
  expect(answers).toEqual(answers.map((_, number) => `Answer to: ${textOf(number)}`));
  expect(failed).toEqual([]);
  expect(providers.map(({ violations }) => violations)).toEqual([0, 0, 0]);

  const arrivals = providers.flatMap((provider) => provider.arrivals).sort((a, b) => a - b);
  expect(arrivals).toHaveLength(CALLS);
  const elapsedMs = (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0);
  // no schedule gets more through: a full window at first, and one more each time a window is over
  const windows = 1 + Math.floor(elapsedMs / WINDOW_MS);
  const possible = providers.reduce((sum, { perWindow }) => sum + perWindow * windows, 0);
  expect(CALLS / possible).toBeGreaterThan(0.9);
  for (const provider of providers) expect(WINDOW_MS / refillMs(provider)).toBeGreaterThan(0.9);
  for (const { sent } of providers) expect(sent).toEqual([...sent].sort());
  const status = await router.status();
  expect(status.deployments.map(({ inFlight }) => inFlight)).toEqual([0, 0, 0]);
  expect(status.waiting).toEqual({ fast: 0 });
});

/** How long it usually takes until a provider has received as many calls as its limit allows in one window. */
function refillMs({ arrivals, perWindow }: LimitedProvider): number {
  const times = arrivals.slice(perWindow).map((at, index) => at - (arrivals[index] ?? 0));
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}
