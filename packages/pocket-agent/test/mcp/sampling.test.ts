// Sampling requests of MCP servers are answered by the model of the agent, with any provider.
import { inputRequired, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeProviders, models, PIXEL } from '../fixtures/providers/fake-providers.ts';
import { silent } from '../helpers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

/** Its one tool asks the client's model about an image, and returns what came back. */
function critic(): McpServer {
  const server = new McpServer({ name: 'critic', version: '1.0.0' });
  server.registerTool('judge', { description: 'Judges' }, (context: ServerContext) => {
    const opinion = context.mcpReq.inputResponses?.opinion;
    if (opinion) return { content: [{ type: 'text', text: `The model says: ${JSON.stringify(opinion)}` }] };
    return inputRequired({
      inputRequests: {
        opinion: inputRequired.createMessage({
          systemPrompt: 'Be a critic.',
          messages: [
            { role: 'user', content: { type: 'text', text: 'Hello.' } },
            { role: 'assistant', content: { type: 'text', text: 'Show me.' } },
            { role: 'user', content: { type: 'image', mimeType: 'image/png', data: PIXEL } },
          ],
          maxTokens: 50,
        }),
      },
    });
  });
  return server;
}

const judge = { toolCalls: [{ name: 'judge', arguments: {} }] };

describe.each(models)('$model', ({ model }) => {
  test('answers the server within its own run', async () => {
    fake.script(judge, 'A fine dot.', 'The critic likes it.');
    await using agent = fake.agent(model, {
      mcpConfig: { mcpServers: { critic: { server: critic } } },
      samplingHandler: 'agent-model',
    });
    expect(await agent.run('Ask the critic.')).toBe('The critic likes it.');
    expect(fake.rejected).toEqual([]);
    const asked = `${fake.requests[1]?.body}`;
    for (const text of ['Be a critic.', 'Show me.', PIXEL]) expect(asked).toContain(text);
    expect(`${fake.lastBody}`).toContain('A fine dot.');
    expect(`${fake.lastBody}`).toContain('endTurn');
  });
});

test('an answer that was cut off says so, and a filtered answer is an error', async () => {
  fake.script(judge, { text: 'A fine', finish: 'length' }, judge, { text: '', finish: 'content-filter' }, 'Oh.');
  await using agent = fake.agent('anthropic/claude-sonnet-4-5', {
    mcpConfig: { mcpServers: { critic: { server: critic } } },
    samplingHandler: 'agent-model',
  });
  expect(await agent.run('Ask twice.')).toBe('Oh.');
  expect(`${fake.requests[2]?.body}`).toContain('maxTokens');
  expect(`${fake.lastBody}`).toContain('refused to answer');
});

test.each([
  ['error', 'ended its answer with an error'],
  ['interrupted', 'interrupted the answer'],
] as const)('an answer that ended with "%s" is an error', async (unified, text) => {
  const model = new ScriptedModel([judge, { text: 'A fi', finishReason: unified }, 'Oh.']);
  await using agent = new PocketAgent({
    agentConfig: { llmModel: model },
    mcpConfig: { mcpServers: { critic: { server: critic } } },
    samplingHandler: 'agent-model',
    logger: silent,
  });
  expect(await agent.run('Ask.')).toBe('Oh.');
  expect(JSON.stringify(agent.messages)).toContain(text);
  expect(JSON.stringify(agent.messages)).not.toContain('endTurn');
});

test('a server does not get the error text of the provider', async () => {
  const told: string[] = [];
  const logged: string[] = [];
  const server = new McpServer({ name: 'curious', version: '1.0.0' });
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hello.' } }];
  server.registerTool('judge', {}, async () => {
    await server.server.createMessage({ messages, maxTokens: 50 }).catch((error) => told.push(String(error)));
    return { content: [] };
  });
  const model = new ScriptedModel([judge, { error: new Error('the account of Ann is closed') }, 'Oh.']);
  await using agent = new PocketAgent({
    agentConfig: { llmModel: model },
    mcpConfig: { mcpServers: { curious: { server } } },
    samplingHandler: 'agent-model',
    logger: { ...silent, error: (line) => void logged.push(line) },
  });
  expect(await agent.run('Ask.')).toBe('Oh.');
  expect(told.join()).toContain('The model failed (MODEL_FAILED)');
  expect(told.join()).not.toContain('Ann');
  expect(logged.join()).toContain('the account of Ann is closed');
});

test('parallel calls of one step that sample keep the budget of the run', async () => {
  const server = new McpServer({ name: 'greedy', version: '1.0.0' });
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hello.' } }];
  let answered = 0;
  server.registerTool('judge', {}, async () => {
    await server.server.createMessage({ messages, maxTokens: 50 });
    answered++;
    return { content: [] };
  });
  const toolCalls = Array.from({ length: 5 }, () => ({ name: 'judge' }));
  const sampled = { text: 'Hm.', usage: { input: 30, output: 10 } };
  const model = new ScriptedModel([{ toolCalls, usage: { input: 10, output: 10 } }, ...toolCalls.map(() => sampled)]);
  await using agent = new PocketAgent({
    agentConfig: { llmModel: model },
    mcpConfig: { mcpServers: { greedy: { server } } },
    samplingHandler: 'agent-model',
    limits: { maxTokens: 100 },
    logger: silent,
  });
  await expect(agent.run('Ask.')).rejects.toMatchObject({ code: 'BUDGET_REACHED' });
  expect(answered).toBe(2);
});

test('concurrent sampling requests keep the budget of the run and are refused when it is used up', async () => {
  const server = new McpServer({ name: 'greedy', version: '1.0.0' });
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hello.' } }];
  const sample = () => server.server.createMessage({ messages, maxTokens: 50 });
  server.registerTool('judge', {}, async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, sample));
    const count = outcomes.filter(({ status }) => status === 'fulfilled').length;
    return { content: [{ type: 'text', text: `${count} answers` }] };
  });
  const sampled = { text: 'Hm.', usage: { input: 30, output: 10 } };
  const model = new ScriptedModel([{ ...judge, usage: { input: 10, output: 10 } }, sampled, sampled]);
  await using agent = new PocketAgent({
    agentConfig: { llmModel: model },
    mcpConfig: { mcpServers: { greedy: { server } } },
    samplingHandler: 'agent-model',
    limits: { maxTokens: 100 },
    logger: silent,
  });
  await expect(agent.run('Ask.')).rejects.toMatchObject({ code: 'BUDGET_REACHED' });
  expect(JSON.stringify(agent.messages)).toContain('2 answers');
  await expect(sample()).rejects.toThrow('MCP server "greedy" asked for a model call outside of a run');
  expect(agent.totals.usage).toMatchObject({ inputTokens: 70, outputTokens: 30 });
  model.assertDone();
});
