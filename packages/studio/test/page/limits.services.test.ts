// Limits, routers, gateways and several tabs, in a real browser.
import { McpServer } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { Router, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { clientV2, served } from '../../../gateway/test/world.ts';
import { text } from '../../../pocket-agent/test/fixtures/programs/lives.ts';
import { makeShop, refundCall, startStudio } from '../world.ts';
import { faultsOf, useBrowser } from './browser.ts';

const { visit, say } = useBrowser();
const phone = { viewport: { width: 390, height: 800 } };

function notes(): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool('drop', { description: 'Drops a note' }, () => text('dropped'));
  return server;
}

test.each([{}, phone])('hidden tools, budgets and routers are shown: %j', async (options) => {
  const router = new Router({
    models: [{ modelName: 'fast', params: { model: new ScriptedModel(['Hello']), id: 'fast-eu', rpm: 10 } }],
  });
  onTestFinished(() => router.close());
  const drop = tool({ name: 'drop', description: 'Drops', annotations: { destructiveHint: true }, run: () => 'x' });
  const { agent } = makeShop([], {
    llmModel: router.languageModel('fast'),
    limits: { maxTokens: 10 },
    tools: [drop],
    access: { profile: 'reader' },
  });
  const client = await startStudio({ shop: agent }, { routers: { main: router } });
  const { page, complaints } = await visit(client, options);
  await say(page, 'Hi');
  await page.getByRole('article', { name: 'Answer' }).getByText('Hello').waitFor();
  await page.getByRole('link', { name: 'Cost' }).click();
  await page.getByRole('cell', { name: '15 of 10' }).waitFor();
  await page.getByRole('cell', { name: 'fast-eu' }).waitFor();
  await page.getByRole('cell', { name: 'available' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('link', { name: 'Tools' }).click();
  await page.getByText(/hidden: .*delete/).waitFor();
  await page.getByRole('link', { name: 'drop' }).click();
  await page.getByRole('heading', { name: 'Input schema' }).waitFor();
  expect(await page.getByRole('button', { name: 'Call drop' }).count()).toBe(0);
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test('a question of a gateway is answered on the page, and its calls are counted', async () => {
  const gateway = await served(
    { mcpServers: { notes: { server: notes } }, access: { confirm: 'destructive' }, approvals: { endpoint: true } },
    { metricsToken: 'metrics' },
  );
  const token = await gateway.caller('studio', { profile: 'reader', servers: [], approves: true });
  const gateways = [{ url: gateway.url, token, metricsToken: 'metrics' }];
  const client = await startStudio({ shop: makeShop([]).agent }, { gateways });
  const { page, complaints } = await visit(client, phone);
  const caller = await clientV2(gateway.url, await gateway.caller('ann', { profile: 'admin' }));
  const called = caller.callTool({ name: 'notes__drop', arguments: {} });
  await page.getByRole('link', { name: /Approvals.*1/ }).click();
  await page
    .getByRole('link', { name: /^Gateway/ })
    .first()
    .waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Allow' }).click();
  expect(JSON.stringify(await called)).toContain('dropped');
  await page.getByRole('link', { name: 'Gateways' }).click();
  await page.getByRole('row', { name: /notes up 1 0 0/ }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test('what is answered in one tab is answered in the other, and both show the same conversation', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Done.']);
  const client = await startStudio({ shop: agent });
  const [first, second] = [await visit(client), await visit(client)];
  await say(first.page, 'Refund order 17');
  const allow = first.page.getByRole('button', { name: 'Allow' });
  await allow.waitFor();
  await second.page.getByRole('link', { name: 'Refund order 17' }).click();
  await second.page.getByRole('region', { name: 'Approval of refund' }).waitFor();
  expect(await second.page.title()).toBe('(1) Studio');
  await allow.click();
  for (const { page } of [first, second])
    await page.getByRole('article', { name: 'Answer' }).getByText('Done.').waitFor();
  const shown = await Promise.all([first, second].map(({ page }) => page.locator('.items').innerText()));
  expect(shown[1]).toBe(shown[0]);
  expect(refunds).toHaveLength(1);
  expect([...first.complaints, ...second.complaints]).toEqual([]);
});

test('fifty tabs of one browser show the same run, and go on when the one that follows the stream is closed', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Order 17 was refunded.', 'You are welcome.']);
  const client = await startStudio({ shop: agent });
  const { page, complaints } = await visit(client);
  await say(page, 'Refund order 17');
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  const tabs: Page[] = [];
  while (tabs.length < 49) {
    const tab = await page.context().newPage();
    await tab.goto(page.url(), { waitUntil: 'commit' });
    tabs.push(tab);
  }
  const [first, last] = [tabs[0], tabs.at(-1)];
  if (!first || !last) throw new Error('There are no tabs.');
  const answers = (tab: Page) => tab.getByRole('article', { name: 'Answer' });
  await last.getByRole('button', { name: 'Allow' }).click();
  for (const tab of [page, ...tabs]) await answers(tab).getByText('Order 17 was refunded.').waitFor();
  expect(refunds).toHaveLength(1);
  await page.close();
  await say(last, 'Thank you');
  for (const tab of [first, last]) await answers(tab).getByText('You are welcome.').waitFor();
  expect(complaints).toEqual([]);
});
