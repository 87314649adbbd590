// Conversations of the studio: saved ones, files, how tools are exposed, and what MCP servers ask during a call.
import { openConversations } from '@pocket-agent/store';
import { expect, onTestFinished, test } from 'vitest';
import type { ChatInfo, SavedChat, ServerOffers, ToolList } from '../src/wire/wire.ts';
import { pizzeria } from './pizzeria.ts';
import { type Client, hasEnded, isEvent, isQuestion, makeShop, startStudio } from './world.ts';

async function saved(client: Client, words = ''): Promise<SavedChat[]> {
  return (await client.fetch(`/api/saved?words=${words}`)).json() as Promise<SavedChat[]>;
}

async function openStore() {
  const conversations = await openConversations(':memory:');
  onTestFinished(() => conversations.close());
  return conversations;
}

test('a saved conversation is found by its words, and goes on after a restart', async () => {
  const conversations = await openStore();
  const first = await startStudio({ shop: makeShop(['It is on its way.', 'Yes.']).agent }, { conversations });
  const chat = await first.chat('shop', 'Where is order 17?');
  await first.lines(hasEnded);
  await first.chat('shop', 'Are you open?');
  await first.lines((line) => hasEnded(line) && line.type === 'chat' && line.chat.title === 'Are you open?');
  await first.close();

  const { agent } = makeShop([({ prompt }) => `${prompt.length} messages`]);
  const second = await startStudio({ shop: agent }, { conversations });
  expect((await saved(second)).map(({ title }) => title)).toEqual(['Are you open?', 'Where is order 17?']);
  expect(await saved(second, 'way')).toMatchObject([{ id: chat.id, agent: 'shop', title: 'Where is order 17?' }]);
  await Promise.all([1, 2].map(() => second.post(`/api/chats/${chat.id}/open`, {}))); // two tabs
  await second.post(`/api/chats/${chat.id}/messages`, { text: 'And now?' });
  const lines = await second.lines(isEvent('run_finished'));
  expect(lines.filter(({ type }) => type === 'history')).toHaveLength(1);
  expect(JSON.stringify(lines.find(({ type }) => type === 'history'))).toContain('It is on its way.');
  expect(JSON.stringify(lines.findLast(isEvent('run_finished')))).toContain('3 messages');
});

test('a conversation that is deleted is deleted in the database, open or not', async () => {
  const conversations = await openStore();
  const first = await startStudio({ shop: makeShop(['One.', 'Two.']).agent }, { conversations });
  const { id } = await first.chat('shop', 'first');
  await first.lines(hasEnded);
  const other = await first.chat('shop', 'second');
  await first.lines((line) => hasEnded(line) && line.type === 'chat' && line.chat.id === other.id);
  await first.fetch(`/api/chats/${id}`, { method: 'DELETE' });
  await first.close();
  const second = await startStudio({ shop: makeShop([]).agent }, { conversations });
  expect((await saved(second)).map((chat) => chat.id)).toEqual([other.id]);
  await second.fetch(`/api/chats/${other.id}`, { method: 'DELETE' });
  expect(await saved(second)).toEqual([]);
  await expect(second.post(`/api/chats/${id}/open`, {})).rejects.toThrow('404');
});

test('an approval names the MCP server of the tool', async () => {
  const { agent } = makeShop([{ toolCalls: [{ name: 'order' }] }, 'Enjoy.'], {
    tools: [],
    mcpConfig: { mcpServers: { pizzeria: { server: pizzeria } } },
    access: { confirm: 'always' },
  });
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'A pizza');
  const line = (await client.lines(isQuestion)).at(-1);
  expect(line).toMatchObject({ question: { kind: 'approval', tool: 'order', server: 'pizzeria' } });
});

test('without a database nothing is saved', async () => {
  const client = await startStudio({ shop: makeShop(['Hi.']).agent });
  await client.chat('shop', 'Hello');
  await client.lines(hasEnded);
  expect(await saved(client)).toEqual([]);
});

test('images and files go to the model', async () => {
  const { agent } = makeShop([({ prompt }) => JSON.stringify(prompt.at(-1)?.content)], { allowImages: true });
  const client = await startStudio({ shop: agent });
  const { id } = await client.post<ChatInfo>('/api/chats', { agent: 'shop' });
  const files = [{ name: 'dot.png', mediaType: 'image/png', data: 'iVBORw0KGgo=' }];
  await client.post(`/api/chats/${id}/messages`, { text: '', files });
  const finished = (await client.lines(hasEnded)).findLast(isEvent('run_finished'));
  expect(JSON.stringify(finished)).toContain('image/png');
  await expect(client.post(`/api/chats/${id}/messages`, { text: 'x', files: [{ name: 1 }] })).rejects.toThrow('400');
  const many = Array.from({ length: 11 }, () => files[0]);
  await expect(client.post(`/api/chats/${id}/messages`, { text: 'x', files: many })).rejects.toThrow('at most 10');
});

test.each([
  ['deferred', 'find_tools'],
  ['direct', 'refund'],
])('tools are exposed as is chosen for a chat: %s', async (exposure, expected) => {
  const { agent } = makeShop([({ tools = [] }) => tools.map(({ name }) => name).join()], { exposure: 'auto' });
  const client = await startStudio({ shop: agent });
  const { id } = await client.post<ChatInfo>('/api/chats', { agent: 'shop' });
  await client.post(`/api/chats/${id}/settings`, { exposure });
  await client.post(`/api/chats/${id}/messages`, { text: 'Which tools?' });
  const finished = (await client.lines(hasEnded)).findLast(isEvent('run_finished'));
  expect(finished).toMatchObject({ event: { data: { answer: expected } } });
});

const orderCall = { toolCalls: [{ name: 'order' }] };

test.each([
  ['accepted', { action: 'accept', content: { size: 'large' } }, 'One large pizza.'],
  ['declined', { action: 'decline' }, 'No pizza then.'],
])('a form of an MCP server that is %s continues the call', async (_what, answer, expected) => {
  const { agent } = makeShop([orderCall, 'Done.'], {
    tools: [],
    mcpConfig: pizzeria,
    access: { confirm: 'never' },
  });
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'A pizza');
  const asked = (await client.lines(isQuestion)).findLast(isQuestion);
  const question = asked?.type === 'question' ? asked.question : undefined;
  expect(question).toMatchObject({ kind: 'form', message: 'Which size?', schema: { required: ['size'] } });
  await expect(client.post(`/api/questions/${question?.id}`, { allow: true })).rejects.toThrow('409');
  const wrong = { action: 'accept', content: { size: { is: 'large' } } };
  await expect(client.post(`/api/questions/${question?.id}`, wrong)).rejects.toThrow('size must be');
  await client.post(`/api/questions/${question?.id}`, answer);
  const lines = await client.lines(isEvent('run_finished'));
  expect(JSON.stringify(lines.findLast(isEvent('tool_result')))).toContain(expected);
});

test('resources and prompts of servers are listed and read', async () => {
  const { agent } = makeShop([], { tools: [], mcpConfig: pizzeria });
  const client = await startStudio({ shop: agent });
  const offers = (await (await client.fetch('/api/agents/shop/offers')).json()) as ServerOffers;
  const [resource] = offers.resources;
  const [prompt] = offers.prompts;
  expect(offers).toMatchObject({
    resources: [{ uri: 'pizza://menu', name: 'menu' }],
    prompts: [{ name: 'praise', arguments: [{ name: 'kind', required: true }] }],
    problems: [],
  });
  const { server, uri } = resource ?? {};
  expect(await client.post('/api/agents/shop/resource', { server, uri })).toMatchObject({
    contents: [{ text: 'Margherita' }],
  });
  const asked = { server, prompt: prompt?.name, arguments: { kind: 'Margherita' } };
  expect(JSON.stringify(await client.post('/api/agents/shop/prompt', asked))).toContain('Praise the Margherita.');
  const { tools } = (await (await client.fetch('/api/agents/shop/tools')).json()) as ToolList;
  expect(tools).toMatchObject([{ name: 'order', group: server }]);
});
