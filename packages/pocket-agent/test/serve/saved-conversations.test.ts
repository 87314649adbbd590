// An agent served with `conversations`: clients continue after a restart, and only their own conversations.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Conversations, openConversations } from '@pocket-agent/store';
import { type AgentServerOptions, callerOfToken } from 'pocket-agent';
import type { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { scriptedAgent } from '../helpers.ts';
import { type ClientKind, connect, conversationIn, textOf } from './clients.ts';

type Prompt = ScriptedModel['calls'][number]['prompt'];

const cleanUps: (() => Promise<unknown>)[] = [];
let chats: Conversations;

beforeEach(async () => {
  chats = await openConversations(':memory:');
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  await chats.close();
});

/** Answers with all that users have said in the conversation. */
const recall = ({ prompt }: { prompt: Prompt }) =>
  prompt
    .flatMap((message) => (message.role === 'user' ? message.content : []))
    .map((part) => (part.type === 'text' ? part.text : part.type))
    .join(' + ');

/** A server like one after a restart: nothing but the database is left of the one before. */
async function restart(options: AgentServerOptions = {}) {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  const { agent } = scriptedAgent([recall, recall, recall, recall]);
  const server = agent.asMcpServer({ conversations: chats, ...options });
  const { url } = await server.listen({ tokens: { 'token-of-ann-123': 'admin', 'token-of-bob-123': 'admin' } });
  cleanUps.push(
    () => agent.close(),
    () => server.close(),
  );
  return async (kind: ClientKind, name = 'ann') => {
    const talker = await connect(kind, { url, token: `token-of-${name}-123` });
    cleanUps.push(() => talker.close());
    return talker;
  };
}

test('a client continues its conversation by id after a restart; another one cannot', async () => {
  const first = await (await restart())('SDK v2 in 2026');
  const answer = await first.say('one');
  const conversationId = conversationIn(answer);
  const join = await restart();
  const [ann, bob] = [await join('SDK v2 in 2026'), await join('SDK v2 in 2026', 'bob')];
  expect(textOf(await ann.say('two', { conversationId }))).toBe('one + two');
  const refused = await bob.say('mine', { conversationId });
  expect(refused).toMatchObject({ isError: true });
  expect(textOf(refused)).toContain('is unknown or expired');
});

test('context_id and per-token conversations continue after a restart, and after they were dropped from memory', async () => {
  const options = { conversation: 'per-token', maxConversations: 1 } as const;
  const before = await restart(options);
  await (await before('SDK v1')).say('one');
  await (await before('SDK v1', 'bob')).say('hello');
  await (await before('SDK v2 in 2026')).say('a', { contextId: 'c'.repeat(512) });
  const after = await restart(options);
  expect(textOf(await (await after('SDK v1')).say('two'))).toBe('one + two');
  expect(textOf(await (await after('SDK v1', 'bob')).say('again'))).toBe('hello + again');
  const again = await (await after('SDK v2 in 2026')).say('b', { contextId: 'c'.repeat(512) });
  expect(textOf(again)).toBe('a + b');
});

test('conversations of connections are saved, but a new connection begins a new one', async () => {
  const join = await restart();
  const [one, two] = [await join('SDK v1'), await join('SDK v1')];
  await one.say('one');
  expect(textOf(await one.say('more'))).toBe('one + more');
  expect(textOf(await two.say('two'))).toBe('two');
});

test('agents that share a database keep the conversations of one client apart, whatever their names are', async () => {
  const ann = await (await restart())('SDK v2 in 2026');
  await ann.say('one', { contextId: 'c' });
  const owner = callerOfToken('token-of-ann-123');
  expect((await chats.owners()).owners).toMatchObject([{ owner, conversations: 1 }]);
  expect((await chats.forOwner(owner).list()).conversations).toMatchObject([{ id: 'Tester/c', title: 'one' }]);
  const { agent } = scriptedAgent([recall], { agentConfig: { name: 'Tester/c' } });
  const server = agent.asMcpServer({ conversations: chats });
  const { url } = await server.listen({ token: 'token-of-ann-123' });
  cleanUps.push(
    () => agent.close(),
    () => server.close(),
  );
  const client = new Client({ name: 'tests', version: '1' });
  cleanUps.push(() => client.close());
  const requestInit = { headers: { authorization: 'Bearer token-of-ann-123' } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const { tools } = await client.listTools();
  await client.callTool({ name: tools[0]?.name ?? '', arguments: { message: 'two' }, _meta: { context_id: '' } });
  const ids = (await chats.forOwner(owner).list()).conversations.map(({ id }) => id);
  expect(ids).toEqual([expect.stringMatching(/^[0-9a-f]{64}\//), 'Tester/c']);
});

test('one conversation for all clients is bound to the agent itself', async () => {
  const { agent } = scriptedAgent([]);
  expect(() => agent.asMcpServer({ conversation: 'shared', conversations: chats })).toThrow(
    'conversation: "shared" takes no conversations: bind the served agent to one with chats.attach(id, agent)',
  );
  await agent.close();
});

test('a database that fails is reported without details', async () => {
  const talker = await (await restart())('SDK v2 in 2026');
  await talker.say('one');
  await chats.close();
  const failed = await talker.say('two');
  expect(failed).toMatchObject({ isError: true });
  expect(textOf(failed)).toBe('The agent failed; its log says why.');
  chats = await openConversations(':memory:');
});

test('refuses another value for the option', () => {
  const { agent } = scriptedAgent([]);
  // @ts-expect-error: the compiler refuses it too
  expect(() => agent.asMcpServer({ conversations: 'chats.sqlite' })).toThrow(
    'conversations must be the result of openConversations()',
  );
});

test.each([undefined, 'token-of-ann-123'])(
  'memory is for callers with a token, not for all others together (%s)',
  async (token) => {
    const call = { toolCalls: [{ name: 'remember', arguments: { text: 'The PIN is 1234.' } }] };
    const { agent } = scriptedAgent([call, ({ prompt }) => JSON.stringify(prompt.at(-1))], { memory: true });
    const server = agent.asMcpServer({ conversations: chats, ...(token ? { token } : {}) });
    const { url } = await server.listen();
    const talker = await connect('SDK v2 in 2026', token ? { url, token } : { url });
    cleanUps.push(
      () => agent.close(),
      () => server.close(),
      () => talker.close(),
    );
    const answer = textOf(await talker.say('Remember my PIN.'));
    expect(answer).toContain(token ? 'Remembered as' : 'Anonymous callers have no memory');
  },
);
