// A hub behind a gateway: its tools, its callers and its questions are those of any MCP server there.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Gateway, openGatewayState } from '@pocket-agent/gateway';
import { expect, test } from 'vitest';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import { atEnd } from '../fixtures/cleanup.ts';
import { open, startHub, tokens } from '../fixtures/mcp-setup.ts';

test('the tools of a hub are offered by a gateway, to each caller those of its profile', async () => {
  const hub = await startHub({ agent3: await open() });
  const state = await openGatewayState(':memory:');
  const headers = { Authorization: `Bearer ${tokens.issue('alice')}` };
  const mcpServers = { hub: { url: new URL('mcp', hub.url).href, headers } };
  const gateway = new Gateway({ mcpServers, state, logger: silent });
  atEnd(async () => {
    await gateway.close();
    await state.close();
  });
  const { url } = await gateway.listen();
  const namesFor = async (profile: string) => {
    const client = new Client({ name: 'tests', version: '1' });
    atEnd(() => client.close());
    const authorization = `Bearer ${await state.addCaller(profile, { profile })}`;
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } }),
    );
    const { tools } = await client.listTools();
    const found = await client.callTool({ name: 'hub__agent3_search', arguments: { query: 'weather' } });
    expect(found.isError ?? false).toBe(false);
    return tools.map(({ name }) => name);
  };
  const [all, readOnly] = [await namesFor('admin'), await namesFor('reader')];
  expect(all.length).toBeGreaterThan(readOnly.length);
  expect(readOnly).toContain('hub__agent3_search');
  expect(all).toEqual(expect.arrayContaining(readOnly));
});
