import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../fixtures/programs/talkative.ts', import.meta.url));

test('nothing goes to stdout, and neither secrets nor user text to the log at its default level', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-C', 'pocket-agent/source', script]);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/"dead" is not available/);
  expect(stderr).toMatch(/"broken" is not available/);
  expect(stderr).not.toContain('SECRET');
});
