// The page in a real browser: Debian's chromium, driven by playwright-core.
import type { BrowserContextOptions } from 'playwright-core';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { openStudio } from '../../src/index.ts';
import { type Client, makeShop, refundCall, startStudio } from '../world.ts';
import { faultsOf, message, useBrowser } from './browser.ts';

const { newPage, visit, say } = useBrowser();

test('a person chats, allows a call, and looks at what happened', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Order **17** was refunded.\n\n```js\nconst x = 1;\n```']);
  const client = await startStudio({ shop: agent });
  const { page, complaints } = await visit(client);
  await say(page, 'Refund order 17');
  const question = page.getByRole('region', { name: 'Approval of refund' });
  await question.getByRole('button', { name: 'Allow' }).waitFor();
  expect(await page.title()).toBe('(1) Studio');
  expect(refunds).toEqual([]);
  await question.getByRole('button', { name: 'Allow' }).click();
  await page.locator('article strong', { hasText: '17' }).waitFor();
  expect(await page.locator('pre .hljs-keyword').textContent()).toBe('const');
  expect(refunds).toEqual([{ id: 17, eur: 40 }]);
  await expect.poll(() => page.title()).toBe('Studio');

  await page.locator('details.tool summary').click();
  expect(await page.locator('details.tool').textContent()).toContain('refunded');
  await page
    .getByRole('option', { name: /^script/ })
    .first()
    .click();
  await expect.poll(() => page.getByRole('region', { name: /^Details of/ }).textContent()).toContain('Refund order 17');
  await page.getByRole('tab', { name: 'tools' }).click();
  await expect.poll(() => page.getByRole('region', { name: /^Details of/ }).textContent()).toContain('refund');
  expect(complaints).toEqual([]);
});

test('a person edits the arguments in the inbox before they allow a call', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Done.']);
  const client = await startStudio({ shop: agent });
  const { page, complaints } = await visit(client);
  await say(page, 'Refund order 17');
  await page.getByRole('link', { name: /Approvals.*1/ }).click();
  await page.getByRole('button', { name: 'Edit…' }).click();
  await page.getByRole('textbox', { name: 'Arguments' }).fill('{ "id": 17, "eur": 4');
  await page.getByRole('button', { name: 'Allow with these arguments' }).click();
  await page.getByRole('alert').waitFor(); // not JSON yet
  await page.getByRole('textbox', { name: 'Arguments' }).fill('{ "id": 17, "eur": 4 }');
  expect(await page.getByRole('list', { name: 'Changed arguments' }).innerText()).toBe('eur 40 4');
  await page.getByRole('button', { name: 'Allow with these arguments' }).click();
  await page.getByText('No approvals are waiting.').waitFor();
  await expect.poll(() => refunds).toEqual([{ id: 17, eur: 4 }]);
  expect(complaints).toEqual([]);
});

test('a denied call is shown as not called', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Then I will not.']);
  const client = await startStudio({ shop: agent });
  const { page } = await visit(client);
  await say(page, 'Refund order 17');
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('not called ·').waitFor();
  await page.getByRole('article', { name: 'Answer' }).getByText('Then I will not.').waitFor();
  expect(refunds).toEqual([]);
});

test('everything works with the keyboard alone', async () => {
  const { agent, refunds } = makeShop([refundCall, 'Done.']);
  const client = await startStudio({ shop: agent });
  const { page } = await visit(client);
  await message(page).waitFor();
  await page.keyboard.type('Refund order 17');
  await page.keyboard.press('Enter');
  const question = page.getByRole('region', { name: 'Approval of refund' });
  await question.waitFor();
  await question.focus();
  await page.keyboard.press('a');
  await page.getByText('Enter allows the call.').waitFor();
  expect(refunds).toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByRole('article', { name: 'Answer' }).getByText('Done.').waitFor();
  expect(refunds).toHaveLength(1);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('tools');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Tools' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('tool refund');
  await page.getByRole('option', { name: 'Tool refund of shop' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Call refund' }).waitFor();
});

test('a suggestion that is clicked is in the message field, which has the focus', async () => {
  const client = await startStudio({ shop: makeShop(['Two.']).agent });
  const { page } = await visit(client);
  await page.getByRole('button', { name: 'Which tools do you have?' }).click();
  await page.keyboard.press('Enter');
  await page.getByRole('article', { name: 'Answer' }).getByText('Two.').waitFor();
});

test('Escape stops the agent, and the arrow up brings the message back', async () => {
  const { agent } = makeShop([refundCall]);
  const client = await startStudio({ shop: agent });
  const { page } = await visit(client);
  await say(page, 'Refund order 17');
  await page.getByRole('region', { name: 'Approval of refund' }).waitFor();
  await message(page).focus();
  await page.keyboard.press('Escape');
  await page.getByText('Stopped.').waitFor();
  await message(page).focus();
  await page.keyboard.press('ArrowUp');
  await expect.poll(() => message(page).inputValue()).toBe('Refund order 17');
});

test('a page that is loaded again shows the same conversation and trace', async () => {
  const { agent } = makeShop([refundCall, 'Done.'], { access: { confirm: 'never' } });
  const client = await startStudio({ shop: agent });
  const { page } = await visit(client);
  await say(page, 'Refund order 17');
  await page.getByRole('article', { name: 'Answer' }).getByText('Done.').waitFor();
  const before = await page.locator('.items').innerText();
  await page.reload();
  await page.getByRole('article', { name: 'Answer' }).getByText('Done.').waitFor();
  expect(await page.locator('.items').innerText()).toBe(before);
});

test('a message can be edited: the conversation branches', async () => {
  const { agent } = makeShop(['First.', 'Second.']);
  const client = await startStudio({ shop: agent });
  const { page } = await visit(client);
  await say(page, 'One');
  await page.getByRole('article', { name: 'Answer' }).getByText('First.').waitFor();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Changed message' }).fill('Two');
  await page.getByRole('button', { name: 'Send as a branch' }).click();
  await page.getByRole('article', { name: 'Answer' }).getByText('Second.').waitFor();
  expect(await page.getByText('First.').count()).toBe(0);
  expect(await page.getByRole('region', { name: 'Conversations' }).getByRole('link').allTextContents()).toEqual([
    'Two',
    'One',
  ]);
});

test('a run that crashes in the middle says why, also after the page was loaded again', async () => {
  const crash = () => {
    throw new Error('The provider has gone away.');
  };
  const { agent, refunds } = makeShop([refundCall, crash], { access: { confirm: 'never' } });
  const { page } = await visit(await startStudio({ shop: agent }));
  await say(page, 'Refund order 17');
  for (const load of [false, true]) {
    if (load) await page.reload();
    await page.getByRole('alert').getByText('The provider has gone away.').waitFor();
    await page.locator('details.tool').waitFor();
    await page.getByRole('option', { name: /^step 2/ }).waitFor();
  }
  await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor();
  expect(refunds).toHaveLength(1);
});

test('a studio that is killed and started again is found by the page', async () => {
  const { agent } = makeShop(['Before.', 'After.']);
  const client = await startStudio({ shop: agent }, { token: 'a-token-for-both' });
  const { page } = await visit(client);
  await say(page, 'One');
  await page.getByRole('article', { name: 'Answer' }).getByText('Before.').waitFor();
  await client.close();
  await page.getByText('Connecting again').waitFor();
  const port = Number(new URL(client.origin).port);
  const next = await openStudio({ agents: { shop: agent }, port, token: 'a-token-for-both' });
  onTestFinished(() => next.close());
  await page.getByText('This conversation is gone').waitFor();
  await page.getByRole('link', { name: 'Start a new one.' }).click();
  await say(page, 'Two');
  await page.getByRole('article', { name: 'Answer' }).getByText('After.').waitFor();
});

test('an address without a token explains itself', async () => {
  const { agent } = makeShop([]);
  const client = await startStudio({ shop: agent });
  const page = await newPage();
  await page.goto(client.origin);
  await page.getByRole('heading', { name: 'This address has no token' }).waitFor();
});

test('a page whose studio has a new token says so, and goes on when the new address is opened anywhere', async () => {
  const { agent } = makeShop([]);
  const first = await startStudio({ shop: agent }, { token: 'first' });
  const { page } = await visit(first);
  await page.getByRole('link', { name: 'Tools' }).click();
  const restart = async (from: Client, token: string) => {
    await from.close();
    const client = await startStudio({ shop: agent }, { port: Number(new URL(from.origin).port), token });
    await page.getByRole('heading', { name: 'The studio has a new token' }).waitFor();
    return client;
  };
  const second = await restart(first, 'second');
  const otherTab = await page.context().newPage();
  await otherTab.goto(second.studio.url);
  await page.getByRole('link', { name: 'refund' }).waitFor(); // where it was
  const third = await restart(second, 'third');
  await otherTab.close();
  await page.evaluate(`location.hash = '${new URL(third.studio.url).hash}'`); // pasted into its address
  await page.getByRole('link', { name: 'refund' }).waitFor();
  expect(page.url()).not.toContain('third');
});

test('a tool is called from its form, with the question that the agent would ask', async () => {
  const { agent, refunds } = makeShop([]);
  const client = await startStudio({ shop: agent });
  const { page, complaints } = await visit(client);
  await page.getByRole('link', { name: 'Tools' }).click();
  await page.getByRole('link', { name: 'refund' }).click();
  await page.getByLabel('id').fill('seven');
  await page.getByRole('button', { name: 'Call refund' }).click();
  await page.getByText('id must be a whole number.').waitFor();
  await page.getByLabel('id').fill('7');
  await page.getByRole('button', { name: 'Call refund' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('allowed').waitFor();
  expect(refunds).toEqual([{ id: 7 }]);
  expect(complaints).toEqual([]);
});

const hostile = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>',
  '[click](javascript:alert(1))',
  '[click](JaVaScRiPt:alert(1))',
  '[click](data:text/html,<script>alert(1)</script>)',
  '![x](javascript:alert(1))',
  '![x](https://evil.example/pixel.png)',
  '<a href="javascript:alert(1)">x</a>',
  '<style>body{display:none}</style>',
  '"><script>alert(1)</script>',
  '```html\n<script>alert(1)</script>\n```',
  '<https://evil.example/x>',
  '\u202Egnp.exe',
].join('\n\n');

test('answers that are too deep for a parser, and very long ones, leave the page as it is', async () => {
  const long = tool({ name: 'long', description: 'Long', run: () => JSON.stringify([['x'.repeat(3_000_000)]]) });
  const script = [
    { toolCalls: [{ name: 'long', arguments: { constructor: 'y'.repeat(1_000_000) } }] },
    '['.repeat(100_000),
    `${'> '.repeat(5_000)}deep`,
    'word **bold** '.repeat(20_000),
    'Fine.',
  ];
  const { agent } = makeShop(script, { tools: [long], access: { confirm: 'never' } });
  const { page, complaints } = await visit(await startStudio({ shop: agent }));
  for (const [index, text] of ['One', 'Two', 'Three', 'Four'].entries()) {
    await say(page, text);
    await expect.poll(() => page.getByRole('article', { name: 'Answer' }).count()).toBe(index + 1);
    await page.getByRole('button', { name: 'Send' }).waitFor();
  }
  await page.reload();
  await page.getByRole('article', { name: 'Answer' }).getByText('Fine.').waitFor();
  expect(complaints).toEqual([]);
});

test('nothing that a person, an agent or a tool says is run or loaded', async () => {
  const evil = tool({
    name: 'evil',
    description: hostile,
    annotations: { destructiveHint: true },
    inputSchema: {
      type: 'object',
      properties: { '<img src=x onerror=alert(1)>': { type: 'string', description: hostile } },
    },
    run: () => hostile,
  });
  const llmModel = new ScriptedModel([
    { text: hostile, toolCalls: [{ name: 'evil', arguments: { '<script>alert(1)</script>': hostile } }] },
    hostile,
  ]);
  const agent = new PocketAgent({
    name: hostile,
    roleDescription: hostile,
    llmModel,
    tools: [evil],
    access: { confirm: 'always' },
  });
  onTestFinished(() => agent.close());
  const client = await startStudio({ [hostile]: agent });
  const { page, complaints } = await visit(client);
  await say(page, hostile);
  await page.getByRole('button', { name: 'Allow' }).click();
  await expect.poll(() => page.getByRole('article', { name: 'Answer' }).count()).toBe(2);
  await page.locator('details.tool summary').click();
  const trace = page.getByRole('listbox', { name: 'Trace' });
  for (const row of await trace.getByRole('option').all()) await row.click();
  for (const name of ['Approvals', 'Runs', 'Tools', 'Cost', 'Chat']) {
    await page.getByRole('link', { name: new RegExp(`^${name}`) }).click();
    await page.waitForTimeout(100);
  }
  expect(
    await page
      .locator('script:not([src="/page.js"]), iframe, svg, style, a[href^="javascript" i], a[href^="data:"]')
      .count(),
  ).toBe(0);
  expect(complaints).toEqual([]);
});

for (const [what, options] of Object.entries({
  'on a phone': { viewport: { width: 390, height: 800 } },
  'in dark mode': { colorScheme: 'dark' },
  'on a wide screen': {},
} satisfies Record<string, BrowserContextOptions>))
  test(`no view has a serious fault of accessibility or a line wider than the screen ${what}`, async () => {
    const { agent } = makeShop([refundCall, 'Done.\n\n- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |', refundCall]);
    const client = await startStudio({ shop: agent });
    const { page } = await visit(client, options);
    await say(page, 'Refund order 17');
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('article', { name: 'Answer' }).getByText('Done.').waitFor();
    await say(page, 'Refund order 17 again');
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    for (const name of ['Chat', 'Approvals', 'Runs', 'Tools', 'Cost']) {
      if (name !== 'Chat') await page.getByRole('link', { name: new RegExp(`^${name}`) }).click();
      await page.waitForTimeout(100);
      expect({ name, found: await faultsOf(page) }).toEqual({ name, found: [] });
    }
  });
