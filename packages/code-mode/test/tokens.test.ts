// What code mode is for: large results stay out of the conversation.
import { expect, test } from 'vitest';
import { ordersTask } from './fixtures/orders.ts';

test('a task over 500 records takes at least 90 % fewer tokens with code than with direct calls', async () => {
  const [direct, code] = [await ordersTask('direct'), await ordersTask('code')];
  expect(direct.lastResult).toContain('order-1499');
  expect(code.lastResult).toContain('\\"open\\":72');
  expect(code.lastResult).not.toContain('order-1');
  expect(code.tokens).toBeLessThan(direct.tokens * 0.1);
});
