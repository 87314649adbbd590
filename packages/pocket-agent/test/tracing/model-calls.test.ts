// What `onModelCall` of a run gets: the requests to models and their answers.
import { inputRequired, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { type Message, type ModelCallReport, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { silent } from '../helpers.ts';

function recordCalls() {
  const reports: ModelCallReport[] = [];
  const sent = () => reports.filter(({ answer, error }) => !answer && error === undefined);
  return { reports, sent, onModelCall: (call: ModelCallReport) => void reports.push(call) };
}

const say = tool({ name: 'say', description: 'Says something', run: () => 'said' });

test.each([true, false])(
  'each request is reported as the model got it, and again with its answer (streaming: %s)',
  async (streaming) => {
    const model = new ScriptedModel([{ text: 'First.', toolCalls: [{ name: 'say' }] }, 'Done.']);
    const agent = new PocketAgent({
      llmModel: model,
      systemPrompt: 'Be brief.',
      tools: [say],
      completionOptions: { temperature: 0.5, headers: { 'x-key': 'secret' } },
    });
    const { reports, sent, onModelCall } = recordCalls();
    await agent.run('Hi', { onModelCall, streaming });
    expect(sent().map(({ prompt, tools }) => ({ prompt, tools }))).toEqual(
      model.calls.map(({ prompt, tools }) => ({ prompt, tools })),
    );
    expect(reports.map(({ id }) => id)).toEqual([0, 0, 2, 2].map((index) => reports[index]?.id));
    expect(reports[3]).toMatchObject({
      model: { provider: 'scripted', modelId: 'script' },
      settings: { temperature: 0.5 },
      answer: { content: [{ type: 'text', text: 'Done.' }], finishReason: { unified: 'stop' } },
    });
    expect(JSON.stringify(reports.map(({ model: _, ...report }) => report))).not.toContain('secret');
  },
);

test('requests of sub-agents are reported with their path and the call that started them', async () => {
  const helper = new PocketAgent({ name: 'helper', roleDescription: 'Helps', llmModel: new ScriptedModel(['Help.']) });
  const llmModel = new ScriptedModel([
    { toolCalls: [{ name: 'helper-message', arguments: { message: 'Help me' } }] },
    'Done.',
  ]);
  const agent = new PocketAgent({ name: 'boss', llmModel, subAgents: [helper] });
  const { sent, onModelCall } = recordCalls();
  const runs = new Set<string | undefined>();
  await agent.run('Hi', { onModelCall, onEvent: ({ meta }) => void runs.add(meta.runId) });
  expect(sent().map(({ meta }) => meta.path.join('/'))).toEqual(['boss', 'boss/helper', 'boss']);
  const [first, inner] = sent();
  expect(inner?.meta).toMatchObject({ isSubAgent: true, parentRunId: first?.meta.runId, parentToolCallId: 'call-1' });
  expect(JSON.stringify(inner?.prompt)).toContain('Help me');
  expect(new Set(sent().map(({ meta }) => meta.runId))).toEqual(runs);
});

test('a request that fails and is repeated is reported as two', async () => {
  const overloaded = Object.assign(new Error('The provider is overloaded.'), { isRetryable: true });
  const agent = new PocketAgent({
    llmModel: new ScriptedModel([{ error: overloaded }, 'Done.']),
    limits: { modelRetries: 1 },
    logger: silent,
  });
  const { reports, onModelCall } = recordCalls();
  await agent.run('Hi', { onModelCall });
  expect(reports.map(({ answer, error }) => error ?? answer?.finishReason.unified)).toEqual([
    undefined,
    'The provider is overloaded.',
    undefined,
    'stop',
  ]);
  expect(new Set(reports.map(({ id }) => id)).size).toBe(2);
});

test('requests for summaries, and those that an MCP server asks for, are reported', async () => {
  const critic = () => {
    const server = new McpServer({ name: 'critic', version: '1.0.0' });
    server.registerTool('judge', { description: 'Judges' }, (context: ServerContext) => {
      const opinion = context.mcpReq.inputResponses?.opinion;
      if (opinion) return { content: [{ type: 'text', text: 'judged' }] };
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Is it good?' } }];
      return inputRequired({ inputRequests: { opinion: inputRequired.createMessage({ messages, maxTokens: 50 }) } });
    });
    return server;
  };
  const turns = Array.from({ length: 10 }, (): Message[] => [
    { role: 'user', content: [{ type: 'text', text: 'Go on' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'a long story '.repeat(100) }] },
  ]);
  await using agent = new PocketAgent({
    llmModel: new ScriptedModel(['A summary.', { toolCalls: [{ name: 'judge' }] }, 'Very good.', 'Done.']),
    messages: turns.flat(),
    compaction: { at: 3_900, keep: 1_500 },
    mcpConfig: { mcpServers: { critic: { server: critic } } },
    samplingHandler: 'agent-model',
    logger: silent,
  });
  const { reports, onModelCall } = recordCalls();
  expect(await agent.run('Is it good?', { onModelCall })).toBe('Done.');
  const answers = reports.flatMap(
    ({ answer }) => answer?.content.map((part) => ('text' in part ? part.text : part.type)) ?? [],
  );
  expect(answers).toEqual(['A summary.', 'tool-call', 'Very good.', 'Done.']);
});

test('a listener that throws breaks nothing', async () => {
  const agent = new PocketAgent({ llmModel: new ScriptedModel(['Done.']), logger: silent });
  const onModelCall = () => {
    throw new Error('no');
  };
  expect(await agent.run('Hi', { onModelCall })).toBe('Done.');
});
