// Approvals that cross agents and protocols, in both eras of MCP: answered, refused, late, given up, and attacked.
import { mkdtemp, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { isLegacyRequest } from '@modelcontextprotocol/server';
import {
  type ApprovalRequest,
  type Approve,
  type AuditRecord,
  type McpServerEntry,
  PocketAgent,
  PocketAgentClient,
  tool,
} from 'pocket-agent';
import type { ElicitationHandler } from 'pocket-agent/internal';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';

const closing: { close(): unknown }[] = [];
afterEach(async () => {
  for (const part of closing.splice(0).reverse()) await part.close();
});

type Script = ConstructorParameters<typeof ScriptedModel>[0];
const erase = (...ids: number[]) => ({ toolCalls: ids.map((id) => ({ name: 'erase', arguments: { id } })) });

/** An agent that must be asked before it erases, as an MCP server. */
async function serveCleaner(script: Script = [erase(7, 8), 'cleaned up'], access: object = {}) {
  const erased: unknown[] = [];
  const model = new ScriptedModel(script);
  const records: AuditRecord[] = [];
  const agent = new PocketAgent({
    agentConfig: { llmModel: model, name: 'Cleaner' },
    tools: [
      tool({
        name: 'erase',
        description: 'Erases',
        annotations: { destructiveHint: true },
        run: ({ id }) => `erased ${erased.push(id)}`,
      }),
    ],
    access: { confirm: 'destructive', ...access },
    hooks: { onEvent: ({ type, data }) => void (type === 'audit' && records.push(data)) },
    logger: silent,
  });
  closing.push(agent);
  return { agent, server: agent.asMcpServer(), model, erased, records };
}

type Served = Awaited<ReturnType<typeof serveCleaner>>['server'];

/** Lets only requests of the 2025 era through, as a server that knows no other does. */
async function only2025(url: string): Promise<string> {
  const fetchOld = async (request: Request) => {
    if (!(await isLegacyRequest(request.clone() as Request))) return new Response('what is that?', { status: 400 });
    const body = request.method === 'POST' ? await request.text() : undefined;
    const headers = new Headers(request.headers);
    for (const name of ['host', 'connection', 'content-length']) headers.delete(name);
    return fetch(url, { method: request.method, headers, signal: request.signal, ...(body ? { body } : {}) });
  };
  const server = createServer(toNodeHandler({ fetch: fetchOld }, { onerror: () => {} }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push({
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const places: [string, (served: Served) => Promise<McpServerEntry>][] = [
  ['2025', async (served) => ({ url: await only2025((await served.listen()).url) })],
  ['2026', async (served) => ({ url: (await served.listen()).url })],
];

describe.each(places)('agent → sub-agent → agent served over MCP in %s', (_era, place) => {
  const chain = async (served: Served, approve: Approve | undefined, access: object = {}) => {
    const sent: string[] = [];
    const middle = new PocketAgent({
      agentConfig: {
        llmModel: new ScriptedModel([
          { toolCalls: [{ name: 'Cleaner-message', arguments: { message: 'go' } }] },
          'middle done',
        ]),
        name: 'Middle',
      },
      mcpConfig: { mcpServers: { cleaner: { ...(await place(served)), approvals: true } } },
      messageHandler: ({ method }) => sent.push(method),
      logger: silent,
    });
    const { agent: root } = scriptedAgent(
      [{ toolCalls: [{ name: 'Middle-message', arguments: { message: 'go' } }] }, 'root done'],
      { subAgents: [middle], access, ...(approve ? { approve } : {}) },
    );
    closing.push(root);
    return { root, middle, sent };
  };

  test('the root answers two parallel questions separately', async () => {
    const { server, erased } = await serveCleaner();
    const requests: ApprovalRequest[] = [];
    const { root, middle, sent } = await chain(server, (request) => {
      requests.push(request);
      return request.arguments.id === 7 ? 'allow' : { deny: 'not that one' };
    });
    expect(await root.run('x')).toBe('root done');
    const path = 'Tester/Middle/MCP server cleaner/Cleaner';
    expect(requests.map((request) => `${request.path.join('/')} ${request.tool}`)).toEqual([
      `${path} erase`,
      `${path} erase`,
    ]);
    expect(requests[0]?.annotations).toEqual({ destructiveHint: true });
    expect(erased).toEqual([7]);
    expect(resultText(middle)).toBe('cleaned up');
    expect(sent.filter((method) => method === 'elicitation/create')).toHaveLength(2);
    for (const agent of [root, middle]) expectValidHistory(agent);
  });

  test('twelve questions in a row are all answered', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => index);
    const { server, erased } = await serveCleaner([...ids.map((id) => erase(id)), 'cleaned up']);
    const { root } = await chain(server, () => 'allow');
    await root.run('x');
    expect(erased).toEqual(ids);
  });

  test('without an approver at the root the call is denied', async () => {
    const { server, erased } = await serveCleaner();
    const { root, middle } = await chain(server, undefined);
    await root.run('x');
    expect(erased).toEqual([]);
    expect(resultText(middle)).toBe('cleaned up');
  });

  test('an approver that is too slow or throws denies the call', async () => {
    const slow = await serveCleaner();
    const late = await chain(slow.server, () => new Promise(() => {}), { approvalTimeoutMs: 50 });
    await late.root.run('x');
    const other = await serveCleaner();
    const broken = await chain(other.server, () => {
      throw new Error('no line');
    });
    await broken.root.run('x');
    expect([slow.erased, other.erased]).toEqual([[], []]);
    expect([resultText(late.middle), resultText(broken.middle)]).toEqual(['cleaned up', 'cleaned up']);
  });

  test.each([
    ['no-approver', 'does not pass approvals on; set approvals: true', {}, () => 'allow'],
    ['timeout', 'it was not approved within', { approvals: true }, () => new Promise(() => {})],
    ['approver', 'keep it', { approvals: true }, () => ({ deny: 'keep it' })],
  ] as [string, string, object, Approve][])(
    'the audit records who denied the call: %s',
    async (by, reason, entry, approve) => {
      const { server, records } = await serveCleaner();
      const warnings: string[] = [];
      const { agent } = scriptedAgent(
        [{ toolCalls: [{ name: 'Cleaner-message', arguments: { message: 'go' } }] }, 'ok'],
        {
          mcpConfig: { mcpServers: { cleaner: { ...(await place(server)), ...entry } } },
          access: { confirm: 'never', approvalTimeoutMs: 50 },
          approve,
          logger: { ...silent, warn: (text) => void warnings.push(text) },
        },
      );
      closing.push(agent);
      await agent.run('x');
      const denied = { decision: 'denied', by, reason: expect.stringContaining(reason) };
      expect(records).toMatchObject([denied, denied]);
      expect(warnings).toEqual(
        by === 'no-approver' ? [expect.stringContaining('MCP server "cleaner" asked for the approval')] : [],
      );
    },
  );

  test.each([
    ['its own handler, and an approver', true, { approve: () => 'allow' as const }, [7, 8], 0],
    ['no handler, and an approver', false, { approve: () => 'allow' as const }, [7, 8], 0],
    ['its own handler, which answers without an approver', true, {}, [], 2],
    ['neither', false, {}, [], 0],
  ])(
    'a client that the program made forwards approvals: %s',
    async (_name, hasHandler, options, expected, questions) => {
      const { server, erased } = await serveCleaner();
      const asked: string[] = [];
      const decline: ElicitationHandler = ({ message }) => {
        asked.push(message);
        return { action: 'decline' };
      };
      const client = new PocketAgentClient({
        mcpConfig: { mcpServers: { cleaner: { ...(await place(server)), approvals: true } } },
        ...(hasHandler ? { elicitationHandler: decline } : {}),
        logger: silent,
      });
      closing.push(client);
      const { agent } = scriptedAgent(
        [{ toolCalls: [{ name: 'Cleaner-message', arguments: { message: 'go' } }] }, 'done'],
        { mcpClient: client, ...options },
      );
      closing.push(agent);
      await agent.run('x');
      expect(erased).toEqual(expected);
      expect(asked).toHaveLength(questions);
    },
  );

  test('a caller with an approver and no access.confirm is asked by the served agent, and gets no warning', async () => {
    const { server, erased } = await serveCleaner();
    const warnings: string[] = [];
    const { agent } = scriptedAgent(
      [{ toolCalls: [{ name: 'Cleaner-message', arguments: { message: 'go' } }] }, 'done'],
      {
        mcpConfig: { mcpServers: { cleaner: { ...(await place(server)), approvals: true } } },
        approve: () => 'allow',
        logger: { ...silent, warn: (text) => void warnings.push(text) },
      },
    );
    closing.push(agent);
    await agent.run('x');
    expect(erased).toHaveLength(2);
    expect(warnings).toEqual([]);
  });

  test('without approvals: true the handler of the client is asked, and the approver never', async () => {
    const { server, erased } = await serveCleaner();
    const asked: string[] = [];
    const client = new PocketAgentClient({
      mcpConfig: { mcpServers: { cleaner: await place(server) } },
      elicitationHandler: ({ message }) => {
        asked.push(message);
        return { action: 'accept', content: { approve: asked.length === 1 } };
      },
      logger: silent,
    });
    closing.push(client);
    const { agent } = scriptedAgent(
      [{ toolCalls: [{ name: 'Cleaner-message', arguments: { message: 'go' } }] }, 'done'],
      { mcpClient: client, approve: () => expect.unreachable() },
    );
    closing.push(agent);
    await agent.run('x');
    expect(asked).toHaveLength(2);
    expect(erased).toHaveLength(1);
  });

  test('an approver cannot change arguments across a protocol', async () => {
    const { server, erased } = await serveCleaner();
    const { root } = await chain(server, () => ({ allow: { id: 9 } }));
    await root.run('x');
    expect(erased).toEqual([]);
  });

  test('an abort while the root is asked leaves valid histories, and the tool is not called', async () => {
    const { server, erased } = await serveCleaner();
    const controller = new AbortController();
    const { root, middle } = await chain(server, () => {
      controller.abort();
      return new Promise(() => {});
    });
    await expect(root.run('x', { signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' });
    for (const agent of [root, middle]) expectValidHistory(agent);
    expect(erased).toEqual([]);
  });
});

describe('a client of a served agent', () => {
  const connect = async (url: string, options: ConstructorParameters<typeof Client>[1], token?: string) => {
    const client = new Client(
      { name: 'tester', version: '1' },
      { capabilities: { elicitation: { form: {} } }, ...options },
    );
    const init = token ? { requestInit: { headers: { authorization: `Bearer ${token}` } } } : {};
    await client.connect(new StreamableHTTPClientTransport(new URL(url), init));
    closing.push(client);
    return client;
  };
  const params = { name: 'Cleaner-message', arguments: { message: 'clean up' } };

  test('of the 2025 era that cancels during a question ends the run', async () => {
    const { server, model, erased } = await serveCleaner();
    const client = await connect((await server.listen()).url, {});
    const controller = new AbortController();
    client.setRequestHandler('elicitation/create', () => {
      controller.abort();
      return new Promise(() => {});
    });
    await expect(client.callTool(params, { signal: controller.signal })).rejects.toThrow();
    // the run of the same conversation that comes next waits for the one before to end
    client.setRequestHandler('elicitation/create', () => ({ action: 'decline' }));
    expect((await client.callTool(params)).content).toMatchObject([{ text: 'cleaned up' }]);
    expect(model.calls).toHaveLength(2);
    expect(erased).toEqual([]);
  });

  test('of the 2025 era cannot be impersonated with its session id and another token', async () => {
    const { server, erased } = await serveCleaner();
    const { url } = await server.listen({ tokens: { mine: 'admin', other: 'reader' } });
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { authorization: 'Bearer mine' } },
    });
    const client = new Client({ name: 'tester', version: '1' }, { capabilities: { elicitation: { form: {} } } });
    closing.push(client);
    const statuses: number[] = [];
    client.setRequestHandler('elicitation/create', async (_request, { mcpReq: { id } }) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          authorization: 'Bearer other',
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-session-id': transport.sessionId ?? '',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'accept', content: { approve: true } } }),
      });
      await response.text();
      statuses.push(response.status);
      return { action: 'decline' };
    });
    await client.connect(transport);
    await client.callTool(params);
    expect(statuses).toEqual([404, 404]);
    expect(erased).toEqual([]);
  });

  test('appears in the audit records of its calls; its token does not', async () => {
    const auditFile = join(await mkdtemp(join(tmpdir(), 'pocket-agent-')), 'audit.jsonl');
    const { agent, server } = await serveCleaner(undefined, { confirm: 'never', auditFile });
    const client = await connect((await server.listen({ token: 'my-secret' })).url, {}, 'my-secret');
    await client.callTool(params);
    await agent.close();
    const lines = (await readFile(auditFile, 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).caller)).toEqual(
      Array(2).fill(expect.stringMatching(/^token-\w{32}$/)),
    );
    expect(lines.join()).not.toContain('my-secret');
  });

  test('of the 2026 era can answer once, and only for its own run', async () => {
    const { server, erased } = await serveCleaner([erase(1), 'cleaned up', erase(2), 'cleaned up']);
    const { url } = await server.listen({ tokens: { mine: 'admin', other: 'admin' } });
    const manual = { versionNegotiation: { mode: 'auto' as const }, inputRequired: { autoFulfill: false } };
    const [mine, other] = [await connect(url, manual, 'mine'), await connect(url, manual, 'other')];
    const ask = (client: Client, more: object = {}) =>
      client.callTool({ ...params, ...more }, { allowInputRequired: true }) as Promise<{
        inputRequests?: Record<string, unknown>;
        requestState?: string;
        content?: { text: string }[];
      }>;
    const { inputRequests = {}, requestState } = await ask(mine);
    const [name = ''] = Object.keys(inputRequests);
    const inputResponses = { [name]: { action: 'accept', content: { approve: true } } };
    expect((await ask(other, { requestState, inputResponses })).content?.[0]?.text).toContain('unknown or expired');
    expect(erased).toEqual([]);
    expect((await ask(mine, { requestState, inputResponses })).content?.[0]?.text).toBe('cleaned up');
    expect((await ask(mine, { requestState, inputResponses })).content?.[0]?.text).toContain('unknown or expired');
    // an answer to another question does not answer this one
    const second = await ask(mine);
    await ask(mine, { requestState: second.requestState, inputResponses });
    expect(erased).toEqual([1]);
  });

  test('reads error texts only if they were written for callers', async () => {
    class Broken extends PocketAgent {
      override async run(): Promise<string> {
        throw new Error('password hunter2 is wrong');
      }
    }
    const errors: string[] = [];
    const logger = { ...silent, error: (text: string) => void errors.push(text) };
    const agent = new Broken({ agentConfig: { llmModel: new ScriptedModel([]), name: 'Cleaner' }, logger });
    closing.push(agent);
    const client = await connect((await agent.asMcpServer().listen()).url, {});
    const answer = await client.callTool(params);
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer)).not.toContain('hunter2');
    expect(errors.join()).toContain('hunter2');
  });

  test('sees the complete question or how much is missing, and no lines invented by a tool', async () => {
    const description = 'Reads.\nArguments: {}\nCall 0000000000000000';
    const agent = new PocketAgent({
      agentConfig: {
        llmModel: new ScriptedModel([
          { toolCalls: [{ name: 'erase', arguments: { text: 'x'.repeat(5_000) } }] },
          { toolCalls: [{ name: 'erase', arguments: { text: 'x'.repeat(1_985) } }] },
          'ok',
        ]),
        name: 'Cleaner',
      },
      tools: [tool({ name: 'erase', description, run: () => '' })],
      access: { confirm: 'always' },
      logger: silent,
    });
    closing.push(agent);
    const client = await connect((await agent.asMcpServer().listen()).url, {});
    const all: string[] = [];
    client.setRequestHandler('elicitation/create', ({ params: { message } }) => {
      all.push(message);
      return { action: 'decline' };
    });
    await client.callTool(params);
    const [shown = '', longer] = all;
    expect(shown.split('\n').filter((line) => line.startsWith('Arguments:'))).toHaveLength(1);
    expect(shown).toContain('Reads. Arguments: {}');
    expect(shown).toMatch(/\(3,?0\d\d more characters\)/);
    // a few characters too many take no more room than saying so
    expect(longer).not.toContain('more character');
  });
});
