// The command mattermost-bot exports its spans and metrics to an OTLP receiver.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { receiver } from '../../../pocket-agent/test/fixtures/programs/otlp-receiver.ts';
import { defaultSeed } from '../fake/world/seed.ts';
import { fakeForTest, folderForTest, runForTest } from '../resources.ts';
import { until } from '../until.ts';

test('an answer is a trace of run, model calls and tool calls, without message texts', async () => {
  const collector = await receiver();
  const fake = await fakeForTest({ seed: { conversations: [...defaultSeed.conversations, ['alice', 'helper']] } });
  const cwd = await folderForTest();
  const file = join(cwd, 'agent.json');
  await writeFile(file, JSON.stringify({ llmModel: 'demo', agentConfig: { name: 'Helper' } }));
  const environment = {
    MATTERMOST_URL: fake.url,
    MATTERMOST_TOKEN: fake.token('helper'),
    MATTERMOST_BOT_AGENT: file,
    ...collector.env,
  };
  const { child, ended } = runForTest({ file: 'bot/main.ts', args: [], environment, cwd });
  await until(() => fake.socketCount).toBe(1);
  fake.say('alice', 'alice,helper', 'hello, old secret friend');
  const helper = fake.user('helper').id;
  await until(() => [...fake.world.posts.values()].filter(({ user_id }) => user_id === helper).length).toBeGreaterThan(
    0,
  );
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  const names = collector.spans().map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['invoke_agent Helper', expect.stringMatching(/^chat /)]));
  expect(collector.metrics().map(({ name }) => name)).toContain('gen_ai.client.operation.duration');
  expect(collector.resource()).toMatchObject({ 'service.name': 'mattermost-bot' });
  expect(collector.text()).not.toContain('secret');
});
