// Pocket Agent as client: its model finds the tools of optional groups, which stay out of its prompt.
import { startHttp } from '@pocket-agent/mattermost';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { configFor } from '../connect.ts';
import { fakeForTest, memoryLog } from '../resources.ts';

const TOKEN = 'a-long-token-for-clients';

test('over HTTP, an agent finds a tool of a group with find_tools and calls it', async () => {
  const fake = await fakeForTest();
  const environment = { MCP_TRANSPORT: 'http', MCP_PORT: '0', MATTERMOST_HTTP_TOKEN: TOKEN };
  const server = await startHttp(configFor(fake, { environment }), { log: memoryLog().log });
  onTestFinished(() => server.close());
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'find_tools', arguments: { query: 'set my custom status' } }] },
    { toolCalls: [{ name: 'set_status', arguments: { status: 'away', text: 'Lunch' } }] },
    'Done.',
  ]);
  const entry = { url: server.url, headers: { authorization: `Bearer ${TOKEN}` } };
  await using agent = new PocketAgent({
    llmModel: model,
    mcpConfig: { mcpServers: { mattermost: entry } },
    access: { profile: 'writer' },
    exposure: { get_me: 'direct' },
  });
  expect(await agent.run('I am at lunch.')).toBe('Done.');
  const shown = model.calls.map(({ tools = [] }) => tools.map(({ name }) => name));
  expect(shown[0]).toEqual(['get_me', 'find_tools']);
  expect(shown[1]).toContain('set_status');
  expect(fake.world.statuses.get(fake.user('alice').id)).toBe('away');
  expect(fake.user('alice').props?.customStatus).toContain('Lunch');
});
