import { expect, test } from 'vitest';
import { RemoteAgent3 } from '../../src/index.ts';
import { atEnd } from '../fixtures/cleanup.ts';
import { closeServers, sendJson, serve } from '../fixtures/local-server.ts';
import { alice, connect, open, startHub, tokens } from '../fixtures/mcp-setup.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

/** The hub takes the caller from the token instead. */
const ignoredCaller = { id: 'ignored' };

async function remoteHub() {
  const agent3 = await open();
  const hub = await startHub({ agent3 });
  return { agent3, remote: remoteTo(hub.url) };
}

function remoteTo(url: string, token: string | undefined = tokens.issue('bob')): RemoteAgent3 {
  const remote = new RemoteAgent3({ url, token });
  atEnd(() => remote.close());
  return remote;
}

test('a remote hub has the same operations as a local registry', async () => {
  const { card } = await startSdkAgent();
  const { agent3, remote } = await remoteHub();
  const registration = { card, tags: ['a', 'b'], price: { perCall: 0.01, currency: 'USD' } };
  const { id, owner } = await remote.register(registration);
  expect(owner).toBe('bob');
  const query = { query: 'again', limit: 3, filters: { tags: ['a', 'b'], maxPricePerCall: 1, verified: false } };
  const { searchTime: _, ...found } = await remote.search(query);
  expect(await agent3.search(query)).toMatchObject(found);
  expect(found.totalFound).toBe(1);
  expect(await remote.select(id)).toEqual(await agent3.select(id));
  expect(await remote.invoke(id)).toEqual(await agent3.invoke(id));

  const updates: string[] = [];
  const response = await remote.call({ agentId: id, message: 'task' }, ignoredCaller, {
    onProgress: ({ message }) => updates.push(message),
  });
  expect(response).toMatchObject({ success: true, result: { text: 'one two three' }, metadata: { cost: 0.01 } });
  expect(updates.length).toBeGreaterThan(0);
  const feedback = { agentId: id, rating: 5, feedback: 'quick', receipt: response.receipt ?? '' };
  expect(await remote.feedback(feedback)).toMatchObject({
    success: true,
    message: expect.stringContaining('own agent'),
  });
  await expect(remote.feedback(feedback)).rejects.toMatchObject({ code: 'ALREADY_RATED' });

  const asked = await remote.call({ agentId: id, message: 'ask' });
  const taskHandle = asked.task?.taskHandle ?? '';
  expect(await remote.task({ action: 'get', taskHandle })).toMatchObject({ task: { question: 'Which size?' } });
  const until = Date.now() + 1000;
  const times = { since: until - 60_000, until, bucketMs: 60_000 };
  expect(await remote.statistics(times)).toEqual(await agent3.statistics(times));
  const { calls } = await remote.calls({ agentId: id });
  expect(calls).toHaveLength(2);
  expect(await agent3.calls({}, { id: 'bob' })).toEqual({ calls });
  expect(await remote.health()).toMatchObject({ status: 'healthy', network: { totalAgents: 1 } });
  await remote.unregister(id);
  await expect(remote.select(id)).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
});

test('an abort of the client cancels the call at the agent', async () => {
  const { card, canceled } = await startSdkAgent();
  const { agent3, remote } = await remoteHub();
  const { id: agentId } = await agent3.register({ card }, alice);
  const abort = new AbortController();
  const response = await remote.call({ agentId, message: 'wait' }, ignoredCaller, {
    signal: abort.signal,
    onProgress: () => abort.abort(),
  });
  expect(response).toMatchObject({ success: false, errorCode: 'CANCELED' });
  await expect.poll(() => canceled.length).toBe(1);
});

test('the MCP tools work with a remote hub, including consent and receipts', async () => {
  const { card } = await startSdkAgent();
  const { agent3, remote } = await remoteHub();
  const { id: agentId } = await agent3.register({ card, price: { perCall: 1, currency: 'USD' } }, alice);
  const { call } = await connect({ agent3: remote, elicit: () => true });
  expect((await call('agent3_call', { agentId, message: 'hello' })).data.result.text).toBe('you said: hello');
  expect((await call('agent3_feedback', { agentId, rating: 5, feedback: 'fine' })).data.success).toBe(true);
});

test('errors of an unavailable, broken or refusing hub name the hub, not the token', async () => {
  const away = remoteTo('http://127.0.0.1:1');
  await expect(away.search({ query: 'x' })).rejects.toThrow(/The hub at 127.0.0.1:1 does not answer/);
  const strange = remoteTo(await serve((_, response) => sendJson(response, { hello: 'world' })));
  await expect(strange.health()).rejects.toThrow(/not from Agent3/);
  await expect(strange.call({ agentId: 'x', message: 'x' })).rejects.toThrow(/closed the connection/);
  const failing = remoteTo(await serve((_, response) => void response.writeHead(500).end('<h1>oh</h1>')));
  await expect(failing.health()).rejects.toThrow(/status 500/);
  const cutOff = remoteTo(
    await serve((_, response) => {
      response.write('{"progress":{"message":"soon"}}\n{"resp', () => response.destroy());
    }),
  );
  const updates: string[] = [];
  const onProgress = ({ message }: { message: string }) => updates.push(message);
  await expect(cutOff.call({ agentId: 'x', message: 'x' }, ignoredCaller, { onProgress })).rejects.toThrow(
    /closed the connection/,
  );
  expect(updates).toEqual(['soon']);
  await closeServers();

  const { url } = await startHub({ agent3: await open() });
  for (const length of [4_100_000, 5_000_000])
    await expect(remoteTo(url).call({ agentId: 'x', message: 'x'.repeat(length) })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('The request is too large'),
    });
  const token = `${tokens.issue('bob').slice(0, -2)}AA`;
  const refused = await remoteTo(url, token)
    .call({ agentId: 'x', message: 'x' })
    .catch((error: Error) => error);
  expect(refused).toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining('AGENT3_HUB_TOKEN') });
  expect(String(refused)).not.toContain(token);
  expect(() => new RemoteAgent3({ url: 'hub.example' })).toThrow(/must begin with http/);
});
