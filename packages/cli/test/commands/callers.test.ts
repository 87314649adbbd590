// `pocket-agent callers`: the operator of a served agent reads and erases what is saved of its callers.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Conversations, openConversations } from '@pocket-agent/store';
import { callerOfToken, PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import { connect } from '../../../pocket-agent/test/serve/clients.ts';
import { CommandFolder } from '../fixtures/command.ts';

const folder = new CommandFolder();
const database = () => join(folder.path, 'served.sqlite');
const [ann, bob] = ['token-of-ann-123', 'token-of-bob-123'];
const [callerAnn, callerBob] = [callerOfToken(ann), callerOfToken(bob)];
let chats: Conversations;

/** Both callers talk to an agent, and it remembers a fact about Ann. */
beforeAll(async () => {
  chats = await openConversations(database());
  const remember = { toolCalls: [{ name: 'remember', arguments: { text: 'Ann likes tea.' } }] };
  const llmModel = new ScriptedModel([remember, 'I will remember that.', 'Hello Bob.']);
  const agent = new PocketAgent({ name: 'Tester', llmModel, memory: true, logger: silent });
  const server = agent.asMcpServer({ conversations: chats });
  const { url } = await server.listen({ tokens: { [ann]: 'admin', [bob]: 'admin' } });
  for (const [token, text] of [
    [ann, 'I like tea'],
    [bob, 'Hello'],
  ] as const) {
    const talker = await connect('SDK v2 in 2026', { url, token });
    await talker.say(text);
    await talker.close();
  }
  await server.close();
  await agent.close();
});
afterAll(() => chats.close());

const callers = (...args: string[]) => folder.command(['callers', ...args, '--conversations', database()]);

test('lists callers, shows and exports what is saved of one, and erases it', async () => {
  const { stdout } = await callers();
  expect(stdout).toMatch(
    new RegExp(`^${callerAnn} +1 conversation +1 memory +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d$`, 'm'),
  );
  expect(stdout).toMatch(new RegExp(`^${callerBob} +1 conversation +0 memories +`, 'm'));
  expect(stdout.split('\n')).toHaveLength(3);
  const shown = await callers('show', '--token', ann);
  expect(shown.stdout).toMatch(/^\S+\/\S+ +4 messages +[\d: -]+ +I like tea\n\n\S+ +[\d-]+ +Ann likes tea\.\n$/);
  const [id = ''] = shown.stdout.split(' ');
  expect((await callers('show', callerAnn, id)).stdout).toContain('> I like tea\n');
  const exported = JSON.parse((await callers('export', callerAnn)).stdout);
  expect(exported).toMatchObject({
    caller: callerAnn,
    conversations: [{ id, messages: { length: 4 } }],
    memories: [{ text: 'Ann likes tea.' }],
  });
  const { stderr } = await callers('erase', '--token', ann);
  expect(stderr).toBe(`${callerAnn}: erased 1 conversation and 1 memory.\n`);
  expect(await callers('show', callerAnn)).toMatchObject({
    stdout: '',
    stderr: `Nothing is saved about ${callerAnn}.\n`,
  });
  expect((await callers('list')).stdout).not.toContain(callerAnn);
  expect((await callers('show', callerBob)).stdout).toContain('Hello');
});

test('conversations of another program in the database are those of another scope', async () => {
  expect(await callers('--scope', 'discord')).toMatchObject({ code: 0, stdout: '', stderr: 'Nothing is saved.\n' });
});

test.each([
  [['lits'], 'There is no command "callers lits". Did you mean "list"? Available: list, show, export, erase.'],
  [['erase'], 'Usage: pocket-agent callers erase CALLER... --conversations DATABASE'],
  [['show', callerBob, 'x'], `${callerBob} has no conversation "x"`],
])('%j is refused', async (args, message) => {
  const { code, stderr } = await callers(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test('a database that does not exist is not made', async () => {
  const absent = join(folder.path, 'absent.sqlite');
  expect(await folder.command(['callers', '--conversations', absent])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`There is no database ${absent}: name the file that the program opens`),
  });
  expect((await folder.command(['callers'])).stderr).toContain('Name the database: --conversations FILE');
  expect(existsSync(absent)).toBe(false);
});
