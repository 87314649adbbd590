// What a provider or an inner service said in an error: neutral for remote callers, redacted for the operator.
import { inspect } from 'node:util';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { PocketAgent, Router, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { resultText, scriptedAgent, silent } from '../helpers.ts';
import { connect, textOf } from '../serve/clients.ts';

const SECRETS = ['sk-123', 'org-AbC123dEf', 'hunter2'];
const SAID = 'key sk-123 of org-AbC123dEf is refused by http://admin:hunter2@10.0.0.5/v1';
const NEUTRAL = 'The agent failed (MODEL_FAILED); its log says why.';

function recordErrors() {
  const lines: string[] = [];
  return { lines, logger: { ...silent, error: (line: string) => void lines.push(line) } };
}

function expectNoSecret(text: string): void {
  for (const secret of SECRETS) expect(text).not.toContain(secret);
}

test('over MCP, a caller learns the code of a failed model call, the log has the rest without secrets', async () => {
  const { lines, logger } = recordErrors();
  const { agent } = scriptedAgent([{ error: new Error(SAID) }], { logger });
  onTestFinished(() => agent.close());
  const { url } = await agent.asMcpServer().listen();
  const client = await connect('SDK v2 in 2026', { url });
  onTestFinished(() => client.close());
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
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'fail' }] }, 'ok'], {
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

  test('in the structured content and the metadata that the tool returned', async () => {
    const structuredContent = { password: 'hunter2', tries: [{ said: SAID }], status: 'refused' };
    const { printed } = await failing(() => ({ isError: true, content: [], structuredContent, _meta: { said: SAID } }));
    expect(printed).toMatch(/structuredContent: \{\s+password: '\[redacted\]'/);
    expect(printed).toContain("status: 'refused'");
    expect(printed).not.toContain('hunter2');
    expectNoSecret(printed);
    expect(structuredContent.tries[0]?.said).toBe(SAID);
  });

  test('in the content that the tool returned', async () => {
    const { printed } = await failing(() => ({ isError: true, content: [{ type: 'text', text: SAID }] }));
    expect(printed).toContain('toolResultRawContent');
    expectNoSecret(printed);
  });
});

test('a program and its listeners get the provider’s text without secrets', async () => {
  const retried = Object.assign(new Error(SAID), { isRetryable: true, responseHeaders: { 'retry-after-ms': '0' } });
  const { agent } = scriptedAgent([{ error: retried }, { error: new Error(SAID) }]);
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
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'refuse' }] }, 'ok'], { tools: [refuses] });
  await agent.run('go');
  expect(resultText(agent)).toContain('is refused by http://[redacted]@10.0.0.5/v1');
  expectNoSecret(resultText(agent));
});
