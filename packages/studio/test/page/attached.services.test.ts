// A bot and a worker that the page is attached to, in a real browser.
import { expect, onTestFinished, test } from 'vitest';
import { openStudioAddress } from '../../src/index.ts';
import { Client, makeShop, refundCall, startStudio } from '../world.ts';
import { faultsOf, message, useBrowser } from './browser.ts';

const { visit } = useBrowser();

async function openAddress() {
  const address = await openStudioAddress({ address: '0', token: 'secret' });
  onTestFinished(() => address.close());
  const { onEvent, approve } = address.watch({ id: 'thread-1', agent: 'helper' });
  const { agent, refunds } = makeShop([refundCall, 'Order 17 was refunded.']);
  return { address, refunds, ask: () => agent.run('Refund order 17', { onEvent, approve }) };
}

test.each([{}, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' as const }])(
  'the conversation of a bot is followed, and its call allowed: %j',
  async (options) => {
    const { address, ask, refunds } = await openAddress();
    const attached = [{ url: new URL(address.url).origin, token: 'secret' }];
    const client = await startStudio({ shop: makeShop([]).agent }, { attached });
    const { page, complaints } = await visit(client, options);
    const answered = ask();
    await page.getByRole('link', { name: /Approvals.*1/ }).click();
    await page.getByRole('link', { name: /Refund order 17 · 127.0.0.1/ }).click();
    await page.getByText('takes place in another program').waitFor();
    expect(await message(page).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Edit', exact: true }).count()).toBe(0);
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('article', { name: 'Answer' }).getByText('Order 17 was refunded.').waitFor();
    expect(await answered).toBe('Order 17 was refunded.');
    expect(refunds).toHaveLength(1);
    expect(complaints).toEqual([]);
  },
);

test('the address is a studio itself', async () => {
  const { address, ask, refunds } = await openAddress();
  const { page, complaints } = await visit(new Client(address));
  await page.getByRole('heading', { name: 'Studio' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  const answered = ask();
  await page.getByRole('link', { name: 'Refund order 17' }).click();
  await page.getByRole('button', { name: 'Deny' }).click();
  await answered;
  expect(refunds).toEqual([]);
  expect(complaints).toEqual([]);
});
