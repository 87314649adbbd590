import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

function run(args: readonly string[]) {
  return spawnSync(process.execPath, ['-C', 'pocket-agent/source', ...args], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
    timeout: 20_000 * Number(process.env.TEST_PATIENCE),
  });
}

test('a program that closes its agents can exit: A2A keeps no timer or connection open', () => {
  const { status, stdout, stderr } = run([fileURLToPath(new URL('fixtures/lifetime.ts', import.meta.url))]);
  expect(stderr).toBe('');
  expect(stdout).toBe('closed and gone\n');
  expect(status).toBe(0);
});
