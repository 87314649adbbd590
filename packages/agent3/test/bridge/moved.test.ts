import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { setUp } from '../fixtures/bridge-setup.ts';
import { cardOf, type Json, messageOf, rpcServer, sendJson, serve, taskOf } from '../fixtures/local-server.ts';
import { alice, open } from '../fixtures/mcp-setup.ts';

const GONE = 'http://127.0.0.1:1';

/** A card at its own URL that counts requests. */
async function startCard(card: Json) {
  const served = { card, requests: 0 };
  const cardUrl = await serve((_request, response) => {
    served.requests++;
    sendJson(response, served.card);
  });
  return { served, cardUrl: `${cardUrl}/card.json` };
}

async function startAgent(text = 'here now') {
  const messages: Json[] = [];
  const url = await rpcServer(({ method, params }) => {
    if (method === 'GetTask') return taskOf('t1', 'COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text }] }] });
    messages.push(params.message ?? {});
    return messageOf(text);
  });
  return { url, messages };
}

const refusals: [string, () => Promise<string>][] = [
  ['nothing listens there', async () => GONE],
  ['another service answers 404', () => serve((_request, response) => void response.writeHead(404).end())],
  ['it redirects', () => serve((_request, response) => void response.writeHead(308, { location: '/new' }).end())],
  ['it wants another login', () => serve((_request, response) => void response.writeHead(401).end())],
];

test.each(refusals)(
  'when an agent has moved and %s, its card is fetched again and it is called there',
  async (_case, old) => {
    const { served, cardUrl } = await startCard(cardOf(await old()));
    const agent3 = await open();
    const { id: agentId } = await agent3.register({ cardUrl }, alice);
    const { url, messages } = await startAgent();
    served.card = cardOf(url);
    const response = await agent3.call({ agentId, message: 'hello', metadata: { retries: 0 } }, alice);
    expect(response).toMatchObject({ success: true, result: { text: 'here now' }, metadata: { retryCount: 1 } });
    expect(messages).toHaveLength(1);
    expect(served.requests).toBe(2);
    expect((await agent3.call({ agentId, message: 'hello' }, alice)).metadata.retryCount).toBe(0);
  },
);

test('an unchanged card is fetched once, however many calls fail', async () => {
  const { served, cardUrl } = await startCard(cardOf(GONE));
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ cardUrl }, alice);
  const call = () => agent3.call({ agentId, message: 'hello', metadata: { retries: 0 } }, alice);
  for (const { errorCode } of [await call(), await call(), await call()]) expect(errorCode).toBe('UNREACHABLE');
  expect(served.requests).toBe(2);
});

test('a message that may have arrived is not repeated at a new address', async () => {
  const url = await rpcServer((_rpc, response) => void response.destroy());
  const { served, cardUrl } = await startCard(cardOf(url));
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ cardUrl }, alice);
  const moved = await startAgent();
  served.card = cardOf(moved.url);
  expect(await agent3.call({ agentId, message: 'hello' }, alice)).toMatchObject({ errorCode: 'UNREACHABLE' });
  expect(moved.messages).toEqual([]);
  expect(served.requests).toBe(1);
});

test('a task is read at the new address of its agent', async () => {
  const before = await rpcServer(({ method }) =>
    method === 'SendMessage' ? { task: taskOf('t1', 'WORKING') } : undefined,
  );
  const { url } = await startAgent('done');
  const { bridge, directory, say } = setUp({ card: cardOf(before) });
  const { task } = await say('hello', { mode: 'start' });
  directory.add('echo', { card: cardOf(GONE) });
  directory.renewed = async (agentId) => {
    directory.add('echo', { card: cardOf(url) });
    return directory.find(agentId);
  };
  const look = { action: 'get', taskHandle: task?.taskHandle ?? '' } as const;
  expect(await bridge.task(look, { id: 'me' })).toMatchObject({ success: true, result: { text: 'done' } });
});

test('a person who approved one host is asked again about another', async () => {
  const { url, messages } = await startAgent();
  const hosts: string[] = [];
  const options = {
    approve: ({ host }: { host: string }) => {
      hosts.push(host);
      return hosts.length === 1 ? ('allow' as const) : ('deny' as const);
    },
  };
  const { directory, say } = setUp({ card: cardOf(GONE) }, options);
  directory.renewed = async (agentId) => {
    directory.add('echo', { card: cardOf(url) });
    return directory.find(agentId);
  };
  expect(await say('hello', { metadata: { retries: 0 } })).toMatchObject({ errorCode: 'REFUSED' });
  expect(hosts).toEqual(['127.0.0.1:1', new URL(url).host]);
  expect(messages).toEqual([]);
});

test('an agent that raises its price during a call is not called again', async () => {
  const { url, messages } = await startAgent();
  const { directory, say } = setUp({ card: cardOf(GONE), price: { perCall: 0.1, currency: 'USD' } });
  directory.renewed = async (agentId) => {
    directory.add('echo', { card: cardOf(url), price: { perCall: 100, currency: 'USD' } });
    return directory.find(agentId);
  };
  const response = await say('hello', { metadata: { retries: 0, maxCost: 0.1 } });
  expect(response).toMatchObject({ errorCode: 'BUDGET', error: expect.stringContaining('price changed') });
  expect(messages).toEqual([]);
});

test('waiting for a card ends with the timeout of the call', async () => {
  const { directory, say } = setUp({ card: cardOf(GONE) });
  directory.renewed = () => pause(60_000, undefined, { ref: false });
  expect(await say('hello', { metadata: { retries: 0, timeout: 200 } })).toMatchObject({ errorCode: 'TIMEOUT' });
});
