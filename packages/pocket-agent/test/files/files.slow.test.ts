// Files from URLs that are large, or expand to large ones.
import { gzipSync } from 'node:zlib';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../fixtures/servers/http-hosts.ts';
import { silent } from '../helpers.ts';

beforeEach(() => void vi.stubEnv('POCKET_AGENT_ALLOW_PRIVATE_URLS', '1')); // the files of the tests are on this machine

/** Unlike that of ScriptedModel, its provider fetches no URLs. */
function downloadingModel(script: ConstructorParameters<typeof ScriptedModel>[0]): ScriptedModel {
  return Object.assign(new ScriptedModel(script), { supportedUrls: {} });
}

test('a URL that expands without end is read up to its limit', async () => {
  const bomb = gzipSync(Buffer.alloc(200_000_000));
  const packed = await listen(undefined, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/pdf', 'content-encoding': 'gzip' }).end(bomb);
  });
  onTestFinished(() => packed.close());
  const before = process.memoryUsage.rss();
  const model = downloadingModel(['Nothing to read.']);
  const files = [{ url: `${new URL(packed.url).origin}/bomb.pdf` }];
  await new PocketAgent({ llmModel: model, logger: silent }).run({ text: 'Read.', files });
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain('The answer is larger than 20971520 bytes');
  expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000);
});

test('many large files: four are downloaded at a time, and 100 MB of one prompt', async () => {
  let [open, most] = [0, 0];
  const many = await listen(undefined, (_request, response) => {
    most = Math.max(most, ++open);
    response.on('close', () => open--);
    response.writeHead(200, { 'content-type': 'application/pdf' }).end(Buffer.alloc(19_000_000));
  });
  onTestFinished(() => many.close());
  const { origin } = new URL(many.url);
  const model = downloadingModel(['Read.']);
  const files = Array.from({ length: 16 }, (_, index) => ({ url: `${origin}/${index}.pdf` }));
  await new PocketAgent({ llmModel: model, logger: silent }).run({ text: 'Read.', files });
  const content = model.calls[0]?.prompt.at(-1)?.content ?? [];
  const kept = typeof content === 'string' ? [] : content.filter(({ type }) => type === 'file');
  expect(kept.length).toBeGreaterThanOrEqual(5);
  expect(kept.length).toBeLessThanOrEqual(9);
  expect(JSON.stringify(content.slice(-1))).toContain('the files of a prompt may have 100 MB together');
  expect(most).toBeLessThanOrEqual(4);
});
