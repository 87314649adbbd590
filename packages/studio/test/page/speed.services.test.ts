// The budgets of the page, in a real browser. Processor time of the page counts: the machine may have other work.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Page } from 'playwright-core';
import { type LanguageModel, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { type Client, isEvent, makeShop, startStudio } from '../world.ts';
import { message, useBrowser } from './browser.ts';

const { visit, say } = useBrowser();
const FRAME_MS = 1_000 / 60;
const answer = 'article[aria-label=Answer]';

/** Processor time of the page's main thread, in milliseconds. */
async function watchProcessor(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
  };
}

test('the page is smaller than 300 kB, and painted within 300 ms', async () => {
  const bundle = new URL('../../dist/page/page.js', import.meta.url);
  expect(gzipSync(readFileSync(bundle)).length).toBeLessThan(300_000);
  const client = await startStudio({ shop: makeShop([]).agent });
  const { page } = await visit(client);
  const paint = async () => {
    await page.reload();
    await message(page).waitFor();
    const entry = await page.waitForFunction(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    );
    return entry.jsonValue();
  };
  await expect.poll(paint).toBeLessThan(300); // other work of the machine may hold up single loads
});

async function finishedRun(client: Client) {
  const isLast = isEvent('run_finished');
  const line = (await client.lines(isLast)).find(isLast);
  if (line?.type !== 'event') throw new Error('No run has finished.');
  return line.event.meta;
}

test('a trace of ten thousand rows draws only those in sight, each frame in time', async () => {
  const script = Array.from({ length: 3_400 }, () => ({ toolCalls: [{ name: 'refund', arguments: { id: 1 } }] }));
  const { agent } = makeShop([...script, 'Done.'], { access: { confirm: 'never' }, limits: { maxSteps: 4_000 } });
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'Again and again');
  const { runId } = await finishedRun(client);
  const { page } = await visit(client);
  await page.goto(`${client.origin}/#/runs/${runId}`);
  const trace = page.getByRole('listbox', { name: 'Trace' });
  await trace.waitFor();
  expect(await page.getByRole('option').count()).toBeLessThan(80);
  const used = await watchProcessor(page);
  const before = await used();
  const frames = 200;
  await page.evaluate(
    `new Promise((done) => {
      const area = document.querySelector('.waterfall');
      let left = ${frames};
      const next = () => { area.scrollTop += 350; if (left-- > 0) requestAnimationFrame(next); else done(); };
      next();
    })`,
  );
  const perFrame = ((await used()) - before) / frames;
  expect(perFrame).toBeLessThan(FRAME_MS);
  await page.evaluate("document.querySelector('.waterfall').scrollTop = 1e9");
  await page.getByRole('option', { name: /^step 3401/ }).waitFor();
  expect(await page.getByRole('option').count()).toBeLessThan(80);
});

/** Writes a thousand pieces of Markdown a second. */
function chatty(seconds: number): LanguageModel {
  const noUsage = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
  const output = { total: undefined, text: undefined, reasoning: undefined };
  const usage = { inputTokens: noUsage, outputTokens: output };
  const finishReason = { unified: 'stop', raw: undefined } as const;
  async function* parts(): AsyncGenerator<LanguageModelV4StreamPart> {
    yield { type: 'stream-start', warnings: [] };
    yield { type: 'text-start', id: '1' };
    const startedAt = performance.now();
    for (let sent = 0; sent < 1_000 * seconds; ) {
      for (const due = performance.now() - startedAt; sent < due; sent++)
        yield {
          type: 'text-delta',
          id: '1',
          delta: sent % 60 === 59 ? '\n\n' : sent % 7 === 0 ? '**word** ' : 'word ',
        };
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    yield { type: 'text-delta', id: '1', delta: '\n\nThe end.' };
    yield { type: 'text-end', id: '1' };
    yield { type: 'finish', finishReason, usage };
  }
  return {
    ...{ specificationVersion: 'v4', provider: 'test', modelId: 'chatty', supportedUrls: {} },
    doGenerate: async () => ({ content: [], finishReason, usage, warnings: [] }),
    doStream: async () => ({ stream: ReadableStream.from(parts()) }),
  };
}

test('a thousand deltas a second leave the page half of its time', async () => {
  const seconds = 5;
  const agent = new PocketAgent({ name: 'chatty', llmModel: chatty(seconds) });
  onTestFinished(() => agent.close());
  const { page } = await visit(await startStudio({ chatty: agent }));
  const used = await watchProcessor(page);
  const before = await used();
  await say(page, 'Write');
  await page.locator(answer, { hasText: 'The end.' }).waitFor();
  expect(((await used()) - before) / (1_000 * seconds)).toBeLessThan(0.5);
});

test('after an hour of chat the page has less than 100 MB', async () => {
  const turns = 240; // four a minute
  const read = tool({ name: 'read', description: 'Reads', run: () => `${'A line of a long file. '.repeat(900)}` });
  const script = Array.from({ length: turns }, (_, turn) => [
    { toolCalls: [{ name: 'read', arguments: { turn } }] },
    `Answer ${turn}.\n\n${'Some **words** of an answer. '.repeat(80)}`,
  ]).flat();
  const agent = new PocketAgent({ name: 'reader', llmModel: new ScriptedModel(script), tools: [read] });
  onTestFinished(() => agent.close());
  const client = await startStudio({ reader: agent });
  const { page } = await visit(client);
  await say(page, 'Turn 0');
  await page.locator(answer, { hasText: 'Answer 0.' }).waitFor();
  const id = decodeURIComponent(new URL(page.url()).hash.split('/')[2] ?? '');
  for (let turn = 1; turn < turns; turn++) {
    const path = `/api/chats/${id}/messages`;
    await expect.poll(() => client.post(path, { text: `Turn ${turn}` }).catch(() => undefined)).toBeDefined();
  }
  await page.locator(answer, { hasText: `Answer ${turns - 1}.` }).waitFor({ timeout: 120_000 });
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  expect(usedSize).toBeLessThan(100_000_000);
});
