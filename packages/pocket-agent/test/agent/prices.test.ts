// A price table that cannot be loaded: only this file replaces the package.
import { registerHooks } from 'node:module';
import { expect, test } from 'vitest';
import { scriptedAgent, silent } from '../helpers.ts';

registerHooks({
  resolve(specifier, context, next) {
    if (specifier.includes('genai-prices')) throw new Error('the package is broken');
    return next(specifier, context);
  },
});

test('a price table that cannot be loaded is logged once, and costs are unknown', async () => {
  const warnings: string[] = [];
  const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
  for (let runs = 0; runs < 2; runs++) {
    const { agent } = scriptedAgent(['ok'], { logger });
    expect(await agent.run('x')).toBe('ok');
    expect(agent.totals.usage.costUsd).toBeUndefined();
  }
  expect(warnings).toEqual([expect.stringContaining('the package is broken')]);
});
