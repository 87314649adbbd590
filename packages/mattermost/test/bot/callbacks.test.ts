// A bot that Mattermost can reach: approvals by buttons, and a slash command that changes the settings of a channel.
import { createMattermostBot } from '@pocket-agent/mattermost/bot';
import { openRuns } from '@pocket-agent/runs';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { newFile, refunds, silent } from '../../../runs/test/agents.ts';
import { configFor } from '../connect.ts';
import { type FakeMattermost, startFakeMattermost } from '../fake/fake-mattermost.ts';
import { actionsOf } from '../fake/features/actions.ts';
import { userOf } from '../fake/test-client.ts';
import type { Post } from '../fake/world/model.ts';
import { memoryLog } from '../resources.ts';
import { until } from '../until.ts';
import { asked, react, seed, world } from './bot-world.ts';

const COMMAND_TOKEN = 'the-token-of-the-command';

/** A bot on a file of runs that asks with buttons; `start` opens the next one on the same address. */
async function buttonWorld(effects: unknown[]) {
  const fake = await startFakeMattermost({ seed });
  onTestFinished(() => fake.close());
  const file = newFile();
  const { log, logLines } = memoryLog();
  const helper = fake.user('helper').id;
  let listen = '0';
  const start = async () => {
    const agents = { helper: () => refunds({}, effects) };
    const runs = await openRuns({ url: `sqlite:${file}`, agents, logger: silent });
    const options = {
      config: configFor(fake, { user: 'helper' }),
      durable: { runs, agent: 'helper' },
      editMs: 20,
      log,
    };
    const bot = await createMattermostBot({ ...options, callbacks: { listen } });
    listen = new URL(urlOf(logLines)).port;
    let isClosed = false;
    const close = async () => {
      if (isClosed) return;
      isClosed = true;
      await bot.close();
      await runs.close({ graceMs: 0 });
    };
    onTestFinished(close);
    await until(() => fake.socketCount).toBe(1);
    return close;
  };
  const said = () => [...fake.world.posts.values()].filter((post) => post.user_id === helper && !post.delete_at);
  const asking = async (): Promise<Post> => {
    await until(() => said().filter(({ message }) => message.includes('may I use'))).toHaveLength(1);
    return said().find(({ message }) => message.includes('may I use')) as Post;
  };
  const click = async (user: string, post: Post, action: string) =>
    (await userOf(fake, user).post<{ ephemeral_text?: string }>(`/posts/${post.id}/actions/${action}`)).body;
  return { fake, start, said, asking, click, logLines };
}

function urlOf(logLines: readonly string[]): string {
  const line = logLines.findLast((one) => one.includes('"callbacks"')) ?? '{}';
  return JSON.parse(line).url;
}

test('a click of the person who asked allows a call, and the buttons disappear', async () => {
  const effects: unknown[] = [];
  const { fake, start, said, asking, click } = await buttonWorld(effects);
  await start();
  fake.say('alice', 'town-square', '@helper refund order 17');
  const post = await asking();
  expect(post.message).toBe(
    '@alice, may I use **refund**? It can delete something.\n```json\n{\n  "order": 17\n}\n```',
  );
  expect(actionsOf(post).map(({ name }) => name)).toEqual(['Allow', 'Deny']);
  expect(post.props.attachments).toMatchObject([{ text: 'Or react with :+1: or :-1:.' }]);
  expect(await click('bob', post, 'allow')).toMatchObject({ ephemeral_text: 'Only @alice can answer this.' });
  expect(effects).toEqual([]);
  expect(await click('alice', post, 'allow')).not.toHaveProperty('ephemeral_text');
  await until(() => said().map(({ message }) => message)).toEqual([
    '@alice, may I use **refund**? It can delete something.\n*Allowed by alice.*',
    'Order 17 is refunded.',
  ]);
  expect(effects).toEqual([{ order: 17 }]);
  expect(actionsOf(fake.world.post(post.id))).toEqual([]);
});

test('buttons work after a restart of the bot, and a click denies a call', async () => {
  const effects: unknown[] = [];
  const { fake, start, asking, click } = await buttonWorld(effects);
  const close = await start();
  fake.say('alice', 'alice,helper', 'refund order 17');
  const post = await asking();
  await close();
  await start();
  await click('alice', post, 'deny');
  await until(() => fake.world.post(post.id).message).toContain('*Denied by alice: the user denied it.*');
  expect(effects).toEqual([]);
});

test('a click right after a restart counts, although the bot has not read the thread yet', async () => {
  const effects: unknown[] = [];
  const { fake, start, asking, click } = await buttonWorld(effects);
  const close = await start();
  fake.say('alice', 'town-square', '@helper refund order 17');
  const post = await asking();
  await close();
  const reading = Promise.withResolvers<void>();
  const held = fake.fail({ path: /\/thread/, user: 'helper', times: 50, status: 503, meanwhile: reading.resolve });
  const starting = start();
  await reading.promise;
  expect(await click('alice', post, 'allow')).not.toHaveProperty('ephemeral_text');
  await until(() => effects).toEqual([{ order: 17 }]);
  held.cancel();
  await starting;
  await until(() => fake.world.post(post.id).message).toContain('*Allowed by alice.*');
});

test('a reaction answers as well as a button; a late click is told so', async () => {
  const effects: unknown[] = [];
  const { fake, start, asking, click } = await buttonWorld(effects);
  await start();
  fake.say('alice', 'town-square', '@helper refund order 17');
  const post = await asking();
  const old = { ...post, props: structuredClone(post.props) };
  await react(fake, 'alice', post.id, '+1');
  await until(() => effects).toEqual([{ order: 17 }]);
  await until(() => actionsOf(fake.world.post(post.id))).toEqual([]);
  fake.world.post(post.id).props = old.props; // a client that has not seen the change
  expect(await click('alice', post, 'deny')).toMatchObject({ ephemeral_text: 'This question is no longer open.' });
});

test('a reaction answers where Mattermost cannot reach the buttons', async () => {
  const effects: unknown[] = [];
  const { fake, start, asking } = await buttonWorld(effects);
  await start();
  fake.say('alice', 'town-square', '@helper refund order 17');
  const post = await asking();
  for (const { integration } of actionsOf(post) as { integration: { url: string } }[])
    integration.url = 'http://127.0.0.1:9/actions';
  const clicked = await userOf(fake, 'alice').post(`/posts/${post.id}/actions/allow`);
  expect(clicked).toMatchObject({ status: 400, body: { message: 'Action integration error.' } });
  await react(fake, 'alice', post.id, '+1');
  await until(() => effects).toEqual([{ order: 17 }]);
});

test('a request that does not come from a button of the bot changes nothing', async () => {
  const effects: unknown[] = [];
  const { fake, start, asking, logLines } = await buttonWorld(effects);
  await start();
  fake.say('alice', 'town-square', '@helper refund order 17');
  const [action] = actionsOf(await asking()) as { integration: { url: string; context: Record<string, string> } }[];
  const { url, context = {} } = action?.integration ?? { url: '' };
  const send = async (body: unknown) =>
    (await fetch(url, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })).status;
  const alice = fake.user('alice').id;
  for (const forged of [{}, { ...context, signature: 'x' }, { ...context, question: 'other' }]) {
    expect(await send({ user_id: alice, context: forged })).toBe(200);
  }
  expect(await send({ ...context, answer: 'deny' })).toBe(400);
  expect(await send('no json')).toBe(400);
  expect((await fetch(`${urlOf(logLines)}/command`, { method: 'POST', body: 'text=x' })).status).toBe(404);
  expect((await fetch(urlOf(logLines))).status).toBe(404);
  expect(effects).toEqual([]);
});

/** A bot with the slash command `/helper`. */
async function commandWorld(model: ScriptedModel, fake?: FakeMattermost) {
  const callbacks = { listen: '0', commandToken: COMMAND_TOKEN };
  const made = await world({ model, callbacks, ...(fake ? { fake } : {}) });
  const url = `${urlOf(made.logLines)}/command`;
  made.fake.world.customCommands.set('helper', { url, token: COMMAND_TOKEN });
  const command = async (user: string, channel: string, text: string) => {
    const body = { channel_id: made.fake.channel(channel).id, command: `/helper ${text}` };
    return (await userOf(made.fake, user).post<{ text: string }>('/commands/execute', body)).body.text;
  };
  return { ...made, url, command };
}

test('an administrator lets the bot answer every message, or none, in a channel', async () => {
  const model = new ScriptedModel(['One', 'Two', 'Three']);
  const { fake, command, texts, bot } = await commandWorld(model);
  expect(await command('alice', 'town-square', '')).toContain('I answer mentions and threads in this channel.');
  expect(await command('alice', 'town-square', 'answers all')).toContain('Only administrators');
  expect(await command('admin', 'town-square', 'answers sometimes')).toContain('Write `answers mentions`');
  expect(await command('admin', 'town-square', 'answers all')).toContain('I answer every message');
  fake.say('bob', 'town-square', 'Is anybody here?');
  await until(texts).toEqual(['One']);
  await command('admin', 'town-square', 'answers none');
  fake.say('bob', 'town-square', '@helper hello?');
  fake.say('bob', 'bob,helper', 'and here?');
  await until(texts).toEqual(['One', 'Two']);
  await bot.close();
  // the next process knows the settings
  const next = await commandWorld(model, fake);
  fake.say('bob', 'town-square', '@helper hello again?');
  fake.say('alice', 'alice,helper', 'direct');
  await until(next.texts).toEqual(['Three']);
});

test('instructions of a channel reach the agent with the first question of a thread', async () => {
  const model = new ScriptedModel(['Bonjour', 'Oui']);
  const { fake, command, texts } = await commandWorld(model);
  const told = await command('admin', 'town-square', 'instructions Answer in French.\nBe brief.');
  expect(told).toContain('Instructions: Answer in French.');
  const root = fake.say('alice', 'town-square', '@helper hello');
  await until(texts).toEqual(['Bonjour']);
  expect(asked(model)).toContain('Instructions of the administrators of this channel:\\nAnswer in French.');
  fake.say('alice', 'town-square', 'really?', { root: root.id });
  await until(texts).toEqual(['Bonjour', 'Oui']);
  expect(asked(model).match(/Answer in French/g)).toHaveLength(1);
  expect(await command('admin', 'town-square', `instructions ${'x'.repeat(901)}`)).toContain('may have 900 characters');
  expect(await command('admin', 'town-square', 'instructions clear')).toContain('No instructions.');
});

test('the slash command needs its token, and the bot in the channel', async () => {
  const { command, url, fake } = await commandWorld(new ScriptedModel([]));
  expect(await command('bob', 'off-topic', 'answers all')).toBe('I am not in this channel. Add me first.');
  const form = new URLSearchParams({ token: 'wrong', user_id: fake.user('admin').id, text: 'answers all' });
  expect((await fetch(url, { method: 'POST', body: form })).status).toBe(403);
});

test('a bot does not start with an empty token, which every stranger could send', async () => {
  const callbacks = { listen: '0', commandToken: '' };
  await expect(world({ model: new ScriptedModel([]), callbacks })).rejects.toThrow('callbacks.commandToken is empty');
});
