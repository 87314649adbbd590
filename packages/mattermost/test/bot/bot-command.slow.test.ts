import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openConversations } from '@pocket-agent/store';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultSeed } from '../fake/world/seed.ts';
import { type AtEnd, fakeForTest, folderForTest, runForTest } from '../resources.ts';
import { until } from '../until.ts';

interface Started {
  model?: string;
  /** Of tool folders, by path. */
  files?: Record<string, string>;
  access?: object;
  /** More fields of the agent file. */
  more?: object;
  environment?: Record<string, string>;
  atEnd?: AtEnd;
}

async function start(
  args: string[],
  { model = 'demo', files = {}, access = {}, more = {}, environment = {}, atEnd }: Started = {},
) {
  const conversations = [...defaultSeed.conversations, ['alice', 'helper']];
  const fake = await fakeForTest({ seed: { conversations } }, atEnd);
  const folder = await folderForTest(atEnd);
  const file = join(folder, 'agent.json');
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const tools = [...new Set(Object.keys(files).map(dirname))];
  const content = {
    llmModel: model,
    agentConfig: { name: 'Helper' },
    mcpServers: {},
    tools,
    access,
    limits: { maxSteps: 5 },
    ...more,
  };
  await writeFile(file, JSON.stringify(content));
  const env = {
    MATTERMOST_URL: fake.url,
    MATTERMOST_TOKEN: fake.token('helper'),
    MATTERMOST_BOT_AGENT: file,
    ...environment,
  };
  const run = { file: 'bot/main.ts', args, environment: env, cwd: folder };
  return { fake, file, ...runForTest(atEnd ? { ...run, atEnd } : run) };
}

const more = {
  memory: true,
  compaction: true,
  providerTools: [{ id: 'anthropic.web_search_20250305', capability: 'read' }],
};

test('refuses memory without a database', async () => {
  const { ended, errors } = await start([], { more });
  expect(await ended).toEqual([2, null]);
  expect(errors()).toContain('agent.json: memory needs a database: --database.');
});

test('answers with the agent of its file, saves the conversation in --database, and exits on a signal', async () => {
  const { fake, file, child, ended, errors, output } = await start(['--database', 'bot.sqlite'], { more });
  await until(() => fake.socketCount).toBe(1);
  fake.say('alice', 'alice,helper', 'what is your name in Mattermost?');
  const helper = fake.user('helper').id;
  const said = () => [...fake.world.posts.values()].filter(({ user_id }) => user_id === helper);
  await until(() => said().length).toBeGreaterThan(0);
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(fake.socketCount).toBe(0);
  expect(output()).toBe('');
  expect(errors()).toContain('listening');
  expect(errors()).not.toContain(fake.token('helper'));
  await using chats = await openConversations(join(dirname(file), 'bot.sqlite'));
  const { conversations } = await chats.forOwner(`mattermost/${helper}`).list();
  expect(conversations).toMatchObject([{ title: 'alice: what is your name in Mattermost?' }]);
});

test('prints an address to which a studio can be attached, and serves it to those who have the token', async () => {
  const { fake, child, ended, errors } = await start(['--studio', '0', '--runs', 'runs.db']);
  await until(() => fake.socketCount).toBe(1);
  const [, origin = '', token = ''] = /(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]+)/.exec(errors()) ?? [];
  expect((await fetch(`${origin}/api/durable`)).status).toBe(401);
  const headers = { authorization: `Bearer ${token}` };
  expect(await (await fetch(`${origin}/api/durable`, { headers })).json()).toEqual({ runs: [], problems: [] });
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test('does not log the token of the address for studios if it was given one', async () => {
  const { errors } = await start(['--studio', '0'], { environment: { POCKET_AGENT_STUDIO_TOKEN: 'the-token' } });
  const address = /studio.*?(http:\/\/127\.0\.0\.1:\d+)/;
  await until(errors).toMatch(address);
  const [, origin] = address.exec(errors()) ?? [];
  expect((await fetch(`${origin}/api/events`)).status).toBe(401);
  expect(errors()).not.toContain('the-token');
});

test('refuses an address that is none', async () => {
  const { ended, errors } = await start(['--studio', 'here']);
  expect(await ended).toEqual([2, null]);
  expect(errors()).toContain('--studio: ');
  expect(errors()).toContain('a port or host:port');
});

describe('a bot with tool folders', () => {
  let bot: Awaited<ReturnType<typeof start>>;
  const releases: (() => Promise<void>)[] = [];
  const manifest = (name: string, more = '') =>
    `tool_human_name: ${name}\ntool_list:\n  - name: ${name}\n    description: The ${name}\n${more}`;
  const ask = async (text: string) => {
    await until(() => bot.fake.socketCount).toBe(1);
    bot.fake.say('alice', 'alice,helper', text);
  };
  const said = (text: string) => {
    const helper = bot.fake.user('helper').id;
    const posts = [...bot.fake.world.posts.values()];
    return posts.filter((post) => post.user_id === helper && post.message.includes(text)).length;
  };

  beforeAll(async () => {
    bot = await start(['--default-capability', 'read'], {
      access: { profile: 'reader' },
      files: {
        'news/manifest.yaml': manifest('news'),
        'news/tool.mjs': `export class Tools { async tool_news() { return 'all quiet'; } }`,
        'weather/manifest.yaml': manifest('weather', '    capability: read\n'),
        'weather/tool.mjs': `export class Tools { async tool_weather() { void Promise.reject(new RangeError('hidden')); return 'sunny'; } }`,
      },
      atEnd: (release) => void releases.unshift(release),
    });
  });
  afterAll(async () => {
    for (const release of releases) await release();
  });

  test('applies --default-capability to tools without a declared capability', async () => {
    await ask('call the tool news');
    await until(() => said('all quiet')).toBe(1);
    expect(bot.errors()).not.toContain('no capability for');
  });

  test('survives an unhandled rejection in a tool', async () => {
    await ask('call the tool weather');
    await until(() => said('sunny')).toBe(1);
    await until(bot.errors).toContain('unhandled_rejection');
    expect(bot.errors()).not.toContain('hidden');
  });

  test('survives a closed log pipe, also with an unhandled rejection', async () => {
    bot.child.stderr.destroy();
    await ask('call the tool weather');
    await until(() => said('sunny')).toBe(2);
    bot.child.kill('SIGTERM');
    expect(await bot.ended).toEqual([0, null]);
  });
});

test('serves the slash command at --callbacks', async () => {
  const environment = { MATTERMOST_BOT_COMMAND_TOKEN: 'the-token-of-the-command' };
  const { fake, errors } = await start(['--callbacks', '0'], { environment });
  await until(errors).toContain('"callbacks"');
  const { url } = JSON.parse(
    errors()
      .split('\n')
      .find((line) => line.includes('"callbacks"')) ?? '{}',
  );
  const command = { channel_id: fake.channel('alice,helper').id, user_id: fake.user('alice').id };
  const ask = async (token: string) => {
    const body = new URLSearchParams({ ...command, text: '', token });
    return (await fetch(`${url}/command`, { method: 'POST', body })).text();
  };
  expect(await ask('the-token-of-the-command')).toContain('I answer mentions and threads');
  expect(await ask('another')).toBe('{}');
});

test('prints help and version, and explains invalid options', async () => {
  const refused: [string[], RegExp][] = [
    [
      [
        '--profile',
        'king',
        '--default-capability',
        'raed',
        '--stop',
        'sometimes',
        '--allow-link-hosts',
        'https://x.example',
      ],
      /--profile: is "king", but must be one of reader.*\n- --default-capability: is "raed".*\n- --stop: is "sometimes".*\n- --allow-link-hosts: "https:.*is not a host/,
    ],
    [['--model', 'anthropic/claude-sonnet-5'], /needs a key: set ANTHROPIC_API_KEY/],
    [['--agent', 'missing.json'], /There is no file missing\.json/],
    [
      ['--callbacks', 'here', '--callbacks-url', 'bot'],
      /--callbacks: "here" is not a port.*\n- --callbacks-url: must be an http/,
    ],
    [['--callbacks-url', 'https://bot.example.com'], /--callbacks-url: needs --callbacks/],
  ];
  const asked = start(['--help']);
  await Promise.all(
    refused.map(async ([args, text]) => {
      const { ended, errors } = await start(args);
      expect((await ended)[0]).toBe(2);
      expect(errors()).toMatch(text);
    }),
  );
  const { ended, output } = await asked;
  expect(await ended).toEqual([0, null]);
  expect(output()).toContain('Usage: mattermost-bot');
});
