import { KeyedQueue } from '@pocket-agent/kit';
import { expect, test } from 'vitest';

test('tasks with the same key run one after the other, tasks with other keys at the same time', async () => {
  const queue = new KeyedQueue();
  const events: string[] = [];
  const first = Promise.withResolvers<void>();
  void queue.run('a', async () => {
    events.push('a1 starts');
    await first.promise;
    events.push('a1 ends');
  });
  void queue.run('a', async () => void events.push('a2'));
  await queue.run('b', async () => void events.push('b1'));
  first.resolve();
  await queue.idle();
  expect(events).toEqual(['a1 starts', 'b1', 'a1 ends', 'a2']);
});

test('a failed task rejects for its caller, and the next task of the key still runs', async () => {
  const queue = new KeyedQueue<object>();
  const key = {};
  const failing = queue.run(key, async () => {
    throw new Error('no connection');
  });
  const next = queue.run(key, async () => {});
  await expect(failing).rejects.toThrow('no connection');
  await expect(next).resolves.toBeUndefined();
  await queue.idle();
});
