import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../fixtures/programs/without-prices.ts', import.meta.url));

test('a price table that cannot be loaded is logged once, and costs are unknown', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['-C', 'pocket-agent/source', script]);
  expect(JSON.parse(stdout)).toEqual({
    answers: ['ok', 'ok'],
    warnings: [expect.stringContaining('the package is broken')],
    cost: null,
  });
});
