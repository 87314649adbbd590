// A new bot is started while the old one still has its port, as in a rolling restart.
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../../store/test/postgres.ts';
import { fakeForTest, folderForTest, runForTest } from '../resources.ts';

test('a bot whose address for studios is in use ends, and advances no durable runs', async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const old = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void old.close());
  await once(old, 'listening');
  const fake = await fakeForTest();
  const cwd = await folderForTest();
  await writeFile(join(cwd, 'agent.json'), JSON.stringify({ llmModel: 'demo', agentConfig: { name: 'Helper' } }));
  const { ended, errors } = runForTest({
    file: 'bot/main.ts',
    args: ['--studio', String((old.address() as AddressInfo).port), '--runs', await postgres.createDatabase()],
    environment: {
      MATTERMOST_URL: fake.url,
      MATTERMOST_TOKEN: fake.token('helper'),
      MATTERMOST_BOT_AGENT: join(cwd, 'agent.json'),
    },
    cwd,
  });
  expect(await ended).toEqual([2, null]);
  expect(errors()).toMatch(/--studio: .*EADDRINUSE/);
});
