// Takes screenshots of the studio: `node -C pocket-agent/source scripts/studio-pictures.ts FOLDER` writes every view to FOLDER,
// light and dark, for wide screens, laptops and phones (`… FOLDER phone`: only these); without FOLDER it renews the pictures of docs/studio.md. Run `npm run build`
// first. Needs Debian's chromium.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { McpServer } from '@modelcontextprotocol/server';
import { openStudio } from '@pocket-agent/studio';
import { chromium, type Page } from 'playwright-core';
import { PocketAgent, Router } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { z } from 'zod';

const { positionals } = parseArgs({ allowPositionals: true });
const [folder, only = ''] = positionals;

/** A scripted model that looks like a real one on the page. */
class NamedModel extends ScriptedModel {
  override readonly provider = 'anthropic';
  override readonly modelId = 'claude-sonnet-5';
}

const usage = { input: 1_204, output: 88 };
const makePolicy = () =>
  new PocketAgent({
    name: 'policy',
    roleDescription: 'Knows the rules for refunds',
    llmModel: new NamedModel([{ text: 'Up to 100 EUR may be refunded within 30 days.', delayMs: 420, usage }]),
  });
const answer = [
  'Order **17** was refunded: 40 EUR go back to the card that ends in 4242.',
  '',
  '| order | paid | refunded |',
  '|---|---|---|',
  '| 17 | 40 EUR | 40 EUR |',
  '',
  '```js',
  "const refund = await shop.refund({ id: 17, eur: 40 }); // 're_1842'",
  '```',
].join('\n');
const refund = {
  id: 17,
  eur: 40,
  items: [{ name: 'Teapot', pieces: 1, eur: 40 }],
  reason:
    'The teapot arrived with a broken handle. The customer sent two photos on the day of delivery, asks for the money and not for a new one, and keeps the pieces until the carrier has seen them.',
};
const script = [
  {
    reasoning: 'I need the order first.',
    text: 'I will look up the order.',
    delayMs: 980,
    usage,
    toolCalls: [{ name: 'get_order', arguments: { id: 17 } }],
  },
  {
    text: 'It was paid three days ago. I will check the rules.',
    delayMs: 640,
    usage,
    toolCalls: [
      { name: 'list_orders', arguments: { customer: 'ada@example.com', limit: 5 } },
      { name: 'get_invoice', arguments: { order: 17 } },
      { name: 'policy-message', arguments: { message: 'May order 17 be refunded?' } },
    ],
  },
  { delayMs: 500, usage, toolCalls: [{ name: 'refund', arguments: refund }] },
  { text: answer, delayMs: 900, usage },
];

function shop(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  const id = z.object({ id: z.number().int().describe('Number of the order') });
  const readOnly = { annotations: { readOnlyHint: true } };
  server.registerTool(
    'get_order',
    { description: 'Returns an order with its items and payments', inputSchema: id, ...readOnly },
    async ({ id }) => {
      await new Promise((resolve) => setTimeout(resolve, 180));
      return {
        content: [
          {
            type: 'text',
            text: JSON.stringify({ id, paidEur: 40, items: [{ name: 'Teapot', pieces: 1 }], paidAt: '2026-11-16' }),
          },
        ],
      };
    },
  );
  server.registerTool(
    'list_orders',
    {
      description: 'Lists the orders of a customer, newest first',
      inputSchema: z.object({ customer: z.string(), limit: z.number().int().optional() }),
      ...readOnly,
    },
    ({ customer }) => {
      const orders = [
        { order: 17, customer, paid: '2026-11-16', eur: 40, state: 'delivered' },
        { order: 12, customer, paid: '2026-09-02', eur: 18.5, state: 'delivered' },
        { order: 9, customer, paid: '2026-08-21', eur: 129, state: 'returned' },
      ];
      return { content: [{ type: 'text', text: JSON.stringify(orders) }] };
    },
  );
  server.registerTool(
    'get_invoice',
    { description: 'Returns the invoice of an order', inputSchema: z.object({ order: z.number().int() }), ...readOnly },
    () => {
      throw new Error('The archive of invoices does not answer. Try again in a few minutes.');
    },
  );
  server.registerTool(
    'refund',
    {
      description: 'Pays an order back to the card that it was paid with',
      inputSchema: z.object({
        id: z.number().int(),
        eur: z.number(),
        items: z.array(z.object({ name: z.string(), pieces: z.number(), eur: z.number() })).optional(),
        reason: z.string().optional(),
      }),
      annotations: { destructiveHint: true },
    },
    ({ id, eur }) => ({
      content: [{ type: 'text', text: JSON.stringify({ refund: 're_1842', id, eur }) }],
    }),
  );
  server.registerResource('terms', 'shop://terms', { description: 'The terms of the shop' }, () => ({
    contents: [{ uri: 'shop://terms', text: '30 days.' }],
  }));
  return server;
}

const router = new Router({
  models: [
    { modelName: 'main', params: { model: new NamedModel([]), id: 'eu-1', rpm: 600 } },
    { modelName: 'main', params: { model: new NamedModel([]), id: 'us-1', rpm: 600 } },
  ],
});
const makeSupport = () =>
  new PocketAgent({
    name: 'support',
    roleDescription: 'Answers questions about orders, and refunds them.',
    llmModel: new NamedModel([
      ...script,
      { error: new Error('The provider is overloaded.') },
      { text: 'Order 18 is on its way.', delayMs: 700, usage },
    ]),
    mcpServers: { shop: { server: shop } },
    subAgents: [makePolicy()],
    limits: { maxTokens: 20_000, maxCostUsd: 0.5, modelRetries: 0 },
    access: { confirm: 'destructive' },
  });
const writer = new PocketAgent({ name: 'writer', roleDescription: 'Writes letters to customers.', llmModel: 'demo' });

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });

interface Screen {
  width: number;
  height: number;
  dark?: boolean;
  scale?: number;
}

/** `pathOf` returns the file for a view, or undefined to skip it. */
async function take({ width, height, dark = false, scale = 1 }: Screen, pathOf: (view: string) => string | undefined) {
  const support = makeSupport();
  const studio = await openStudio({ agents: { support, writer }, routers: { main: router } });
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    deviceScaleFactor: scale,
  });
  const page = await context.newPage();
  const shoot = async (view: string) => {
    const path = pathOf(view);
    if (path) await page.screenshot({ path });
  };
  await page.goto(studio.url);
  const nav = (label: RegExp | string) =>
    page.getByRole('navigation').getByRole('link', { name: label }).first().click();
  await message(page).waitFor();
  await shoot('01-empty');
  for (const [index, view] of ['Approvals', 'Runs', 'Cost'].entries()) {
    await nav(view);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await shoot(`02-empty-${index}-${view.toLowerCase()}`);
  }
  await nav('Chat');
  await say(page, 'Please refund order 17, it arrived broken.');
  await page.waitForTimeout(1_100);
  await shoot('03-streaming');
  await page.getByRole('region', { name: 'Approval of refund' }).waitFor();
  await page.waitForTimeout(600);
  await shoot('04-approval');
  const edit = page.getByRole('button', { name: 'Edit…' });
  await nav(/Approvals/);
  await edit.waitFor();
  await shoot('05-inbox');
  await edit.click();
  await shoot('06-inbox-edit');
  await nav('Chat');
  await page.goBack();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForTimeout(300);
  await nav('Runs');
  await page
    .getByRole('main')
    .getByRole('link', { name: /Please refund/ })
    .click();
  await page
    .getByRole('option', { name: /^claude/ })
    .nth(1)
    .click();
  await page.waitForTimeout(1_500);
  await shoot('07-trace-model');
  await page.getByRole('tab', { name: 'tools' }).click();
  await shoot('08-trace-tools');
  await page.getByRole('tab', { name: 'ask again' }).click();
  await shoot('09-trace-again');
  await page.getByRole('option', { name: /^refund/ }).click();
  await shoot('10-trace-tool');
  await page.getByRole('link', { name: 'Conversation', exact: true }).click();
  await page.getByRole('article', { name: 'Answer' }).last().waitFor();
  await page.locator('details.tool summary', { hasText: 'list_orders' }).click();
  await page.locator('details.tool summary', { hasText: 'list_orders' }).scrollIntoViewIfNeeded();
  await shoot('11-chat-done');
  await say(page, 'And where is order 18?');
  await page.locator('.items .problem').waitFor();
  await shoot('12-chat-failed');
  await say(page, 'Try again');
  await page.getByText('Order 18 is on its way.').first().waitFor();
  await nav('Runs');
  await page.getByRole('checkbox').first().waitFor();
  await shoot('13-runs');
  await page.getByRole('checkbox').first().check();
  await page.getByRole('checkbox').last().check();
  await page.getByRole('link', { name: 'Compare the two runs' }).click();
  await shoot('14-compare');
  await nav('Tools');
  await page.getByText('get_order').first().waitFor();
  await shoot('15-tools');
  await page.getByRole('link', { name: 'list_orders' }).click();
  await shoot('16-tool-form');
  await page.getByLabel('customer').fill('ada');
  await page.getByRole('button', { name: /Call/ }).click();
  await page.waitForTimeout(500);
  await shoot('17-tool-called');
  await nav('Cost');
  await page.getByText('eu-1').waitFor();
  await shoot('18-cost');
  await page.keyboard.press('Control+k');
  await shoot('20-palette');
  await page.keyboard.press('Escape');
  await context.close();
  await studio.close();
  await support.close();
}

const message = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
async function say(page: Page, text: string) {
  await message(page).fill(text);
  await page.keyboard.press('Enter');
}

const sizes = { wide: [1440, 900], laptop: [1024, 768], phone: [390, 844] } as const;
const screens = Object.entries(sizes).flatMap(([name, [width, height]]): [string, Screen][] => [
  [name, { width, height }],
  [`${name}-dark`, { width, height, dark: true }],
]);
/** The pictures of docs/studio.md, by view. */
const documented: Record<string, string> = {
  '04-approval': 'docs/studio.png',
  '07-trace-model': 'docs/studio-trace.png',
};
if (folder) {
  await mkdir(folder, { recursive: true });
  for (const [name, screen] of screens.filter(([each]) => each.includes(only)))
    await take(screen, (view) => join(folder, `${name}-${view}.png`));
} else {
  await take({ width: 1440, height: 900, scale: 1.33 }, (view) => documented[view]);
  const phone = { width: 390, height: 760, dark: true, scale: 1.5 };
  await take(phone, (view) => (view === '04-approval' ? 'docs/studio-phone.png' : undefined));
}
await browser.close();
await Promise.all([writer.close(), router.close()]);
