// Code ported from the Python original works, or a clear error names what to write instead.
import {
  formatEvent,
  fromOpenAiMessages,
  type Message,
  PocketAgent,
  PocketAgentClient,
  textOf,
  tool,
} from 'pocket-agent';
import { recordEvents, ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { add, expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';

const callAdd = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'c1' }] };

describe('images of a user message', () => {
  const { agent } = scriptedAgent([], { agentConfig: { allowImages: true } });

  test('imageBase64s is refused with the right name', async () => {
    // @ts-expect-error: the compiler refuses it too
    const adding = () => agent.addUserMessage('look', { imageBase64s: ['AAAA'] });
    expect(adding).toThrow('addUserMessage() has no option "imageBase64s". Did you mean "images"?');
    // @ts-expect-error: the compiler refuses it too
    const running = agent.run({ text: 'look', imageBase64s: ['AAAA'] });
    await expect(running).rejects.toThrow('The input of a run has no option "imageBase64s". Did you mean "images"?');
    expect(agent.messages).toEqual([]);
  });

  test('other keys are refused too: metadata for the event goes into meta', () => {
    const recorder = recordEvents();
    const { agent } = scriptedAgent([], { hooks: recorder });
    // @ts-expect-error: the compiler refuses it too
    expect(() => agent.addUserMessage('hi', { source: 'chat' })).toThrow('Available: images, files, meta.');
    agent.addUserMessage('hi', { meta: { source: 'chat' } });
    expect(recorder.events.map(({ meta }) => meta.source)).toEqual(['chat']);
  });
});

test('a loop over the tool calls of a step ends with the last of them', async () => {
  const { agent } = scriptedAgent([callAdd, callAdd, 'The sum is 3.'], { tools: [add] });
  agent.addUserMessage('1 + 2?');
  let result = await agent.step();
  const called: string[] = [];
  while (result.toolCalls) {
    called.push(...result.toolCalls.map(({ name }) => name));
    result = await agent.step();
  }
  expect(called).toEqual(['add', 'add']);
  expect(textOf(result.llmMessage)).toBe('The sum is 3.');
});

describe('getToolInputFormat', () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } } } as const;
  const double = tool({ name: 'double', description: '', inputSchema: schema, run: () => 1 });

  test('is a JSON Schema, and JSON where a string is wanted', async () => {
    const mcpConfig = await scriptedServer([double]);
    await using client = new PocketAgentClient({ mcpConfig, logger: silent });
    const format = await client.getToolInputFormat('double');
    expect(format).toMatchObject(schema);
    expect(JSON.parse(`${format}`)).toEqual(format);
  });

  test('lets a ported handler send the format of an MCP tool, a function and a sub-agent to the model', async () => {
    const sub = scriptedAgent([], { agentConfig: { name: 'Sub', roleDescription: 'helps' } }).agent;
    const names = ['double', 'add', 'Sub-message'];
    await using agent = new PocketAgent({
      agentConfig: {
        llmModel: new ScriptedModel([{ toolCalls: names.map((name) => ({ name, arguments: '"x"' })) }, 'ok']),
      },
      mcpConfig: await scriptedServer([double]),
      tools: [add],
      subAgents: [sub],
      logger: silent,
      hooks: {
        async onToolError({ agent }, call) {
          return `Try again with the expected format: \n${await agent.mcpClient.getToolInputFormat(call.name)}`;
        },
      },
    });
    await agent.run('go');
    for (const [index, property] of ['"n":', '"a":', '"message":'].entries()) {
      expect(resultText(agent, index)).toContain('Try again with the expected format: \n{');
      expect(resultText(agent, index)).toContain(property);
    }
    await expect(agent.mcpClient.getToolInputFormat('nothing')).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
  });
});

describe('a conversation in the form of OpenAI', () => {
  const conversation = [
    { role: 'user', content: 'What is 1 + 2?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '3' },
    { role: 'assistant', content: 'The sum is 3.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'And this?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      ],
    },
  ];

  test('is converted into a history that goes on', async () => {
    const messages = fromOpenAiMessages(conversation);
    const { agent, model } = scriptedAgent(['An image.'], { agentConfig: { messages }, tools: [add] });
    expect(await agent.run('Well?')).toBe('An image.');
    expectValidHistory(agent);
    expect(agent.messages.slice(0, 5)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'What is 1 + 2?' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'add', input: { a: 1, b: 2 } }],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'add', output: { type: 'text', value: '3' } }],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'The sum is 3.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'And this?' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } },
        ],
      },
    ]);
    expect(model.calls).toHaveLength(1);
  });

  test.each(conversation.map((message) => [message.role, message]))(
    'is refused as it is, with the converter named: %s',
    (_role, message) => {
      const given = [message] as unknown as Message[];
      expect(() => scriptedAgent([], { agentConfig: { messages: given } })).toThrow(/fromOpenAiMessages\(messages\)/);
    },
  );

  test.each([
    [{ role: 'system', content: 'Be nice.' }, 'Message 1 is a system message: put its text into systemPrompt.'],
    [{ role: 'function', content: '3' }, 'Message 1 needs a role (user, assistant or tool)'],
    [{ role: 'tool', content: '3' }, 'Message 1 needs a tool_call_id.'],
    [{ role: 'assistant', tool_calls: [{ id: 'c1' }] }, 'a tool call needs id, function.name and function.arguments'],
    [{ role: 'user', content: [{ type: 'input_audio' }] }, 'a part of type "input_audio" cannot be converted'],
    [{ role: 'user', content: [{ type: 'video' }] }, 'can be: text, refusal, image_url, file, input_audio.'],
    [null, 'Message 1 needs a role'],
  ])('that cannot be converted is refused: %j', (message, text) => {
    expect(() => fromOpenAiMessages([message as never])).toThrow(text);
  });
});

test('a filter may read annotations and meta of a tool, as on the tools that a server lists', async () => {
  const listed = { annotations: { readOnlyHint: true, idempotentHint: true }, meta: { capability: 'read' } };
  const make = (name: string, settings: object) => tool({ name, description: '', run: () => 1, ...settings });
  await using agent = new PocketAgent({
    agentConfig: { llmModel: new ScriptedModel([]) },
    tools: [make('safe', listed), make('unsafe', {}), make('once', { ...listed, annotations: { readOnlyHint: true } })],
    access: {
      filter: ({ meta, annotations }) =>
        meta.capability === 'read' && annotations?.readOnlyHint === true && annotations.idempotentHint === true,
    },
  });
  expect((await agent.listTools()).map(({ name }) => name)).toEqual(['safe']);
});

test('a fork of a subclass is one of the same type', async () => {
  class Clerk extends PocketAgent {
    greet(): string {
      return `I am ${this.name}`;
    }
  }
  const clerk = new Clerk({ agentConfig: { llmModel: new ScriptedModel([]), name: 'Ann' } });
  expect(clerk.fork().greet()).toBe('I am Ann');
});

describe('formatEvent', () => {
  test('shows messages, calls and results as lines, and nothing twice', async () => {
    const recorder = recordEvents();
    const { agent } = scriptedAgent([{ text: 'One\nmoment', ...callAdd }, 'The sum is 3.'], {
      tools: [add],
      hooks: recorder,
    });
    await agent.run('1 + 2?');
    agent.emit({ type: 'custom:saved', data: { n: 1 } });
    const blocks = recorder.events.flatMap((event) => formatEvent(event) ?? []);
    expect(blocks).toEqual([
      'Tester · user\n   1 + 2?',
      'Tester · assistant\n   One\n   moment\n   → add {"a":1,"b":2}',
      'Tester · tool\n   ← add 3',
      'Tester · assistant\n   The sum is 3.',
      'Tester · custom:saved {"n":1}',
    ]);
  });

  test('lets nothing in a message act on the terminal', async () => {
    const recorder = recordEvents();
    const evil = '\u001b]52;c;ZXZpbA==\u0007';
    const { agent } = scriptedAgent([`Done${evil}`], { agentConfig: { name: `N${evil}` }, hooks: recorder });
    await agent.run(`Go${evil}`);
    const text = recorder.events.map((event) => formatEvent(event) ?? '').join('');
    expect(text).toContain('Done');
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});

test('the compiler refuses the input schema of something that is not an object', () => {
  const settings = { name: 'x', description: '', run: () => 1 };
  // @ts-expect-error: a string
  expect(() => tool({ ...settings, inputSchema: z.string() })).toThrow(/must describe an object/);
  // @ts-expect-error: a list
  expect(() => tool({ ...settings, inputSchema: z.array(z.string()) })).toThrow(/must describe an object/);
  expect(tool({ ...settings, inputSchema: z.object({ a: z.string() }) }).definition.name).toBe('x');
  expect(tool({ ...settings, inputSchema: z.record(z.string(), z.number()) }).definition.name).toBe('x');
});
