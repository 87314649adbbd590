// Model servers that send answers without end or of extreme size.
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { PocketAgent } from 'pocket-agent';
import { expect, test } from 'vitest';
import { listen } from '../fixtures/servers/http-hosts.ts';
import { open } from '../fixtures/world.ts';
import { silent } from '../helpers.ts';

async function agentOf(answer: (response: ServerResponse) => unknown): Promise<PocketAgent> {
  const host = await open(listen(undefined, (_request, response) => answer(response)));
  return new PocketAgent({
    agentConfig: { llmModel: 'openai-compatible/it', modelSettings: { baseUrl: host.url } },
    limits: { modelRetries: 0 },
    logger: silent,
  });
}

function writeForEver(response: ServerResponse, text: string): void {
  const more = () => {
    if (!response.destroyed) response.write(text, () => setImmediate(more));
  };
  more();
}

test('an endless error is truncated and shown', async () => {
  const agent = await agentOf((response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    writeForEver(response, '{},'.repeat(10_000));
  });
  await expect(agent.run('Hello')).rejects.toMatchObject({ code: 'MODEL_FAILED' });
});

test('an error that repeats a whole answer is truncated, and no half secret is left at its end', async () => {
  const secret = 'sk-proj-0123456789abcdefghijklmnopqrstuvwxyz';
  const body = `no JSON ${'x '.repeat(49_996 - 20)}${secret} ${'y '.repeat(1_000_000)}`;
  const agent = await agentOf((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(body);
  });
  const error = await agent.run('Hello', { streaming: false }).catch((thrown: Error) => thrown);
  const shown = inspect(error, { depth: 10, maxStringLength: Number.POSITIVE_INFINITY, showHidden: true });
  expect(shown).toContain('… (cut)');
  expect(shown).not.toContain('sk-proj');
  expect(shown.length).toBeLessThan(1_000_000);
});

test('an answer of more than a million values is refused', async () => {
  const agent = await agentOf((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"choices":[${'1,'.repeat(1_000_001)}1]}`);
  });
  await expect(agent.run('Hello', { streaming: false })).rejects.toThrow(
    'The model server sent an answer that exceeds the limit of 1000000 values',
  );
});

test('an event stream with the type text/plain is read to its end', async () => {
  const deltas: object[] = Array.from({ length: 200 }, () => ({ index: 0, delta: { content: 'x' } }));
  deltas.push({ index: 0, delta: {}, finish_reason: 'stop' });
  const agent = await agentOf((response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    for (const choice of deltas) {
      const chunk = { id: '1', object: 'chat.completion.chunk', created: 1, model: 'it', choices: [choice] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  });
  expect(await agent.run('Hello', { streaming: true })).toBe('x'.repeat(200));
});
