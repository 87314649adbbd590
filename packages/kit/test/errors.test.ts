import { CodedError, errorText, PocketError } from '@pocket-agent/kit';
import { expect, test } from 'vitest';

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
