// The bot program with durable runs, killed at each of its requests to Mattermost, and started again.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { Fault } from '../fake/http/faults.ts';
import { defaultSeed } from '../fake/world/seed.ts';
import { fakeForTest, folderForTest, type RunningProgram, runForTest } from '../resources.ts';
import { until } from '../until.ts';
import { react } from './bot-world.ts';

const manifest =
  'tool_human_name: Refunds\ntool_list:\n  - name: refund\n    description: Refunds an order\n    capability: write\n';
const tool = `
import { appendFileSync } from 'node:fs';
export class Tools {
  async tool_refund() {
    appendFileSync('effects', 'refunded\\n');
    return 'refunded';
  }
}
`;

async function world() {
  const fake = await fakeForTest({ seed: { conversations: [...defaultSeed.conversations, ['alice', 'helper']] } });
  const folder = await folderForTest();
  await mkdir(join(folder, 'refunds'));
  await writeFile(join(folder, 'refunds/manifest.yaml'), manifest);
  await writeFile(join(folder, 'refunds/tool.mjs'), tool);
  const agent = { llmModel: 'demo', mcpServers: {}, tools: ['refunds'], access: { confirm: 'write' } };
  await writeFile(join(folder, 'agent.json'), JSON.stringify(agent));
  const environment = { MATTERMOST_URL: fake.url, MATTERMOST_TOKEN: fake.token('helper') };
  const args = ['--agent', 'agent.json', '--runs', 'runs.db', '--profile', 'none'];
  const start = () => runForTest({ file: 'bot/main.ts', args, environment, cwd: folder });
  const helper = fake.user('helper').id;
  const said = () => [...fake.world.posts.values()].filter((post) => post.user_id === helper && !post.delete_at);
  const effects = async () => (await readFile(join(folder, 'effects'), 'utf8').catch(() => '')).split('\n').length - 1;
  /** Whether the call of the tool has begun, and its end is not saved. */
  const isCalling = () => {
    const runs = new DatabaseSync(join(folder, 'runs.db'), { readOnly: true });
    const last = runs.prepare('select type from pocket_run_journal order by number desc limit 1').get();
    runs.close();
    return last?.type === 'intent';
  };
  return { fake, start, said, effects, isCalling };
}

/** Kills the bot at its request of this number after the question, which may also fail. Returns whether there was one. */
async function killedAt(request: number, fault: Fault = {}): Promise<boolean> {
  const { fake, start, said, effects, isCalling } = await world();
  const before = said().length;
  const answers = () => said().slice(before);
  let bot: RunningProgram = start();
  await until(() => fake.socketCount).toBe(1);
  let isKilled = false;
  const kill = () => {
    isKilled = true;
    bot.child.kill('SIGKILL');
  };
  // only requests of the bot count
  if (request > 1) fake.fail({ user: 'helper', times: request - 1, meanwhile() {} });
  fake.fail({ user: 'helper', meanwhile: kill, ...fault });
  fake.say('alice', 'alice,helper', 'call the tool refund');
  let hasReacted = false;
  let isKilledInCall = false;
  const texts = async () => {
    if (bot.child.signalCode !== null) {
      isKilledInCall = isCalling();
      bot = start();
    }
    const asked = answers().find(({ message }) => message.includes('React with'));
    if (asked && !hasReacted) {
      hasReacted = true;
      await react(fake, 'alice', asked.id, '+1');
    }
    return answers()
      .map(({ message }) => message)
      .filter((text) => !text.includes('hourglass'));
  };
  // the outcome of a call during which the bot is killed is unknown
  const outcome = /refunded|may or may not have taken effect/;
  await until(texts).toContainEqual(expect.stringMatching(outcome));
  await until(texts).toContainEqual(expect.stringContaining('*Allowed by alice.*'));
  bot.child.kill('SIGTERM');
  await bot.ended;
  // the approval and the answer
  expect(answers(), `killed at request ${request}`).toHaveLength(2);
  const isKnown = answers().some(({ message }) => message.includes('refunded'));
  expect(isKnown, `killed at request ${request}`).toBe(!isKilledInCall);
  if (isKnown) expect(await effects()).toBe(1);
  else expect(await effects()).toBeLessThanOrEqual(1);
  return isKilled;
}

test.each([
  { when: 'after Mattermost has handled it', fault: {} },
  { when: 'before Mattermost has handled it', fault: { status: 503 } },
])(
  'a bot that is killed at any of its requests, $when, answers once and acts at most once',
  async ({ fault }) => {
    let request = 1;
    while (await killedAt(request, fault)) request++;
    expect(request).toBeGreaterThan(8);
  },
  600_000,
);
