// Checks what `npm test` runs, and how npm is configured.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { quickTests, vitestArguments } from '../../../../scripts/test-arguments.ts';

test('npm test -- --quick runs existing test files, and only a small part of them', () => {
  const files = readdirSync(fileURLToPath(new URL('..', import.meta.url)), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `packages/pocket-agent/test/${name}`);
  for (const start of quickTests) expect(files.filter((file) => file.startsWith(start))).not.toEqual([]);
  const chosen = files.filter((file) => quickTests.some((start) => file.startsWith(start)));
  expect(chosen.length).toBeLessThan(files.length / 4);
});

test('npm test passes unknown arguments on to vitest', () => {
  expect(vitestArguments(['--verbose', 'cli', '--coverage'])).toEqual(['--reporter=verbose', 'cli', '--coverage']);
  expect(vitestArguments(['--quick'])).toEqual(quickTests);
});

test('npm test -- -u NAME renews the golden files of NAME alone', () => {
  expect(vitestArguments(['-u', 'help'])).toEqual(['--update=all', 'help']);
});

test('npm ci does not warn about an old Node, because scripts run on the Node that it installs', () => {
  const { npm_config_loglevel: _, ...env } = process.env;
  const cwd = fileURLToPath(new URL('../../../..', import.meta.url));
  expect(execFileSync('npm', ['config', 'get', 'loglevel'], { cwd, env, encoding: 'utf8' }).trim()).toBe('error');
});
