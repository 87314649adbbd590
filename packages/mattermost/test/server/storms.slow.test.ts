// A server under the rate limit of Mattermost, and one that is killed: no message is lost or posted twice.
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { quickStart } from '../../../pocket-agent/test/fixtures/programs/quick-start.ts';
import { callTool, connectForTest, newClient } from '../connect.ts';
import type { FakeMattermost } from '../fake/fake-mattermost.ts';
import type { Fault } from '../fake/http/faults.ts';
import { fakeForTest } from '../resources.ts';

const main = ['-C', 'pocket-agent/source', fileURLToPath(new URL('../../src/main.ts', import.meta.url))];
const stored = (fake: FakeMattermost, channelId: string) =>
  (fake.world.timeline.get(channelId) ?? []).map(({ message }) => message);
const refusals = ({ requests }: FakeMattermost) => requests.filter(({ status }) => status === 429).length;

test('30 posts at once under the rate limit of Mattermost: each is stored once, or reported and not stored', async () => {
  const { call, fake } = await connectForTest({ fake: { rateLimit: { perSecond: 5, burst: 3 } } });
  const channel_id = fake.channel('off-topic').id;
  const messages = Array.from({ length: 30 }, (_, index) => `Message ${index}`);
  const answers = await Promise.all(messages.map((message) => call('post_message', { channel_id, message })));
  const posted = messages.filter((_, index) => !answers[index]?.isError);
  expect(stored(fake, channel_id).sort()).toEqual([...posted].sort());
  expect(posted.length).toBeGreaterThan(3);
  expect(refusals(fake)).toBeGreaterThan(5);
  for (const { text } of answers.filter(({ isError }) => isError)) expect(text).toMatch(/^Rate limit exceeded/);

  // what was reported can be repeated
  for (const message of messages.filter((one) => !posted.includes(one))) {
    expect(await call('post_message', { channel_id, message })).toMatchObject({ isError: false });
  }
  expect(stored(fake, channel_id).sort()).toEqual([...messages].sort());
});

function startServer(fake: FakeMattermost) {
  const env = { ...quickStart, MATTERMOST_URL: fake.url, MATTERMOST_TOKEN: fake.token('alice') };
  const server = { command: process.execPath, args: main, env, cwd: tmpdir(), stderr: 'ignore' as const };
  const transport = new StdioClientTransport(server);
  const client = newClient('2025');
  onTestFinished(() => client.close());
  return { transport, client };
}

/** Kills the server at its request of this number. Returns whether there was one. */
async function killedAt(request: number, fault: Fault): Promise<boolean> {
  const fake = await fakeForTest();
  const channel_id = fake.channel('off-topic').id;
  const { transport, client } = startServer(fake);
  let isKilled = false;
  const kill = () => {
    isKilled = true;
    if (transport.pid === null) throw new Error('The server has no process.');
    process.kill(transport.pid, 'SIGKILL');
  };
  const faults = [
    ...(request > 1 ? [fake.fail({ times: request - 1, meanwhile() {} })] : []),
    fake.fail({ meanwhile: kill, ...fault }),
  ];
  const posted = async () => {
    await client.connect(transport);
    return callTool(client, { name: 'post_message', args: { channel_id, message: 'Once' } });
  };
  const answer = await posted().catch(() => undefined);
  for (const one of faults) one.cancel();
  expect(answer === undefined, `killed at request ${request}`).toBe(isKilled);
  const count = stored(fake, channel_id).length;
  if (isKilled) expect(count).toBeLessThanOrEqual(1);
  else expect(count).toBe(1);

  const next = startServer(fake);
  await next.client.connect(next.transport);
  const { data } = await callTool(next.client, { name: 'get_channel_messages', args: { channel_id } });
  expect(data.messages).toHaveLength(count);
  return isKilled;
}

test.each([
  { when: 'after Mattermost has handled it', fault: {} },
  { when: 'before Mattermost has handled it', fault: { status: 503 } },
])('a server that is killed at any of its requests, $when, posts at most once', async ({ fault }) => {
  let request = 1;
  while (await killedAt(request, fault)) request++;
  expect(request).toBeGreaterThan(2);
});
