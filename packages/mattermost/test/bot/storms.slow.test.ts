// Bots under the rate limit of Mattermost: every question gets its answer, once.
import { openRuns } from '@pocket-agent/runs';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { newFile, silent } from '../../../runs/test/agents.ts';
import { type FakeMattermost, startFakeMattermost } from '../fake/fake-mattermost.ts';
import { until } from '../until.ts';
import { seed, world } from './bot-world.ts';

const QUESTIONS = 20;

async function limitedFake(): Promise<FakeMattermost> {
  const fake = await startFakeMattermost({ seed, rateLimit: { perSecond: 10, burst: 5 } });
  onTestFinished(() => fake.close());
  return fake;
}

/** Asks everything at once, each question in a thread of its own. */
async function storm({ fake, said }: Pick<Awaited<ReturnType<typeof world>>, 'fake' | 'said'>): Promise<void> {
  const asked = Array.from({ length: QUESTIONS }, (_, index) =>
    fake.say(index % 2 === 0 ? 'alice' : 'bob', 'town-square', `@helper question ${index}`),
  );
  const answered = () => said().map(({ root_id, message }) => `${root_id} ${message.startsWith('Answer')}`);
  await until(() => answered().sort()).toEqual(asked.map(({ id }) => `${id} true`).sort());
  expect(new Set(said().map(({ message }) => message)).size).toBe(QUESTIONS);
  expect(fake.requests.filter(({ status }) => status === 429).length).toBeGreaterThan(3);
}

const answers = Array.from({ length: QUESTIONS }, (_, index) => `Answer ${index}, and more words.`);

test('20 questions at once under the rate limit of Mattermost are answered once each', async () => {
  await storm(await world({ fake: await limitedFake(), model: new ScriptedModel(answers) }));
});

test('so are those of durable runs', async () => {
  const model = new ScriptedModel(answers);
  const agents = { helper: () => new PocketAgent({ llmModel: model, logger: silent }) };
  const runs = await openRuns({ url: `sqlite:${newFile()}`, agents, logger: silent });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  await storm(await world({ fake: await limitedFake(), durable: { runs, agent: 'helper' } }));
  await until(async () => (await runs.list({ undelivered: true })).runs).toEqual([]);
});
