// Runs in SQLite files.
import { expect, test } from 'vitest';
import { openRuns } from '../src/index.ts';
import { agentOf, newFile, silent } from './agents.ts';
import { testRuns } from './behaviour.ts';

testRuns(async () => `sqlite:${newFile()}`);

test('only one process at a time advances runs, and the next one takes over when it ends', async () => {
  const options = { url: `sqlite:${newFile()}`, logger: silent };
  const first = await openRuns({ ...options, agents: { a: () => agentOf(['first']) } });
  const warnings: string[] = [];
  const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
  const second = await openRuns({ ...options, logger, agents: { a: () => agentOf(['second']) } });
  const { id } = await second.start('a', 'Hi');
  expect(await second.result(id)).toBe('first');
  await first.close();
  const later = await second.start('a', 'Hi again');
  expect(await second.result(later.id)).toBe('second');
  expect(warnings).toEqual([expect.stringMatching(/^Another process advances the runs of .*; this one waits/)]);
  await second.close();
});

test('options that cannot work are refused', async () => {
  await expect(openRuns({ url: 'runs.db' })).rejects.toThrow("url: 'sqlite:' and a file");
  await expect(openRuns({ url: 'sqlite:x.db', agent: {} } as never)).rejects.toThrow('Did you mean "agents"?');
  const runs = await openRuns({ url: `sqlite:${newFile()}`, agents: { a: () => agentOf(['x']) } });
  await expect(runs.start('a', 5 as never)).rejects.toThrow('The input must be a string');
  await expect(runs.start('a', 'Hi', { timeout: 5 } as never)).rejects.toThrow('timeoutMs');
  await expect(runs.list({ status: 'done' as never })).rejects.toThrow('must be one of queued');
  await runs.close();
});
