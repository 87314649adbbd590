// Approvals of calls, asked of the client that makes the call.
import { Client } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import type { Logger } from 'pocket-agent';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { clientV2, connect, modern, rawRequest, served, textOf } from './world.ts';

function notes(): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool('read', { annotations: { readOnlyHint: true } }, () => text('a note'));
  server.registerTool('drop', { inputSchema: z.object({ name: z.string() }) }, ({ name }) => text(`dropped ${name}`));
  return server;
}

describe('approvals', () => {
  const asking = async (options: object = {}, logger: Logger = silent) => {
    const { url, caller } = await served({
      mcpServers: { notes: { server: notes } },
      access: { confirm: 'destructive', ...options },
      logger,
    });
    return { url, token: await caller('ann', { profile: 'admin' }) };
  };

  test.each(['2025', '2026'])('are asked of a client of %s: allow, deny, other arguments, remember', async (era) => {
    const { url, token } = await asking();
    const asked: string[] = [];
    const answers: Record<string, string | boolean>[] = [
      { approve: true },
      { approve: false, reason: 'not today' },
      { approve: true, arguments: '{"name":"b"}' },
      { approve: true, remember: 'conversation' },
    ];
    const client = new Client(
      { name: 'tests', version: '1' },
      { capabilities: { elicitation: {} }, ...(era === '2026' ? modern : {}) },
    );
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message);
      return { action: 'accept', content: answers.shift() ?? {} };
    });
    await clientV2(url, token, client);
    const call = async () =>
      textOf((await client.callTool({ name: 'notes__drop', arguments: { name: 'a' } })) as never);
    expect(await call()).toBe('dropped a');
    expect(await call()).toContain('was not called: not today');
    expect(await call()).toBe(`[The approver changed the arguments of this call to {"name":"b"}]\ndropped b`);
    expect(await call()).toBe('dropped a');
    expect(await call()).toBe('dropped a');
    expect(asked).toHaveLength(4);
    expect(asked[0]).toMatch(/gateway wants to call "notes__drop" \(delete\)[\s\S]*Call [0-9a-f]{16}/);
  });

  test('are denied without an approver, and the log says once which option is missing', async () => {
    const warnings: string[] = [];
    const { url, token } = await asking({}, { ...silent, warn: (text) => void warnings.push(text) });
    const client = await connect('SDK v1', url, token);
    for (const name of ['a', 'b'])
      expect(textOf(await client.call('notes__drop', { name }))).toContain('there is no approver');
    expect(warnings).toEqual([expect.stringMatching(/"notes__drop".* no approver: set the option "approvals"/)]);
    expect(textOf(await client.call('notes__read'))).toBe('a note');
  });

  test('that come too late do not count', async () => {
    const { url, token } = await asking({ approvalTimeoutMs: 50 });
    const client = new Client({ name: 'tests', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler('elicitation/create', () => new Promise(() => {}));
    await clientV2(url, token, client);
    const answer = await client.callTool({ name: 'notes__drop', arguments: { name: 'a' } });
    expect(textOf(answer as never)).toContain('it was not approved within 50 ms');
  });

  test('of one caller do not count for another, and cannot be given by another', async () => {
    const { url, caller } = await served({
      mcpServers: { notes: { server: notes } },
      access: { confirm: 'destructive' },
    });
    const post = (token: string, more: object) =>
      rawRequest(url, token, {
        method: 'tools/call',
        params: { name: 'notes__drop', arguments: { name: 'a' }, ...more },
      });
    const [ann, bob] = [await caller('ann', { profile: 'admin' }), await caller('bob', { profile: 'admin' })];
    const { requestState, inputRequests } = (await post(ann, {})).result ?? {};
    const [id = ''] = Object.keys(inputRequests as object);
    const answered = { requestState, inputResponses: { [id]: { action: 'accept', content: { approve: true } } } };
    const unknown = { error: { code: -32_602, message: 'This request is unknown or expired: send it again' } };
    expect(await post(bob, answered)).toMatchObject(unknown);
    expect(await post(ann, answered)).toMatchObject({ result: { content: [{ text: 'dropped a' }] } });
    // an answer counts once
    expect(await post(ann, answered)).toMatchObject(unknown);
  });
});
