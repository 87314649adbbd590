import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const output = fileURLToPath(new URL('../src/output.ts', import.meta.url));

/** Writes to both outputs until it is told to end, and then says so with its exit code. */
const PROGRAM = `
import { ignoreClosedPipes } from ${JSON.stringify(output)};
ignoreClosedPipes();
setInterval(() => {
  process.stdout.write('out\\n');
  process.stderr.write('log\\n');
}, 5);
process.stdin.once('data', () => process.exit(7));
`;

test.each(['stdout', 'stderr'] as const)('a program survives when its %s is closed', async (name) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  await once(child[name], 'data');
  child[name].destroy();
  const other = name === 'stdout' ? child.stderr : child.stdout;
  for (let count = 0; count < 5; count++) await once(other, 'data');
  child.stdin.write('end');
  expect(await ended).toEqual([7, null]);
});
