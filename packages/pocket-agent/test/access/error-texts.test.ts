// What a provider or an inner service said in an error: neutral for remote callers, redacted for the operator.
import { inspect } from 'node:util';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { loadToolFolder } from '@pocket-agent/tool-folder';
import { PocketAgent, Router, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { bindings, clientOf, message, send, stateOf, statusText, World } from '../../../a2a/test/fixtures/world.ts';
import { CommandFolder, SCRIPTED, scriptedBy } from '../../../cli/test/fixtures/command.ts';
import { manifestOf, writeFiles } from '../../../tool-folder/test/files.ts';
import { FakeProviders } from '../fixtures/providers/fake-providers.ts';
import { resultText, silent } from '../helpers.ts';
import { connect, textOf } from '../serve/clients.ts';

const SECRETS = ['sk-123', 'org-AbC123dEf', 'hunter2'];
const SAID = 'key sk-123 of org-AbC123dEf is refused by http://admin:hunter2@10.0.0.5/v1';
const NEUTRAL = 'The agent failed (MODEL_FAILED); its log says why.';

const world = new World();
afterEach(() => world.close());

function recordErrors() {
  const lines: string[] = [];
  return { lines, logger: { ...silent, error: (line: string) => void lines.push(line) } };
}

function expectNoSecret(text: string): void {
  for (const secret of SECRETS) expect(text).not.toContain(secret);
}

describe.each(bindings)('over A2A (%s)', (binding) => {
  test('a caller learns the code of a failed model call, the log has the rest without secrets', async () => {
    const { lines, logger } = recordErrors();
    const agent = world.agent([{ error: new Error(SAID) }], { logger });
    const task = await send(await clientOf((await world.serve(agent)).url, { binding }), message('hello'));
    expect([stateOf(task), statusText(task)]).toEqual(['TASK_STATE_FAILED', NEUTRAL]);
    expect(lines.join()).toContain('is refused by http://[redacted]@10.0.0.5/v1');
    expectNoSecret(lines.join());
  });
});

test('over MCP, a caller learns the code of a failed model call, the log has the rest without secrets', async () => {
  const { lines, logger } = recordErrors();
  const agentConfig = { name: 'Tester', llmModel: '' };
  const agent = world.agent([{ error: new Error(SAID) }], { logger, agentConfig });
  const { url } = await world.keep(agent.asMcpServer()).listen();
  const client = world.keep(await connect('SDK v2 in 2026', { url }));
  const answer = await client.say('hello');
  expect(answer.isError).toBe(true);
  expect(textOf(answer)).toBe(NEUTRAL);
  expect(lines.join()).toContain('is refused by http://[redacted]@10.0.0.5/v1');
  expectNoSecret(lines.join());
});

describe('an error that a program prints whole has no secrets in its cause', () => {
  const said = () =>
    Object.assign(new Error(SAID, { cause: new Error(SAID) }), {
      url: 'http://admin:hunter2@10.0.0.5/v1',
      responseBody: JSON.stringify({ error: { message: SAID } }),
      data: { error: { message: SAID } },
      isRetryable: false,
    });
  const failing = () => new ScriptedModel([{ error: said() }]);

  test.each([
    ['of a model', () => new PocketAgent({ agentConfig: { llmModel: failing() }, logger: silent })],
    [
      'of a router',
      () => {
        const models = [failing(), failing()].map((model) => ({ modelName: 'it', params: { model } }));
        const router = new Router({ models, logger: silent });
        return new PocketAgent({ agentConfig: { llmModel: 'it' }, router, logger: silent });
      },
    ],
  ])('%s', async (_of, make) => {
    const error = await make()
      .run('hello')
      .catch((reason: unknown) => reason);
    const printed = inspect(error, { depth: 10 });
    expect(printed).toContain('MODEL_FAILED');
    expect(printed).toContain('[cause]');
    expectNoSecret(printed);
  });
});

test('objects that an error of a model refers to keep their secrets: the program still uses them', async () => {
  const settings = { apiKey: 'sk-proj-0123456789abcdefghijklmnopqrstuvwxyz' };
  const before = { ...settings };
  class Connection {
    url = 'http://admin:hunter2@10.0.0.5/v1';
  }
  const connection = new Connection();
  const failure = Object.assign(new Error('refused'), { settings, connection, isRetryable: false });
  const agent = new PocketAgent({
    agentConfig: { llmModel: new ScriptedModel([{ error: failure }]) },
    logger: silent,
  });
  const error = await agent.run('hello').catch((reason: Error) => reason);
  expect(inspect(error, { depth: 10 })).not.toContain(before.apiKey);
  expect(settings).toEqual(before);
  expect(connection).toEqual(new Connection());
});

describe('the event of a failed tool call has no secrets', () => {
  const failing = async (run: () => CallToolResult) => {
    const heard: unknown[] = [];
    const asked: string[] = [];
    const agent = world.agent([{ toolCalls: [{ name: 'fail' }] }, 'ok'], {
      tools: [tool({ name: 'fail', description: 'Fails', run })],
      hooks: { onToolError: (_context, _call, error) => void asked.push(error.message) },
    });
    await agent.run('go', { onEvent: ({ type, data }) => void (type === 'tool_result' && heard.push(data)) });
    return { asked, printed: inspect(heard, { depth: 10 }) };
  };

  test('in the error that the tool threw, which onToolError gets as it is', async () => {
    const config = { url: SAID };
    const { asked, printed } = await failing(() => {
      throw Object.assign(new Error(SAID, { cause: new Error(SAID) }), { config });
    });
    expect(asked).toEqual([SAID]);
    expect(config.url).toBe(SAID);
    expect(printed).toMatch(/error: Error: .*http:\/\/\[redacted\]@10\.0\.0\.5/);
    expectNoSecret(printed);
  });

  test('an error whose fields cannot be read is shown to the model like any other', async () => {
    const get = () => {
      throw new Error('unreadable');
    };
    const { printed } = await failing(() => {
      throw Object.defineProperty(new Error(SAID), 'request', { get });
    });
    expect(printed).toContain("text: 'key [redacted]");
    expectNoSecret(printed);
  });

  test('in the content that the tool returned', async () => {
    const { printed } = await failing(() => ({ isError: true, content: [{ type: 'text', text: SAID }] }));
    expect(printed).toContain('toolResultRawContent');
    expectNoSecret(printed);
  });
});

test('over MCP, the caller of a tool folder reads what a tool says, and only the code of what is behind it', async () => {
  const root = writeFiles({
    'shop/manifest.yaml': manifestOf('refuse', 'model'),
    'shop/tool.mjs': `export class Tools {
      async tool_refuse() { throw new Error('closed, says ${SAID}'); }
      async tool_model() {
        throw Object.assign(new Error('the provider says 10.0.0.5'), { name: 'PocketError', code: 'MODEL_FAILED' });
      }
    }`,
  });
  const { lines, logger } = recordErrors();
  const folder = world.keep(loadToolFolder(root, { logger }));
  const server = world.keep(await (await folder.asMcpServer()).listen());
  const { callTool } = world.keep(await toolClient(server.url));
  const refused = JSON.stringify(await callTool('refuse'));
  expect(refused).toContain('closed, says key [redacted]');
  expectNoSecret(refused);
  expect(await callTool('model')).toMatchObject({
    isError: true,
    content: [{ text: 'Tool "model" failed (MODEL_FAILED); its log says why.' }],
  });
  expect(lines.join()).toContain('the provider says 10.0.0.5');
});

test('a program and its listeners get the provider’s text without secrets', async () => {
  const retried = Object.assign(new Error(SAID), { isRetryable: true, responseHeaders: { 'retry-after-ms': '0' } });
  const agent = world.agent([{ error: retried }, { error: new Error(SAID) }]);
  const heard: unknown[] = [];
  const failure = await agent.run('hello', { onEvent: (event) => heard.push(event) }).catch((error: Error) => error);
  expect(String(failure)).toContain('[redacted]');
  expectNoSecret(String(failure));
  expect(JSON.stringify(heard)).toContain('model_retry');
  expectNoSecret(JSON.stringify(heard));
});

test('a model reads the error of a tool without secrets', async () => {
  const content = [{ type: 'text' as const, text: SAID }];
  const refuses = tool({ name: 'refuse', description: 'Refuses', run: () => ({ isError: true, content }) });
  const agent = world.agent([{ toolCalls: [{ name: 'refuse' }] }, 'ok'], { tools: [refuses] });
  await agent.run('go');
  expect(resultText(agent)).toContain('is refused by http://[redacted]@10.0.0.5/v1');
  expectNoSecret(resultText(agent));
});

const commands = new CommandFolder();

test.each([[''], ['--json']])('the command line redacts secrets on stdout and stderr %j', async (option) => {
  const providers = world.keep(await FakeProviders.start());
  providers.script({ status: 401, message: SAID });
  const command = [...SCRIPTED, ...(option ? [option] : []), 'Go'];
  const { code, stdout, stderr } = await commands.command(command, { env: scriptedBy(providers) });
  expect(code).toBe(2);
  expect(stdout + stderr).toContain('is refused by http://[redacted]@10.0.0.5/v1');
  expectNoSecret(stdout + stderr);
});

async function toolClient(url: string) {
  const client = new Client({ name: 'tests', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return { callTool: (name: string) => client.callTool({ name }), close: () => client.close() };
}
