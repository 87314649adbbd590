// What the page does with the keyboard, the palette, the inspector and addresses, in a real browser.
import { PocketAgent, Router, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { pizzeria } from '../pizzeria.ts';
import { attached } from '../worker.ts';
import { makeShop, refundCall, startStudio } from '../world.ts';
import { faultsOf, message, useBrowser } from './browser.ts';

const { visit, say } = useBrowser();
const laptop = { viewport: { width: 1280, height: 800 } };
const answer = 'article[aria-label=Answer]';

async function shopPage(options = {}) {
  const { agent, refunds } = makeShop([refundCall, 'Done.', 'Hello.', 'Again.'], { access: { confirm: 'never' } });
  const client = await startStudio({ shop: agent });
  const visited = await visit(client, options);
  await say(visited.page, 'Refund order 17');
  await visited.page.locator(answer, { hasText: 'Done.' }).waitFor();
  return { ...visited, client, refunds };
}

test('the trace beside a chat is made wider by keys and by the mouse, and stays so', async () => {
  const { page, complaints } = await shopPage({ viewport: { width: 1440, height: 900 } });
  const edge = page.getByRole('separator', { name: 'Width of the trace' });
  const width = async () => Number(await edge.getAttribute('aria-valuenow'));
  expect(await width()).toBe(28);
  await edge.focus();
  await page.keyboard.press('ArrowLeft');
  expect(await width()).toBe(29);
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  expect(await width()).toBe(40);
  await page.reload();
  await expect.poll(width).toBe(40);
  const { x = 0, y = 0 } = (await edge.boundingBox()) ?? {};
  await page.mouse.move(x + 4, y + 200);
  await page.mouse.down();
  await page.mouse.move(x + 164, y + 200);
  await page.mouse.up();
  expect(await width()).toBeCloseTo(30, 0);
  const inspector = await page.getByRole('complementary').boundingBox();
  expect(inspector?.width).toBeCloseTo((await width()) * 16, -1);
  expect(await faultsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test.each([laptop, { viewport: { width: 390, height: 800 } }])(
  'on %j the trace slides over the chat, has an address, and is closed by Escape',
  async (options) => {
    const { page, complaints } = await shopPage(options);
    const trace = page.getByRole('complementary', { name: 'Trace of the run' });
    expect(await trace.isVisible()).toBe(false);
    await page.getByRole('link', { name: 'Trace', exact: true }).click();
    await trace.waitFor();
    expect(await page.evaluate('document.activeElement.className')).toBe('waterfall');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.getByRole('region', { name: /^Details of script/ }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    const here = page.url();
    await page.reload();
    await page.getByRole('region', { name: /^Details of script/ }).waitFor();
    expect(page.url()).toBe(here);
    await page.getByRole('listbox', { name: 'Trace' }).focus();
    await page.keyboard.press('Escape');
    await trace.waitFor({ state: 'hidden' });
    await page.goBack();
    await trace.waitFor();
    await page.getByRole('link', { name: 'Close the trace' }).click();
    await trace.waitFor({ state: 'hidden' });
    expect(complaints).toEqual([]);
  },
);

test('the header of a chat is one line on a laptop, and beside the trace', async () => {
  for (const width of [1280, 1440]) {
    const { page } = await shopPage({ viewport: { width, height: 800 } });
    const { height = 0 } = (await page.locator('.chat-header').boundingBox()) ?? {};
    expect({ width, height }).toEqual({ width, height: expect.closeTo(50, -1) });
  }
});

test('j and k move in conversations, runs, tools and approvals', async () => {
  const { agent, refunds } = makeShop([refundCall, refundCall, 'Done.', 'Done.']);
  const other = makeShop(['Hello.', 'Hello.']).agent;
  const client = await startStudio({ shop: agent, other });
  for (const text of ['First question', 'Second question']) await client.chat('other', text);
  const { page } = await visit(client);
  await page.getByRole('link', { name: 'Second question' }).waitFor();
  const focused = () => page.evaluate('document.activeElement.textContent');
  await message(page).focus();
  await page.keyboard.type('jk');
  expect(await message(page).inputValue()).toBe('jk');
  await page.keyboard.press('Escape'); // leaves the field
  await page.keyboard.press('j');
  expect(await focused()).toBe('Second question');
  await page.keyboard.press('j');
  expect(await focused()).toBe('First question');
  await page.keyboard.press('k');
  await page.keyboard.press('Enter');
  await page.locator(answer, { hasText: 'Hello.' }).waitFor();

  await page.getByRole('link', { name: 'Runs' }).click();
  await page.getByRole('cell', { name: 'First question', exact: true }).waitFor();
  await page.evaluate('document.activeElement.blur()');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  expect(await focused()).toBe('First question');

  await page.getByRole('link', { name: 'Tools' }).click();
  await page.getByRole('link', { name: 'refund', exact: true }).waitFor();
  await page.evaluate('document.activeElement.blur()');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Call refund' }).waitFor();

  for (const text of ['Refund order 17', 'Refund order 18']) await client.chat('shop', text);
  await page.getByRole('link', { name: /Approvals.*2/ }).click();
  await page.evaluate('document.activeElement.blur()');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('d');
  await page.getByText('Enter denies the call.').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: /Approvals.*1/ }).waitFor();
  expect(refunds).toEqual([]);
});

test('the palette does what the buttons do', async () => {
  const { page, client, complaints } = await shopPage();
  const choose = async (words: string) => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type(words);
    await page.getByRole('listbox', { name: 'Found' }).getByRole('option', { selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  };
  await choose('theme dark');
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(15, 18, 24)');
  await page.reload();
  await page.locator(answer, { hasText: 'Done.' }).waitFor();
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(15, 18, 24)');
  await choose('theme system');
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(246, 247, 249)');
  await choose('profile reader');
  await expect.poll(() => page.getByLabel('Profile').inputValue()).toBe('reader');
  await choose('exposure prompt');
  await expect.poll(() => page.getByLabel('Exposure of tools').inputValue()).toBe('direct');
  await choose('model demo');
  await expect.poll(() => page.getByLabel('Model', { exact: true }).inputValue()).toBe('demo');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('model nobody/nothing');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('alert').waitFor(); // the palette says why
  await page.keyboard.press('Escape');
  await choose('try again');
  await expect
    .poll(async () => (await client.lines(() => true))[0])
    .toMatchObject({ chats: [{}, { isRunning: false }] });
  await choose('compare last');
  await page.getByRole('heading', { name: 'Two runs' }).waitFor();
  await choose('new shop');
  await page.getByRole('button', { name: 'Which tools do you have?' }).waitFor();
  await choose('refund order 17');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('delete this');
  await page.keyboard.press('Enter');
  await page.getByRole('option', { name: 'Delete “Refund order 17”? Enter deletes it for good.' }).waitFor();
  expect((await client.lines(() => true))[0]).toMatchObject({ chats: [{}, {}] });
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Which tools do you have?' }).waitFor();
  expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
});

test('Escape closes the palette, and does not stop the run; the palette does', async () => {
  const client = await startStudio({ shop: makeShop([refundCall]).agent });
  const { page } = await visit(client);
  await say(page, 'Refund order 17');
  await page.getByRole('region', { name: 'Approval of refund' }).waitFor();
  const stops: string[] = [];
  page.on('request', (request) => void (request.url().endsWith('/stop') && stops.push(request.url())));
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(stops).toEqual([]);
  await page.getByRole('listbox', { name: 'Trace' }).focus();
  const here = page.url();
  await page.keyboard.press('Control+k');
  expect(page.url()).toBe(here); // k alone moves in the trace
  await page.keyboard.type('stop the run');
  await page.keyboard.press('Enter');
  await page.getByText('Stopped.').waitFor();
});

test('an approval names the server, and says what remembering means', async () => {
  const { agent } = makeShop([{ toolCalls: [{ name: 'order' }] }, 'Enjoy.'], {
    tools: [],
    mcpConfig: { mcpServers: { pizzeria: { server: pizzeria } } },
    access: { confirm: 'always' },
  });
  const client = await startStudio({ shop: agent });
  const { page } = await visit(client);
  await say(page, 'A pizza');
  const question = page.getByRole('region', { name: 'Approval of order' });
  await question.getByText(/shop wants to call order of the server pizzeria, which/).waitFor();
  await question.getByText(/waiting for \d+ s, since \d/).waitFor();
  await question.getByLabel('do not ask again for order in this conversation').check();
  await question.getByText('Then shop may call order with any arguments').waitFor();
  await question.getByRole('button', { name: 'Edit…' }).click();
  await question.getByText('With other arguments, only this call is allowed.').waitFor();
});

test('what a run waited for is in its trace: the pause before a retry, and the approval', async () => {
  const busy = () => {
    throw Object.assign(new Error('overloaded'), { isRetryable: true, responseHeaders: { 'retry-after-ms': '200' } });
  };
  const { agent } = makeShop([busy, refundCall, 'Done.']);
  const { page } = await visit(await startStudio({ shop: agent }));
  await say(page, 'Refund order 17');
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.locator(answer, { hasText: 'Done.' }).waitFor();
  await page.getByRole('option', { name: /^retry 1/ }).click();
  await page.getByRole('region', { name: 'Details of retry 1' }).getByText('overloaded').waitFor();
  await page.getByRole('option', { name: /^approval/ }).click();
  await page.getByRole('region', { name: 'Details of approval' }).getByText('allowed').waitFor();
});

test('a wait for room at a router is in the trace', async () => {
  const llmModel = new ScriptedModel([refundCall, 'Done.']);
  const router = new Router({
    models: [{ modelName: 'fast', params: { model: llmModel, id: 'fast-eu', rpm: 1 } }],
    windowMs: 3_000,
  });
  onTestFinished(() => router.close());
  const { agent } = makeShop([], { llmModel: router.languageModel('fast'), access: { confirm: 'never' } });
  const { page } = await visit(await startStudio({ shop: agent }));
  await say(page, 'Refund order 17');
  await page.locator(answer, { hasText: 'Done.' }).waitFor();
  await page.getByRole('option', { name: /^router \d.* s$/ }).click();
  await page.getByRole('region', { name: 'Details of router' }).getByText('waited for fast-eu').waitFor();
});

test('a prompt is shown as system prompt, history and tools, with their shares of the tokens', async () => {
  const { agent } = makeShop([refundCall, 'Done.'], { access: { confirm: 'never' }, systemPrompt: 'Be brief.' });
  const { page } = await visit(await startStudio({ shop: agent }));
  await say(page, 'Refund order 17');
  await page.getByRole('link', { name: /^Run \w{4}$/ }).click();
  await page
    .getByRole('option', { name: /^script/ })
    .first()
    .click();
  const details = page.getByRole('region', { name: /^Details of script/ });
  const tabs = details.getByRole('tablist');
  const height = async () => (await tabs.boundingBox())?.height;
  await tabs.waitFor();
  const usual = await height();
  await page.setViewportSize({ width: 1440, height: 300 }); // a prompt longer than the panel leaves the tabs their room
  await expect.poll(height).toBe(usual);
  for (const title of [/^System prompt about \d+ token/, /^History: 1 message about/, /^1 tool about/])
    await details.getByRole('heading', { name: title }).waitFor();
});

test('the trace of a durable run grows while a worker runs it', async () => {
  const { client, runs, refunds } = await attached();
  await runs.start('support', 'Refund order 17', { id: 'order-17' });
  const { page, complaints } = await visit(client);
  await page.getByRole('link', { name: 'Durable' }).click();
  await page.getByRole('link', { name: 'Refund order 17' }).click();
  const trace = page.getByRole('listbox', { name: 'Trace' });
  await trace.getByRole('option', { name: /^refund/ }).click();
  await trace.getByRole('option', { name: /^approval/ }).waitFor();
  await page.getByRole('region', { name: 'Details of refund' }).getByText('17').waitFor();
  const here = page.url();
  await page.getByRole('link', { name: /Approvals.*1/ }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  expect(await runs.result('order-17')).toBe('Order 17 is refunded.');
  expect(refunds).toHaveLength(1);
  await page.goto(here);
  await page.getByRole('region', { name: 'Details of refund' }).getByText('refund 1').waitFor();
  await trace.getByRole('option', { name: /^step 2/ }).waitFor();
  expect(complaints).toEqual([]);
});

test('a link opened in a new tab needs no token', async () => {
  const { page } = await shopPage();
  const href = await page.getByRole('complementary').getByRole('link', { name: /^Run/ }).getAttribute('href');
  const other = await page.context().newPage();
  await other.goto(new URL(href ?? '', page.url()).href);
  await other.getByRole('heading', { name: 'Refund order 17' }).waitFor();
});

test('every place of the page has an address that can be loaded again', async () => {
  const { page, client } = await shopPage();
  const chat = new URL(page.url()).hash;
  await page.getByRole('link', { name: 'Tools' }).click();
  await page.getByRole('link', { name: 'refund', exact: true }).click();
  const places: [string, () => Promise<void>][] = [
    [chat, () => page.locator(answer, { hasText: 'Done.' }).waitFor()],
    [new URL(page.url()).hash, () => page.getByRole('button', { name: 'Call refund' }).waitFor()],
    ['#/approvals', () => page.getByRole('heading', { name: 'Approvals' }).waitFor()],
    ['#/cost', () => page.getByRole('heading', { name: 'Cost and limits' }).waitFor()],
    ['#/chat//shop', () => page.getByRole('heading', { name: 'shop' }).waitFor()],
    ['#/tools/shop/gone', () => page.getByText('This agent has no tool with the name gone.').waitFor()],
    ['#/runs/gone', () => page.getByText('This run is no longer kept.').waitFor()],
  ];
  for (const [place, isShown] of places) {
    await page.goto(`${client.origin}/${place}`);
    await page.reload();
    await isShown();
  }
});

test('views without content say how to fill them', async () => {
  const look = tool({ name: 'look', description: 'Looks', run: () => 'seen' });
  const agent = new PocketAgent({ name: 'plain', llmModel: new ScriptedModel([]), tools: [look] });
  onTestFinished(() => agent.close());
  const { page } = await visit(await startStudio({ plain: agent }));
  const texts: Record<string, string> = {
    Approvals: '--confirm destructive',
    Runs: 'Send a message',
    Tools: 'mcpServers',
    Cost: 'limits.maxCostUsd',
  };
  for (const [view, text] of Object.entries(texts)) {
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }).click();
    await page.getByText(text).waitFor();
    expect(await faultsOf(page)).toEqual([]);
  }
});

test('the trace shows each attempt, and the prompt of a sub-agent as it was sent', async () => {
  const policy = new PocketAgent({
    name: 'policy',
    roleDescription: 'Knows the rules',
    llmModel: new ScriptedModel(['You may.'], { modelId: 'rules' }),
  });
  const busy = () => {
    throw Object.assign(new Error('overloaded'), { isRetryable: true, responseHeaders: { 'retry-after-ms': '20' } });
  };
  const question = { toolCalls: [{ name: 'policy-message', arguments: { message: 'May I pay it back?' } }] };
  const { agent } = makeShop([question, busy, 'Done.'], { subAgents: [policy] });
  const { page } = await visit(await startStudio({ shop: agent }));
  await say(page, 'Refund order 17');
  await page.locator(answer, { hasText: 'Done.' }).waitFor();
  await page.getByRole('option', { name: /^rules/ }).click();
  const details = page.getByRole('region', { name: /^Details of rules/ });
  await details.getByText('May I pay it back?').waitFor();
  await expect.poll(() => page.getByRole('option', { name: /^script/ }).allTextContents()).toHaveLength(3);
  await page.getByRole('option', { name: /^script overloaded/ }).click();
  await page
    .getByRole('region', { name: /^Details of script/ })
    .getByText('Refund order 17')
    .waitFor();
});

test('calls, approvals and sub-agents of two runs with the same ids of calls stay with their runs', async () => {
  const helper = (text: string) =>
    new PocketAgent({ name: 'helper', roleDescription: 'Helps', llmModel: new ScriptedModel([text, text]) });
  const call = (id: string, name: string, args: object) => ({
    content: [{ type: 'tool-call' as const, toolCallId: id, toolName: name, input: JSON.stringify(args) }],
  });
  const step = (eur: number) => call('same', 'refund', { id: 17, eur });
  const ask = call('inner', 'helper-message', { message: 'Help' });
  const { agent } = makeShop([step(1), ask, 'One.', step(2), ask, 'Two.'], { subAgents: [helper('Yes.')] });
  const { page } = await visit(await startStudio({ shop: agent }));
  await say(page, 'First');
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.locator(answer, { hasText: 'One.' }).waitFor();
  await say(page, 'Second');
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.locator(answer, { hasText: 'Two.' }).waitFor();
  const calls = page.locator('.items details.tool', { hasText: 'refund' });
  expect(await calls.locator('summary').allTextContents()).toEqual([
    expect.stringMatching(/eur: 1.*allowed.*✓/),
    expect.stringMatching(/eur: 2.*denied.*not called/),
  ]);
  for (const run of ['First', 'Second']) {
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('main').getByRole('link', { name: run }).click();
    await page.getByRole('heading', { level: 1, name: run }).waitFor();
    expect(await page.getByRole('option', { name: /^helper/ }).allTextContents()).toHaveLength(2); // its call, its run
    expect(await page.getByRole('option', { name: /^approval/ }).allTextContents()).toHaveLength(1);
  }
});
