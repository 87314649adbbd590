// Tools through a gateway: names, profiles, identities, servers that die, and what stays of the protocol on both sides.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { functionTools, tool } from 'pocket-agent';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { startPersonalHost } from '../../pocket-agent/test/callers/personal-host.ts';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { observer } from '../../pocket-agent/test/fixtures/programs/observer.ts';
import { startModernHost, startSessionHost } from '../../pocket-agent/test/fixtures/servers/http-hosts.ts';
import { legacyServer } from '../../pocket-agent/test/fixtures/servers/legacy-tools.ts';
import {
  type Answer,
  type AnyClient,
  atEnd,
  clientV1,
  clientV2,
  connect,
  kinds,
  namesOf,
  served,
  temporaryFolder,
  textOf,
} from './world.ts';

const readOnly = { readOnlyHint: true };

/** A server of this process with a tool of every capability. */
function notes(): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool('read', { annotations: readOnly }, () => text('a note'));
  server.registerTool('write', { annotations: { destructiveHint: false } }, () => text('written'));
  server.registerTool('drop', { inputSchema: z.object({ name: z.string() }) }, ({ name }) => text(`dropped ${name}`));
  return server;
}

describe.each(['2025', '2026'] as const)('a server of %s', (era) => {
  const start = async () => {
    const observed = observer();
    const host = await (era === '2026'
      ? startModernHost({ observed })
      : startSessionHost(() => {
          const server = legacyServer(observed);
          server.registerTool('progress', {}, async ({ _meta, sendNotification }) => {
            const params = { progressToken: _meta?.progressToken ?? '', progress: 1, message: 'part 1' };
            await sendNotification({ method: 'notifications/progress', params });
            return text('all parts done');
          });
          return server;
        }));
    atEnd(() => host.close());
    const { url, caller } = await served({ mcpServers: { tools: { url: host.url } } });
    return { url, observed, token: await caller('alice', { profile: 'admin' }) };
  };

  test.each(kinds)('gives %s results, progress, _meta, trace context and cancellation', async (kind) => {
    const { url, token, observed } = await start();
    const client = await connect(kind, url, token);
    expect(await namesOf(client)).toContain('tools__echo');
    expect(textOf(await client.call('tools__echo', { text: 'hello' }))).toBe('hello');

    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const meta = JSON.parse(textOf(await client.call('tools__meta', {}, { meta: { traceparent, 'my/key': 1 } })));
    expect(meta).toMatchObject({ traceparent, 'my/key': 1 });

    const updates: (string | undefined)[] = [];
    const onprogress = ({ message }: { message?: string | undefined }) => updates.push(message);
    await client.call('tools__progress', era === '2026' ? { everyMs: 0, count: 1 } : {}, { onprogress });
    expect(updates).toEqual(['part 1']);

    const controller = new AbortController();
    const waiting = client.call('tools__wait', {}, { signal: controller.signal });
    await expect.poll(() => observed.started).toEqual(['wait']);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow();
    await expect.poll(() => observed.cancelled).toEqual(['wait']);
  });
});

describe('profiles', () => {
  test('hide tools; a call of a hidden tool is answered like a call of one that does not exist', async () => {
    const { url, caller } = await served({ mcpServers: { notes: { server: notes } } });
    const tokens = {
      reader: await caller('ann', { profile: 'reader' }),
      writer: await caller('bob', { profile: 'writer' }),
      admin: await caller('eve', { profile: 'admin' }),
    };
    const seen: Record<string, string[]> = {};
    for (const [name, token] of Object.entries(tokens)) seen[name] = await namesOf(await connect('SDK v1', url, token));
    expect(seen).toEqual({
      reader: ['notes__read'],
      writer: ['notes__read', 'notes__write'],
      admin: ['notes__drop', 'notes__read', 'notes__write'],
    });
    const reader = await connect('SDK v2 in 2026', url, tokens.reader);
    const refusal = (name: string) => reader.call(name, { name: 'x' }).then(textOf, (error) => error.message as string);
    expect((await refusal('notes__drop')).replace('drop', 'none')).toBe(await refusal('notes__none'));
    expect(await refusal('notes__drop')).toContain('Tool "notes__drop" not found');
  });

  test('of the gateway allow and deny by name, and servers that a caller may not use are not there', async () => {
    const { url, caller } = await served({
      mcpServers: { notes: { server: notes }, secrets: { server: notes } },
      profiles: { support: { capabilities: ['read'], allow: ['notes__write'], deny: ['notes__read'] } },
    });
    const client = await connect('SDK v1', url, await caller('ann', { profile: 'support' }));
    expect(await namesOf(client)).toEqual(['notes__write', 'secrets__read']);
    const other = await connect('SDK v1', url, await caller('bob', { profile: 'admin', servers: ['not*'] }));
    expect(await namesOf(other)).toEqual(['notes__drop', 'notes__read', 'notes__write']);
    await expect(other.call('secrets__read')).rejects.toThrow('Tool "secrets__read" not found');
  });

  test('that do not exist refuse their callers', async () => {
    const { url, caller } = await served({ mcpServers: { notes: { server: notes } } });
    await expect(connect('SDK v1', url, await caller('ann', { profile: 'auditor' }))).rejects.toThrow('Invalid token');
  });
});

describe('callers', () => {
  test('without a token, with a wrong or a revoked one are refused', async () => {
    const { url, state, caller } = await served({ mcpServers: { notes: { server: notes } } });
    const token = await caller('ann', { profile: 'reader' });
    const client = await connect('SDK v1', url, token);
    expect(await namesOf(client)).toEqual(['notes__read']);
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
    await expect(connect('SDK v1', url, `${token}x`)).rejects.toThrow('Invalid token');
    expect(await state.removeCaller('ann')).toBe(true);
    await expect(client.listTools()).rejects.toThrow('Invalid token');
  });

  test('cannot use the session of another caller', async () => {
    const { url, caller } = await served({ mcpServers: { notes: { server: notes } } });
    const [ann, bob] = [await caller('ann', { profile: 'admin' }), await caller('bob', { profile: 'reader' })];
    const client = await clientV1(url, ann);
    const session = (client.transport as { sessionId?: string }).sessionId ?? '';
    expect(session).not.toBe('');
    const list = (token: string) =>
      fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-session-id': session,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list' }),
      });
    expect((await list(ann)).status).toBe(200);
    expect((await list(bob)).status).toBe(404);
  });

  test.each(['2025', '2026'] as const)(
    'each have a connection with their own headers to a server of %s',
    async (era) => {
      const host = await startPersonalHost(era);
      atEnd(() => host.close());
      for (const user of ['ann', 'bob']) vi.stubEnv(`CRM_TOKEN__${user.toUpperCase()}`, host.issue(user));
      const headers = { Authorization: `Bearer $\{caller:CRM_TOKEN}` };
      const { url, caller } = await served({ mcpServers: { crm: { url: host.url, headers } } });
      const clients: AnyClient[] = [];
      for (const name of ['ann', 'bob'])
        clients.push(await connect('SDK v1', url, await caller(name, { profile: 'reader' })));
      expect(await Promise.all(clients.map(namesOf))).toEqual([
        ['crm__files_of_ann', 'crm__whoami'],
        ['crm__files_of_bob', 'crm__whoami'],
      ]);
      const answers = await Promise.all(clients.map(async (client) => textOf(await client.call('crm__whoami'))));
      expect(answers).toEqual(['ann', 'bob']);
      expect(host.violations).toEqual([]);
    },
  );

  test('have no part in the state that a server keeps for another one, unless it is shared', async () => {
    const counting = () => {
      let count = 0;
      const server = new McpServer({ name: 'counter', version: '1.0.0' });
      server.registerTool('next', { annotations: readOnly }, () => text(String(++count)));
      return server;
    };
    const { url, caller } = await served({
      mcpServers: { own: { server: counting }, common: { server: counting, shared: true } },
    });
    const said: string[] = [];
    for (const name of ['ann', 'bob']) {
      const client = await connect('SDK v1', url, await caller(name, { profile: 'reader' }));
      for (const each of ['own__next', 'common__next']) said.push(textOf(await client.call(each)));
    }
    expect(said).toEqual(['1', '1', '1', '2']);
  });

  test('have no part in the state or the approvals of an earlier caller of the same name', async () => {
    const counting = () => {
      let count = 0;
      const server = new McpServer({ name: 'counter', version: '1.0.0' });
      server.registerTool('next', {}, () => text(String(++count)));
      return server;
    };
    const { url, state, caller } = await served({
      mcpServers: { own: { server: counting } },
      access: { confirm: 'destructive' },
    });
    let asked = 0;
    const next = async () => {
      const client = new Client({ name: 'tests', version: '1' }, { capabilities: { elicitation: {} } });
      client.setRequestHandler('elicitation/create', async () => {
        asked++;
        return { action: 'accept', content: { approve: true, remember: 'conversation' } };
      });
      await clientV2(url, await caller('ann', { profile: 'admin' }), client);
      const call = async () => textOf((await client.callTool({ name: 'own__next', arguments: {} })) as Answer);
      return [await call(), await call(), asked];
    };
    expect(await next()).toEqual(['1', '2', 1]);
    await state.removeCaller('ann');
    expect(await next()).toEqual(['1', '2', 2]);
  });

  test('are told what their limit is when they have reached it', async () => {
    const { url, caller } = await served({ mcpServers: { notes: { server: notes } } });
    const client = await connect('SDK v1', url, await caller('ann', { profile: 'reader', callsPerDay: 2 }));
    const other = await connect('SDK v1', url, await caller('bob', { profile: 'reader', callsPerDay: 2 }));
    for (const each of [client, client, other]) expect(textOf(await each.call('notes__read'))).toBe('a note');
    const refused = await client.call('notes__read');
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(/you have made 2 calls in this day, your limit; try again in \d+ seconds/);
  });
});

test('every call is in the audit, with its caller and without secrets', async () => {
  const auditFile = join(await temporaryFolder(), 'audit.jsonl');
  const { url, caller, gateway } = await served({
    name: 'team',
    mcpServers: { notes: { server: notes } },
    access: { auditFile, redact: [/\d{3}-\d{2}/] },
  });
  const admin = await connect('SDK v1', url, await caller('ann', { profile: 'admin' }));
  const reader = await connect('SDK v1', url, await caller('bob', { profile: 'reader' }));
  await admin.call('notes__drop', { name: '123-45', token: 'abc' });
  await expect(reader.call('notes__drop', { name: 'b' })).rejects.toThrow('not found');
  await gateway.close();
  const lines = (await readFile(auditFile, 'utf8')).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      caller: 'ann',
      path: ['team'],
      tool: 'notes__drop',
      arguments: { name: '[redacted]', token: '[redacted]' },
      decision: 'allowed',
      outcome: 'done',
    },
    { caller: 'bob', tool: 'notes__drop', decision: 'refused', by: 'profile', outcome: 'not run' },
  ]);
});

test('a server that dies costs its own tools only, clients are told, and it heals', async () => {
  const host = await startModernHost();
  const { url, caller } = await served({
    mcpServers: { tools: { url: host.url, waitMs: 200 }, notes: { server: notes } },
  });
  const lists: string[][] = [];
  const onChanged = (_error: unknown, tools: { name: string }[] | null) => {
    lists.push((tools ?? []).map(({ name }) => name));
  };
  const client = await clientV2(url, await caller('ann', { profile: 'reader' }), {
    listChanged: { tools: { onChanged } },
  });
  const call = async (name: string) => {
    const result = await client.callTool({ name, arguments: { text: 'a' } }).catch(({ message }) => text(message));
    return textOf(result as never);
  };
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  await expect.poll(names).toContain('tools__echo');
  expect(await call('tools__echo')).toBe('a');
  await host.close();
  await expect.poll(() => lists.at(-1)).toEqual(['notes__read']);
  expect(await call('notes__read')).toBe('a note');
  expect(await call('tools__echo')).toContain('Tool "tools__echo" not found');
  const again = await startModernHost({ port: host.port });
  atEnd(() => again.close());
  await expect.poll(() => lists.at(-1)).toContain('tools__echo');
  expect(await call('tools__echo')).toBe('a');
});

test('names are valid, different for different tools, and the same in every gateway', async () => {
  const odd = ['a.b', 'a_b', 'a b', 'x'.repeat(80), `${'x'.repeat(80)}y`];
  const strange = () => {
    const server = new McpServer({ name: 'odd', version: '1.0.0' });
    for (const name of odd) server.registerTool(name, { annotations: readOnly }, () => text(name));
    return server;
  };
  const lists: string[][] = [];
  for (const order of [
    ['odd', 'notes'],
    ['notes', 'odd'],
  ]) {
    const servers = { odd: { server: strange }, notes: { server: notes } };
    const mcpServers = Object.fromEntries(order.map((name) => [name, servers[name as 'odd']]));
    const { url, caller } = await served({ mcpServers });
    const client = await connect('SDK v1', url, await caller('ann', { profile: 'reader' }));
    const names = await namesOf(client);
    lists.push(names);
    for (const name of names) expect(name).toMatch(/^[A-Za-z][\w-]{0,63}$/);
    const said = await Promise.all(names.map(async (name) => textOf(await client.call(name))));
    expect(said.sort()).toEqual([...odd, 'a note'].sort());
  }
  expect(lists[0]).toEqual(lists[1]);
});

test.each([
  [{ 'my server': {} }, 'The server name "my server" must begin with a letter'],
  [{ a__b: {} }, 'The server name "a__b" must'],
  [{ _a: {} }, 'The server name "_a" must'],
])('servers %j are refused', async (names, words) => {
  const mcpServers = Object.fromEntries(Object.keys(names).map((name) => [name, { server: notes }]));
  await expect(served({ mcpServers })).rejects.toThrow(words);
});

test('one server may keep the names of its tools, and functions of the program are a source like any other', async () => {
  const add = tool({
    name: 'add',
    description: 'Adds',
    annotations: readOnly,
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    run: ({ a, b }) => a + b,
  });
  const { url, caller } = await served({ sources: { math: functionTools([add]) }, names: 'plain' });
  const client = await connect('SDK v2 in 2026', url, await caller('ann', { profile: 'reader' }));
  expect(await namesOf(client)).toEqual(['add']);
  expect(textOf(await client.call('add', { a: 1, b: 2 }))).toBe('3');
});

test('a client with a small context finds tools and calls them, under the same rules', async () => {
  const { url, caller } = await served({
    mcpServers: { notes: { server: notes } },
    access: { confirm: 'destructive' },
  });
  const ann = await connect('SDK v1', url, await caller('ann', { profile: 'writer', expose: 'search' }));
  expect(await namesOf(ann)).toEqual(['call_tool', 'find_tools']);
  const found = textOf(await ann.call('find_tools', { query: 'write a note' }));
  expect(found).toContain('notes__write (write)');
  expect(found).toContain('arguments: {"type":"object"');
  expect(textOf(await ann.call('find_tools', { query: 'drop notes' }))).not.toContain('notes__drop');
  expect(textOf(await ann.call('call_tool', { name: 'notes__write' }))).toBe('written');
  await expect(ann.call('call_tool', { name: 'notes__drop', arguments: { name: 'a' } })).rejects.toThrow(
    'Tool "notes__drop" not found',
  );
  expect((await ann.call('call_tool', { name: 7 })).isError).toBe(true);
  expect((await ann.call('find_tools', { query: '' })).isError).toBe(true);
  const eve = await connect('SDK v1', url, await caller('eve', { profile: 'admin', expose: 'search' }));
  const denied = await eve.call('call_tool', { name: 'notes__drop', arguments: { name: 'a' } });
  expect(textOf(denied)).toContain('there is no approver');
});
