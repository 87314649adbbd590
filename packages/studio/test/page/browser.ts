// Debian's chromium, driven by playwright-core.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Client } from '../world.ts';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export interface Visit {
  page: Page;
  /** Errors of the browser: refused scripts and styles, missing files, exceptions, requests to elsewhere. */
  complaints: string[];
}

/** One browser for all tests of a file; each visit has a context of its own. */
export function useBrowser() {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  });
  afterAll(() => browser.close());

  async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
    onTestFinished(() => context.close());
    return context.newPage();
  }

  async function visit(client: Client, options: BrowserContextOptions = {}): Promise<Visit> {
    const page = await newPage(options);
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('dialog', (dialog) => {
      complaints.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(client.origin) && !url.startsWith('data:')) complaints.push(`asked ${url}`);
    });
    await page.goto(client.studio.url);
    return { page, complaints };
  }

  return { newPage, visit, say };
}

export const message = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });

async function say(page: Page, text: string): Promise<void> {
  await message(page).fill(text);
  await page.keyboard.press('Enter');
}

/** Serious faults of accessibility, and whether a line is wider than the screen. */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(axe, 'utf8')); // a script tag of its own would be refused by the page
  const found = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await checker.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
  const fits = await page.evaluate('document.documentElement.scrollWidth <= innerWidth');
  return fits ? found : [...found, 'wider than the screen'];
}
