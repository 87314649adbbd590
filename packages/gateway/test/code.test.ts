// `expose: 'code'`: clients call tools from code that the gateway runs, under the same rules.
import { McpServer } from '@modelcontextprotocol/server';
import { functionTools, tool } from 'pocket-agent';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { codeMode } from '../../code-mode/src/index.ts';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { Gateway, type GatewayOptions } from '../src/index.ts';
import { atEnd, connect, kinds, namesOf, served, textOf } from './world.ts';

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

test('needs codeMode', async () => {
  const { url, caller } = await served({ mcpServers: { shop: { server: shop } } });
  const token = await caller('ann', { profile: 'reader', expose: 'code' });
  await expect(connect('SDK v1', url, token)).rejects.toThrow('Invalid token');
  const gateway = new Gateway({ mcpServers: { shop: { server: shop } } });
  atEnd(() => gateway.close());
  await expect(gateway.serveStdio({ expose: 'code' })).rejects.toThrow('needs codeMode in the options of the gateway');
});
