// Checks of values against schemas from outside: they end in time, affect only their origin, and their processes do not
// outlive the program.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkForeign } from '@pocket-agent/schema';
import { build } from 'rolldown';
import { describe, expect, onTestFinished, test } from 'vitest';

const slowPattern = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };

describe('a check', () => {
  test('that is slow does not delay checks of other servers, and ends when it is aborted', async () => {
    const controller = new AbortController();
    const slow = Array.from({ length: 3 }, () =>
      checkForeign({
        schema: slowPattern,
        value: { text: 'a'.repeat(60).concat('!') },
        origin: 'evil',
        signal: controller.signal,
      }),
    );
    const aborted = Promise.allSettled(slow);
    const quick = await checkForeign({ schema: { type: 'string' }, value: 1, origin: 'good' });
    expect(quick).toEqual({ problem: 'must be string' });
    controller.abort(new Error('enough'));
    expect((await aborted).map((each) => each.status === 'rejected' && each.reason.message)).toEqual(
      Array.from({ length: 3 }, () => 'enough'),
    );
  });

  test('does not keep a finished program alive', async () => {
    const program = `
      import { checkForeign } from '@pocket-agent/schema';
      const schema = { type: 'object', required: ['a'] };
      console.log(JSON.stringify(await checkForeign({ schema, value: { a: 1 }, origin: 'x' })));`;
    const args = ['-C', 'pocket-agent/source', '--input-type=module', '--eval', program];
    const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"fits":true}\n' });
  });

  test('gets no environment variables, and ends soon after a program that was killed', async () => {
    const program = `
      import { checkForeign } from '@pocket-agent/schema';
      const schema = { type: 'object', properties: { text: { pattern: '^(a+)+$' } } };
      await checkForeign({ schema, value: {}, origin: 'x' });
      console.log('started');
      await checkForeign({ schema, value: { text: 'a'.repeat(60) + '!' }, origin: 'x' });`;
    const args = ['-C', 'pocket-agent/source', '--input-type=module', '--eval', program];
    const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const checker = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
    expect(readFileSync(`/proc/${checker}/environ`, 'utf8')).not.toContain('PATH=');
    expect(isAlive(checker)).toBe(true);
    child.kill('SIGKILL');
    await expect.poll(() => isAlive(checker)).toBe(false);
  });
});

test('a value that is too large is refused before the check', async () => {
  const value = { list: 'x'.repeat(11_000_000) };
  const verdict = await checkForeign({ schema: { type: 'object' }, value, origin: 'a large value' });
  expect(verdict).toEqual({ unchecked: 'the value is longer than 11000000 characters' });
});

test('a bundled program learns that it must leave @pocket-agent/schema out of the bundle', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bundled-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const entry = join(folder, 'entry.js');
  const source = fileURLToPath(new URL('../src/foreign-schema.ts', import.meta.url));
  const program = `import { checkForeign } from ${JSON.stringify(source)};
    console.log(JSON.stringify(await checkForeign({ schema: {}, value: 1, origin: 1 })));`;
  writeFileSync(entry, program);
  const file = join(folder, 'program.js');
  await build({
    input: entry,
    platform: 'node',
    resolve: { conditionNames: ['pocket-agent/source', 'node', 'import', 'default'] },
    output: { file, format: 'esm', codeSplitting: false },
    logLevel: 'silent',
  });
  expect(JSON.parse(execFileSync(process.execPath, [file], { encoding: 'utf8' }))).toEqual({
    unchecked: expect.stringContaining('leave @pocket-agent/schema out of the bundle'),
  });
});

/** A zombie is dead. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
