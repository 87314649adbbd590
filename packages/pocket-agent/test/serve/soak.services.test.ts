import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('1,000 runs, and 100 agents in parallel, leave no handle, no child and no memory behind', {
  timeout: 120_000,
}, async () => {
  const script = fileURLToPath(new URL('../fixtures/programs/soak.ts', import.meta.url));
  // the script must also end by itself: execFile waits for that
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', '-C', 'pocket-agent/source', script], {
    timeout: 110_000,
  });
  const left = JSON.parse(stdout);
  expect(left).toMatchObject({ runs: { answers: 1_000 }, inProcess: 100, overHttp: 100, overStdio: 5, children: 0 });
  expect(left.after).toEqual(left.before);
  expect(left.runs.late - left.runs.early).toBeLessThan(1_000_000);
});
