// The bot: which messages it answers, how answers are stopped, and lost connections. Uses a scripted model.
import { type BotOptions, createMattermostBot } from '@pocket-agent/mattermost/bot';
import { openConversations } from '@pocket-agent/store';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { configFor } from '../connect.ts';
import { startFakeMattermost } from '../fake/fake-mattermost.ts';
import { storePost } from '../fake/world/store-post.ts';
import { fakeForTest, memoryLog } from '../resources.ts';
import { until } from '../until.ts';
import { asked, gate, react, seed, world } from './bot-world.ts';

describe('the bot answers', () => {
  test('a mention in a channel, in a new thread', async () => {
    const model = new ScriptedModel(['Fine, thanks.']);
    const { fake, said } = await world({ model });
    const question = fake.say('alice', 'town-square', '@helper how are you?');
    await until(() => said().map(({ message }) => message)).toEqual(['Fine, thanks.']);
    expect(said()[0]).toMatchObject({ root_id: question.id, channel_id: question.channel_id });
    expect(asked(model)).toContain('"alice: how are you?"');
  });

  test('direct messages without a thread, in one conversation', async () => {
    const model = new ScriptedModel(['One.', 'Two.']);
    const { fake, said, texts } = await world({ model });
    fake.say('alice', 'alice,helper', 'first question');
    await until(texts).toEqual(['One.']);
    fake.say('alice', 'alice,helper', 'second question');
    await until(texts).toEqual(['One.', 'Two.']);
    expect(said().every(({ root_id }) => root_id === '')).toBe(true);
    expect(asked(model)).toContain('first question');
  });

  test('replies only in threads it has posted in', async () => {
    const model = new ScriptedModel(['One.', 'Two.']);
    const { fake, texts } = await world({ model });
    const root = fake.say('alice', 'town-square', '@helper hello').id;
    await until(texts).toEqual(['One.']);
    fake.say('bob', 'town-square', 'not for the bot', { root: fake.post('plan').id });
    fake.say('bob', 'town-square', 'and now?', { root });
    await until(texts).toEqual(['One.', 'Two.']);
    expect(asked(model)).toContain('"bob: and now?"');
  });

  test('replies in a thread that one of its tools posted in', async () => {
    const model = new ScriptedModel(['Gladly.']);
    const { fake, texts } = await world({ model });
    const root = fake.post('plan').id;
    fake.say('bob', 'town-square', 'not for the bot', { root });
    await until(() => fake.requests.filter(({ path, status }) => /thread$/.test(path) && status === 200)).toHaveLength(
      1,
    );
    fake.say('helper', 'town-square', 'I have something to add', { root });
    fake.say('bob', 'town-square', 'tell us', { root });
    await until(texts).toEqual(['I have something to add', 'Gladly.']);
  });

  test('messages in order after reading them failed at first', async () => {
    const model = new ScriptedModel(['One.', 'Two.']);
    const { fake, texts } = await world({ model });
    const fault = fake.fail({ path: /channels\/\w+$/, status: 500, times: 3 });
    fake.say('alice', 'alice,helper', 'first');
    fake.say('alice', 'alice,helper', 'second');
    await until(texts).toEqual(['One.', 'Two.']);
    expect(fault.hits).toBe(3);
    expect(asked(model, 0)).toContain('alice: first');
  });

  test('in a thread from before its restart, with the earlier messages', async () => {
    const fake = await startFakeMattermost({ seed });
    onTestFinished(() => fake.close());
    const root = fake.say('alice', 'town-square', '@helper my number is 42').id;
    fake.say('helper', 'town-square', 'Noted.', { root });
    const model = new ScriptedModel(['It is 42.']);
    const { texts } = await world({ model, fake });
    fake.say('alice', 'town-square', 'what was my number?', { root });
    await until(texts).toEqual(['It is 42.']);
    expect(asked(model)).toContain('alice: @helper my number is 42\\nyou: Noted.');
  });

  test('in a saved conversation after its restart, without reading the thread', async () => {
    const conversations = await openConversations(':memory:');
    onTestFinished(() => conversations.close());
    const first = await world({ model: new ScriptedModel(['Noted.']), conversations });
    const root = first.fake.say('alice', 'town-square', '@helper my number is 42').id;
    await until(first.texts).toEqual(['Noted.']);
    await first.bot.close();
    await until(() => first.fake.socketCount).toBe(0);
    const model = new ScriptedModel(['It is 42.']);
    const { texts } = await world({ model, conversations, fake: first.fake });
    first.fake.say('alice', 'town-square', 'what was my number?', { root });
    await until(texts).toEqual(['It is 42.']);
    expect(model.calls[0]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(asked(model)).not.toContain('Earlier messages');
  });

  test('neither its own posts, nor bots, nor @all, nor names that only start with its own', async () => {
    const model = new ScriptedModel(['For you.']);
    const { fake, texts } = await world({ model });
    for (const message of [
      '@all',
      '@channel look',
      '@here',
      '@helper2 hi',
      'mail x@helper.org',
      'helper?',
      '@helper-x',
    ]) {
      fake.say('alice', 'town-square', message);
    }
    fake.say('other-bot', 'town-square', '@helper let us talk forever');
    fake.say('other-bot', 'helper,other-bot', 'let us talk forever');
    fake.say('helper', 'town-square', 'I am @helper');
    const webhook = { user: fake.user('alice'), message: '@helper deploy', props: { from_webhook: 'true' } };
    storePost(fake.world, fake.channel('town-square'), webhook);
    const own = texts().length;
    fake.say('alice', 'town-square', 'Tell me, @Helper.');
    await until(() => texts().slice(own)).toEqual(['For you.']);
    model.assertDone();
  });

  test('no mention inside code', async () => {
    const model = new ScriptedModel(['Yes.']);
    const { fake, texts } = await world({ model });
    for (const text of ['see `@helper`', '```\n@helper hi\n```', 'a `` ` @helper `` b', '`one\n@helper two`']) {
      fake.say('alice', 'town-square', text);
    }
    fake.say('alice', 'town-square', 'run `a` @helper `b`');
    await until(texts).toEqual(['Yes.']);
    expect(asked(model)).toContain('run `a`');
    expect(model.calls).toHaveLength(1);
  });

  test('no post of another Pocket Agent bot that uses a personal account', async () => {
    const models = [new ScriptedModel(['One.', 'Two.']), new ScriptedModel(['Eins.', 'Zwei.'])] as const;
    const { fake } = await world({ model: models[0], profile: 'none' });
    const other = await createMattermostBot({
      config: configFor(fake, { user: 'helper2' }),
      agent: () => ({ agentConfig: { llmModel: models[1] } }),
      profile: 'none',
      editMs: 20,
      log: memoryLog().log,
    });
    onTestFinished(() => other.close());
    await until(() => fake.socketCount).toBe(2);
    const root = fake.say('alice', 'town-square', '@helper @helper2 hello').id;
    const said = () => [...fake.world.posts.values()].flatMap((post) => (post.root_id === root ? post.message : []));
    await until(() => said().toSorted()).toEqual(['Eins.', 'One.']);
    fake.say('alice', 'town-square', 'and now?', { root });
    await until(() => said().toSorted()).toEqual(['Eins.', 'One.', 'Two.', 'Zwei.', 'and now?']);
    for (const model of models) expect(asked(model)).toContain('and now?');
  });

  test('nothing in channels that may not be written', async () => {
    const model = new ScriptedModel(['Here.']);
    const environment = { MATTERMOST_WRITE_DENY_CHANNELS: 'town-square' };
    const { fake, texts } = await world({ model, environment });
    fake.say('alice', 'town-square', '@helper there?');
    fake.say('alice', 'alice,helper', 'here?');
    await until(texts).toEqual(['Here.']);
  });
});

describe('stopping', () => {
  async function running(options: Partial<BotOptions> = {}) {
    const held = gate();
    const model = new ScriptedModel([{ text: 'Working.', toolCalls: [{ name: 'wait' }] }, 'Next.']);
    const agent = () => ({ agentConfig: { llmModel: model }, tools: [held.tool] });
    const place = await world({ agent, profile: 'none', ...options });
    const question = place.fake.say('alice', 'town-square', '@helper work');
    await held.started;
    await until(() => place.texts()).toHaveLength(1);
    return { ...place, question, held };
  }

  test('a stop sign of the asker ends the run; the conversation continues', async () => {
    const { fake, texts, said, question } = await running();
    await react(fake, 'alice', said()[0]?.id ?? '');
    await until(texts).toEqual(['Working.\n\n*(stopped)*']);
    fake.say('alice', 'town-square', 'go on', { root: question.id });
    await until(() => texts().at(-1)).toBe('Next.');
  });

  test('a stop sign on the question works too', async () => {
    const { fake, texts, question } = await running();
    await react(fake, 'alice', question.id);
    await until(texts).toEqual(['Working.\n\n*(stopped)*']);
  });

  test('other emoji and other users are ignored, unless everyone may stop', async () => {
    const { fake, texts, said, held, logLines } = await running();
    await react(fake, 'alice', said()[0]?.id ?? '', 'thumbsup');
    await react(fake, 'bob', said()[0]?.id ?? '');
    await until(() => logLines.join('')).toContain('stop_refused');
    held.go();
    await until(texts).toEqual(['Working.\n\nNext.']);
    const open = await running({ mayStop: 'everyone' });
    await react(open.fake, 'bob', open.said()[0]?.id ?? '');
    await until(open.texts).toEqual(['Working.\n\n*(stopped)*']);
  });

  test('closing the bot stops running answers, says so, and closes all connections', async () => {
    const { fake, texts, bot } = await running();
    await bot.close();
    expect(texts()).toEqual(['Working.\n\n*(stopped)*']);
    await until(() => fake.socketCount).toBe(0);
    fake.say('alice', 'alice,helper', 'anybody there?');
    expect(fake.inFlight).toBe(0);
  });
});

describe('concurrency', () => {
  test('conversations run in parallel; questions of one conversation run in order', async () => {
    const [first, second] = [gate('first'), gate('second')];
    const gates = [first, second];
    const models = [
      new ScriptedModel([{ toolCalls: [{ name: 'first' }] }, 'A1', 'A2']),
      new ScriptedModel([{ toolCalls: [{ name: 'second' }] }, 'B1']),
    ];
    let made = 0;
    const agent = () => {
      const index = made++;
      const held = gates[index];
      return { agentConfig: { llmModel: models[index] ?? 'demo' }, tools: held ? [held.tool] : [] };
    };
    const { fake, texts } = await world({ agent, profile: 'none' });
    fake.say('alice', 'alice,helper', 'one');
    await first.started;
    fake.say('alice', 'alice,helper', 'two');
    fake.say('bob', 'bob,helper', 'meanwhile');
    await second.started;
    second.go();
    await until(texts).toContain('B1');
    expect(texts()).not.toContain('A2');
    first.go();
    await until(() => texts().filter((text) => text !== 'B1')).toEqual(['A1', 'A2']);
  });
});

describe('a lost connection', () => {
  test('during an answer is harmless, and missed messages are answered once', async () => {
    const held = gate();
    const model = new ScriptedModel([{ text: 'Working.', toolCalls: [{ name: 'wait' }] }, 'Ready.', 'Missed you.']);
    const agent = () => ({ agentConfig: { llmModel: model }, tools: [held.tool] });
    const { fake, texts } = await world({ agent, profile: 'none', config: { pingMs: 50 } });
    fake.say('alice', 'alice,helper', 'work');
    await held.started;
    fake.disconnectSockets();
    fake.say('alice', 'alice,helper', 'missed');
    held.go();
    await until(texts).toEqual(['Working.\n\nReady.', 'Missed you.']);
    await until(() => fake.socketCount).toBe(1);
    model.assertDone();
  });

  test('is caught up with more missed posts than Mattermost returns in one response, also of one millisecond', async () => {
    const model = new ScriptedModel(['First.', 'Second.', 'Third.']);
    const { fake, texts } = await world({ model });
    fake.say('alice', 'alice,helper', 'first');
    await until(texts).toEqual(['First.']);
    const { publish } = fake.world;
    fake.world.publish = () => {}; // suppress events from here on
    for (let number = 0; number < 1100; number++) fake.say('bob', 'town-square', `noise ${number}`);
    fake.world.atOnce(() => {
      fake.say('bob', 'town-square', '@helper second');
      fake.say('alice', 'alice,helper', 'third');
    });
    const headers = { authorization: `Bearer ${fake.token('bob')}` };
    await fetch(`${fake.url}/api/v4/channels/${fake.channel('town-square').id}/posts?since=1`, { headers });
    fake.world.publish = publish;
    fake.disconnectSockets();
    await until(() => [...texts()].sort()).toEqual(['First.', 'Second.', 'Third.']);
  });

  test('that is dead is replaced', async () => {
    const model = new ScriptedModel(['I am back.']);
    const { fake, texts, logLines } = await world({ model, config: { pingMs: 100 } });
    logLines.length = 0;
    fake.freezeSockets();
    fake.say('alice', 'alice,helper', 'do you hear me?');
    await until(() => logLines.join('')).toContain('socket_lost');
    fake.freezeSockets(false);
    await until(texts).toEqual(['I am back.']);
  });

  test('with an expired token calls onRefused', async () => {
    const refused = Promise.withResolvers<void>();
    const { fake, logLines } = await world({ onRefused: refused.resolve });
    fake.revoke(fake.token('helper'));
    await refused.promise;
    expect(logLines.join('')).not.toContain(fake.token('helper'));
  });
});

test('a bot with a revoked token reports it once on its next request, although its socket stays open', async () => {
  let refused = 0;
  const model = new ScriptedModel(['Never said.']);
  const { fake, logLines, texts } = await world({ model, onRefused: () => refused++ });
  fake.revoke(fake.token('helper'), { sockets: false });
  fake.say('alice', 'town-square', '@helper are you there?');
  await until(() => refused).toBe(1);
  await until(() => fake.socketCount).toBe(0);
  expect(logLines.filter((line) => line.includes('bot_refused'))).toHaveLength(1);
  expect(texts()).toEqual([]);
});

test('a single 401 for a valid token does not stop the bot', async () => {
  const model = new ScriptedModel(['Here.']);
  const { fake, texts } = await world({ model, onRefused: () => expect.unreachable() });
  fake.fail({ method: 'GET', path: /channels\/\w+$/, status: 401 });
  fake.say('alice', 'off-topic', 'not for the bot');
  fake.say('alice', 'town-square', '@helper are you there?');
  fake.say('alice', 'town-square', '@helper are you really there?');
  await until(texts).toEqual(['Here.']);
});

test('a bot with a wrong token does not start', async () => {
  const fake = await fakeForTest({ seed });
  const config = { ...configFor(fake), token: 'nonsense' };
  const agent = () => ({ agentConfig: { llmModel: 'demo' } });
  const { log } = memoryLog();
  await expect(createMattermostBot({ config, agent, log })).rejects.toThrow('Authentication failed');
});

test.each([
  ['example.com', 'must be a list of hosts'],
  [['https://example.com'], '"https://example.com" is not a host'],
])('rejects %j as allowLinkHosts', async (hosts, problem) => {
  await expect(world({ allowLinkHosts: hosts as string[] })).rejects.toThrow(problem);
});
