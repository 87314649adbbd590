import { PocketError, settlesWithin, startDeadline } from '@pocket-agent/kit';
import { describe, expect, onTestFinished, test } from 'vitest';

describe('a deadline', () => {
  const start = (options: Parameters<typeof startDeadline>[0]) => {
    const deadline = startDeadline(options);
    onTestFinished(() => deadline.release());
    return deadline.signal;
  };
  const aborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener('abort', resolve));

  test('names what took too long', async () => {
    const signal = start({ what: 'The call', timeoutMs: 1, details: () => ({ steps: 2 }) });
    await aborted(signal);
    expect(signal.reason).toMatchObject({
      code: 'TIMEOUT',
      message: 'The call did not end within 1 ms.',
      details: { steps: 2 },
    });
  });

  test('without a limit does not end', async () => {
    const signal = start({ what: 'The call', timeoutMs: Number.POSITIVE_INFINITY });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(signal.aborted).toBe(false);
  });

  test('ends with any of its signals, and passes on a PocketError', () => {
    const caller = new AbortController();
    const closing = new AbortController();
    const signals = [undefined, caller.signal, closing.signal];
    const first = start({ what: 'The call', signals });
    caller.abort('enough');
    expect(first.reason).toMatchObject({ code: 'ABORTED', message: 'The call was aborted.', cause: 'enough' });
    const second = start({ what: 'The call', signals: [closing.signal] });
    const reason = new PocketError('AGENT_CLOSED', 'Closed.');
    closing.abort(reason);
    expect(second.reason).toBe(reason);
  });

  test('ends with the error of its caller', async () => {
    const caller = new AbortController();
    const makeError = (signal?: AbortSignal) => new Error(signal ? `stopped: ${signal.reason}` : 'late');
    const first = start({ what: 'The call', signals: [caller.signal], makeError });
    caller.abort('enough');
    expect(first.reason).toEqual(new Error('stopped: enough'));
    const second = start({ what: 'The call', timeoutMs: 1, makeError });
    await aborted(second);
    expect(second.reason).toEqual(new Error('late'));
  });

  test('is no longer aborted after its release', () => {
    const caller = new AbortController();
    const deadline = startDeadline({ what: 'The call', signals: [caller.signal], timeoutMs: 1_000 });
    deadline.release();
    caller.abort();
    expect(deadline.signal.aborted).toBe(false);
  });
});

describe('settlesWithin', () => {
  test('tells whether work is done in time', async () => {
    expect(await settlesWithin(Number.POSITIVE_INFINITY, Promise.resolve())).toBe(true);
    expect(await settlesWithin(1, new Promise(() => {}))).toBe(false);
  });

  test('rejects with the error of the work', async () => {
    await expect(settlesWithin(60_000, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});
