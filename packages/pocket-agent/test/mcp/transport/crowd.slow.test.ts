// Many calls in parallel.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { stdio, testClient, textOfResult } from '../../fixtures/world.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

test('a finished call leaves nothing in memory, even if other calls are always in progress', async () => {
  const { client } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-plain.ts') } } });
  const callInTurn = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await client.callTool('echo', { text: `${turn}`.padEnd(1_000) });
  };
  const calls = (each: number) => Promise.all(Array.from({ length: 32 }, () => callInTurn(each)));
  await calls(20);
  const inProgress = calls(100);
  collect();
  const before = process.memoryUsage().heapUsed;
  await inProgress;
  collect();
  expect((process.memoryUsage().heapUsed - before) / 3_200).toBeLessThan(250);
});

test('calls with more data than a pipe holds cause no warning', async () => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => void warnings.push(warning);
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  const { client } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-plain.ts') } } });
  const texts = Array.from({ length: 32 }, (_, index) => `${index}`.padEnd(100_000));
  const answers = await Promise.all(texts.map((text) => client.callTool('echo', { text })));
  expect(answers.map(textOfResult)).toEqual(texts);
  expect(warnings).toEqual([]);
});
