// Whole runs with every model prefix against servers that speak and reject like the real providers.
import { type AgentEvent, type FunctionTool, tool } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { everyModel, FakeProviders } from '../fixtures/providers/fake-providers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

const add: FunctionTool = tool({
  name: 'add',
  description: 'Adds two numbers',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  run: ({ a, b }) => `sum ${Number(a) + Number(b)}`,
});
const fail: FunctionTool = tool({
  name: 'fail',
  description: 'Always fails',
  run: () => {
    throw new Error('the disk is full');
  },
});
/** MCP allows such names, providers do not. */
const odd: FunctionTool = tool({ name: `odd.name/${'x'.repeat(70)}`, description: 'Odd', run: () => 'odd' });

const twoCalls = {
  reasoning: 'I had better add.',
  text: 'Let me see. ',
  toolCalls: [
    { name: 'add', arguments: { a: 2, b: 3 } },
    { name: 'add', arguments: { a: 20, b: 30 } },
  ],
};

async function watch(events: AsyncGenerator<AgentEvent, string>) {
  const seen: AgentEvent[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done) return { seen, answer: value };
    seen.push(value);
  }
}

function deltas(events: readonly AgentEvent[], type: 'text_delta' | 'reasoning_delta'): string {
  return events.map((event) => (event.type === type ? event.data.delta : '')).join('');
}

describe.each(everyModel)('$model', ({ model, provider, endpoint }) => {
  test('runs with tool calls, and their results reach the model', async () => {
    fake.script(twoCalls, 'It is 5 and 50.');
    const agent = fake.agent(model, { tools: [add, fail, odd], config: { systemPrompt: 'Be exact.' } });
    expect(await agent.run('2+3 and 20+30?')).toBe('It is 5 and 50.');
    expect(fake.rejected).toEqual([]);
    expect(fake.requests.map((request) => request.provider)).toEqual([provider, provider]);
    expect(fake.requests[0]?.endpoint).toContain(endpoint);
    expect(fake.requests.some((request) => request.stream)).toBe(false);
    expect(`${fake.lastBody}`).toContain('Be exact.');
    expect(`${fake.lastBody}`).toMatch(/sum 5\b.*sum 50\b/s);
    expect(agent.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
  });

  test('streams the same run: the deltas add up to the answer', async () => {
    fake.script(twoCalls, { reasoning: 'Easy now.', text: 'It is 5 and 50.' });
    const agent = fake.agent(model, { tools: [add] });
    const { seen, answer } = await watch(agent.stream('2+3 and 20+30?'));
    expect(answer).toBe('It is 5 and 50.');
    expect(fake.rejected).toEqual([]);
    expect(fake.requests.every((request) => request.stream)).toBe(true);
    expect(deltas(seen, 'text_delta')).toBe('Let me see. It is 5 and 50.');
    // OpenAI keeps the reasoning of chat completions to itself
    const reasoning = provider === 'openai-chat' ? '' : 'I had better add.Easy now.';
    expect(deltas(seen, 'reasoning_delta')).toBe(reasoning);
    expect(seen.filter((event) => event.type === 'text_delta').length).toBeGreaterThan(5);
    expect(`${fake.lastBody}`).toMatch(/sum 5\b.*sum 50\b/s);
  });

  test('usage is the same whole and streamed', async () => {
    fake.script('One.', 'Two.');
    const agent = fake.agent(model);
    agent.addUserMessage('Say a number.');
    const { usage } = await agent.step();
    expect(usage.inputTokens).toBe(12);
    const { seen } = await watch(agent.stream('Another.'));
    const finished = seen.find((event) => event.type === 'step_finished');
    expect(finished?.data.usage).toEqual(usage);
  });

  test('a failed tool, an unknown tool and bad arguments get error results, and the model continues', async () => {
    const toolCalls = [
      { name: 'fail', arguments: {} },
      { name: 'nope', arguments: {} },
      { name: 'add', arguments: { a: 'two' } },
    ];
    fake.script({ toolCalls }, 'I see.');
    const agent = fake.agent(model, { tools: [add, fail] });
    expect(await agent.run('Break something.')).toBe('I see.');
    expect(fake.rejected).toEqual([]);
    const sent = `${fake.lastBody}`;
    expect(sent).toContain('the disk is full');
    expect(sent).toContain('There is no tool');
    expect(sent).toContain('JSON Schema');
  });

  test('an empty answer does not break the conversation', async () => {
    fake.script({ text: '' }, { reasoning: 'Hm.', finish: 'length' }, 'Now I know.');
    const agent = fake.agent(model);
    expect(await agent.run('Say nothing.')).toBe('');
    await expect(agent.run('Think.')).rejects.toMatchObject({ code: 'ANSWER_CUT_OFF' });
    expect(await agent.run('And now?')).toBe('Now I know.');
    expect(fake.rejected).toEqual([]);
  });
});

test.each(['openai-compatible/local-model', 'ollama/qwen3:8b', 'openai/gpt-5.1', 'azure/my-deployment'])(
  '%s: broken JSON in a call goes back to the model as an error, whole and streamed',
  async (model) => {
    const broken = { toolCalls: [{ name: 'add', arguments: '{"a": 2, "b":' }] };
    fake.script(broken, 'Sorry.', broken, 'Sorry again.');
    const agent = fake.agent(model, { tools: [add] });
    expect(await agent.run('2+3?')).toBe('Sorry.');
    expect(`${fake.lastBody}`).toContain('must be a JSON object');
    expect((await watch(agent.stream('2+3?'))).answer).toBe('Sorry again.');
    expect(fake.rejected).toEqual([]);
  },
);

describe('reasoning in later requests:', () => {
  test.each(['plain', 'streamed'])('Anthropic gets the thought with its signature (%s)', async (how) => {
    fake.script(twoCalls, 'It is 5 and 50.');
    const agent = fake.agent('anthropic/claude-sonnet-4-5', { tools: [add] });
    await (how === 'plain' ? agent.run('Add.') : watch(agent.stream('Add.')));
    const [thought] = fake.lastBody.at('messages', 1, 'content').list;
    expect(thought?.value).toMatchObject({ type: 'thinking', thinking: 'I had better add.' });
    expect(thought?.at('signature').text).toMatch(/^signature_/);
    expect(fake.rejected).toEqual([]);
  });

  test.each(['plain', 'streamed'])('OpenAI gets its reasoning items by id (%s)', async (how) => {
    fake.script(twoCalls, 'It is 5 and 50.');
    const agent = fake.agent('openai/gpt-5.1', { tools: [add] });
    await (how === 'plain' ? agent.run('Add.') : watch(agent.stream('Add.')));
    const references = fake.lastBody.at('input').list.filter((item) => item.at('type').text === 'item_reference');
    expect(references.map((item) => item.at('id').text.split('_')[0])).toEqual(['rs', 'msg']);
    expect(fake.rejected).toEqual([]);
  });

  test.each(['plain', 'streamed'])('Google gets the signature of its thought with the first call (%s)', async (how) => {
    fake.script(twoCalls, 'It is 5 and 50.');
    const agent = fake.agent('google/gemini-3-pro-preview', { tools: [add] });
    await (how === 'plain' ? agent.run('Add.') : watch(agent.stream('Add.')));
    const parts = fake.lastBody.at('contents', 1, 'parts').list;
    const signed = parts
      .filter((part) => part.at('functionCall').exists)
      .map((part) => part.at('thoughtSignature').text);
    expect(signed[0]).toMatch(/^thought_/);
    expect(signed[1]).toBe('');
  });

  test('servers that return reasoning get it back as reasoning', async () => {
    fake.script(twoCalls, 'It is 5 and 50.');
    await fake.agent('openai-compatible/local-model', { tools: [add] }).run('Add.');
    const assistant = fake.lastBody.at('messages').list.find((message) => message.at('role').text === 'assistant');
    expect(assistant?.at('reasoning_content').text).toBe('I had better add.');
  });
});
