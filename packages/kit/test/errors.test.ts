import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError, errorText, PocketError } from '@pocket-agent/kit';
import { expect, onTestFinished, test } from 'vitest';

const refused = () => new AggregateError([new Error('connect ECONNREFUSED ::1:9'), new Error('127.0.0.1:9')], '');

test('the text of an error names its root cause', () => {
  const error = new TypeError('fetch failed', { cause: new Error('closed', { cause: new Error('ECONNRESET') }) });
  expect(errorText(error)).toBe('fetch failed: ECONNRESET');
  expect(errorText(new TypeError('fetch failed', { cause: refused() }))).toBe(
    'fetch failed: connect ECONNREFUSED ::1:9, 127.0.0.1:9',
  );
});

test('an AggregateError without a message shows the messages of its errors', () => {
  expect(errorText(refused())).toBe('connect ECONNREFUSED ::1:9, 127.0.0.1:9');
  expect(errorText(new AggregateError([new Error('a')], 'both failed'))).toBe('both failed');
  expect(errorText(new AggregateError([]))).toBe('AggregateError without a message');
});

test('an error with a code shows its own message only, which names the cause where that helps', () => {
  expect(errorText(new CodedError('GONE', 'The file is gone.', { cause: new Error('ENOENT') }))).toBe(
    'The file is gone.',
  );
});

test('instanceof knows a PocketError of another copy of the package, and subclasses still differ', () => {
  class OfAnotherCopy extends Error {
    override readonly name = 'PocketError';
    readonly code = 'TIMEOUT';
  }
  class Special extends PocketError {
    constructor(...args: ConstructorParameters<typeof PocketError>) {
      super(...args);
      Object.defineProperty(this, 'name', { value: 'Special' });
    }
  }
  expect(new OfAnotherCopy('late')).toBeInstanceOf(PocketError);
  expect(new Special('TIMEOUT', 'late')).toBeInstanceOf(Special);
  expect(new Special('TIMEOUT', 'late')).toBeInstanceOf(PocketError);
  expect(new PocketError('TIMEOUT', 'late')).not.toBeInstanceOf(Special);
  expect(new Error('late')).not.toBeInstanceOf(PocketError);
  expect(undefined).not.toBeInstanceOf(PocketError);
});

test('the text of an error whose causes form a circle ends', () => {
  const error = new Error('again');
  error.cause = error;
  expect(errorText(error)).toBe('again');
});

test('a program that ends with a mistake in its setup shows the message and its own line, and no frames of the library', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'own-frames-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const library = join(folder, 'node_modules', 'pocket-agent');
  await mkdir(library, { recursive: true });
  const fail = `import { PocketError } from ${JSON.stringify(import.meta.resolve('@pocket-agent/kit'))};
    export async function run(code) {
      await undefined;
      throw new PocketError(code, 'Set THE_KEY.');
    }`;
  await writeFile(join(library, 'index.mjs'), fail);
  const program = join(folder, 'program.mjs');
  await writeFile(program, "import { run } from './node_modules/pocket-agent/index.mjs';\nawait run(process.argv[2]);");
  const end = (code: string) => spawnSync(process.execPath, [program, code], { encoding: 'utf8' }).stderr;
  expect(end('MODEL_KEY_MISSING')).toMatch(/^PocketError: Set THE_KEY\.\n {4}at async file:.*program\.mjs:2:1/m);
  expect(end('MODEL_KEY_MISSING')).not.toContain('node_modules');
  expect(end('MODEL_FAILED')).toMatch(/ at run .*node_modules\/pocket-agent\/index\.mjs/);
});
