// Views of the studio in a real browser: files, forms of servers, saved conversations, asking again, comparing, budgets.
import { openConversations } from '@pocket-agent/store';
import { expect, onTestFinished, test } from 'vitest';
import { pizzeria } from '../pizzeria.ts';
import { attached } from '../worker.ts';
import { makeShop, refundCall, startStudio } from '../world.ts';
import { useBrowser } from './browser.ts';

const { visit, say } = useBrowser();
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('an image is added, sent, and shown in the message', async () => {
  const { agent } = makeShop([({ prompt }) => `${prompt.at(-1)?.content.length} parts`], { allowImages: true });
  const { page, complaints } = await visit(await startStudio({ shop: agent }));
  const dot = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') };
  await page.getByLabel('Files', { exact: true }).setInputFiles([dot, { ...dot, name: 'other.png' }]);
  await page.getByRole('button', { name: 'Remove other.png' }).click();
  await say(page, 'What is this?');
  await page.getByRole('article', { name: 'Answer' }).getByText('2 parts').waitFor();
  await page.getByRole('article', { name: 'Your message' }).getByRole('img', { name: 'dot.png' }).waitFor();
  expect(await page.getByRole('button', { name: 'Remove dot.png' }).count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('a form of an MCP server is filled in where it is asked', async () => {
  const { agent } = makeShop([{ toolCalls: [{ name: 'order' }] }, 'Enjoy.'], {
    tools: [],
    mcpConfig: pizzeria,
    access: { confirm: 'never' },
  });
  const { page, complaints } = await visit(await startStudio({ shop: agent }));
  await say(page, 'A pizza');
  await page.getByText('Which size?').waitFor();
  expect(await page.title()).toBe('(1) Studio');
  await page.getByLabel('size').selectOption('large');
  await page.getByRole('button', { name: 'Send', exact: true }).first().click();
  await page.getByRole('article', { name: 'Answer' }).getByText('Enjoy.').waitFor();
  await page.locator('details.tool summary').click();
  await page.getByText('One large pizza.').waitFor();
  await page.getByRole('link', { name: 'Tools' }).click();
  await page.getByText('1 call,').waitFor();
  await page.getByText('menu', { exact: false }).first().click();
  await page.getByRole('button', { name: 'Read' }).click();
  await page.getByText('Margherita').waitFor();
  expect(complaints).toEqual([]);
});

test('a saved conversation is listed, found by its words, and opened', async () => {
  const conversations = await openConversations(':memory:');
  onTestFinished(() => conversations.close());
  const first = await startStudio({ shop: makeShop(['It left on Monday.', 'Yes.']).agent }, { conversations });
  const before = await visit(first);
  await say(before.page, 'Where is order 17?');
  await before.page.getByText('It left on Monday.').first().waitFor();
  await first.close();
  const { page, complaints } = await visit(
    await startStudio({ shop: makeShop(['Tuesday.']).agent }, { conversations }),
  );
  const list = page.getByRole('region', { name: 'Conversations' });
  await list.getByLabel('Search conversations').fill('nothing like it');
  await list.getByRole('link').waitFor({ state: 'detached' });
  await list.getByLabel('Search conversations').fill('monday');
  await list.getByRole('link', { name: 'Where is order 17?' }).click();
  await page.getByRole('article', { name: 'Answer' }).getByText('It left on Monday.').waitFor();
  await say(page, 'And when does it arrive?');
  await page.getByRole('article', { name: 'Answer' }).getByText('Tuesday.').waitFor();
  expect(complaints).toEqual([]);
});

test('a step is asked again with a changed prompt, and two runs are compared', async () => {
  const { agent } = makeShop([refundCall, 'Done.', 'Hello.', 'Another answer.'], { access: { confirm: 'never' } });
  const { page, complaints } = await visit(await startStudio({ shop: agent }));
  await say(page, 'Refund order 17');
  await page.getByRole('article', { name: 'Answer' }).getByText('Done.').waitFor();
  await say(page, 'Thank you');
  await page.getByRole('article', { name: 'Answer' }).getByText('Hello.').waitFor();
  await page.getByRole('option', { name: /^script/ }).click();
  await page.getByRole('tab', { name: 'ask again' }).click();
  await page.getByRole('button', { name: 'Change the prompt…' }).click();
  await page.getByRole('textbox', { name: 'Prompt' }).fill('[{ "role": "user", "content": [] }');
  await page.getByRole('button', { name: 'Ask again' }).click();
  await page.getByRole('alert').waitFor(); // not JSON yet
  await page.getByRole('textbox', { name: 'Prompt' }).fill('[{ "role": "user", "content": [] }]');
  await page.getByRole('button', { name: 'Ask again' }).click();
  await page
    .getByRole('region', { name: /^Answer 1 of/ })
    .getByText('Another answer.')
    .waitFor();

  await page.getByRole('link', { name: 'Runs' }).click();
  await page.getByLabel('Compare the run Thank you').check();
  await page.getByText('Mark a second run').waitFor();
  await page.getByLabel('Compare the run Refund order 17').check();
  await page.getByRole('link', { name: 'Compare the two runs' }).click();
  const table = page.getByRole('table');
  await table.getByRole('link', { name: 'refund', exact: true }).waitFor();
  expect(await table.getByRole('row').count()).toBe(4); // names, all, two steps
  await page.reload();
  await page.getByRole('table').getByRole('link', { name: 'refund', exact: true }).click();
  await page.getByRole('region', { name: 'Details of refund' }).waitFor();
  expect(complaints).toEqual([]);
});

test('the runs of workers are seen, and their questions answered', async () => {
  const { client, runs, refunds } = await attached();
  await runs.start('support', 'Refund order 17', { id: 'order-17' });
  const { page, complaints } = await visit(client, { viewport: { width: 390, height: 800 } });
  await page.getByRole('link', { name: /Approvals.*1/ }).click();
  await page.getByRole('link', { name: 'Durable run order-17' }).waitFor();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('No approvals are waiting.').waitFor();
  expect(await runs.result('order-17')).toBe('Order 17 is refunded.');
  expect(refunds).toHaveLength(1);
  await page.getByRole('link', { name: 'Durable' }).click();
  await page.getByRole('cell', { name: 'finished' }).waitFor();
  await page.getByRole('link', { name: 'Refund order 17' }).click();
  await page.getByRole('list', { name: 'Journal' }).getByText('finished').waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  expect(complaints).toEqual([]);
});

test('cost is shown by agent, model and day', async () => {
  const { page } = await visit(await startStudio({ shop: makeShop(['Hello.']).agent }));
  await say(page, 'Hi');
  await page.getByRole('article', { name: 'Answer' }).getByText('Hello.').waitFor();
  await page.getByRole('link', { name: 'Cost' }).click();
  for (const name of ['By agent', 'By model', 'By day']) await page.getByRole('heading', { name }).waitFor();
  const today = new Date().getFullYear().toString();
  await page.getByRole('cell', { name: new RegExp(today) }).waitFor();
});
