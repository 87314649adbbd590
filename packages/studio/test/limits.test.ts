// What the studio shows of limits: tools that rules hide, budgets, and routers.
import { Router, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import type { RouterInfo, ToolList } from '../src/wire/wire.ts';
import { type Client, makeShop, startStudio } from './world.ts';

const read = async <Value>(client: Client, path: string) => (await (await client.fetch(path)).json()) as Value;

test('tools that a profile or a filter hides are listed with the reason, and cannot be called', async () => {
  const look = tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run: () => 'seen' });
  const peek = tool({ name: 'peek', description: 'Peeks', annotations: { readOnlyHint: true }, run: () => 'seen' });
  const filter = ({ name }: { name: string }) => name !== 'peek';
  const drop = tool({
    name: 'drop',
    description: 'Drops',
    annotations: { destructiveHint: true },
    run: () => 'dropped',
  });
  const { agent: shop } = makeShop([], { tools: [look, peek, drop], access: { profile: 'reader', filter } });
  const client = await startStudio({ shop });
  const { tools } = await read<ToolList>(client, '/api/agents/shop/tools');
  expect(tools.map(({ name, hiddenBy }) => [name, hiddenBy])).toEqual([
    ['look', undefined],
    ['peek', 'access.filter excludes it'],
    ['drop', expect.stringContaining('delete')],
  ]);
});

test('budgets of agents and the deployments of routers are shown', async () => {
  const router = new Router({
    models: [{ modelName: 'fast', params: { model: new ScriptedModel(['Hello']), id: 'fast-eu', rpm: 10 } }],
  });
  onTestFinished(() => router.close());
  const { agent } = makeShop([], { llmModel: router.languageModel('fast'), limits: { maxTokens: 5_000 } });
  const client = await startStudio({ shop: agent }, { routers: { main: router } });
  const [snapshot] = await client.lines(() => true);
  expect(snapshot).toMatchObject({ hasRouters: true, agents: [{ name: 'shop', budget: { maxTokens: 5_000 } }] });
  await client.chat('shop', 'Hi');
  const deployment = async () => (await read<RouterInfo[]>(client, '/api/routers'))[0]?.status.deployments[0];
  await expect.poll(deployment).toMatchObject({ id: 'fast-eu', modelName: 'fast', calls: 1, failures: 0, inFlight: 0 });
  await expect(startStudio({ shop: agent }, { routers: { main: {} as never } })).rejects.toThrow('routers');
});
