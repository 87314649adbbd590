import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { setUp } from '../fixtures/bridge-setup.ts';
import { cardOf, messageOf, openConnections, rpcServer, startStream, taskOf } from '../fixtures/local-server.ts';

const CALLS = 2000;
const AT_ONCE = 64;

test('2,000 mixed calls, 64 at a time: every message once, connections reused, memory constant', async () => {
  const ids: string[] = [];
  const refused = new Set<string>();
  const url = await rpcServer(({ id, method, params }, response) => {
    if (method !== 'SendStreamingMessage') return taskOf(String(params.id), 'COMPLETED');
    const { messageId = '', parts = [] } = params.message ?? {};
    const text = String(parts[0]?.text);
    const kind = Number(text) % 4;
    if (kind === 3 && !refused.has(messageId)) {
      refused.add(messageId);
      response.writeHead(429).end();
      return undefined;
    }
    ids.push(messageId);
    if (kind === 0) return messageOf(text);
    const send = startStream(response, id);
    send({ task: taskOf(text, 'WORKING') });
    if (kind === 2) setImmediate(() => response.destroy());
    else {
      const artifact = { artifactId: 'a', parts: [{ text }] };
      send({ artifactUpdate: { taskId: text, contextId: 'context-1', artifact } });
      send({ statusUpdate: { taskId: text, contextId: 'context-1', status: { state: 'TASK_STATE_COMPLETED' } } });
      response.end();
    }
    return undefined;
  });
  const { say, directory, bridge } = setUp({ card: cardOf(url, { capabilities: { streaming: true } }) });
  let next = 0;
  let most = 0;
  const failures: unknown[] = [];
  const worker = async (end: number) => {
    while (next < end) {
      const index = next++;
      const response = await say(String(index));
      if (!response.success) failures.push(response);
      if (index % 4 === 1 && response.result?.text !== String(index)) failures.push(response);
      if (index % 100 === 0) most = Math.max(most, await openConnections());
    }
  };
  const run = (end: number) => Promise.all(Array.from({ length: AT_ONCE }, () => worker(end)));
  await run(CALLS / 4);
  const before = process.memoryUsage().heapUsed;
  await run(CALLS);
  const grown = process.memoryUsage().heapUsed - before;
  expect(failures).toEqual([]);
  expect(ids).toHaveLength(CALLS);
  expect(new Set(ids).size).toBe(CALLS);
  expect(directory.records).toHaveLength(CALLS);
  expect(most).toBeLessThanOrEqual(AT_ONCE);
  expect(grown).toBeLessThan(60_000_000);
  await bridge.close();
  await expect.poll(openConnections).toBe(0);
  await sleep(0);
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBeLessThan(10);
});
