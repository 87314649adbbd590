// Questions of servers to the person, the model and the folders of a client, across protocol eras.
import { Client } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { createMcpHandler, type InputRequest, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { listen, startModernHost, startSessionHost } from '../../pocket-agent/test/fixtures/servers/http-hosts.ts';
import { legacyServer } from '../../pocket-agent/test/fixtures/servers/legacy-tools.ts';
import { type Answer, atEnd, clientV2, connect, modern, rawRequest, served, textOf } from './world.ts';

/** A server of 2026 that asks three things at once, in a tool and in a prompt. */
async function startCurious() {
  const questions: Record<string, InputRequest> = {
    user_name: inputRequired.elicit({
      message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    }),
    greeting: inputRequired.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: 'Greet' } }],
      maxTokens: 9,
    }),
    folders: inputRequired.listRoots(),
  };
  const said = (responses: object) => JSON.stringify(responses);
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'curious', version: '1.0.0' });
      server.registerTool('ask', { annotations: { readOnlyHint: true } }, ({ mcpReq: { inputResponses } }) =>
        inputResponses ? text(said(inputResponses)) : inputRequired({ inputRequests: questions }),
      );
      server.registerPrompt('ask', {}, ({ mcpReq: { inputResponses } }) =>
        inputResponses
          ? { messages: [{ role: 'user', content: { type: 'text', text: said(inputResponses) } }] }
          : inputRequired({ inputRequests: questions }),
      );
      return server;
    },
    { legacy: 'reject' },
  );
  const host = await listen(undefined, toNodeHandler(handler));
  atEnd(() => host.close());
  return { url: host.url };
}

/** A client that answers all questions. */
function answering(options: object = {}): Client {
  const client = new Client(
    { name: 'tests', version: '1' },
    { capabilities: { elicitation: {}, sampling: {}, roots: {} }, ...options },
  );
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ann' } }));
  client.setRequestHandler('sampling/createMessage', async () => {
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } };
  });
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///work' }] }));
  return client;
}

const answers = {
  user_name: { action: 'accept', content: { name: 'Ann' } },
  greeting: { model: 'm', content: { text: 'hi' } },
  folders: { roots: [{ uri: 'file:///work' }] },
};

describe.each(['2025', '2026'] as const)('a server of %s', (era) => {
  const start = async () => {
    const host = await (era === '2026' ? startModernHost() : startSessionHost(() => legacyServer()));
    atEnd(() => host.close());
    const { url, caller } = await served({ mcpServers: { tools: { url: host.url } } });
    return { url, token: await caller('alice', { profile: 'admin' }) };
  };

  test.each(['2025', '2026'])('asks the person and the model of a client of %s, and logs to it', async (clientEra) => {
    const { url, token } = await start();
    const client = new Client(
      { name: 'tests', version: '1' },
      { capabilities: { elicitation: {}, sampling: {} }, ...(clientEra === '2026' ? modern : {}) },
    );
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      return { action: 'accept', content: { name: `Ann (${params.message})` } };
    });
    client.setRequestHandler('sampling/createMessage', async ({ params }) => {
      return { role: 'assistant', model: 'm', content: { type: 'text', text: `poem in ${params.maxTokens}` } };
    });
    const logged: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params));
    await clientV2(url, token, client);
    expect(textOf((await client.callTool({ name: 'tools__ask', arguments: {} })) as never)).toBe(
      'hello Ann ([tools] Your name?)',
    );
    const said = textOf((await client.callTool({ name: 'tools__sample', arguments: {} })) as never);
    expect(said).toContain('poem in 50');
    const _meta = { 'io.modelcontextprotocol/logLevel': 'info' };
    await client.callTool({ name: 'tools__log', arguments: {}, _meta });
    const log = { level: 'warning', data: 'the disk is nearly full', logger: 'tools disk' };
    await expect.poll(() => logged).toMatchObject([log]);
  });

  test('is told that a client cannot be asked, in the words of its era', async () => {
    const { url, token } = await start();
    const client = await connect('SDK v1', url, token);
    const asked = client.call('tools__ask').then(textOf, (error) => error.message as string);
    expect(await asked).toContain(era === '2025' ? 'no name given' : 'do not declare the required capability');
  });
});

test.each(['2025', '2026'])(
  'a tool and a prompt ask a client of %s for a name, a model call and folders',
  async (era) => {
    const { url, caller } = await served({ mcpServers: { it: await startCurious() } });
    const client = answering(era === '2026' ? modern : {});
    await clientV2(url, await caller('ann', { profile: 'admin' }), client);
    const result = (await client.callTool({ name: 'it__ask', arguments: {} })) as Answer;
    expect(JSON.parse(textOf(result))).toMatchObject(answers);
    const { messages } = await client.getPrompt({ name: 'it__ask' });
    const [message] = messages;
    expect(message?.content.type === 'text' && JSON.parse(message.content.text)).toMatchObject(answers);
  },
);

test.each(['tools/call', 'prompts/get'])(
  'questions keep their names in the answer to %s, whose state is checked',
  async (method) => {
    const { url, caller } = await served({ mcpServers: { it: await startCurious() } });
    const token = await caller('ann', { profile: 'admin' });
    const send = async (more: object) =>
      rawRequest(url, token, {
        method,
        params: { name: 'it__ask', ...(method === 'tools/call' ? { arguments: {} } : {}), ...more },
      });
    const { requestState, inputRequests = {} } = (await send({})).result ?? {};
    expect(Object.keys(inputRequests as object).sort()).toEqual(['folders', 'greeting', 'user_name']);
    expect(inputRequests).toMatchObject({ user_name: { params: { message: '[it] Your name?' } } });
    const inputResponses = {
      ...answers,
      greeting: { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } },
    };
    const forged = await send({ requestState: `${requestState}x`, inputResponses });
    expect(forged.error?.message).toBe('This request is unknown or expired: send it again');
    const { result } = await send({ requestState, inputResponses });
    expect(JSON.stringify(result)).toContain('file:///work');
  },
);

test('a program of 2025 gets the folders of the client whose call it serves', async () => {
  const host = await startSessionHost(() => {
    const server = new LegacyServer({ name: 'folders', version: '1.0.0' });
    server.registerTool('list', { annotations: { readOnlyHint: true } }, async () =>
      text(JSON.stringify((await server.server.listRoots()).roots)),
    );
    return server;
  });
  atEnd(() => host.close());
  const { url, caller } = await served({ mcpServers: { it: { url: host.url } } });
  const client = answering();
  await clientV2(url, await caller('ann', { profile: 'admin' }), client);
  const list = async () => textOf((await client.callTool({ name: 'it__list', arguments: {} })) as Answer);
  expect(await list()).toBe('[{"uri":"file:///work"}]');
  const other = await connect('SDK v1', url, await caller('bob', { profile: 'admin' }));
  expect(textOf(await other.call('it__list'))).toBe('[]');
});
