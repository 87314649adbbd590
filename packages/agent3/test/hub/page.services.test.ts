// The web pages in a real browser: Debian's chromium, driven by playwright-core.
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentDetails, Hub, LocalAgent3Options } from '../../src/index.ts';
import { atEnd } from '../fixtures/cleanup.ts';
import { serve } from '../fixtures/local-server.ts';
import { altered, open, startHub, temporaryFolder, tokens } from '../fixtures/mcp-setup.ts';
import { type Seeded, seed } from '../fixtures/page-seed.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
});
afterAll(() => browser.close());

interface Visit {
  page: Page;
  /** Errors of the browser: refused scripts and styles, missing files, exceptions. */
  complaints: string[];
}

async function visit(options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext(options);
  atEnd(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith('http://127.0.0.1:')) complaints.push(`asked ${request.url()}`);
  });
  return { page, complaints };
}

async function signIn(page: Page, hub: Hub, owner: string): Promise<void> {
  await page.goto(`${hub.url}sign-in`);
  await page.getByLabel('Owner token').fill(tokens.issue(owner));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: owner }).waitFor();
}

async function seededHub(options: LocalAgent3Options = {}): Promise<{ hub: Hub; seeded: Seeded }> {
  const file = join(await temporaryFolder(), 'agent3.db');
  const seeded = await seed(file);
  return { hub: await startHub({ agent3: await open({ file, ...options }) }), seeded };
}

test('a visitor searches, filters, opens an agent and sees its statistics', async () => {
  const { hub } = await seededHub();
  const { page, complaints } = await visit();
  await page.goto(hub.url);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('Find an agent');
  expect(await page.getByRole('listitem').count()).toBe(5);
  await page.getByRole('searchbox').fill('forecast for a city');
  await page.getByText('Filters').click();
  await page.getByLabel('Minimum rating').selectOption('4');
  await page.getByRole('button', { name: 'Search' }).click();
  expect(await page.getByRole('heading', { level: 2 }).textContent()).toMatch(/^1 found/);
  expect(await page.getByRole('searchbox').inputValue()).toBe('forecast for a city');
  expect(await page.getByLabel('Minimum rating').inputValue()).toBe('4');

  await page.getByRole('link', { name: 'Weather', exact: true }).click();
  expect(await page.title()).toBe('Weather · Agent3');
  expect(
    await page
      .getByRole('img', { name: /^Calls: \d+ in 7 days$/ })
      .locator('.bar')
      .count(),
  ).toBeGreaterThan(20);
  expect(
    await page
      .getByRole('img', { name: /^Success rate: 9.* in 7 days$/ })
      .locator('.point')
      .count(),
  ).toBeGreaterThan(20);
  expect(await page.getByRole('img', { name: /^Mean time: / }).count()).toBe(1);
  expect(await page.getByRole('img', { name: /^Cost: \$/ }).count()).toBe(1);
  expect(await page.getByText('Right on the day, every time.').count()).toBe(1);
  expect(await page.getByText('Will it rain in Oslo?').count()).toBeGreaterThan(0);
  await page.getByText('A2A card', { exact: true }).click();
  expect(JSON.parse((await page.locator('details pre').textContent()) ?? '')).toMatchObject({ name: 'Weather' });
  await page.getByRole('link', { name: '30 days' }).click();
  expect(await page.getByRole('link', { name: '30 days' }).getAttribute('aria-current')).toBe('true');
  expect(complaints).toEqual([]);
});

test('the pages work without scripts', async () => {
  const { hub } = await seededHub();
  const { page } = await visit({ javaScriptEnabled: false });
  await page.goto(`${hub.url}?query=books`);
  await page.getByRole('link', { name: 'Ledger' }).click();
  expect(await page.title()).toBe('Ledger · Agent3');
  expect(await page.getByText('No ratings yet.').count()).toBe(1);
});

test('third-party content is shown as plain text', async () => {
  const { hub, seeded } = await seededHub();
  const { page, complaints } = await visit();
  const attack = encodeURIComponent('"><script>window.attacked = 1</script>');
  for (const path of ['', `?query=${attack}&tags=${attack}`, `agents/${seeded.hostile}`, `agents/${attack}`]) {
    await page.goto(hub.url + path);
    expect(await page.evaluate('window.attacked')).toBeUndefined();
    expect(await page.locator('main script, main img, a[href^="javascript"]').count()).toBe(0);
  }
  expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
});

test('an owner registers an agent on the pages, calls it, and rates the call', async () => {
  const { card } = await startSdkAgent();
  const cardUrl = `${await serve((_, response) => void response.end(JSON.stringify(card)))}/`;
  const hub = await startHub({ agent3: await open() });
  const { page, complaints } = await visit({ viewport: { width: 360, height: 800 } });
  await page.goto(hub.url);
  await page.getByRole('link', { name: 'Register' }).click();
  await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('Owner token').fill('a3_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This hub did not issue that token').waitFor();
  await page.getByLabel('Owner token').fill(tokens.issue('alice'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('URL of the card').fill(cardUrl);
  await page.getByLabel('Price per call').fill('0.01');
  await page.getByLabel('Tags').fill('parrot, echo');
  await page.getByRole('button', { name: 'Register' }).click();
  await page.getByRole('link', { name: 'Echo is registered' }).click();
  await page.getByText('$0.01').first().waitFor();
  const agentUrl = page.url();
  await signIn(page, hub, 'bob');
  await page.goto(agentUrl);
  await page.getByLabel('Message').fill('<b>hello</b>');
  expect(await page.getByRole('button', { name: 'Rate' }).isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText('you said: <b>hello</b>').waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  await page.getByLabel('Rating').first().selectOption('4');
  await page.getByLabel('Review').fill('It repeats well.');
  await page.getByRole('button', { name: 'Rate' }).click();
  await page.getByText('the rating is saved').waitFor();
  await page.reload();
  await page.getByText('It repeats well.').waitFor();
  expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
});

test('an agent is called with a form from its input schema, and its answer is shown while it arrives', async () => {
  const { card, release } = await startSdkAgent();
  const properties = {
    action: { type: 'string', enum: ['task', 'wait', 'ask'] },
    times: { type: 'integer', minimum: 1, title: 'How often' },
    loud: { type: 'boolean' },
    words: { type: 'array', items: { type: 'string' } },
    more: { type: 'object' },
  };
  const skill = { id: 'say', name: 'Say', description: 'Says it', tags: [], examples: [] };
  const inputSchema = { type: 'object', properties, required: ['action', 'times'] };
  const agent3 = await open();
  const { id } = await agent3.register({ card: { ...card, skills: [{ ...skill, inputSchema }] } }, { id: 'alice' });
  const hub = await startHub({ agent3 });
  const { page, complaints } = await visit();
  await signIn(page, hub, 'bob');
  await page.goto(`${hub.url}agents/${id}`);
  await page.getByLabel('How often').fill('0');
  await page.getByRole('button', { name: 'Call' }).click();
  expect(await page.locator('input:invalid').count()).toBe(1);
  await page.getByLabel('How often').fill('3');
  await page.getByLabel('words').fill('one\n two ');
  await page.getByLabel('more').fill('{ no');
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText('more: this is not valid JSON.').waitFor();
  await page.getByLabel('more').fill('{"a":[1]}');
  await page.getByRole('button', { name: 'Call' }).click();
  const sent = '{"action":"task","times":3,"words":["one","two"],"more":{"a":[1]}}';
  await page.getByText(`you said: ${sent}`).waitFor();
  await agent3.register({ card }, { id: 'alice' });
  await page.reload();
  await page.getByLabel('Message').fill('wait here');
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText('still at it').waitFor();
  release();
  await page.getByText('at last').waitFor();
  await page.getByLabel('Message').fill('ask me');
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText('Which size?').waitFor();
  await page.getByLabel('Reply').fill('large');
  await page.getByRole('button', { name: 'Reply' }).click();
  await page.getByText('large', { exact: true }).waitFor();
  await page.getByLabel('Message').fill('wait for ever');
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText('still at it').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('You stopped the call.').waitFor();
  release();
  expect(complaints).toEqual([]);
});

test('an owner manages limits, tokens and secrets, and an admin hides a reported agent', async () => {
  const { seeded, hub } = await seededHub({ secretKey: 'ab'.repeat(32) });
  const { page: bobs } = await visit();
  await signIn(bobs, hub, 'bob');
  await bobs.getByLabel('Per day').fill('2');
  await bobs.getByRole('button', { name: 'Agree' }).click();
  await bobs.getByText('Saved.').waitFor();
  await bobs.getByLabel('Name').fill('my laptop');
  await bobs.getByRole('button', { name: 'Create a token' }).click();
  const token = (await bobs.locator('output code').textContent()) ?? '';
  const headers = { authorization: `Bearer ${token}` };
  const read = async () => (await fetch(new URL('api/account', hub.url), { headers })).status;
  expect(await read()).toBe(200);
  await bobs.reload();
  expect(await bobs.getByLabel('Per day').inputValue()).toBe('2');
  bobs.on('dialog', (dialog) => dialog.accept());
  await bobs.getByRole('button', { name: 'Revoke' }).click();
  await expect.poll(read).toBe(401);
  await bobs.goto(`${hub.url}agents/${seeded.calledOnce}`);
  await bobs.getByText('Report this agent').click();
  await bobs.getByLabel('What is wrong').fill('It sells my data.');
  await bobs.getByRole('button', { name: 'Report' }).click();
  await bobs.getByText('the admins of this hub will read it').waitFor();
  const { page: roots } = await visit();
  await signIn(roots, hub, 'root');
  await roots.getByRole('link', { name: 'Moderation' }).click();
  await roots.getByText('It sells my data.').waitFor();
  await roots.getByText('Hide this agent').click();
  await roots.getByLabel('Reason').fill('data seller');
  await roots.getByRole('button', { name: 'Hide' }).click();
  await roots.getByText('Hidden: data seller').waitFor();
  await bobs.reload();
  await bobs.getByText('A moderator of this hub has hidden this agent').waitFor();
  const { page: alices } = await visit();
  await signIn(alices, hub, 'alice');
  await alices.getByText('Hidden by a moderator: data seller').waitFor();
  await alices.getByText('Add a secret').first().click();
  await alices.getByLabel('Secret').first().fill('hush');
  await alices.getByRole('button', { name: 'Save' }).first().click();
  await alices.getByText('Calls to it send: bearer').waitFor();
  await alices.getByRole('button', { name: 'Sign out' }).click();
  await alices.getByRole('link', { name: 'Sign in' }).waitFor();
});

test('the health badge is updated while the page is open', async () => {
  const { card } = await startSdkAgent();
  const agent3 = await open();
  const { id } = await agent3.register({ card }, { id: 'alice' });
  let health: AgentDetails['health'] = 'unknown';
  const changing = altered(agent3, {
    select: async (agentId: string) => ({ ...(await agent3.select(agentId)), health }),
  });
  const hub = await startHub({ agent3: changing });
  const { page } = await visit();
  await page.clock.install();
  await page.goto(`${hub.url}agents/${id}`);
  const badge = page.locator('main .badge').first();
  expect(await badge.textContent()).toBe('unknown');
  await expect.poll(() => page.locator('header .badge').textContent()).toBe('healthy');
  health = 'down';
  await page.clock.runFor(11_000);
  await expect.poll(() => badge.textContent()).toBe('down');
  expect(await badge.getAttribute('class')).toBe('badge down');
});

test('a private hub asks a browser to sign in', async () => {
  const hub = await startHub({ agent3: await open(), isPrivate: true });
  const { page, complaints } = await visit();
  await page.goto(`${hub.url}?query=frog`);
  await page.getByLabel('Owner token').fill(tokens.issue('alice'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  expect(await page.getByRole('searchbox').inputValue()).toBe('frog');
  await expect.poll(() => page.locator('header .badge').textContent()).toBe('healthy');
  expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
});

test.each([
  ['light', 1100],
  ['dark', 1100],
  ['light', 360],
] as const)('%s at %i pixels: nothing overflows, and all text has enough contrast', async (colorScheme, width) => {
  const { hub, seeded } = await seededHub();
  const { page } = await visit({ colorScheme, viewport: { width, height: 900 } });
  await signIn(page, hub, 'root');
  const paths = ['?minReputation=1', `agents/${seeded.weather}`, 'register', 'reference', 'scores', 'account', 'calls'];
  for (const path of [...paths, 'statement', 'moderation', 'sign-in']) {
    await page.goto(hub.url + path);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    expect(await page.evaluate(faintTexts)).toEqual([]);
  }
});

test.each([360, 1100])('at %i pixels each request of the API page is on one line', async (width) => {
  const hub = await startHub({ agent3: await open() });
  const { page } = await visit({ viewport: { width, height: 900 } });
  await page.goto(`${hub.url}reference`);
  const lines = await page.evaluate<number[]>(linesOfRequests);
  expect(lines.length).toBeGreaterThan(8);
  expect(new Set(lines)).toEqual(new Set([1]));
});

test.each([360, 1100])(
  'at %i pixels every label of a chart is complete, and no two labels of a scale are alike',
  async (width) => {
    const { hub, seeded } = await seededHub();
    const { page } = await visit({ viewport: { width, height: 900 } });
    for (const id of [seeded.weather, seeded.calledOnce]) {
      await page.goto(`${hub.url}agents/${id}`);
      expect(await page.locator('svg.chart').count()).toBe(4);
      expect(await page.evaluate(cutLabels)).toEqual([]);
      expect(await page.evaluate(sameLabels)).toEqual([]);
    }
  },
);

/** Of how many lines each request of the API page is; runs in the page. */
const linesOfRequests = `[...document.querySelectorAll('.operations code')].map((code) => code.getClientRects().length)`;

/** Labels that overflow their chart or overlap another label; runs in the page. */
const cutLabels = `[...document.querySelectorAll('svg.chart')].flatMap((chart) => {
  const frame = chart.getBoundingClientRect();
  const labels = [...chart.querySelectorAll('text')].map((label) => ({ text: label.textContent, box: label.getBoundingClientRect() }));
  const isOut = ({ box }) => box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom;
  const meet = (one, other) => one.left < other.right && other.left < one.right && one.top + 2 < other.bottom && other.top + 2 < one.bottom;
  const touches = (one) => labels.some((other) => other !== one && meet(one.box, other.box));
  return labels.filter((label) => isOut(label) || touches(label)).map(({ text }) => text);
})`;

/** Scales with duplicate labels; runs in the page. */
const sameLabels = `[...document.querySelectorAll('svg.chart')]
  .map((chart) => [...chart.querySelectorAll('text')].slice(0, 3).map((label) => label.textContent))
  .filter((labels) => new Set(labels).size < 3)`;

/** Texts whose contrast with their background is below 4.5:1; runs in the page. */
const faintTexts = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => {
    const part = (value) => { const c = value / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const [one, other] = [light(parse(element instanceof SVGElement ? style.fill : style.color)), light(ground(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) faint.push(element.textContent.slice(0, 40) + ' ' + contrast.toFixed(2));
  }
  return faint;
})()`;
