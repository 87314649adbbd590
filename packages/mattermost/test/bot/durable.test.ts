// A bot that answers by durable runs: what the next process goes on with.
import { type BotOptions, createMattermostBot, type DurableAnswersOptions } from '@pocket-agent/mattermost/bot';
import { openRuns } from '@pocket-agent/runs';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { agentOf, newFile, refunds, silent } from '../../../runs/test/agents.ts';
import { configFor } from '../connect.ts';
import { startFakeMattermost } from '../fake/fake-mattermost.ts';
import type { Post } from '../fake/world/model.ts';
import { memoryLog } from '../resources.ts';
import { until } from '../until.ts';
import { gate, react, seed } from './bot-world.ts';

/** A Mattermost, and a bot on a file of runs, which can be replaced by the bot of the next process. */
async function durableWorld(
  make: () => PocketAgent,
  more: Partial<BotOptions> = {},
  answers: Partial<DurableAnswersOptions> = {},
) {
  const fake = await startFakeMattermost({ seed });
  onTestFinished(() => fake.close());
  const file = newFile();
  const before = new Set(fake.world.posts.keys());
  const { log, logLines } = memoryLog();
  const helper = fake.user('helper').id;
  const said = () =>
    [...fake.world.posts.values()].filter(({ id, user_id, delete_at }) => {
      return user_id === helper && !delete_at && !before.has(id);
    });
  const texts = () => said().map(({ message }) => message);
  const start = async (makeNext = make) => {
    const runs = await openRuns({ url: `sqlite:${file}`, agents: { helper: makeNext }, logger: silent });
    const config = configFor(fake, { user: 'helper' });
    const bot = await createMattermostBot({
      config,
      durable: { runs, agent: 'helper', ...answers },
      editMs: 20,
      log,
      ...more,
    });
    let isClosed = false;
    const close = async () => {
      if (isClosed) return;
      isClosed = true;
      await bot.close();
      await runs.close({ graceMs: 0 });
    };
    onTestFinished(close);
    await until(() => fake.socketCount).toBe(1);
    return { runs, close };
  };
  const asking = async () => {
    await until(() => said().filter(({ message }) => message.includes('may I use'))).toHaveLength(1);
    return said().find(({ message }) => message.includes('may I use')) as Post;
  };
  return { fake, start, said, texts, asking, logLines };
}

test('an answer that a stopped process began is finished by the next one, in the same post', async () => {
  const { tool: wait, started } = gate();
  const script = ['I look.', 'Found.'];
  const first = () => agentOf([{ text: script[0], toolCalls: [{ name: 'wait' }] }], { tools: [wait] });
  const { fake, start, said, texts } = await durableWorld(first);
  const { close } = await start();
  const question = fake.say('alice', 'town-square', '@helper search');
  await started;
  await until(texts).toEqual(['I look.\n\n:hourglass_flowing_sand: `wait` …']);
  const [post] = said();
  await close();
  await start(() => agentOf(['', 'Found.'], { tools: [wait] }));
  await until(texts).toEqual(['I look.\n\nFound.']);
  expect(said()).toMatchObject([{ id: post?.id, root_id: question.id }]);
});

test('an answer is shown while it is written', async () => {
  const go = Promise.withResolvers<void>();
  const model = new ScriptedModel([]);
  model.doStream = async () => {
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    async function* parts() {
      yield { type: 'stream-start', warnings: [] };
      yield { type: 'text-start', id: '0' };
      yield { type: 'text-delta', id: '0', delta: 'I look' };
      await go.promise;
      yield { type: 'text-delta', id: '0', delta: ' around.' };
      yield { type: 'text-end', id: '0' };
      yield { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage };
    }
    return { stream: ReadableStream.from(parts()) as never };
  };
  const { fake, start, texts } = await durableWorld(() => new PocketAgent({ llmModel: model, logger: silent }));
  await start();
  fake.say('alice', 'alice,helper', 'search');
  await until(texts).toEqual(['I look']);
  go.resolve();
  await until(texts).toEqual(['I look around.']);
});

test('a call waits for the reaction of the person who asked, also over a restart', async () => {
  const effects: unknown[] = [];
  const { fake, start, texts, asking } = await durableWorld(() => refunds({}, effects));
  const { close } = await start();
  const question = fake.say('alice', 'town-square', '@helper refund order 17');
  const post = await asking();
  expect(post.root_id).toBe(question.id);
  expect(post.message).toBe(
    '@alice, may I use **refund**? It can delete something.\n```json\n{\n  "order": 17\n}\n```\n' +
      'React with :+1: to allow it or with :-1: to deny it.',
  );
  await react(fake, 'bob', post.id, '+1'); // did not ask
  await close();
  await react(fake, 'bob', post.id, '-1');
  await start();
  await react(fake, 'bob', post.id, 'thumbsup');
  await react(fake, 'alice', post.id, 'wave');
  expect(effects).toEqual([]);
  await react(fake, 'alice', post.id, '+1');
  await until(texts).toContain('Order 17 is refunded.');
  expect(effects).toEqual([{ order: 17 }]);
  expect(texts()).toEqual([
    '@alice, may I use **refund**? It can delete something.\n*Allowed by alice.*',
    'Order 17 is refunded.',
  ]);
});

test('a call that waits for an approval is not shown as running', async () => {
  const held = gate('look');
  const remove = tool({ name: 'remove', description: 'Removes', run: () => 'removed' });
  const toolCalls = [{ name: 'look' }, { name: 'remove' }];
  const access = { confirm: ({ name }: { name: string }) => name === 'remove' };
  const { fake, start, texts, asking } = await durableWorld(() =>
    agentOf([{ toolCalls }, 'Done.'], { tools: [held.tool, remove], access }),
  );
  await start();
  fake.say('alice', 'alice,helper', 'tidy up');
  const post = await asking();
  await until(texts).toContain(':hourglass_flowing_sand: `look` …');
  await react(fake, 'alice', post.id, '+1');
  await until(texts).toContainEqual(expect.stringContaining('Allowed by alice'));
  await until(texts).toContain(':hourglass_flowing_sand: `look`, `remove` …'); // made when the other call has ended
  held.go();
  await until(texts).toContain('Done.');
});

test('a reaction that came while no bot ran is the answer', async () => {
  const effects: unknown[] = [];
  const { fake, start, texts, asking } = await durableWorld(() => refunds({}, effects));
  const { close } = await start();
  fake.say('alice', 'alice,helper', 'refund order 17');
  const post = await asking();
  await close();
  await react(fake, 'alice', post.id, '-1');
  await start();
  await until(texts).toContain('Order 17 is refunded.'); // what the script says next
  expect(effects).toEqual([]);
  expect(texts()[0]).toContain('*Denied by alice: the user denied it.*');
});

test('an answer given elsewhere is shown in the channel', async () => {
  const { fake, start, texts, asking } = await durableWorld(() => refunds());
  const { runs } = await start();
  fake.say('alice', 'alice,helper', 'refund order 17');
  await asking();
  const [question] = await runs.questions();
  await runs.answer(question?.id ?? '', { deny: 'too *old*' }, { by: 'Ann @channel' });
  await until(() => texts()[0]).toContain('*Denied by Ann @\u200bchannel: too \\*old\\*.*');
  await until(texts).toContain('Order 17 is refunded.');
});

test('a question from while no bot ran is answered once, and those before it not again', async () => {
  const { fake, start, texts } = await durableWorld(() => agentOf(['One.', 'Two.', 'Three.']));
  fake.say('alice', 'town-square', '@helper from before the bot');
  const { close } = await start();
  fake.say('alice', 'alice,helper', 'first');
  await until(texts).toEqual(['One.']);
  await close();
  fake.say('alice', 'alice,helper', 'second');
  const { close: closeAgain } = await start();
  await until(texts).toEqual(['One.', 'Two.']);
  await closeAgain();
  const { runs } = await start();
  fake.say('alice', 'alice,helper', 'third');
  await until(texts).toEqual(['One.', 'Two.', 'Three.']);
  const { runs: all } = await runs.list();
  expect(all.map(({ caller }) => caller)).toEqual(Array.from({ length: 3 }, () => fake.user('alice').id));
});

test('the person who asked can stop an answer of an earlier process, and others cannot', async () => {
  const { fake, start, said, texts, asking } = await durableWorld(() => refunds());
  const { close } = await start();
  const question = fake.say('alice', 'town-square', '@helper refund order 17');
  await asking();
  await close();
  const { runs } = await start();
  await react(fake, 'bob', question.id);
  await react(fake, 'alice', question.id);
  await until(texts).toContain('*(stopped)*');
  expect(said().at(0)?.message).toContain('*It is no longer needed.*');
  expect((await runs.list()).runs).toMatchObject([{ status: 'cancelled' }]);
  await until(async () => (await runs.list({ undelivered: true })).runs).toEqual([]);
});

test('an answer is posted once, although the process ended before it knew that it was', async () => {
  const { fake, start, texts } = await durableWorld(() => agentOf(['Done.']));
  const { close, runs } = await start();
  const faults = [
    fake.fail({ method: 'POST', path: /\/posts$/, times: 100, afterHandling: true, reset: 'before' }),
    fake.fail({ method: 'GET', path: /per_page=200/, times: 100, status: 503 }),
  ];
  fake.say('alice', 'alice,helper', 'now');
  await until(texts).toEqual(['Done.']);
  expect((await runs.list({ undelivered: true })).runs).toHaveLength(1);
  await until(() => faults.every(({ hits }) => hits > 0)).toBe(true);
  await close();
  for (const fault of faults) fault.cancel();
  const next = await start();
  await until(async () => (await next.runs.list({ undelivered: true })).runs).toEqual([]);
  expect(texts()).toEqual(['Done.']);
});

test('arguments that do not fit into a post are denied, and the model reads why', async () => {
  const { fake, start, texts } = await durableWorld(() => {
    const send = tool({ name: 'send', description: 'Sends', run: () => 'sent' });
    const toolCalls = [{ name: 'send', arguments: { text: 'x'.repeat(17_000) } }];
    return agentOf([{ toolCalls }, 'Too long.'], { tools: [send], access: { confirm: 'write' } });
  });
  const { runs } = await start();
  fake.say('alice', 'alice,helper', 'send it');
  await until(texts).toEqual(['Too long.']);
  const [run] = (await runs.list()).runs;
  const events: string[] = [];
  for await (const { data } of runs.events(run?.id ?? '')) events.push(JSON.stringify(data));
  expect(events.join()).toContain('its arguments are too long to show to the user');
});

test('names and arguments cannot imitate the question of the bot or notify anyone', async () => {
  const { fake, start, asking } = await durableWorld(() => {
    const send = tool({ name: 'send', description: 'Sends', run: () => 'sent' });
    const text = `\`\`\`\n@all **allowed**\u202e${' '.repeat(500)}rm`;
    return agentOf([{ toolCalls: [{ name: 'send', arguments: { text } }] }, 'Sent.'], {
      tools: [send],
      access: { confirm: 'write' },
    });
  });
  await start();
  fake.say('alice', 'alice,helper', 'send it');
  const { message } = await asking();
  expect(message.match(/```/g)).toHaveLength(2);
  expect(message).not.toContain('\u202e');
  expect(message).toContain('(500 spaces)');
});

test('a bot needs an agent or durable runs, not both', async () => {
  const fake = await startFakeMattermost({ seed });
  onTestFinished(() => fake.close());
  const config = configFor(fake, { user: 'helper' });
  await expect(createMattermostBot({ config })).rejects.toThrow('either agent or durable');
});

test('the older messages of a long thread are summarised before the run starts, and generated files are posted', async () => {
  const content = [
    { type: 'text' as const, text: 'Here.' },
    { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: 'iVBORw0KGgo=' } },
  ];
  const models: ScriptedModel[] = [];
  const make = () => {
    const model = new ScriptedModel([{ content }]);
    models.push(model);
    return new PocketAgent({ llmModel: model, logger: silent });
  };
  const summarised: string[] = [];
  const summarize = async (text: string) => {
    summarised.push(text);
    return 'They look for a restaurant.';
  };
  const { fake, start, said, texts } = await durableWorld(make, {}, { summarize });
  const root = fake.say('bob', 'town-square', 'Where do we eat?');
  for (let number = 1; number < 40; number++) fake.say('alice', 'town-square', `Idea ${number}`, { root: root.id });
  await start();
  fake.say('bob', 'town-square', '@helper draw it', { root: root.id });
  await until(texts).toEqual(['Here.', '']);
  expect(summarised).toEqual([expect.stringMatching(/^bob: Where do we eat\?\n.*alice: Idea 9$/s)]);
  expect(JSON.stringify(models.flatMap(({ calls }) => calls))).toContain('Summary of 10 older messages');
  const [, post] = said();
  expect(fake.world.files.get(post?.file_ids[0] ?? '')?.info.name).toBe('file-1.png');
});
