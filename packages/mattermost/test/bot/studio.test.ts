// A studio that is attached to the bot sees its answers, and with durable runs answers its questions.
import { openRuns } from '@pocket-agent/runs';
import { openStudioAddress } from '@pocket-agent/studio';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { newFile, refunds, silent } from '../../../runs/test/agents.ts';
import { isEvent, isQuestion, makeShop, startStudio } from '../../../studio/test/world.ts';
import { until } from '../until.ts';
import { world } from './bot-world.ts';

async function attached(options: Partial<Parameters<typeof openStudioAddress>[0]> = {}) {
  const address = await openStudioAddress({ address: '0', token: 'secret', ...options });
  onTestFinished(() => address.close());
  const url = new URL(address.url).origin;
  const studio = await startStudio({ shop: makeShop([]).agent }, { attached: [{ url, token: 'secret' }] });
  return { address, studio };
}

test('an answer is seen while the bot writes it', async () => {
  const { address, studio } = await attached();
  const { fake, texts } = await world({ model: new ScriptedModel(['It is noon.']), watch: address.watch });
  fake.say('alice', 'town-square', '@helper what time is it?');
  await until(texts).toEqual(['It is noon.']);
  const lines = await studio.lines(isEvent('run_finished'));
  const chat = lines.findLast((line) => line.type === 'chat');
  expect(chat).toMatchObject({
    chat: { agent: 'helper', title: expect.stringContaining('what time is it?'), isElsewhere: true },
  });
  expect(await studio.promptIn(lines)).toContain('what time is it?');
});

test('a call of a durable answer is approved in the studio', async () => {
  const made: unknown[] = [];
  const agents = { helper: () => refunds({}, made) };
  const runs = await openRuns({ url: `sqlite:${newFile()}`, agents, logger: silent });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  const { studio } = await attached({ runs });
  const { fake, texts } = await world({ agent: undefined, durable: { runs, agent: 'helper' } });
  fake.say('alice', 'town-square', '@helper refund order 17');
  const line = (await studio.lines(isQuestion)).findLast(isQuestion);
  const id = line?.type === 'question' ? line.question.id : '';
  expect(made).toEqual([]);
  await studio.post(`/api/questions/${id}`, { allow: true });
  await until(() => texts().join('\n')).toContain('Order 17 is refunded.');
  expect(made).toEqual([{ order: 17 }]);
});
