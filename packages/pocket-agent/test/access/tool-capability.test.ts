// tool({ capability }) is checked immediately; unknown capabilities of servers cause a warning.
import { judge, PocketAgentClient, tool } from 'pocket-agent';
import { scriptedServer } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';

const weather = { name: 'get_weather', description: 'Weather', run: () => 'sunny' };

test('the option capability takes precedence over meta and annotations', () => {
  expect(judge(tool({ ...weather, capability: 'read' }).definition)).toEqual({ capability: 'read', from: 'meta' });
  const { definition } = tool({
    ...weather,
    capability: 'write',
    meta: { team: 'sky' },
    annotations: { readOnlyHint: true },
  });
  expect(definition._meta).toEqual({ team: 'sky', capability: 'write' });
  expect(judge(definition).capability).toBe('write');
});

test('an unknown capability is refused when the tool is made, with a suggestion', () => {
  const message =
    'The capability of tool "get_weather" is "raed"; it must be one of read, write, create, delete (did you mean "read"?).';
  // @ts-expect-error the compiler knows the words too
  expect(() => tool({ ...weather, capability: 'raed' })).toThrow(message);
  expect(() => tool({ ...weather, meta: { capability: 'raed' } })).toThrow(message);
});

test('an unknown capability from a server counts as delete and causes one warning', async () => {
  const own = tool({ ...weather, annotations: { readOnlyHint: true } });
  const looking = { ...own, definition: { ...own.definition, _meta: { capability: 'raed' } } };
  const lines: string[] = [];
  const keep = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  const logger = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
  const client = new PocketAgentClient({
    mcpConfig: { mcpServers: { sky: { server: await scriptedServer([looking]) } } },
    logger,
  });
  onTestFinished(() => client.close());
  const [listed] = await client.listTools();
  await client.listTools();
  expect(listed && client.judge(listed)).toEqual({ capability: 'delete', from: 'nothing' });
  expect(lines).toEqual([
    'warn: MCP server "sky": the capability "raed" of its tool "get_weather" is not one of read, write, create, delete (did you mean "read"?), so the tool counts as delete.',
  ]);
});
