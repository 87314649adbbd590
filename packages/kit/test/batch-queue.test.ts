// Work that is done for several items together.
import { expect, test } from 'vitest';
import { BatchQueue } from '../src/index.ts';

/** Batches end in the order in which the test ends them. */
function heldQueue({ maxBatches = 1, most = Number.POSITIVE_INFINITY } = {}) {
  const batches: { items: readonly number[]; end: PromiseWithResolvers<void> }[] = [];
  const work = async (items: readonly number[]) => {
    const end = Promise.withResolvers<void>();
    batches.push({ items, end });
    await end.promise;
    return items.map((item) => item * 10);
  };
  const queue = new BatchQueue(work, { maxBatches, count: ({ length }) => Math.min(length, most) });
  return { queue, batches };
}

test('items that are added in one turn are one batch; those that come later wait for its end', async () => {
  const { queue, batches } = heldQueue();
  const first = [1, 2].map((item) => queue.add(item));
  await expect.poll(() => batches.length).toBe(1);
  const later = [3, 4].map((item) => queue.add(item));
  batches[0]?.end.resolve();
  expect(await Promise.all(first)).toEqual([10, 20]);
  await expect.poll(() => batches.length).toBe(2);
  batches[1]?.end.resolve();
  expect(await Promise.all(later)).toEqual([30, 40]);
  expect(batches.map(({ items }) => items)).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

test('a batch has at most as many items as the queue counts, and as many batches as allowed are worked on', async () => {
  const { queue, batches } = heldQueue({ maxBatches: 2, most: 2 });
  const all = [1, 2, 3, 4, 5].map((item) => queue.add(item));
  await expect.poll(() => batches.length).toBe(2);
  batches[1]?.end.resolve();
  await expect.poll(() => batches.length).toBe(3);
  for (const { end } of batches) end.resolve();
  expect(await Promise.all(all)).toEqual([10, 20, 30, 40, 50]);
  expect(batches.map(({ items }) => items)).toEqual([[1, 2], [3, 4], [5]]);
});

test('an error fails the items of its batch, and the queue goes on', async () => {
  const { queue, batches } = heldQueue();
  const failing = queue.add(1);
  await expect.poll(() => batches.length).toBe(1);
  const next = queue.add(2);
  batches[0]?.end.reject(new Error('no room'));
  await expect(failing).rejects.toThrow('no room');
  await expect.poll(() => batches.length).toBe(2);
  batches[1]?.end.resolve();
  expect(await next).toBe(20);
});
