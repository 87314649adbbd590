// Helpers that the tests of the router share.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { Router, type RouterEvent, type RouterOptions } from 'pocket-agent';
import { onTestFinished, vi } from 'vitest';

export function ask(text: string, more: Partial<LanguageModelV4CallOptions> = {}): LanguageModelV4CallOptions {
  return { prompt: [{ role: 'user', content: [{ type: 'text', text }] }], ...more };
}

export async function generated(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<string> {
  const { content } = await model.doGenerate(options);
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

export async function partsOf(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await model.doStream(options);
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

export function shownText(parts: readonly LanguageModelV4StreamPart[]): string {
  return parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
}

export async function streamed(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<string> {
  return shownText(await partsOf(model, options));
}

/** A router that records its events and always chooses the first deployment. */
export function watchedRouter(options: RouterOptions): Router & { events: RouterEvent[] } {
  const events: RouterEvent[] = [];
  const router = new Router({ random: () => 0, onEvent: (event) => void events.push(event), ...options });
  return Object.assign(router, { events });
}

export function eventsOf<Type extends RouterEvent['type']>(
  { events }: { events: readonly RouterEvent[] },
  type: Type,
): Extract<RouterEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<RouterEvent, { type: Type }> => event.type === type);
}

/** Awaits a call while time passes quickly, but only as long as no deployment is being called. */
export async function fastForward<Result>(router: Router, call: () => Promise<Result>): Promise<Result> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const settled = Promise.allSettled([call()]);
  let isOver = false;
  void settled.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise(setImmediate);
    const { deployments } = await router.status();
    if (deployments.every(({ inFlight }) => inFlight === 0)) vi.advanceTimersByTime(10);
  }
  vi.useRealTimers();
  const [outcome] = await settled;
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

export async function failureOf(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    (value) => {
      throw new Error(`Expected a failure, got ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}
