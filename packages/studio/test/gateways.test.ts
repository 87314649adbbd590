// A studio that is attached to a running gateway by its address and a token.
import { McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { clientV2, served } from '../../gateway/test/world.ts';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import type { GatewayInfo } from '../src/wire/wire.ts';
import { isQuestion, makeShop, startStudio } from './world.ts';

function notes(): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  const inputSchema = z.object({ name: z.string() });
  server.registerTool('drop', { description: 'Drops a note', inputSchema }, ({ name }) => text(`dropped ${name}`));
  return server;
}

async function attached(metricsToken?: string) {
  const gateway = await served(
    { mcpServers: { notes: { server: notes } }, access: { confirm: 'destructive' }, approvals: { endpoint: true } },
    { metricsToken: 'the-metrics' },
  );
  const token = await gateway.caller('studio', { profile: 'reader', servers: [], approves: true });
  const known = { url: gateway.url, token, ...(metricsToken === undefined ? {} : { metricsToken }) };
  const studio = await startStudio({ shop: makeShop([]).agent }, { gateways: [known] });
  const caller = await clientV2(gateway.url, await gateway.caller('ann', { profile: 'admin' }));
  const drop = (name: string) => caller.callTool({ name: 'notes__drop', arguments: { name } });
  const infos = async () => (await (await studio.fetch('/api/gateways')).json()) as GatewayInfo[];
  return { studio, drop, infos, host: new URL(gateway.url).host };
}

test('a question of the gateway is answered in the studio, also with other arguments', async () => {
  const { studio, drop, host } = await attached();
  const called = drop('a');
  const line = (await studio.lines(isQuestion)).findLast(isQuestion);
  const question = line?.type === 'question' ? line.question : undefined;
  expect(question).toMatchObject({ gateway: host, tool: 'notes__drop', path: ['ann'], arguments: { name: 'a' } });
  await studio.post(`/api/questions/${encodeURIComponent(question?.id ?? '')}`, {
    allow: { name: 'b' },
    remember: 'conversation',
  });
  expect(JSON.stringify(await called)).toContain('dropped b');
  const again = drop('c');
  const [next] = (await studio.lines((each) => isQuestion(each) && each.seq > (line?.seq ?? 0))).slice(-1);
  const id = next?.type === 'question' ? next.question.id : '';
  await studio.post(`/api/questions/${encodeURIComponent(id)}`, { deny: 'not today' });
  expect(JSON.stringify(await again)).toContain('not today');
});

test('calls of the servers behind the gateway are counted for the token of its metrics', async () => {
  const { studio, drop, infos } = await attached('the-metrics');
  const called = drop('a');
  await expect.poll(async () => (await infos())[0]?.waiting).toBe(1);
  const line = (await studio.lines(isQuestion)).findLast(isQuestion);
  const id = line?.type === 'question' ? line.question.id : '';
  await studio.post(`/api/questions/${encodeURIComponent(id)}`, { deny: '' });
  await called;
  expect(await infos()).toEqual([
    {
      name: expect.stringContaining('127.0.0.1'),
      waiting: 0,
      problem: '',
      servers: [{ server: 'notes', isUp: true, calls: 1, failed: 0, denied: 1, meanMs: expect.any(Number) }],
    },
  ]);
});

test('a wrong token is shown as the problem of the gateway', async () => {
  const { url } = await served({ mcpServers: {}, approvals: { endpoint: true } });
  const studio = await startStudio({ shop: makeShop([]).agent }, { gateways: [{ url, token: 'wrong' }] });
  const problem = async () => ((await (await studio.fetch('/api/gateways')).json()) as GatewayInfo[])[0]?.problem;
  await expect.poll(problem).toContain('401');
  const agents = { shop: makeShop([]).agent };
  await expect(startStudio(agents, { gateways: [{ url: 'tools.example', token: 'x' }] })).rejects.toThrow('gateways');
});
