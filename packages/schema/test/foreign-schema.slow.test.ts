// Checks that use up memory, or the room of a queue.
import { checkForeign } from '@pocket-agent/schema';
import { expect, test } from 'vitest';

const slowPattern = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };

test('a check that is cancelled makes room for others of its server', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const slow = { schema: slowPattern, value: { text: 'a'.repeat(60).concat('!') }, origin: 'crowded', signal };
  const waiting = { schema: {}, value: 'x'.repeat(4_900_000), origin: 'crowded' };
  const cancelled = Promise.allSettled([
    checkForeign(slow),
    ...Array.from({ length: 10 }, () => checkForeign({ ...waiting, signal })),
  ]);
  expect(await checkForeign(waiting)).toEqual({ unchecked: 'too many checks are waiting' });
  controller.abort(new Error('enough'));
  await cancelled;
  const later = new AbortController();
  const after = Promise.all(Array.from({ length: 10 }, () => checkForeign({ ...waiting, signal: later.signal })));
  expect(await checkForeign(waiting)).toEqual({ unchecked: 'too many checks are waiting' });
  later.abort(new Error('they had room'));
  await expect(after).rejects.toThrow('they had room');
  expect(await checkForeign({ schema: {}, value: 1, origin: 'crowded' })).toEqual({ fits: true });
});

test('a check that runs out of memory ends only its process', async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `p${index}`);
  const schema = {
    properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/long' }])),
    $defs: { long: { default: 'x'.repeat(900_000) } },
  };
  const check = checkForeign({ schema, value: {}, defaults: true, origin: 'x' });
  expect(await check).toEqual({ unchecked: expect.stringMatching(/perhaps out of memory|longer/) });
  expect(await checkForeign({ schema: { type: 'object' }, value: {}, origin: 'x' })).toEqual({ fits: true });
});
