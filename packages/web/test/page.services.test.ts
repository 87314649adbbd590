// The example examples/web-chat: React with `useChat` in a real browser, on a plain Hono server.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

const program = fileURLToPath(new URL('../../../examples/web-chat/server.ts', import.meta.url));
let browser: Browser;
let server: ChildProcess;
let address: string;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  server = spawn(process.execPath, ['-C', 'pocket-agent/source', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (!server.stdout) throw new Error('The output of the example cannot be read.');
  [address] = await once(createInterface({ input: server.stdout }), 'line');
});

afterAll(async () => {
  await browser.close();
  server.kill();
  if (server.exitCode === null) await once(server, 'exit');
});

/** Opens a conversation. */
async function open(conversation: string): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(address.replace(/#.*/, `#${conversation}`));
  return { page, complaints };
}

async function ask(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Question' }).fill(text);
  await page.keyboard.press('Enter');
}

test('a person asks, allows a call, and reads the answer', async () => {
  const { page, complaints } = await open('one');
  await ask(page, 'Refund order 17');
  await page.getByText('May refund run with {"order":17}?').waitFor();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('refund: output-available').waitFor();
  await page.getByText('Order 17 is refunded.').waitFor();
  expect(complaints).toEqual([]);
});

test('a denied call is not made', async () => {
  const { page } = await open('two');
  await ask(page, 'Refund order 18');
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('refund: output-denied').waitFor();
  await expect.poll(() => page.getByText('Order 18 is refunded.').count()).toBe(0);
});

test('a page that is loaded again still has the question, and its answer continues the message', async () => {
  const { page, complaints } = await open('three');
  await ask(page, 'Refund order 19');
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('Order 19 is refunded.').waitFor();
  await page.reload();
  await page.getByText('Order 19 is refunded.').waitFor();
  expect(await page.getByRole('region', { name: 'assistant' }).count()).toBe(1);
  expect(complaints).toEqual([]);
});
