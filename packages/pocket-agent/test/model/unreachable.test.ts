import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { unreachableServer } from '../fixtures/programs/full-queue.ts';
import { scriptedAgent } from '../helpers.ts';

const models = [
  'openai/gpt-5.1',
  'anthropic/claude-sonnet-4-5',
  'google/gemini-2.5-flash',
  'azure/my-deployment',
  'ollama/qwen3:8b',
  'openai-compatible/local-model',
];

test('an address that accepts no connection fails within 5 seconds with any provider', async () => {
  const baseUrl = await unreachableServer();
  let connecting = 0;
  const count = () => void connecting++;
  subscribe('undici:client:beforeConnect', count);
  onTestFinished(() => void unsubscribe('undici:client:beforeConnect', count));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const errors = models.map((llmModel) => {
    const modelSettings = { baseUrl, apiKey: 'sk-test' };
    const { agent } = scriptedAgent([], { agentConfig: { llmModel, modelSettings }, limits: { modelRetries: 0 } });
    return agent.run('Hello').catch(String);
  });
  const { host } = new URL(baseUrl);
  while (connecting < models.length) await turn();
  vi.advanceTimersByTime(4_500);
  expect(await Promise.all(errors)).toEqual(
    models.map(() => expect.stringContaining(`Connect Timeout Error: ${host} accepted no connection within 5 seconds`)),
  );
});

test('a slow server is waited for, on a new connection and on an open one', async () => {
  const server = createServer();
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { agent } = scriptedAgent([], {
    agentConfig: { llmModel: 'openai-compatible/local-model', modelSettings: { baseUrl } },
  });
  for (const detail of ['the first', 'the second']) {
    const failure = agent.run('Hello').catch(String);
    const [, response] = await once(server, 'request');
    vi.advanceTimersByTime(60_000);
    for (let count = 0; count < 10; count++) await turn();
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ detail }));
    expect(await failure).toContain(detail);
  }
});
