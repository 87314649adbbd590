// An agent served over A2A with `conversations`: a context continues after a restart.
import { openConversations } from '@pocket-agent/store';
import { callerOfToken } from 'pocket-agent';
import { afterEach, expect, test } from 'vitest';
import { answerOf, clientOf, message, send, World } from './fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

type Options = { prompt: readonly { role: string; content: string | readonly object[] }[] };

/** Answers with all that users have said in the conversation. */
const recall = ({ prompt }: Options) =>
  prompt
    .flatMap(({ role, content }) => (role === 'user' && typeof content !== 'string' ? content : []))
    .map((part) => ('text' in part ? String(part.text) : ''))
    .join(' + ');

test('a context continues after a restart, for its own caller only', async () => {
  const chats = world.keep(await openConversations(':memory:'));
  const options = {
    conversations: chats,
    tokens: { 'token-of-ann-123': 'admin', 'token-of-bob-123': 'admin' },
  } as const;
  const first = await world.serve(world.agent([recall]), options);
  const { contextId } = await send(await clientOf(first.url, { token: 'token-of-ann-123' }), message('one'));
  await first.close();
  const { url } = await world.serve(world.agent([recall, recall]), options);
  const [ann, bob] = await Promise.all(['ann', 'bob'].map((name) => clientOf(url, { token: `token-of-${name}-123` })));
  if (!ann || !bob) throw new Error('two clients were expected');
  expect(answerOf(await send(ann, message('two', { contextId })))).toBe('one + two');
  expect(answerOf(await send(bob, message('mine', { contextId })))).toBe('mine');
  // for the operator: all that is saved of one caller
  const { conversations } = await chats.forOwner(callerOfToken('token-of-ann-123')).list();
  expect(conversations).toMatchObject([{ title: 'one', messages: 4 }]);
  expect((await chats.owners()).owners).toHaveLength(2);
});
