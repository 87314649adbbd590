// `expose: 'code'`: clients call tools from code that the gateway runs, under the same rules.
import { Client } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { functionTools, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { remoteAgent } from '../../a2a/src/index.ts';
import { codeMode } from '../../code-mode/src/index.ts';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { Gateway, type GatewayOptions } from '../src/index.ts';
import { type Answer, atEnd, clientV2, connect, kinds, modern, namesOf, served, textOf } from './world.ts';

function shop(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  const inputSchema = z.object({ id: z.number() });
  const outputSchema = z.object({ price: z.number() });
  const price = { inputSchema, outputSchema, description: 'The price', annotations: { readOnlyHint: true } };
  server.registerTool('price', price, ({ id }) => ({ content: [], structuredContent: { price: id * 2 } }));
  server.registerTool('close', { description: 'Closes the shop' }, () => text('closed'));
  return server;
}

const options: GatewayOptions = { mcpServers: { shop: { server: shop } }, codeMode: codeMode() };

test.each(kinds)('%s runs code that calls the tools of its caller, and finds their types', async (kind) => {
  const { url, caller } = await served(options);
  const client = await connect(kind, url, await caller('ann', { profile: 'reader', expose: 'code' }));
  expect(await namesOf(client)).toEqual(['find_tools', 'run_code']);
  const code = `
    let sum = 0;
    for (let id = 1; id <= 10; id++) sum += (await shop.price({ id })).price;
    const closed = await Promise.resolve().then(() => shop.close({})).catch(({ message }) => message);
    return { sum, closed, others: Object.keys(tools) };`;
  const said = JSON.parse(textOf(await client.call('run_code', { code })));
  expect(said).toMatchObject({ sum: 110, others: ['shop__price'] });
  expect(said.closed).not.toBe('closed');
  const found = textOf(await client.call('find_tools', { query: 'price' }));
  expect(found).toContain('shop__price (read): The price');
  expect(textOf(await client.call('find_tools', { query: 'close the shop' }))).not.toContain('close');
});

test('calls of code count for limits, and need approval', async () => {
  const { url, caller } = await served({ ...options, access: { confirm: 'destructive' } });
  const ann = await connect('SDK v1', url, await caller('ann', { profile: 'admin', expose: 'code', callsPerDay: 3 }));
  const run = async (code: string) => textOf(await ann.call('run_code', { code }));
  expect(await run('return await shop.close({}).catch(({ message }) => message)')).toContain('there is no approver');
  // the call that was refused counts, too
  const prices = 'return [await shop.price({ id: 1 }), await shop.price({ id: 2 })]';
  expect(await run(prices)).toContain('you have made 3 calls in this day');
});

test('a tool that calls other tools gets their results', async () => {
  const calls = tool({
    name: 'twice',
    description: 'Asks for a price twice',
    annotations: { readOnlyHint: true },
    run: async (_args, { tools }) => {
      const { structuredContent } = (await tools?.call('shop__price', { id: 4 })) ?? {};
      return JSON.stringify(structuredContent);
    },
  });
  const { url, caller } = await served({ ...options, sources: { own: functionTools([calls]) } });
  const client = await connect('SDK v1', url, await caller('ann', { profile: 'reader' }));
  expect(textOf(await client.call('own__twice'))).toBe('{"price":8}');
});

test.each([
  ['2025', {}],
  ['2026', modern],
])('what an A2A agent asks during a call of code reaches the person at a client of %s', async (_era, era) => {
  const shops = () => {
    const server = new McpServer({ name: 'shops', version: '1' });
    server.registerTool('order', { description: 'Orders' }, async ({ mcpReq }) => {
      const requestedSchema = { type: 'object', properties: { count: { type: 'integer' } } } as const;
      const { content } = await mcpReq.elicitInput({ message: 'How many?', requestedSchema });
      return text(`${content?.count} ordered`);
    });
    return server;
  };
  const agent = new PocketAgent({
    llmModel: new ScriptedModel([{ toolCalls: [{ name: 'order' }] }, ({ prompt }) => JSON.stringify(prompt.at(-1))]),
    name: 'Shopper',
    logger: silent,
    mcpConfig: { mcpServers: { shops: { server: shops } } },
  });
  const remote = await agent.asA2aServer().listen();
  const shopper = remoteAgent({ url: remote.url, name: 'shopper', logger: silent });
  atEnd(async () => {
    await shopper.close?.();
    await remote.close();
    await agent.close();
  });
  const { url, caller } = await served({ sources: { agents: shopper }, codeMode: codeMode() });
  const client = new Client({ name: 'tests', version: '1' }, { capabilities: { elicitation: {} }, ...era });
  const asked: unknown[] = [];
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { count: 12 } };
  });
  await clientV2(url, await caller('ann', { profile: 'admin', expose: 'code' }), client);
  const code = `return await tools['agents__shopper-message']({ message: 'Order' });`;
  const said = textOf((await client.callTool({ name: 'run_code', arguments: { code } })) as Answer);
  expect(said).toContain('12 ordered');
  expect(asked).toEqual(['[agents] The A2A agent shopper asks: How many?']);
});

test('needs codeMode', async () => {
  const { url, caller } = await served({ mcpServers: { shop: { server: shop } } });
  const token = await caller('ann', { profile: 'reader', expose: 'code' });
  await expect(connect('SDK v1', url, token)).rejects.toThrow('Invalid token');
  const gateway = new Gateway({ mcpServers: { shop: { server: shop } } });
  atEnd(() => gateway.close());
  await expect(gateway.serveStdio({ expose: 'code' })).rejects.toThrow('needs codeMode in the options of the gateway');
});
