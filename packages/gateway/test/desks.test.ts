// Approvals of people elsewhere, for clients that cannot ask their user: at the endpoint, on Mattermost, and on Discord.
import { Client } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import type { Logger } from '@pocket-agent/kit';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startDiscord } from '../../discord/test/counterpart/discord.ts';
import { startFakeMattermost } from '../../mattermost/test/fake/fake-mattermost.ts';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import {
  Gateway,
  type GatewayApprovals,
  type GatewayOptions,
  type OpenQuestion,
  openGatewayState,
} from '../src/index.ts';
import { atEnd, clientV2, connect, type Served, served, textOf } from './world.ts';

function notes(): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  const inputSchema = z.object({ name: z.string() });
  server.registerTool('drop', { description: 'Drops a note', inputSchema }, ({ name }) => text(`dropped ${name}`));
  return server;
}

const started = (approvals: GatewayApprovals, options: GatewayOptions = {}) =>
  served({ mcpServers: { notes: { server: notes } }, access: { confirm: 'destructive' }, approvals, ...options });

function collected() {
  const written: string[] = [];
  const write = (line: string) => void written.push(line);
  const logger: Logger = { debug: write, info: write, warn: write, error: write };
  return { logger, lines: () => written };
}

/** Drops a note as a caller whose client cannot ask. */
async function drop({ url, caller }: Served, name = 'ann', note = 'a'): Promise<() => Promise<string>> {
  const client = await connect('SDK v1', url, await caller(name, { profile: 'admin' }));
  return async () => textOf(await client.call('notes__drop', { name: note }));
}

const often = { interval: 10 };

describe('at the endpoint', () => {
  const started2 = async (options?: GatewayOptions) => {
    const gateway = await started({ endpoint: true }, options);
    const token = await gateway.caller('chief', { profile: 'reader', servers: [], approves: true });
    return { ...gateway, ...approver(gateway.url, token) };
  };

  function approver(url: string, token: string) {
    const request = async (path: string, init?: RequestInit) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(new URL(path, url), { ...init, headers });
      return { status: response.status, body: (await response.json()) as object };
    };
    const list = async (query = '') =>
      (await request(`/approvals${query}`)).body as { version: string; questions: OpenQuestion[] };
    const answer = (id: string, body: object) =>
      request(`/approvals/${id}`, { method: 'POST', body: JSON.stringify(body) });
    const next = async (): Promise<OpenQuestion> => {
      await expect.poll(async () => (await list()).questions.length, often).toBe(1);
      return (await list()).questions[0] as OpenQuestion;
    };
    return { request, list, answer, next };
  }

  test('people allow, deny, change arguments and remember', async () => {
    const world = await started2();
    const { next, answer, list } = world;
    const call = await drop(world);
    const answered = async (body: object) => {
      const result = call();
      const question = await next();
      expect(await answer(question.id, body)).toEqual({ status: 200, body: { answered: true } });
      return { question, result: await result };
    };
    const { question, result } = await answered({ allow: true });
    expect(question).toMatchObject({
      ...{ caller: 'ann', tool: 'notes__drop', server: 'notes', capability: 'delete', description: 'Drops a note' },
      ...{ arguments: { name: 'a' }, changed: false, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect(result).toBe('dropped a');
    expect((await answered({ deny: 'not today' })).result).toContain('was not called: not today');
    expect((await answered({ allow: { name: 'b' } })).result).toContain('dropped b');
    expect((await answered({ allow: true, hash: question.hash, remember: 'conversation' })).result).toBe('dropped a');
    expect(await call()).toBe('dropped a');
    expect((await list()).questions).toEqual([]);
  });

  test('an answer that is malformed, for another call or for no open question is refused', async () => {
    const world = await started2({ access: { confirm: 'destructive', approvalTimeoutMs: 60_000 } });
    const { next, answer, request } = world;
    const call = await drop(world);
    const result = call();
    const { id } = await next();
    const wrong = [{}, { allow: 1 }, { allow: true, deny: '' }, { deny: 1 }, { allow: true, hash: 'x' }];
    for (const body of [...wrong, { allow: true, remember: 'always' }])
      expect(await answer(id, body)).toMatchObject({ status: 400 });
    expect(await answer('other', { allow: true })).toMatchObject({ status: 404 });
    expect(await request('/approvals', { method: 'DELETE' })).toMatchObject({ status: 405 });
    expect(await request('/approvals?wait=1e9')).toMatchObject({ status: 400 });
    const long = { method: 'POST', body: ' '.repeat(1_000_001) };
    expect(await request(`/approvals/${id}`, long)).toMatchObject({ status: 413 });
    expect(await answer(id, { allow: true })).toMatchObject({ status: 200 });
    expect(await result).toBe('dropped a');
    expect(await answer(id, { deny: '' })).toMatchObject({ status: 404 });
  });

  test('only approvers answer, and never for themselves', async () => {
    const world = await started2();
    const token = await world.caller('both', { profile: 'admin', approves: true });
    const own = approver(world.url, token);
    const client = await connect('SDK v2 in 2026', world.url, token);
    const result = client.call('notes__drop', { name: 'a' });
    const { id } = await world.next();
    expect((await own.list()).questions).toEqual([]);
    expect(await own.answer(id, { allow: true })).toMatchObject({ status: 403 });
    const other = approver(world.url, await world.caller('bob', { profile: 'admin' }));
    expect(await other.request('/approvals')).toMatchObject({ status: 403 });
    expect(await other.answer(id, { allow: true })).toMatchObject({ status: 403 });
    expect((await fetch(new URL('/approvals', world.url))).status).toBe(401);
    await world.answer(id, { allow: true });
    expect(textOf(await result)).toBe('dropped a');
  });

  test('a question is withdrawn if it is not answered in time, or if its caller is gone', async () => {
    const world = await started2({ access: { confirm: 'destructive', approvalTimeoutMs: 300 } });
    const call = await drop(world);
    expect(await call()).toContain('it was not approved within 300 ms');
    expect((await world.list()).questions).toEqual([]);
    const patient = await started2();
    const client = await connect('SDK v1', patient.url, await patient.caller('ann', { profile: 'admin' }));
    const gone = new AbortController();
    const result = client.call('notes__drop', { name: 'a' }, { signal: gone.signal });
    await patient.next();
    gone.abort();
    await expect(result).rejects.toThrow();
    await expect.poll(async () => (await patient.list()).questions, often).toEqual([]);
  });

  test('a caller has at most 20 open questions, and those of other callers are still asked', async () => {
    const world = await started2();
    const token = await world.caller('flood', { profile: 'admin' });
    const client = await clientV2(world.url, token);
    const calls = Array.from({ length: 25 }, (_, index) =>
      client
        .callTool({ name: 'notes__drop', arguments: { name: String(index) } })
        .then((result) => textOf(result as never)),
    );
    const denied: string[] = [];
    for (const call of calls) void call.then((said) => denied.push(said));
    await expect.poll(() => denied.length).toBe(5);
    expect(new Set(denied)).toEqual(new Set([expect.stringContaining('too many calls wait for an approval')]));
    const call = (await drop(world))();
    await expect.poll(async () => (await world.list()).questions.length).toBe(21);
    for (const { id } of (await world.list()).questions) await world.answer(id, { allow: true });
    expect(await call).toBe('dropped a');
    expect(await Promise.all(calls)).toHaveLength(25);
  });

  test('a call that is too long to be read is denied', async () => {
    const world = await started2();
    const call = await drop(world, 'ann', 'x'.repeat(20_000));
    expect(await call()).toContain('no approver could be reached');
  });

  test('a call whose time ends while its question is written is refused, and the gateway goes on', async () => {
    const state = await openGatewayState(':memory:');
    atEnd(() => state.close());
    const ask = state.ask.bind(state);
    const written = Promise.withResolvers<void>();
    state.ask = async (question) => {
      await written.promise; // a slow database
      await ask(question);
    };
    const world = await started2({ state, access: { confirm: 'destructive', approvalTimeoutMs: 100 } });
    const call = await drop(world);
    expect(await call()).toContain('it was not approved within 100 ms');
    written.resolve();
    await expect.poll(async () => (await world.list()).questions).toEqual([]);
  });

  test('an approval with other arguments is not remembered, so it is refused with remember', async () => {
    const { next, answer, ...world } = await started2();
    const result = (await drop({ ...world }))();
    const { id } = await next();
    expect(await answer(id, { allow: { name: 'b' }, remember: 'call' })).toMatchObject({ status: 400 });
    await answer(id, { allow: true });
    expect(await result).toBe('dropped a');
  });

  test('an approver can wait for news', async () => {
    const world = await started2();
    const { version, questions } = await world.list();
    expect(questions).toEqual([]);
    const call = await drop(world);
    const news = world.list(`?wait=30&known=${version}`);
    const result = call();
    const [question] = (await news).questions;
    await world.answer(question?.id ?? '', { allow: true });
    expect(await result).toBe('dropped a');
  });

  test('all processes with the same state list a question, and an answer at any of them counts', async () => {
    const world = await started2();
    const other = new Gateway({ state: world.state, approvals: { endpoint: true } });
    atEnd(() => other.close());
    const { url } = await other.listen();
    const elsewhere = approver(url, await world.caller('second', { profile: 'reader', approves: true }));
    const result = (await drop(world))();
    await elsewhere.answer((await elsewhere.next()).id, { allow: true });
    expect(await result).toBe('dropped a');
  });

  test('a client that supports elicitation asks its own user, unless the gateway always asks others', async () => {
    const client = () => {
      const made = new Client({ name: 'tests', version: '1' }, { capabilities: { elicitation: {} } });
      made.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { approve: true } }));
      return made;
    };
    const world = await started2();
    const own = await clientV2(world.url, await world.caller('ann', { profile: 'admin' }), client());
    const call = { name: 'notes__drop', arguments: { name: 'a' } };
    expect(textOf((await own.callTool(call)) as never)).toBe('dropped a');
    const strict = await started({ endpoint: true, always: true });
    const chief = approver(strict.url, await strict.caller('chief', { profile: 'reader', approves: true }));
    const asking = await clientV2(strict.url, await strict.caller('ann', { profile: 'admin' }), client());
    const result = asking.callTool(call);
    await chief.answer((await chief.next()).id, { deny: 'no' });
    expect(textOf((await result) as never)).toContain('was not called: no');
  });
});

describe('on Mattermost', () => {
  const room = 'town-square';
  const asking = async (approvals: Partial<GatewayApprovals['mattermost']> = {}, account = 'helper') => {
    const fake = await startFakeMattermost();
    atEnd(() => fake.close());
    const mattermost = { url: fake.url, token: fake.token(account), channel: fake.channel(room).id, pollMs: 20 };
    const world = await started({ mattermost: { ...mattermost, ...approvals } });
    const posts = () => [...fake.world.posts.values()].filter(({ user_id: user }) => user === fake.user(account).id);
    const questions = () => posts().filter(({ message }) => message.startsWith('May this call'));
    const asked = async (count: number) => {
      await expect.poll(() => questions().length, often).toBe(count);
      return questions()[count - 1]?.id ?? '';
    };
    return { fake, world, posts, asked, message: (id: string) => fake.world.post(id).message };
  };

  test('people of the channel reply to a post: allow, other arguments, remember, deny', async () => {
    const { fake, world, asked, message } = await asking();
    const call = await drop(world, 'ann', '``` @all [x](https://example.com)');
    const answered = async (count: number, reply: string) => {
      const result = call();
      const root = await asked(count);
      const question = message(root);
      fake.say('bob', room, reply, { root });
      return { root, question, result: await result };
    };
    const { root, question, result } = await answered(1, 'Allow');
    expect(result).toContain('dropped ```');
    expect(question).toContain('Caller: ann\nTool: notes__drop (delete)\nIts description: Drops a note');
    // the block of code is not left
    expect(question.match(/```/g)).toHaveLength(2);
    expect(question).toContain(String.raw`"\u0060\u0060\u0060 @all`);
    await expect.poll(() => message(root), often).toContain('Allowed by bob.');
    expect((await answered(2, 'deny: not today')).result).toContain('was not called: not today');
    expect((await answered(3, '@helper allow {"name":"b"}')).result).toContain('dropped b');
    expect((await answered(4, 'allow always')).result).toContain('dropped ```');
    expect(await call()).toContain('dropped ```');
    expect(fake.unanswered).toEqual([]);
  });

  test('only approvers count, other words are explained, and bots are ignored', async () => {
    const { fake, world, asked, posts } = await asking({ approvers: ['alice'] });
    const result = (await drop(world))();
    const root = await asked(1);
    const replies = () => posts().filter((post) => post.root_id === root);
    fake.say('bob', room, 'allow', { root });
    await expect.poll(replies, often).toHaveLength(1);
    fake.say('helper', room, 'allow', { root });
    fake.say('alice', room, 'hm, maybe', { root });
    await expect
      .poll(() => replies().map(({ message }) => message.slice(0, 30)), often)
      .toEqual(['Only the approvers of the gate', 'allow', 'I could not read that. Reply t']);
    fake.say('alice', room, 'allow', { root });
    expect(await result).toBe('dropped a');
  });

  test('with the account of a person too, the gateway does not take its own posts for answers', async () => {
    const { fake, world, asked, posts } = await asking({}, 'alice');
    const result = (await drop(world))();
    const root = await asked(1);
    const replies = () => posts().filter((post) => post.root_id === root);
    for (const count of [1, 2]) {
      fake.say('bob', room, 'hm, maybe', { root });
      await expect.poll(replies, often).toHaveLength(count);
    }
    fake.say('bob', room, 'allow', { root });
    expect(await result).toBe('dropped a');
    expect(replies()).toHaveLength(2);
  });

  test('no argument is pushed out of sight by a long one before it', async () => {
    const { fake, world, asked, message } = await asking();
    const result = (await drop(world, 'ann', `a${' '.repeat(300)}b`))();
    const root = await asked(1);
    expect(message(root)).toContain('\nArguments:\n{\n  "name": "a (300 spaces) b"\n}\n```');
    fake.say('bob', room, 'deny', { root });
    expect(await result).toContain('was not called');
  });

  test('a chat that does not work is in the log, also if people are asked elsewhere', async () => {
    const { logger, lines } = collected();
    const mattermost = { url: 'http://127.0.0.1:9', token: 'x', channel: 'abc' };
    const world = await started({ endpoint: true, mattermost }, { logger });
    const result = (await drop(world))();
    await expect
      .poll(lines, often)
      .toContainEqual(expect.stringMatching(/Mattermost cannot ask about notes__drop for "ann"/));
    const [question] = await world.state.questions();
    await world.state.answer(question?.id ?? '', { answer: { allow: true }, by: 'ops' });
    expect(await result).toBe('dropped a');
  });

  test('a question is closed when its time is over, and an outage of the chat denies the call', async () => {
    const { fake, world, asked, message } = await asking();
    world.gateway.update({
      mcpServers: { notes: { server: notes } },
      access: { confirm: 'destructive', approvalTimeoutMs: 500 },
    });
    const call = await drop(world);
    expect(await call()).toContain('it was not approved within 500 ms');
    const root = await asked(1);
    await expect.poll(() => message(root), often).toContain('This question is closed');
    await fake.close();
    expect(await call()).toContain('no approver could be reached');
  });
});

describe('on Discord', () => {
  test('people of the channel reply to a message, and bots are ignored', async () => {
    const discord = await startDiscord();
    atEnd(() => discord.close());
    const channel = discord.channel('general').id;
    const world = await started({ discord: { url: discord.apiUrl, token: discord.token, channel, pollMs: 1_100 } });
    const call = await drop(world, 'ann', '``` @everyone');
    const answered = async (count: number, reply: string) => {
      const result = call();
      const asked = () => discord.botMessages('general').filter(({ content }) => content.startsWith('May this'));
      await expect.poll(() => asked().length, often).toBe(count);
      const replyTo = asked()[count - 1];
      discord.user('otherbot').say('general', 'allow', { replyTo });
      discord.user('ann').say('general', 'allow'); // is no reply
      discord.user('bob').say('general', reply, { replyTo });
      return { replyTo, result: await result };
    };
    const { replyTo, result } = await answered(1, 'deny');
    expect(result).toContain('it was not approved');
    await expect.poll(() => replyTo?.content, often).toContain(`Denied by ${discord.user('bob').id}.`);
    expect(replyTo?.pinged).toMatchObject({ users: [], everyone: false });
    expect((await answered(2, 'allow ```json\n{"name":"b"}\n```')).result).toContain('dropped b');
    expect(discord.unknownRequests).toEqual([]);
    expect(discord.violations).toEqual([]);
  }, 40_000);

  test('a call that does not fit in a message is denied', async () => {
    const discord = await startDiscord();
    atEnd(() => discord.close());
    const channel = discord.channel('general').id;
    const world = await started({ discord: { url: discord.apiUrl, token: discord.token, channel } });
    const call = await drop(world, 'ann', 'x'.repeat(2_000));
    expect(await call()).toContain('no approver could be reached');
    expect(discord.botMessages('general')).toEqual([]);
  });
});

test('what is wrong with the option is said', () => {
  const make = (approvals: object) => () => new Gateway({ approvals });
  expect(make({})).toThrow('needs a place where people are asked');
  expect(make({ endpoint: true })).toThrow('approvals.endpoint of a gateway needs state');
  expect(make({ slack: {} })).toThrow('approvals has no option "slack"');
  expect(make({ discord: { token: 'x' } })).toThrow('approvals.discord needs channel');
  const mattermost = { url: 'chat', token: 'secret', channel: 'c' };
  expect(make({ mattermost })).toThrow('approvals.mattermost.url must be a URL');
  expect(make({ discord: { token: 'x', channel: '../1' } })).toThrow('approvals.discord.channel must be an id');
});
