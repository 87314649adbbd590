// What conversations do, on any database: SQLite and PostgreSQL run the same tests.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { type Message, PocketAgent, tool } from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { expectValidHistory, silent } from '../../../pocket-agent/test/helpers.ts';
import {
  type Conversations,
  type ConversationsOptions,
  type ExportedConversation,
  openConversations,
} from '../../src/index.ts';
import { startWriter } from './processes.ts';

type Script = ConstructorParameters<typeof ScriptedModel>[0];

/** `newDatabase` returns the path or URL of an empty database. */
export function testConversations(newDatabase: () => Promise<string>): void {
  let location: string;
  let chats: Conversations;
  const opened: Conversations[] = [];

  const openAgain = async (options: ConversationsOptions = {}) => {
    const place = location.startsWith('postgres') ? { url: location } : { file: location };
    const again = await openConversations({ ...place, ...options });
    opened.push(again);
    return again;
  };

  beforeEach(async () => {
    location = await newDatabase();
    chats = await openAgain();
  });

  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });

  const say = async (id: string, text: string, from = chats) => {
    await (await from.open(id, agentOf(['ok']).agent)).run(text);
  };

  test('an agent continues a conversation that another one began', async () => {
    const first = agentOf([{ toolCalls: [{ name: 'look' }] }, 'It is blue.'], { tools: [look] });
    const one = await chats.open('trip', first.agent);
    expect(await one.run('Which colour?')).toBe('It is blue.');

    const second = agentOf(['I said blue.']);
    const two = await (await openAgain()).open('trip', second.agent);
    expect(two.messages).toEqual(one.messages);
    expect(await two.run('What did you say?')).toBe('I said blue.');
    expect(textsOf(second.model.calls[0]?.prompt)).toEqual(['Which colour?', 'It is blue.', 'What did you say?']);
    expect(first.agent.messages).toEqual([]);
    expectValidHistory(two);
  });

  test('a run sees what others saved after the agent was opened', async () => {
    const [first, second] = [agentOf(['a', 'c']), agentOf(['b'])];
    const [one, two] = [await chats.open('x', first.agent), await chats.open('x', second.agent)];
    await one.run('1');
    await two.run('2');
    await one.run('3');
    expect(textsOf(one.messages)).toEqual(['1', 'a', '2', 'b', '3', 'c']);
    expect(textsOf(first.model.calls[1]?.prompt)).toEqual(['1', 'a', '2', 'b', '3']);
    expect(textsOf((await chats.export<Message>('x'))?.messages)).toEqual(['1', 'a', '2', 'b', '3', 'c']);
  });

  test('a tool call is saved together with its result, and a question before the model answers', async () => {
    const seen: string[][] = [];
    const rolesNow = async () => {
      const saved = await chats.export('x');
      seen.push(saved?.messages.map(({ role }) => role) ?? []);
    };
    const probe = tool({ name: 'probe', description: 'Probes', run: rolesNow });
    const answer = { toolCalls: [{ name: 'probe' }, { name: 'probe' }] };
    const hooks = { preStep: rolesNow, onLlmResponse: rolesNow };
    const { agent } = agentOf([answer, 'done'], { tools: [probe], hooks });
    await (await chats.open('x', agent)).run('go');
    const step = ['user', 'assistant', 'tool', 'tool'];
    expect(seen).toEqual([[], ['user'], ['user'], ['user'], step, step]);
    expect((await chats.get('x'))?.messages).toBe(5);
  });

  test('the second run waits for the first one, also from another process', async () => {
    const order: string[] = [];
    const wait = Promise.withResolvers<string>();
    const slow = tool({ name: 'slow', description: 'Waits', run: () => wait.promise });
    const first = agentOf([{ toolCalls: [{ name: 'slow' }] }, 'one'], { tools: [slow] });
    const one = await chats.open('x', first.agent);
    const running = one.run('first question 0').then(() => order.push('first'));
    await expect.poll(() => chats.get('x')).toBeDefined();
    const writer = startWriter({ location, id: 'x', name: 'other', runs: 1 });
    await writer.printed('ready');
    const two = await (await openAgain()).open('x', agentOf(['two']).agent);
    const second = two.run('second').then(() => order.push('second'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await chats.get('x'))?.messages).toBe(1);
    wait.resolve('ready');
    await Promise.all([running, second, writer.ended]);
    expect(order[0]).toBe('first');
    const texts = textsOf((await chats.export<Message>('x'))?.messages);
    expect(texts.slice(0, 2)).toEqual(['first question 0', 'one']);
    const others = [
      ['second', 'two', 'other question 0', 'other answer 0'],
      ['other question 0', 'other answer 0', 'second', 'two'],
    ];
    expect(others).toContainEqual(texts.slice(2));
  });

  test('a run that waited too long fails and names the conversation; aborting it ends the wait', async () => {
    const wait = Promise.withResolvers<string>();
    const slow = tool({ name: 'slow', description: 'Waits', run: () => wait.promise });
    const one = await chats.open('trip', agentOf([{ toolCalls: [{ name: 'slow' }] }, 'one'], { tools: [slow] }).agent);
    const running = one.run('go');
    await expect.poll(() => chats.get('trip')).toBeDefined();
    const events = recordEvents();
    const { agent, model } = agentOf(['later'], { hooks: events });
    const two = await chats.open('trip', agent, { waitMs: 0 });
    await expect(two.run('now')).rejects.toMatchObject({
      code: 'CONVERSATION_BUSY',
      message: expect.stringContaining('"trip" is still in use'),
      details: { conversation: 'trip' },
    });
    expect(events.types()).toEqual(['run_started', 'run_failed']);
    expect(textsOf(two.messages)).toEqual(['go']);
    const patient = await chats.open('trip', agent);
    const controller = new AbortController();
    const waiting = patient.run('never', { signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' });
    wait.resolve('ready');
    await running;
    expect(model.calls).toEqual([]);
    await two.run('now');
    expect(textsOf(two.messages)).toEqual(['go', 'one', 'now', 'later']);
  });

  test('a run whose conversation is deleted fails, and the next one begins anew', async () => {
    const remove = tool({ name: 'remove', description: 'Deletes', run: () => chats.delete('x') });
    const { agent } = agentOf([{ toolCalls: [{ name: 'remove' }] }, 'fresh'], { tools: [remove] });
    const chat = await chats.open('x', agent);
    await expect(chat.run('go')).rejects.toMatchObject({
      code: 'CONVERSATION_LOST',
      message: expect.stringContaining('"x" could not be saved: it was deleted during the run'),
    });
    expect(await chats.get('x')).toBeUndefined();
    await chat.run('again');
    expect(textsOf(chat.messages)).toEqual(['again', 'fresh']);
    expect((await chats.get('x'))?.messages).toBe(2);
  });

  test('an aborted run and a failed one are saved with every call answered', async () => {
    const controller = new AbortController();
    const stop = tool({
      name: 'stop',
      description: 'Aborts',
      run: () => {
        controller.abort();
        return new Promise<string>(() => {});
      },
    });
    const script = [{ toolCalls: [{ name: 'stop' }, { name: 'stop' }] }, { error: new Error('no model') }];
    const chat = await chats.open('x', agentOf(script, { tools: [stop], limits: { modelRetries: 0 } }).agent);
    await expect(chat.run('one', { signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(chat.run('two')).rejects.toMatchObject({ code: 'MODEL_FAILED' });
    const other = await chats.open('x', agentOf([]).agent);
    expect(other.messages).toEqual(chat.messages);
    expect(other.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
    expectValidHistory(other);
  });

  test('resetMessages empties the conversation with the next run, for other agents too', async () => {
    const [one, two] = [
      await chats.open('x', agentOf(['a', 'c']).agent),
      await chats.open('x', agentOf(['b', 'd']).agent),
    ];
    await one.run('1');
    await two.run('2');
    one.resetMessages();
    await one.run('3');
    expect(textsOf((await chats.export<Message>('x'))?.messages)).toEqual(['3', 'c']);
    await two.run('4');
    expect(textsOf(two.messages)).toEqual(['3', 'c', '4', 'd']);
  });

  test('messages that the program adds are saved with the next run, calls without a result included', async () => {
    const { agent } = agentOf(['a', 'b']);
    const chat = await chats.open('x', agent);
    chat.addUserMessage('before');
    chat.addMessage({
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'gone', input: {} }],
    });
    await chat.step();
    await chat.run('after');
    const other = await chats.open('x', agentOf([]).agent);
    expect(textsOf(other.messages)).toEqual(['before', 'a', 'after', 'b']);
    expect(other.messages).toEqual(chat.messages);
    expectValidHistory(other);
  });

  test('initial messages of an agent begin a new conversation once', async () => {
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'example' }] }];
    const [first, second] = [agentOf(['a'], { messages }), agentOf(['b'], { messages })];
    const [one, two] = [await chats.open('x', first.agent), await chats.open('x', second.agent)];
    await one.run('1');
    await two.run('2');
    expect(textsOf(two.messages)).toEqual(['example', '1', 'a', '2', 'b']);
    const third = await chats.open('x', first.agent);
    expect(third.messages).toEqual(two.messages);
    expect(textsOf(third.fork().messages)).toEqual(['example']);
  });

  test('a subclass keeps its class and its own run', async () => {
    class Twice extends PocketAgent {
      override async run(input: string): Promise<string> {
        this.addUserMessage(input);
        await this.step();
        this.addUserMessage('again');
        await this.step();
        return 'twice';
      }
    }
    const chat = await chats.open('x', new Twice({ llmModel: new ScriptedModel(['a', 'b']), logger: silent }));
    expect(chat).toBeInstanceOf(Twice);
    expect(await chat.run('1')).toBe('twice');
    expect(textsOf((await chats.export<Message>('x'))?.messages)).toEqual(['1', 'a', 'again', 'b']);
    await expect(chats.open('y', chat)).resolves.toBeInstanceOf(Twice);
  });

  test('of two steps at a time, the one whose tool still runs is saved later, with its result', async () => {
    const [started, result] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const slow = tool({
      name: 'slow',
      description: 'Waits',
      run: () => {
        started.resolve();
        return result.promise;
      },
    });
    const rolesNow = async () => (await chats.export('x'))?.messages.map(({ role }) => role);
    const seen: unknown[] = [];
    class Parallel extends PocketAgent {
      override async run(input: string): Promise<string> {
        this.addUserMessage(input);
        const first = this.step();
        await started.promise;
        await this.step();
        seen.push(await rolesNow());
        result.resolve('done');
        await first;
        return 'both';
      }
    }
    const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'slow' }] }, 'second']);
    await (await chats.open('x', new Parallel({ llmModel, tools: [slow], logger: silent }))).run('go');
    expect([...seen, await rolesNow()]).toEqual([['user'], ['user', 'assistant', 'tool', 'assistant']]);
  });

  test('lists conversations newest first, in pages, by the beginning of their id', async () => {
    for (const id of ['a/1', 'a/2', 'b/1', 'a/3', 'a_4']) await say(id, `question ${id}`);
    await say('a/1', 'once more');
    const first = await chats.list({ limit: 2, prefix: 'a' });
    expect(first.conversations.map(({ id }) => id)).toEqual(['a/1', 'a_4']);
    expect(first.conversations[0]).toMatchObject({ title: 'question a/1', messages: 4, expiresAt: undefined });
    const second = await chats.list({ limit: 2, prefix: 'a', ...(first.next ? { cursor: first.next } : {}) });
    expect(second).toMatchObject({ conversations: [{ id: 'a/3' }, { id: 'a/2' }], next: undefined });
    expect((await chats.list({ prefix: 'a/' })).conversations).toHaveLength(3);
    await expect(chats.list({ cursor: 'x' })).rejects.toThrow('`next` of an earlier page');
    await expect(chats.list({ limit: 0 })).rejects.toThrow('limit must be a whole number from 1 to 1000');
  });

  test('finds text in titles and messages, in any case and with any characters', async () => {
    await say('plan', 'The ÄRGER is 100% real_\\ 🚀');
    await say('other', 'nothing here');
    await say('named', 'hello');
    await chats.rename('named', 'Rockets');
    const ids = async (text: string) => (await chats.search(text)).conversations.map(({ id }) => id);
    expect(await ids('ärger')).toEqual(['plan']);
    expect(await ids('100%')).toEqual(['plan']);
    expect(await ids('%')).toEqual(['plan']);
    expect(await ids('l_\\ 🚀')).toEqual(['plan']);
    expect(await ids('rock')).toEqual(['named']);
    expect(await ids('HE')).toEqual(['named', 'other', 'plan']);
    const { conversations, next } = await chats.search('he', { limit: 1 });
    expect(conversations).toMatchObject([{ id: 'named', match: { role: 'user', text: 'hello' } }]);
    const rest = await chats.search('he', next ? { cursor: next } : {});
    expect(rest).toMatchObject({ conversations: [{ id: 'other' }, { id: 'plan' }], next: undefined });
  });

  test('renames, deletes, exports and imports a conversation', async () => {
    await say('x', 'a question\nof two lines');
    expect((await chats.get('x'))?.title).toBe('a question of two lines');
    expect(await chats.rename('x', 'Holidays')).toBe(true);
    await say('x', 'more');
    const saved = await chats.export('x');
    expect(saved).toMatchObject({ id: 'x', title: 'Holidays', messages: { length: 4 } });
    expect(await chats.delete('x')).toBe(true);
    expect([await chats.delete('x'), await chats.rename('x', 'y'), await chats.export('x')]).toEqual([
      false,
      false,
      undefined,
    ]);
    if (!saved) throw new Error('nothing was exported');
    const copy = JSON.parse(JSON.stringify(saved));
    expect([await chats.import(copy), await chats.import(copy)]).toEqual([true, false]);
    expect(await chats.export('x')).toEqual(saved);
    const chat = await chats.open('x', agentOf(['go on']).agent);
    await chat.run('and?');
    expect((await chats.get('x'))?.messages).toBe(6);
  });

  test('changes the id of a conversation, unless the new one is taken', async () => {
    await say('old', 'question');
    await say('other', 'hello');
    expect(await chats.changeId('old', 'new')).toBe(true);
    expect(textsOf((await chats.export<Message>('new'))?.messages)).toEqual(['question', 'ok']);
    expect(await chats.get('old')).toBeUndefined();
    expect([await chats.changeId('old', 'x'), await chats.changeId('new', 'other')]).toEqual([false, false]);
    expect((await chats.list()).conversations.map(({ id }) => id)).toEqual(['other', 'new']);
    await say('new', 'more');
    expect((await chats.get('new'))?.messages).toBe(4);
  });

  test('an agent with messages begins a conversation with them, and may change to another one between runs', async () => {
    await say('second', 'hello');
    const { agent } = agentOf(['a', 'b', 'c']);
    await agent.run('1');
    await chats.attach('first', agent);
    expect(await chats.get('first')).toBeUndefined();
    const running = agent.run('2');
    await expect(chats.attach('second', agent)).rejects.toThrow('is running: await its run');
    await running;
    await chats.attach('second', agent);
    await agent.run('3');
    expect(textsOf((await chats.export<Message>('first'))?.messages)).toEqual(['1', 'a', '2', 'b']);
    expect(textsOf((await chats.export<Message>('second'))?.messages)).toEqual(['hello', 'ok', '3', 'c']);
  });

  test('memory: true keeps facts apart for each caller, and profiles apply to its tools', async () => {
    const call = (name: string, args: object) => ({ toolCalls: [{ name, arguments: { ...args } }] });
    const remember = (text: string) => call('remember', { text });
    const { agent } = agentOf(
      [remember('Ann likes tea.'), 'ok', remember('Bob likes rum.'), 'ok', call('recall', { query: 'likes?' }), 'ok'],
      { memory: true },
    );
    const chat = await chats.open('x', agent);
    await chat.run('a', { caller: 'ann' });
    await chat.run('b', { caller: 'bob' });
    await chat.run('c', { caller: 'ann', profile: 'reader' });
    const { memory } = await openAgain();
    const [tea, ...others] = await memory.list({ owner: 'ann' });
    expect([tea?.text, others]).toEqual(['Ann likes tea.', []]);
    const results = JSON.stringify(chat.messages.at(-2));
    expect(results).toContain('Ann likes tea.');
    expect(results).not.toContain('rum');

    const refused = agentOf([remember('x'), 'no'], { memory: chats });
    await refused.agent.run('d', { caller: 'ann', profile: 'reader' });
    expect(JSON.stringify(refused.agent.messages)).toContain('remember');
    expect(await memory.list({ owner: 'ann' })).toHaveLength(1);

    const other = agentOf([call('forget', { id: tea?.id }), 'no', call('forget', { id: tea?.id }), 'ok'], {
      memory: chats,
    });
    await other.agent.run('e', { caller: 'bob' });
    expect(await memory.list({ owner: 'ann' })).toHaveLength(1);
    await other.agent.run('f', { caller: 'ann' });
    expect(await memory.list({ owner: 'ann' })).toEqual([]);
    expect(await memory.erase({ owner: 'bob' })).toBe(1);
    await expect(agentOf(['x'], { memory: true }).agent.run('g')).rejects.toThrow('needs a saved conversation');
  });

  test('finds memories by words, remembers a text once, and limits its length', async () => {
    const { memory } = chats.forOwner('ann');
    const { id } = await memory.remember({ text: 'Drinks green tea' });
    await memory.remember({ text: 'Has a green car' });
    expect((await memory.remember({ text: ' Drinks green tea ' })).id).toBe(id);
    const texts = async (query: string) => (await memory.recall({ query })).map(({ text }) => text);
    expect(await texts('GREEN tea?')).toEqual(['Drinks green tea', 'Has a green car']);
    expect(await texts('car')).toEqual(['Has a green car']);
    expect(await texts('boat')).toEqual([]);
    expect(await texts('')).toHaveLength(2);
    expect(await chats.memory.list()).toEqual([]);
    await expect(memory.remember({ text: 'x'.repeat(2_001) })).rejects.toThrow(
      'A memory has at most 2000 characters, and this text has 2001: shorten it, or keep several memories.',
    );
  });

  test('owners and scopes have separate conversations', async () => {
    const [ann, bob] = [chats.forOwner('ann'), chats.forOwner('bob')];
    await say('x', 'secret of ann', ann);
    await say('x', 'secret of bob', bob);
    expect(textsOf((await bob.export<Message>('x'))?.messages)).toEqual(['secret of bob', 'ok']);
    expect((await ann.search('secret')).conversations).toMatchObject([{ title: 'secret of ann' }]);
    expect((await chats.list()).conversations).toEqual([]);
    expect(await chats.delete('x')).toBe(false);
    expect(await (await openAgain({ scope: 'other' })).forOwner('ann').get('x')).toBeUndefined();
    expect(await ann.delete('x')).toBe(true);
    expect(await bob.get('x')).toBeDefined();
  });

  test('an operator lists the owners of conversations and memories, and erases all that is kept of one', async () => {
    const [ann, bob] = [chats.forOwner('ann'), chats.forOwner('bob')];
    await say('x', 'of ann', ann);
    await say('y', 'more of ann', ann);
    await ann.memory.remember({ text: 'Likes tea' });
    await chats.memory.remember({ owner: 'cleo', text: 'Likes cake' });
    await say('x', 'of bob', bob);
    await say('x', 'of another program', (await openAgain({ scope: 'other' })).forOwner('ann'));
    const updatedAt = expect.any(Date);
    const { owners, next } = await bob.owners({ limit: 2 });
    expect(owners).toEqual([
      { owner: 'ann', conversations: 2, memories: 1, updatedAt },
      { owner: 'bob', conversations: 1, memories: 0, updatedAt },
    ]);
    const rest = await chats.owners(next === undefined ? {} : { cursor: next });
    expect(rest).toEqual({ owners: [{ owner: 'cleo', conversations: 0, memories: 1, updatedAt }], next: undefined });
    expect((await chats.owners({ prefix: 'b' })).owners).toMatchObject([{ owner: 'bob' }]);
    const held = await ann.open('x', agentOf(['done']).agent);
    expect(await chats.eraseOwner('ann')).toEqual({ conversations: 2, memories: 1 });
    expect(await chats.eraseOwner('ann')).toEqual({ conversations: 0, memories: 0 });
    expect((await chats.owners()).owners.map(({ owner }) => owner)).toEqual(['bob', 'cleo']);
    expect((await (await openAgain({ scope: 'other' })).owners()).owners).toMatchObject([{ owner: 'ann' }]);
    await held.run('hello again'); // an agent that is still open begins anew
    expect(textsOf((await ann.export<Message>('x'))?.messages)).toEqual(['hello again', 'done']);
  });

  test('expired conversations are gone, and their rows are deleted', async () => {
    const shortLived = await openAgain({ expiresAfterMs: 200 });
    await say('x', 'soon gone', shortLived);
    await say('y', 'stays');
    await say('later', 'kept for an hour', await openAgain({ expiresAfterMs: 3_600_000 }));
    expect((await chats.get('later'))?.expiresAt).toBeInstanceOf(Date);
    await chats.delete('later');
    await expect.poll(() => chats.get('x')).toBeUndefined();
    expect((await chats.list()).conversations).toMatchObject([{ id: 'y' }]);
    const chat = await chats.open('x', agentOf(['new']).agent);
    await chat.run('begin');
    expect(textsOf((await chats.export<Message>('x'))?.messages)).toEqual(['begin', 'new']);
    for (let count = 0; count < 60; count++) await shortLived.import(conversation(`z${count}`));
    await expect.poll(() => chats.purge()).toBeGreaterThan(0);
    await expect.poll(async () => (await chats.list()).conversations.length).toBe(2);
  });

  test('keeps every character, long texts and many messages', async () => {
    const text = `\0 ${'\ud800'} "quoted" ${'long '.repeat(50_000)} end`;
    await say('x'.repeat(512), text);
    const [first] = (await chats.export<Message>('x'.repeat(512)))?.messages ?? [];
    expect(first?.content).toEqual([{ type: 'text', text }]);
    expect((await chats.search('"quoted"')).conversations).toHaveLength(1);
    const many = conversation('many', 2_500);
    await chats.import(many);
    const chat = await chats.open('many', agentOf(['ok']).agent);
    expect(chat.messages).toEqual(many.messages);
    expect((await chats.search('question 0')).conversations).toHaveLength(1);
  });

  test('refuses ids, owners, titles and options that it cannot store', async () => {
    const { agent } = agentOf([]);
    for (const id of ['', 'x'.repeat(513), 'a\0b', '\ud800'])
      await expect(chats.open(id, agent)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(() => chats.forOwner('x'.repeat(300))).toThrow('The owner of conversations must be a string');
    await expect(chats.rename('x', '')).rejects.toThrow('The title of a conversation must be');
    await expect(openAgain({ leaseMs: 0 })).rejects.toThrow('leaseMs must be a number of milliseconds from 1');
    const misspelt: object = { expiresAfter: 1 };
    await expect(openAgain(misspelt)).rejects.toThrow('Did you mean "expiresAfterMs"?');
    await expect(chats.open('x', {} as PocketAgent)).rejects.toThrow('Pass a PocketAgent: to continue a conversation');
  });

  test('refuses options, memories and turns of the wrong kind', async () => {
    const { memory, turns } = chats;
    const wrong = (value: unknown) => value as never;
    for (const [attempt, text] of [
      [() => chats.list(wrong(null)), 'The options of a list must be an object, got null'],
      [() => chats.owners(wrong('x')), 'The options of a list must be an object, got "x"'],
      [() => memory.remember(wrong(null)), 'remember() takes an object, such as { text }.'],
      [() => memory.remember(wrong({ text: 7 })), 'remember().text must be a string, got 7'],
      [() => memory.recall(wrong({})), 'recall(): query must be a string, got undefined'],
      [() => memory.recall({ query: 'x', limit: 0.5 }), 'recall().limit must be a whole number'],
      [() => memory.forget(wrong({ id: null })), 'forget().id must be a string, got null'],
      [() => memory.list(wrong(null)), 'list() takes an object, such as { owner }.'],
      [() => memory.erase(wrong('all')), 'erase() takes an object, such as { owner }.'],
      [() => turns.append('x', wrong(null)), 'A turn is an object: { turn, messages }.'],
      [
        () => turns.append('x', wrong({ turn: 'a', messages: { length: '0; drop' } })),
        'The messages of a turn must be',
      ],
      [() => turns.replace('x', wrong({ turn: 'a', messages: [{ role: 'user' }] })), 'The messages of a turn must be'],
      [() => turns.remove('x', wrong('abc')), 'The turns to remove must be a list of labels, got "abc"'],
    ] as const)
      await expect(attempt()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(text) });
  });

  test('refuses to import what no agent could continue', async () => {
    const given = conversation('x');
    const [message] = given.messages;
    const wrong: [object | null, string][] = [
      [null, 'must be an object'],
      [{}, 'needs `messages`'],
      [{ ...given, messages: [{ ...message, role: 'system' }] }, 'role` (user, assistant or tool)'],
      [{ ...given, messages: [{ ...message, content: [null] }] }, 'a list of parts, which are objects'],
      [{ ...given, title: 'x'.repeat(1_000) }, 'The title of an imported conversation must be a string of 1 to 200'],
      [{ ...given, title: 'a\0b' }, 'The title of an imported conversation'],
      [{ ...given, turns: [7] }, 'The label of a turn must be'],
      [{ ...given, compacted: 'x' }, '`compacted` of an imported conversation must be an object'],
    ];
    for (const [conversation, text] of wrong) {
      const imported = chats.import(conversation as ExportedConversation);
      await expect(imported).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(text) });
    }
    expect(await chats.get('x')).toBeUndefined();
    expect(await chats.import(given)).toBe(true);
  });

  test('a caller without a name is refused before anything is saved, and does not share the memory of others', async () => {
    const { agent } = agentOf(['ok', 'ok'], { memory: true });
    const chat = await chats.open('x', agent);
    await expect(chat.run('Hi.', { caller: '' })).rejects.toThrow('caller must be a non-empty string');
    expect(await chats.get('x')).toBeUndefined();
    expect(await chat.run('Hi.', { caller: 'ann' })).toBe('ok');
  });

  test('after close() every use says so', async () => {
    const { agent } = agentOf(['ok', 'ok']);
    const closed = await openAgain();
    const chat = await closed.open('x', agent);
    await closed.close();
    const error = { code: 'CLOSED', message: expect.stringContaining('was closed; open it again') };
    await expect(closed.list()).rejects.toMatchObject(error);
    await expect(closed.open('y', agent)).rejects.toMatchObject(error);
    await expect(chat.run('Hi.')).rejects.toMatchObject(error);
    await expect(closed.memory.remember({ text: 'x' })).rejects.toMatchObject(error);
  });
}

const look = tool({ name: 'look', description: 'Looks', run: () => 'blue' });

function agentOf(script: Script, options: Partial<ConstructorParameters<typeof PocketAgent>[0]> = {}) {
  const model = new ScriptedModel(script);
  return { agent: new PocketAgent({ llmModel: model, logger: silent, ...options }), model };
}

function textsOf(messages: readonly Message[] | LanguageModelV4Prompt | undefined): string[] {
  return (messages ?? []).flatMap(({ content }) =>
    typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  );
}

function conversation(id: string, length = 2) {
  const time = new Date().toISOString();
  const messages = Array.from({ length }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: 'text', text: `${index % 2 === 0 ? 'question' : 'answer'} ${index}` }],
  }));
  return { id, title: '', createdAt: time, updatedAt: time, messages };
}
