// What ends a call, and who hears of it.
import { expect, test } from 'vitest';
import { Cancellation } from '../../src/mcp/wire/cancellation.ts';

test('who asks before hears of it once, and who asks later at once', () => {
  const cancellation = new Cancellation();
  const heard: unknown[] = [];
  cancellation.onCancel((reason) => heard.push(['before', reason]));
  expect([cancellation.isCancelled, cancellation.reason]).toEqual([false, undefined]);
  cancellation.cancel('enough');
  cancellation.cancel('again');
  cancellation.onCancel((reason) => heard.push(['later', reason]));
  expect(heard).toEqual([
    ['before', 'enough'],
    ['later', 'enough'],
  ]);
  expect([cancellation.isCancelled, cancellation.reason]).toEqual([true, 'enough']);
});

test('its signal is aborted with it, whenever it was asked for', () => {
  const cancellation = new Cancellation();
  const { signal } = cancellation;
  expect(signal.aborted).toBe(false);
  cancellation.cancel('enough');
  expect([signal.aborted, signal.reason]).toEqual([true, 'enough']);
  expect(cancellation.signal).toBe(signal);
  const late = new Cancellation();
  late.cancel('enough');
  expect(late.signal.reason).toBe('enough');
});

test('without a reason it has that of an abort without one', () => {
  const cancellation = new Cancellation();
  cancellation.cancel();
  expect(cancellation.reason).toMatchObject({ name: 'AbortError', message: 'This operation was aborted' });
  expect(cancellation.signal.reason).toBe(cancellation.reason);
});

test('a signal brings it about, also one that was aborted before', () => {
  const controller = new AbortController();
  const cancellation = Cancellation.by(controller.signal);
  expect(cancellation.isCancelled).toBe(false);
  controller.abort('enough');
  expect(cancellation.reason).toBe('enough');
  expect(Cancellation.by(AbortSignal.abort('before')).reason).toBe('before');
});
